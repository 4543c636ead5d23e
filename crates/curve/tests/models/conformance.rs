//! Properties of every model.

use base::{Access, Bytes, Micros, Op};
use curve::{Model, Params};

use crate::oracles::{Mix, PLAIN, footprint, run, set_sizes};

fn params(trace: &[Access]) -> Params {
    let all = footprint(trace);
    Params { sizes: (1..=20).map(|step| Bytes(all * step / 20)).collect(), ..Params::default() }
}

fn trace() -> Vec<Access> {
    let mix = Mix { requests: 60_000, sets: 0.1, deletes: 0.05, ttls: 0.3, size_max: 300, ..PLAIN };
    let mut trace = Mix { resize: true, ..mix }.trace(11);
    set_sizes(&mut trace);
    trace
}

/// A curve starts at 1, never rises, and stays between 0 and 1.
#[test]
fn curves_fall_from_one() {
    let trace = trace();
    for spec in curve::ALL {
        let curve = run(spec.name, &params(&trace), &trace).curve();
        let points = curve.points();
        assert_eq!(points[0], (Bytes(0), curve::MissRatio::ALL), "{}", spec.name);
        assert!(points.len() > 10, "{}: {} points", spec.name, points.len());
        assert!(points.windows(2).all(|pair| pair[0].1 >= pair[1].1), "{}", spec.name);
        assert!(points.iter().all(|(_, ratio)| (0.0..=1.0).contains(&ratio.0)), "{}", spec.name);
    }
}

/// Forced misses remain at any size: first reads, and reads of deleted or expired objects. (The
/// simulator notices expiry late, which no size can tell.)
#[test]
fn forced_misses_remain() {
    let trace = trace();
    let mut live = std::collections::HashMap::new();
    let (mut reads, mut forced) = (0.0, 0.0);
    for access in &trace {
        let known = live.get(&access.key).is_some_and(|&end| access.time < end);
        match access.op {
            Op::Delete => {
                live.remove(&access.key);
                continue;
            }
            Op::Get => {
                reads += 1.0;
                forced += f64::from(u8::from(!known));
            }
            Op::Set => {}
        }
        if !known || access.op == Op::Set {
            let forever = Micros(u64::MAX);
            let end = if access.ttl == Micros(0) { forever } else { access.time + access.ttl };
            live.insert(access.key, end);
        }
    }
    for spec in curve::ALL.iter().filter(|spec| spec.name != "footprint") {
        let curve = run(spec.name, &params(&trace), &trace).curve();
        let floor = curve.at(Bytes(u64::MAX)).0;
        assert!((floor - forced / reads).abs() < 1e-9, "{}: {floor}", spec.name);
    }
}

#[test]
fn the_same_seed_gives_the_same_curve() {
    let trace = trace();
    for spec in curve::ALL {
        let curve = || run(spec.name, &params(&trace), &trace).curve();
        assert_eq!(curve(), curve(), "{}", spec.name);
    }
}

/// A model without accesses, one with only writes, and one with only removals and times that go
/// backwards: none panics, and every read misses.
#[test]
fn nothing_to_go_by() {
    let writes: Vec<_> = (0..100).map(|key| Access::set(base::hash::mix(key), 5)).collect();
    let odd: Vec<_> = (0..100)
        .map(|key| Access { time: Micros(100 - key), ..Access::delete(key) })
        .chain([Access { ttl: Micros(1 << 62), time: Micros(1 << 62), ..Access::set(1, 0) }])
        .chain([Access { ttl: Micros(1), ..Access::set(1, u32::MAX) }])
        .collect();
    for spec in curve::ALL {
        for trace in [&[][..], &writes, &odd] {
            let sizes = vec![Bytes(10)];
            let model = run(spec.name, &Params { sizes, ..Params::default() }, trace);
            assert_eq!(model.curve().at(Bytes(10)).0, 1.0, "{}", spec.name);
        }
    }
}

/// After a model forgets everything, only later accesses count.
#[test]
fn what_is_forgotten_has_no_weight() {
    let loops = |keys: u64, requests: u64, salt: u64| {
        (0..requests).map(move |at| Access::get(base::hash::mix(salt + at % keys), 1))
    };
    for spec in curve::ALL {
        let sizes = vec![Bytes(50), Bytes(150), Bytes(400)];
        let mut model = (spec.build)(&Params { sizes, ..Params::default() });
        // First all keys are new, then ten of them are requested again and again.
        for access in loops(3_000, 3_000, 0) {
            model.access(&access);
        }
        let before = model.curve().at(Bytes(400)).0;
        model.forget(0.0);
        for access in loops(10, 3_000, 0) {
            model.access(&access);
        }
        let after = model.curve().at(Bytes(400)).0;
        assert!(before > 0.99 && after < 0.02, "{}: {before}, then {after}", spec.name);
    }
}

/// With a limit on the keys memory is bounded, however many keys arrive.
#[test]
fn memory_is_bounded() {
    for spec in curve::ALL.iter().filter(|spec| !["olken", "exact"].contains(&spec.name)) {
        let sizes = vec![Bytes(1_000), Bytes(100_000)];
        let params = Params { keys_max: 1_000, sizes, ..Params::default() };
        let mut model = (spec.build)(&params);
        let mut feed = |from: u64, to: u64| {
            for key in from..to {
                let ttl = Micros(if key % 2 == 0 { 1_000 } else { 0 });
                let time = Micros(key);
                model.access(&Access { ttl, time, ..Access::get(base::hash::mix(key), 10) });
            }
            (model.bytes().0, model.rate())
        };
        let (early, _) = feed(0, 20_000);
        let (late, rate) = feed(20_000, 200_000);
        assert!(late <= 2 * early && late < 800_000, "{}: {early}, then {late}", spec.name);
        assert!(rate < 0.1, "{}: {rate}", spec.name);
    }
}

/// If a filter drops accesses before the model, reporting their number corrects the curve. Only the
/// number of keys stays unknown, because the model does not see all of them.
#[test]
fn a_filter_in_front_changes_little() {
    let trace = Mix { keys: 20_000, ..PLAIN }.trace(8);
    let params = Params { rate: 0.1, ..params(&trace) };
    let filter = base::Filter::with_rate(params.rate);
    for spec in curve::ALL.iter().filter(|spec| !["olken", "exact"].contains(&spec.name)) {
        let all = run(spec.name, &params, &trace).curve();
        let mut model = (spec.build)(&params);
        for access in &trace {
            if filter.keeps(access.key) { model.access(access) } else { model.skip(1) }
        }
        let curve = model.curve();
        for &size in &params.sizes {
            let (one, other) = (curve.at(size).0, all.at(size).0);
            assert!((one - other).abs() < 0.02, "{} {size}: {one} for {other}", spec.name);
        }
    }
}

/// Bands of two standard errors should hold the truth nineteen times in twenty. The test takes a
/// few sizes and models that sample: bands that are too narrow would fail.
#[test]
fn bands_hold_the_truth() {
    let trace = Mix { keys: 30_000, alpha: 0.7, size_max: 300, ..PLAIN }.trace(12);
    let all = footprint(&trace);
    let sizes: Vec<Bytes> = (1..=10).map(|step| Bytes(all * step / 10)).collect();
    for name in ["shards", "krr", "eaet", "kaet", "footprint"] {
        let spec = curve::find(name).unwrap();
        let whole = run(name, &Params::default(), &trace).curve();
        let params = Params { rate: 0.1, ..Params::default() };
        let mut bands = curve::Bands::new(spec, &params);
        bands.accesses(&trace);
        assert_eq!(bands.curve(), run(name, &params, &trace).curve(), "{name}");
        let band = bands.at(&sizes);
        // The errors of neighbouring sizes are nearly one error, so three standard errors are
        // allowed.
        let held = band.iter().filter(|(size, low, high)| {
            let (truth, more) = (whole.at(*size).0, 0.25 * (high.0 - low.0));
            (low.0 - more..=high.0 + more).contains(&truth)
        });
        let held = held.count();
        let width = band.iter().map(|(_, low, high)| high.0 - low.0).fold(0.0, f64::max);
        println!("{name}: {held} of {}, {width:.4} wide", sizes.len());
        assert!(held >= 8 && (0.002..0.2).contains(&width), "{name}: {held}, {width}");
    }
}
