//! The best fixed division of memory among tenants, by curves of all requests of a run.
//!
//! No recipe that divides memory once can do better, so an experiment that shows this row shows
//! what a better model or planner could still gain. Curves are KRR's of all keys, which are within
//! 0.001 of simulated caches, with the best K of each tenant at each size.

use super::load::{Load, draw};
use base::{Bytes, Op};
use curve::{Params, krr};

/// Steps of memory in which the division is made.
const STEPS: usize = 200;

/// Numbers of candidates that a tenant may have: those of the recipe kredis.
const CANDIDATES: [u32; 5] = [1, 2, 4, 8, 16];

/// A tenant of a load, alone.
pub(super) struct Tenant {
    pub(super) reads: f64,
    /// Mean cost of a miss, in microseconds.
    pub(super) penalty_us: f64,
    /// Its lowest miss ratio with each number of steps of memory, from none to all.
    pub(super) misses: Vec<f64>,
}

/// Every tenant of a load, where all of them have `memory` together.
pub(super) fn tenants(load: &Load, memory: Bytes, seed: u64) -> Vec<Tenant> {
    let last = load.requests.iter().map(|access| access.tenant).max().unwrap_or_default();
    let tenant = |at| {
        let own = || load.requests.iter().filter(move |access| access.tenant == at);
        let reads = || own().filter(|access| access.op == Op::Get);
        let count = reads().count().max(1) as f64;
        let penalties: f64 = reads().map(|access| access.penalty.as_f64()).sum();
        let curves =
            CANDIDATES.map(|k| draw(&krr::SPEC, own(), &Params { k, seed, ..Params::default() }));
        let at = |step: usize| {
            let size = Bytes(memory.0 * step as u64 / STEPS as u64);
            curves.iter().map(|curve| curve.at(size).0).fold(1.0, f64::min)
        };
        let misses = (0..=STEPS).map(at).collect();
        Tenant { reads: count, penalty_us: penalties / count, misses }
    };
    (0..=last).map(tenant).collect()
}

/// The greatest sum of values, one of each tenant, where `value` says what a tenant is worth with a
/// miss ratio, and the steps of all add up to the memory.
pub(super) fn best(tenants: &[Tenant], value: impl Fn(&Tenant, f64) -> f64) -> f64 {
    let mut best = vec![0.0; STEPS + 1];
    for tenant in tenants {
        let own: Vec<_> = tenant.misses.iter().map(|&misses| value(tenant, misses)).collect();
        let with = |all: usize| {
            (0..=all).map(|step| best[all - step] + own[step]).fold(f64::NEG_INFINITY, f64::max)
        };
        best = (0..=STEPS).map(with).collect();
    }
    best[STEPS]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two loops and memory for one of them: it goes to the loop with the dearer misses, all of it.
    #[test]
    fn memory_goes_where_misses_are_dear() {
        let text = |seed| format!("synth:loop:keys=100:size=const/100:requests=20000:seed={seed}");
        let load = Load::open(&[text(1), text(2)], &[100, 1_000]).unwrap();
        let tenants = tenants(&load, load.share(0.5), 1);
        let waited = -best(&tenants, |tenant, misses| -tenant.reads * misses * tenant.penalty_us);
        // The cheap loop misses all its reads, the dear one the first of each key.
        let least = 20_000.0 * 100.0 + 100.0 * 1_000.0;
        assert!((waited - least).abs() < 0.02 * least, "{waited}");
    }
}
