//! Properties of every model on any small trace, with writes, deletes, resizes and expiry.

use base::{Access, Bytes, Micros, Op, Size};
use curve::footprint::Footprint;
use curve::{MissRatio, Model, Params};
use proptest::prelude::*;
use std::collections::HashMap;

use crate::oracles::{Mix, PLAIN, footprint, run, simulate};

/// The largest object.
const SIZE_MAX: u32 = 8;

fn access() -> impl Strategy<Value = Access> {
    (0u64..14, 1..=SIZE_MAX, 0u8..10, 0u64..3).prop_map(|(key, size, op, ttl)| {
        let op = match op {
            0..7 => Op::Get,
            7..9 => Op::Set,
            _ => Op::Delete,
        };
        Access { op, ttl: Micros(ttl * 15), ..Access::get(base::hash::mix(key), size) }
    })
}

fn trace() -> impl Strategy<Value = Vec<Access>> {
    prop::collection::vec(access(), 1..250).prop_map(|mut trace| {
        for (tick, access) in trace.iter_mut().enumerate() {
            access.time = Micros(tick as u64);
        }
        trace
    })
}

/// The share of the reads that find no live object in any cache; 1 without reads.
fn forced(trace: &[Access]) -> f64 {
    let mut ends: HashMap<u64, Micros> = HashMap::new();
    let (mut reads, mut misses) = (0.0, 0.0);
    for access in trace {
        let live = ends.get(&access.key).is_some_and(|&end| access.time < end);
        if access.op == Op::Delete {
            ends.remove(&access.key);
            continue;
        }
        if access.op == Op::Get {
            reads += 1.0;
            misses += f64::from(u8::from(!live));
        }
        if !live || access.op == Op::Set {
            let mortal = access.ttl > Micros(0);
            let end = if mortal { access.time + access.ttl } else { Micros(u64::MAX) };
            ends.insert(access.key, end);
        }
    }
    if reads > 0.0 { misses / reads } else { 1.0 }
}

proptest! {
    /// Curves start at one, never rise, and stay between 0 and 1, at any rate and K.
    #[test]
    fn curves_are_curves(
        trace in trace(), k in 1u32..20, pool: bool, rate in prop::sample::select(vec![1.0, 0.3]),
    ) {
        let sizes = (1..=10).map(|step| Bytes(step * 12)).collect();
        let params = Params { k, pool, rate, sizes, ..Params::default() };
        for spec in curve::ALL {
            let curve = run(spec.name, &params, &trace).curve();
            let points = curve.points();
            prop_assert_eq!(points[0], (Bytes(0), MissRatio::ALL), "{}", spec.name);
            for pair in points.windows(2) {
                prop_assert!(pair[0].0 < pair[1].0 && pair[0].1 >= pair[1].1, "{}", spec.name);
            }
            let inside = |ratio: MissRatio| (0.0..=1.0).contains(&ratio.0);
            let outside = points.iter().find(|&&(_, ratio)| !inside(ratio));
            prop_assert!(outside.is_none(), "{}: {outside:?}", spec.name);
        }
    }

    /// A miss of an unbounded cache is a miss at every size. (`footprint` does not know deletes and
    /// expiry. For a smaller cache than that of the test it need not hold: an evicted object that
    /// is read again may get a longer life.)
    #[test]
    fn forced_misses_are_the_floor(trace in trace(), k in 1u32..20) {
        let floor = forced(&trace);
        let params = Params { k, sizes: vec![Bytes(100_000)], ..Params::default() };
        for spec in curve::ALL.iter().filter(|spec| spec.name != "footprint") {
            let least = run(spec.name, &params, &trace).curve().at(Bytes(100_000)).0;
            prop_assert!((least - floor).abs() < 1e-6, "{}: {least} for {floor}", spec.name);
        }
    }

    /// Models that count exact distances of all keys equal the simulator, at every size that holds
    /// the largest object.
    #[test]
    fn models_that_count_are_exact(trace in trace()) {
        if trace.iter().any(|access| access.op == Op::Get) {
            let sizes: Vec<_> = (u64::from(SIZE_MAX)..80).step_by(9).map(Bytes).collect();
            let policy = policy::parse("lru").ok();
            let params = Params { sizes: sizes.clone(), policy, ..Params::default() };
            for name in ["olken", "shards"] {
                let curve = run(name, &params, &trace).curve();
                for &size in &sizes {
                    let (model, exact) = (curve.at(size).0, simulate("lru", size.0, &trace));
                    prop_assert!((model - exact).abs() < 1e-9, "{name} {size}: {model}, {exact}");
                }
            }
        }
    }
}

proptest! {
    /// LRU is a stack policy: with objects of one size, a hit in a cache is a hit in any larger
    /// one. This holds for the simulator and for the distances of the model.
    #[test]
    fn a_larger_lru_cache_misses_nothing_more(mut trace in trace()) {
        for access in &mut trace {
            access.size = Size::ONE;
        }
        let olken = run("olken", &Params::default(), &trace).curve();
        let mut last = 1.0;
        for size in 1..=15 {
            let ratio = simulate("lru", size, &trace);
            prop_assert!(ratio <= last, "{size}: {ratio} after {last}");
            last = ratio;
            if trace.iter().any(|access| access.op == Op::Get) {
                let model = olken.at(Bytes(size)).0;
                prop_assert!((model - ratio).abs() < 1e-9, "{size}: {model} for {ratio}");
            }
        }
    }

    /// The footprint of all keys is the sum of the footprints of its classes on the same clock.
    /// This holds in every window, for any assignment of keys to classes.
    #[test]
    fn footprints_add_up(trace in trace(), dealt in 1u64..1_000) {
        let reads: Vec<_> = trace.iter().filter(|access| access.op == Op::Get).collect();
        let mut whole = Footprint::new(&Params::default());
        let mut classes = [(); 3].map(|()| Footprint::new(&Params::default()));
        let sizes: HashMap<u64, Size> = reads.iter().map(|read| (read.key, read.size)).collect();
        for read in &reads {
            let read = Access { size: sizes[&read.key], ttl: Micros(0), ..**read };
            whole.access(&read);
            let class = (base::hash::mix(read.key ^ dealt) % 3) as usize;
            for (at, footprint) in classes.iter_mut().enumerate() {
                if at == class { footprint.access(&read) } else { footprint.pass(1) }
            }
        }
        for window in 1..=reads.len() as u64 {
            let parts: u64 = classes.iter().map(|class| class.at(window).0).sum();
            // Each footprint is rounded to bytes.
            let off = parts.abs_diff(whole.at(window).0);
            prop_assert!(off <= 2, "{window}: {parts} for {:?}", whole.at(window));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Each model is close to the simulation of the policy that it predicts, on any trace of some
    /// hundred popular objects, for any K. With so few objects no model is exact.
    #[test]
    fn models_are_near_their_oracles(
        seed: u64, k in 1u32..12, pool: bool, skew in 0.0f64..1.2, size_max in 1u64..40,
    ) {
        let mix = Mix { requests: 8_000, keys: 300, alpha: skew, size_max, ..PLAIN };
        let trace = mix.trace(seed);
        let all = footprint(&trace);
        let sizes: Vec<_> = (1..=8).map(|step| Bytes(all * step / 8)).collect();
        let params = Params { k, pool, sizes: sizes.clone(), ..Params::default() };
        for spec in curve::ALL {
            let curve = run(spec.name, &params, &trace).curve();
            let policy = (spec.predicts)(&params).to_string();
            let exact = |size: &Bytes| simulate(&policy, size.0, &trace);
            let error = |size: &Bytes| (curve.at(*size).0 - exact(size)).abs();
            let mean = sizes.iter().map(error).sum::<f64>() / sizes.len() as f64;
            prop_assert!(mean < 0.03, "{} of {policy}: {mean}", spec.name);
        }
    }
}
