//! Models that simulate caches.

use base::{Access, Bytes};
use curve::Params;

use crate::oracles::{Mix, PLAIN, footprint, run, simulate};

fn params(trace: &[Access], policy: &str) -> Params {
    let all = footprint(trace);
    let sizes = (1..=8).map(|step| Bytes(all * step / 8)).collect();
    Params { sizes, policy: policy::parse(policy).ok(), ..Params::default() }
}

#[test]
fn exact_is_the_simulator() {
    let trace = Mix { size_max: 40, ..PLAIN }.trace(2);
    for policy in ["lru", "random", "klru:3"] {
        let params = Params { seed: 7, ..params(&trace, policy) };
        let curve = run("exact", &params, &trace).curve();
        for &size in &params.sizes {
            assert_eq!(curve.at(size).0, simulate(policy, size.0, &trace), "{policy} {size}");
        }
    }
}

/// A miniature at full rate equals the cache. Sampled miniatures, at a fixed rate and with a limit
/// on the keys, are close to it.
#[test]
fn miniatures_resemble_the_cache() {
    let trace = Mix { keys: 40_000, alpha: 0.7, size_max: 60, ..PLAIN }.trace(9);
    for policy in ["lru", "klru:5"] {
        let params = params(&trace, policy);
        let exact = run("exact", &params, &trace).curve();
        assert_eq!(run("miniature", &params, &trace).curve(), exact);
        let fixed = Params { rate: 0.2, ..params.clone() };
        let bounded = Params { keys_max: 6_000, ..params.clone() };
        for (params, limit) in [(fixed, 0.01), (bounded, 0.02)] {
            let curve = run("miniature", &params, &trace).curve();
            let errors =
                params.sizes.iter().map(|&size| (curve.at(size).0 - exact.at(size).0).abs());
            let mae = errors.sum::<f64>() / params.sizes.len() as f64;
            println!("{policy} up to {} keys: {mae:.4}", params.keys_max);
            assert!(mae < limit, "{policy}, up to {} keys: {mae}", params.keys_max);
        }
    }
}
