//! Compares models with a stack with the simulator.

use crate::oracles::{Mix, PLAIN, error, footprint, run, set_sizes, simulate};
use base::{Access, Bytes, Micros, Op};
use curve::Params;
use proptest::prelude::*;

fn access() -> impl Strategy<Value = Access> {
    (0u64..14, 1u32..9, 0u8..10, 0u64..3).prop_map(|(key, size, op, ttl)| {
        let op = match op {
            0..6 => Op::Get,
            6..9 => Op::Set,
            _ => Op::Delete,
        };
        let ttl = Micros(ttl * 15);
        Access { op, ttl, ..Access::get(base::hash::mix(key), size) }
    })
}

proptest! {
    /// At every capacity from the largest object on, the miss ratio equals the simulator's, with
    /// deletes, resizes and expiry.
    #[test]
    fn olken_is_exact(mut trace in prop::collection::vec(access(), 1..300)) {
        for (tick, access) in trace.iter_mut().enumerate() {
            access.time = Micros(tick as u64);
        }
        let curve = run("olken", &Params::default(), &trace).curve();
        if trace.iter().any(|access| access.op == Op::Get) {
            for capacity in 8..80 {
                let exact = simulate("lru", capacity, &trace);
                let model = curve.at(Bytes(capacity)).0;
                prop_assert!((model - exact).abs() < 1e-9, "{capacity}: {model} for {exact}");
            }
        }
    }
}

/// An evicted object does not return when another is deleted: here A needs 12 bytes, not 8.
#[test]
fn room_that_comes_later_does_not_help() {
    let [a, b, c] = [1, 2, 3].map(|key| Access::get(base::hash::mix(key), 4));
    let trace = [a, b, c, Access { op: Op::Delete, ..b }, a];
    let curve = run("olken", &Params::default(), &trace).curve();
    assert_eq!(curve.at(Bytes(11)).0, 1.0);
    assert_eq!(curve.at(Bytes(12)).0, 0.75);
}

/// On a loop of M objects every distance is M: a cache hits always or never.
#[test]
fn olken_on_a_loop() {
    let trace: Vec<_> = (0..1_000).map(|at| Access::get(base::hash::mix(at % 100), 1)).collect();
    let curve = run("olken", &Params::default(), &trace).curve();
    assert_eq!(curve.at(Bytes(99)).0, 1.0);
    assert!((curve.at(Bytes(100)).0 - 0.1).abs() < 1e-12);
}

/// With K = 1 KRR must predict random replacement, not LRU. The two differ most on a loop just
/// larger than the cache.
#[test]
fn k_of_one_is_random_replacement() {
    let trace: Vec<_> =
        (0..300_000).map(|at| Access::get(base::hash::mix(at % 2_000), 1)).collect();
    let params = Params { k: 1, ..Params::default() };
    let curve = run("krr", &params, &trace).curve();
    for capacity in [500, 1_000, 1_500, 1_900] {
        let exact = simulate("klru:1", capacity, &trace);
        let model = curve.at(Bytes(capacity)).0;
        assert!((model - exact).abs() < 0.004, "{capacity}: {model} for {exact}");
    }
}

#[test]
fn krr_follows_the_simulator() {
    let mixes = [
        ("plain", PLAIN),
        ("sizes", Mix { size_max: 4_000, ..PLAIN }),
        ("writes", Mix { sets: 0.2, resize: true, size_max: 4_000, ..PLAIN }),
        ("loop", Mix { looped: 0.3, ..PLAIN }),
        ("deletes", Mix { deletes: 0.1, sets: 0.1, looped: 0.2, ..PLAIN }),
        ("expiry", Mix { ttls: 0.6, size_max: 500, ..PLAIN }),
    ];
    for (name, mix) in mixes {
        let mut trace = mix.trace(3);
        set_sizes(&mut trace);
        for k in [1, 5, 16] {
            let model = run("krr", &Params { k, ..Params::default() }, &trace);
            let mae = error(&*model, &format!("klru:{k}"), 8, &trace);
            println!("{name} K = {k}: {mae:.4}");
            let limit = if name == "loop" || name == "deletes" { 0.008 } else { 0.004 };
            assert!(mae < limit, "{name}, K = {k}: {mae}");
        }
    }
}

/// A sample of the keys, and a limit on their number, both give the curve of all keys.
#[test]
fn samples_stand_for_all() {
    let trace = Mix { keys: 40_000, size_max: 900, alpha: 0.7, ..PLAIN }.trace(5);
    for (model, policy) in [("shards", "lru"), ("krr", "klru:5")] {
        let fixed = Params { rate: 0.2, ..Params::default() };
        let bounded = Params { keys_max: 6_000, ..Params::default() };
        for params in [fixed, bounded] {
            let model = run(model, &params, &trace);
            let mae = error(&*model, policy, 8, &trace);
            println!("{policy} at rate {}: {mae:.4}", model.rate());
            assert!(mae < 0.012, "{policy} at rate {}: {mae}", model.rate());
        }
    }
}

/// The trace must be neither all hits nor all misses, or the tests above would show nothing.
#[test]
fn traces_have_something_to_predict() {
    let trace = PLAIN.trace(3);
    let half = simulate("lru", footprint(&trace) / 2, &trace);
    assert!((0.03..0.9).contains(&half), "{half}");
}
