//! Compares models of ages with the simulator.

use base::{Access, Bytes};
use curve::{MissRatioCurve, Params};

use crate::oracles::{Mix, PLAIN, error, run, set_sizes};

fn looped(keys: u64, rounds: u64) -> Vec<Access> {
    (0..keys * rounds).map(|at| Access::get(base::hash::mix(at % keys), 1)).collect()
}

/// abcabc…: a cache of one or two objects never hits, a cache of three always does.
#[test]
fn a_loop_is_all_or_nothing_for_lru() {
    for name in ["aet", "eaet"] {
        let curve = run(name, &Params::default(), &looped(3, 100_000)).curve();
        for (size, ratio) in [(1, 1.0), (2, 1.0), (3, 0.0)] {
            let model = curve.at(Bytes(size)).0;
            assert!((model - ratio).abs() < 1e-4, "{name} at {size}: {model}");
        }
    }
}

/// Zipf with sizes, resizes, deletes and expiry, one at a time and all together.
#[test]
fn eaet_follows_lru() {
    let sized = Mix { size_max: 2_000, ..PLAIN };
    let mixes = [
        ("sizes", sized),
        ("scan", Mix { looped: 0.3, ..sized }),
        ("resizes", Mix { sets: 0.1, resize: true, ..sized }),
        ("deletes", Mix { deletes: 0.2, ..sized }),
        ("expiry", Mix { ttls: 0.6, ..sized }),
        ("all", Mix { ttls: 0.6, deletes: 0.1, sets: 0.1, resize: true, ..sized }),
    ];
    for (name, mix) in mixes {
        let mut trace = Mix { requests: 400_000, ..mix }.trace(21);
        set_sizes(&mut trace);
        let mae = error(&*run("eaet", &Params::default(), &trace), "lru", 10, &trace);
        println!("{name}: {mae:.4}");
        assert!(mae < 0.006, "{name}: {mae}");
    }
}

#[test]
fn aet_follows_lru_where_sizes_do_not_matter() {
    let trace = PLAIN.trace(4);
    let mae = error(&*run("aet", &Params::default(), &trace), "lru", 10, &trace);
    assert!(mae < 0.003, "{mae}");
}

fn kaet(k: u32, pool: bool, trace: &[Access]) -> MissRatioCurve {
    run("kaet", &Params { k, pool, ..Params::default() }, trace).curve()
}

/// Compares a pure loop with its closed form. A quarter, half and three quarters of the loop fit in
/// the cache, under pure K-LRU and with the pool.
#[test]
fn kaet_on_a_loop_is_its_closed_form() {
    let trace = looped(2_000, 400);
    let table = [
        (1, false, [0.9802, 0.7968, 0.4544]),
        (2, false, [0.9987, 0.9168, 0.6014]),
        (5, false, [1.0000, 0.9949, 0.8456]),
        (10, false, [1.0000, 1.0000, 0.9690]),
        (16, false, [1.0000, 1.0000, 0.9956]),
        (2, true, [0.9991, 0.9405, 0.6758]),
        (5, true, [1.0000, 0.9975, 0.9122]),
        (10, true, [1.0000, 1.0000, 0.9861]),
    ];
    for (k, pool, ratios) in table {
        let curve = kaet(k, pool, &trace);
        for (size, ratio) in [500, 1_000, 1_500].into_iter().zip(ratios) {
            let model = curve.at(Bytes(size)).0;
            println!("K = {k}, pool {pool}, {size}: {model:.4} for {ratio:.4}");
            assert!((model - ratio).abs() < 0.006, "K = {k}, pool {pool}, {size}: {model}");
        }
    }
}

/// Compares pure K-LRU and Redis's pool with their simulations on stationary traffic.
#[test]
fn kaet_follows_the_simulator() {
    let sized = Mix { size_max: 2_000, ..PLAIN };
    let mixes = [
        ("plain", PLAIN),
        ("loop", Mix { looped: 0.3, ..PLAIN }),
        ("all", Mix { deletes: 0.1, sets: 0.1, resize: true, looped: 0.2, ..sized }),
        ("expiry", Mix { ttls: 0.6, ..sized }),
    ];
    for (name, mix) in mixes {
        let mut trace = Mix { requests: 400_000, ..mix }.trace(31);
        set_sizes(&mut trace);
        for (k, pool) in [(1, false), (2, true), (5, false), (5, true), (16, false)] {
            let model = run("kaet", &Params { k, pool, ..Params::default() }, &trace);
            let policy = if pool { format!("klru:k={k}:pool=16") } else { format!("klru:k={k}") };
            let mae = error(&*model, &policy, 8, &trace);
            println!("{name} {policy}: {mae:.4}");
            assert!(mae < 0.006, "{name}, {policy}: {mae}");
        }
    }
}

/// Curves of one histogram, each of which begins where another ended, equal curves computed alone.
#[test]
fn kaet_draws_all_from_one_histogram() {
    let trace = Mix { size_max: 300, ..PLAIN }.trace(5);
    let laws = [(16, true), (1, false), (5, true), (5, false)];
    let mut kaet = curve::kaet::Kaet::new(&Params::default());
    for access in &trace {
        kaet.access(access);
    }
    let all = kaet.curves(&laws);
    for (law, curve) in laws.iter().zip(&all) {
        let alone = &kaet.curves(&[*law])[0];
        let off = |share: u64| {
            let size = Bytes(alone.extent().0 * share / 20);
            (curve.at(size).0 - alone.at(size).0).abs()
        };
        let worst = (1..=20).map(off).fold(0.0, f64::max);
        assert!(worst < 0.003, "{law:?}: {worst}");
    }
    assert!(all[0].at(Bytes(all[0].extent().0 / 4)) < all[1].at(Bytes(all[1].extent().0 / 4)));
}

/// Hardly any key is accessed twice, and caches hold few objects. The search for the rate of
/// eviction must still end in valid numbers.
#[test]
fn kaet_bears_traces_without_reuse() {
    let mut prng = base::Prng::new(2);
    let trace: Vec<_> = (0..50_000)
        .map(|tick| {
            let key = base::hash::mix(if prng.chance(0.1) { tick / 2 } else { 1_000_000 + tick });
            let size = 512 << (base::hash::mix(key) % 11);
            if prng.chance(0.5) { Access::set(key, size) } else { Access::get(key, size) }
        })
        .collect();
    for k in [1, 2, 4, 8, 16, 32, 64] {
        for pool in [false, true] {
            for rate in [1.0, 0.19, 0.02] {
                let params = Params { k, pool, rate, ..Params::default() };
                let curve = run("kaet", &params, &trace).curve();
                let least = curve.points()[curve.points().len() - 1].1.0;
                assert!(least > 0.8, "K = {k}, pool {pool}, rate {rate}: {least}");
            }
        }
    }
}
