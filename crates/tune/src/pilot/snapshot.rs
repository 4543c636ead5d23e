//! The input of planners: every pool with its curves, rates, penalties and bounds.

use super::state::Pilot;
use crate::budgets::members;
use crate::planner::dp;
use crate::plant::Goal;
use crate::snapshot::{Candidate, Pool, Promise};
use crate::{Reading, Snapshot, slab};
use base::Bytes;
use curve::MissRatioCurve;

/// Below this share of all reads a pool counts as idle: its memory is free for others.
const IDLE: f64 = 1e-4;

impl Pilot {
    pub(super) fn snapshot(&self, reading: &Reading) -> Snapshot {
        let reads: f64 = self.pools.iter().map(|pool| pool.reads_per_s).sum();
        let pools = self.pools.iter().map(|pool| {
            let (floor, cap) = self.bounds(reading, pool);
            let mut candidates = pool.watch.as_ref().map_or(vec![], |w| w.curves().to_vec());
            let slab = pool
                .class
                .filter(|_| pool.sizes.is_some())
                .and_then(|class| self.windows.slab(pool.tenants[0], class));
            if let Some(slab) = slab.as_ref().filter(|_| self.recipe.seen_in_parts)
                && candidates.iter().any(|known| !slab.is_reached_by(&known.curve))
            {
                candidates.clear();
            }
            if let Some(curve) = slab
                .as_ref()
                .filter(|_| candidates.is_empty())
                .and_then(|slab| slab.straight().filter(|_| pool.watch.is_some()))
            {
                candidates = vec![Candidate::new(pool.evictor, curve)];
            }
            // Items without a measured penalty hardly stay: their pool needs only the memory it
            // uses.
            let is_empty = pool.class == Some(0)
                && pool.sizes.is_none()
                && candidates.is_empty()
                && pool.used.0 < pool.budget.0 / 2;
            if pool.watch.is_some() && (pool.reads_per_s <= IDLE * reads || is_empty) {
                // A pool without reads has no misses: more memory would not help.
                let curve = MissRatioCurve::new([]);
                candidates = vec![Candidate::new(pool.evictor, curve)];
            }
            let weights = members(reading, &pool.tenants).map(|tenant| tenant.weight);
            Pool {
                name: pool.name.clone(),
                candidates,
                reads_per_s: pool.reads_per_s,
                penalty_us: pool.penalty_us,
                weight: weights.sum::<f64>() / pool.tenants.len().max(1) as f64,
                floor,
                cap,
                budget: pool.budget,
                evictor: pool.evictor,
                dearness: reading.dearness(pool.evictor),
                asked: None,
                slab,
            }
        });
        let pools: Vec<_> = pools.collect();
        let page = pools.iter().find_map(|pool: &Pool| Some(pool.slab.as_ref()?.page));
        let units = |page: Bytes| (reading.limit.0 / (page.0 * self.recipe.grain).max(1)) as usize;
        Snapshot {
            memory: reading.limit,
            units_max: page.map_or_else(
                || dp::units_for(self.pools.len()),
                |page| units(page).clamp(1, slab::UNITS_MAX),
            ),
            band: None,
            objective: self.recipe.objective,
            switch_margin: self.recipe.switch_margin,
            pools,
            goals: self.promises(reading),
        }
    }

    /// The promises to the owners of pools.
    fn promises(&self, reading: &Reading) -> Vec<Promise> {
        let promise = |goal: &Goal| {
            let name = members(reading, &[goal.tenant]).next()?.name.clone();
            let own = |at: &usize| self.pools[*at].tenants == [goal.tenant];
            let pools: Vec<_> = (0..self.pools.len()).filter(own).collect();
            let (target, priority) = (goal.target, goal.priority);
            (!pools.is_empty()).then_some(Promise { name, pools, target, priority })
        };
        reading.goals.iter().filter_map(promise).collect()
    }
}
