//! Examples from the papers, small enough to check by hand.

use base::hash::mix;
use base::{Access, Bytes, Micros, MissRatio};
use curve::{MissRatioCurve, Params};
use policy::{Cache, Outcome};

use crate::oracles::run;

/// Objects of one byte, named by letters.
fn letters(text: &str) -> Vec<Access> {
    text.bytes().map(|key| Access::get(mix(key.into()), 1)).collect()
}

/// The misses of LRU in a steady state: the misses of the second half.
fn misses(capacity: u64, trace: &[Access]) -> usize {
    let mut cache = Cache::new(&policy::parse("lru").unwrap(), Bytes(capacity), 1);
    let outcomes: Vec<_> = trace.iter().map(|access| cache.access(access)).collect();
    let second = &outcomes[trace.len() / 2..];
    second.iter().filter(|&&outcome| outcome == Outcome::Miss).count()
}

/// (abc)…: three objects are used within three accesses. For every model of LRU, a cache of three
/// always hits, and a cache of two never does.
#[test]
fn lama_table_1() {
    let trace = letters(&"abc".repeat(2_000));
    for name in ["olken", "shards", "aet", "eaet", "footprint"] {
        let curve = run(name, &Params::default(), &trace).curve();
        let (two, three) = (curve.at(Bytes(2)).0, curve.at(Bytes(3)).0);
        assert!(two > 0.999 && three < 0.002, "{name}: {two} {three}");
    }
}

/// A period of 19 requests: 6 of a class that alternates between two objects, and 13 of a class
/// that mostly requests one. The division is planned from the misses by slabs. With one and two
/// slabs 13 of 19 requests hit, with two and one slabs 15.
#[test]
fn lama_figure_2() {
    let times = 400;
    let period = letters("121212").repeat(times);
    let other = letters("aaaabaaaaaaba").repeat(times);
    let by_slabs = |trace: &[Access]| -> Vec<f64> {
        let curve = run("olken", &Params::default(), trace).curve();
        (0..4).map(|slabs| curve.at(Bytes(slabs)).0 * (trace.len() / times) as f64).collect()
    };
    for (trace, want) in [(&period, [6.0, 6.0, 0.0, 0.0]), (&other, [13.0, 4.0, 0.0, 0.0])] {
        for (got, want) in by_slabs(trace).into_iter().zip(want) {
            assert!((got - want).abs() < 0.02, "{got} for {want}");
        }
    }
    let hits = |one: u64, two: u64| 19 - (misses(one, &period) + misses(two, &other)) / (times / 2);
    assert_eq!((hits(1, 2), hits(2, 1)), (13, 15));
}

/// Three classes at rates 5:3:2, with misses of 10, 200 and 200 ms after a lookup of 1 ms. One list
/// of five objects takes 101 ms per request; two separate lists of two and three objects take 41.
#[test]
fn predis_motivation() {
    let mut trace = vec![];
    let mut count = [0u64; 3];
    for class in [1, 2, 1, 3, 1, 2, 1, 3, 1, 2].repeat(2_000) {
        let at = class - 1;
        // x y, then d e f, then a new key each time.
        let key = match class {
            1 => count[0] % 2,
            2 => 10 + count[1] % 3,
            _ => 100 + count[2],
        };
        count[at] += 1;
        let penalty = Micros([10_000, 200_000, 200_000][at]);
        trace.push((at, Access { penalty, ..Access::get(mix(key), 1) }));
    }
    let mean = |caches: &mut [Cache], of: fn(usize) -> usize| -> f64 {
        let time = |(at, access): &(usize, Access)| {
            let missed = caches[of(*at)].access(access) == Outcome::Miss;
            1.0 + if missed { access.penalty.0 as f64 / 1e3 } else { 0.0 }
        };
        let times: Vec<f64> = trace.iter().map(time).collect();
        let second = &times[times.len() / 2..];
        second.iter().sum::<f64>() / second.len() as f64
    };
    let lru = |capacity| Cache::new(&policy::parse("lru").unwrap(), Bytes(capacity), 1);
    let (shared, apart) =
        (mean(&mut [lru(5)], |_| 0), mean(&mut [lru(2), lru(3), lru(0)], |at| at));
    assert!((shared - 101.0).abs() < 1e-9, "{shared}");
    assert!((apart - 41.0).abs() < 1e-9, "{apart}");
}

/// Two pools of one policy reach any point on the hull. Between 0.4 at two and 0.1 at six lies
/// 0.325 at three, although the curve itself stays at 0.4 until it falls.
#[test]
fn talus() {
    let points = [(2, 0.4), (5, 0.4), (6, 0.1)];
    let curve = MissRatioCurve::new(points.map(|(size, ratio)| (Bytes(size), MissRatio(ratio))));
    assert!((curve.hull().at(Bytes(3)).0 - 0.325).abs() < 1e-12, "{:?}", curve.hull());
    assert_eq!(curve.at(Bytes(3)), MissRatio(0.4));
}
