//! The theoretical bound: the division by a planner that knows the curves exactly, moves nothing
//! and keeps no floors.
//!
//! It is the dynamic program at the finest grain, without floors, caps, band or margin. With the
//! exact curves of a span of requests, its cost is a lower bound for every fixed division in that
//! span. (A division that changes within the span may do better.)

use super::{Spec, dp};
use crate::{Plan, Snapshot};
use base::Bytes;

/// The registry entry.
pub const SPEC: Spec = Spec { name: "bound", by_curves: true, plan };

fn plan(snapshot: &Snapshot) -> Plan {
    let pages = snapshot.pools.iter().filter_map(|pool| pool.slab.as_ref().map(|slab| slab.page));
    let units = match pages.max() {
        Some(page) if page > Bytes(0) => (snapshot.memory.0 / page.0) as usize,
        _ => dp::UNITS_MAX,
    };
    let mut free = snapshot.clone();
    free.units_max = units.clamp(1, dp::UNITS_MAX);
    free.band = None;
    free.switch_margin = 0.0;
    for pool in &mut free.pools {
        (pool.floor, pool.cap) = (Bytes(0), None);
    }
    let plan = (dp::SPEC.plan)(&free);
    Plan::of(SPEC.name, snapshot, &plan.division(), plan.notes)
}

#[cfg(test)]
mod tests {
    use super::super::test_slabs::{curve, look, pages, snapshot};
    use super::*;

    /// LAMA's figure 2, by its curves: class 2 gives up a page that PSA never moves.
    #[test]
    fn finds_the_best_of_figure_2() {
        let mut figure = snapshot(&[(1, look(6, 6)), (2, look(13, 4))]);
        for (pool, costs) in figure.pools.iter_mut().zip([[6., 6., 0., 0.], [13., 4., 0., 0.]]) {
            pool.reads_per_s = costs[0];
            pool.candidates = curve(&costs.map(|misses| misses / costs[0]));
            pool.floor = Bytes(1_000);
        }
        let plan = plan(&figure);
        assert_eq!(pages(&plan), [2, 1]);
        assert!((plan.cost - 4.0).abs() < 1e-9);
    }
}
