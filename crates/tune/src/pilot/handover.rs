//! The state that a pilot passes to its successor when the server restarts.

use super::state::{Pilot, Steered, THRESHOLD_MAX};
use crate::known::{self, Known, KnownPool};
use crate::{Evictor, Plant};
use base::Bytes;

impl Pilot {
    /// Takes in the plant's data since the last tick, as the pilot's last step before
    /// [`Pilot::known`].
    pub fn end(&mut self, plant: &mut dyn Plant) {
        let mut reading = plant.read();
        self.learn(&mut reading);
        let gets = reading.tenants.iter().map(|tenant| tenant.gets).sum::<u64>();
        self.carried += self.begun.map_or(0, |(_, before)| gets.saturating_sub(before));
    }

    /// The pilot's state, for its successor.
    pub fn known(&self) -> Known {
        let pool = |(at, pool): (usize, &Steered)| {
            let goal = self.goal.as_ref().and_then(|goal| goal.get(at));
            let known = KnownPool {
                name: pool.name.clone(),
                budget: pool.budget.0,
                evictor: pool.evictor.to_string(),
                goal: goal.map(|(budget, evictor)| (budget.0, evictor.to_string())),
                reads_per_s: pool.reads_per_s,
                ops_per_s: pool.ops_per_s,
                penalty_us: pool.penalty_us,
                ..KnownPool::default()
            };
            pool.watch.as_ref().map_or(known.clone(), |watch| watch.known(known))
        };
        Known {
            recipe: self.recipe.name.to_owned(),
            memory: self.limit.0,
            epoch: self.epoch,
            reads: self.carried,
            samples: self.samples,
            threshold: self.threshold,
            pools: self.pools.iter().enumerate().map(pool).collect(),
        }
    }

    /// Continues, from the next tick, where an earlier pilot with the same recipe ended.
    pub fn recall(&mut self, known: Known) {
        if known.recipe == self.recipe.name {
            self.pools.clear();
            self.limit = Bytes(known.memory);
            self.epoch = self.epoch.max(known.epoch);
            self.samples += known.samples;
            self.carried = known.reads;
            self.threshold = known.threshold.clamp(self.recipe.gain_min, THRESHOLD_MAX);
            self.recalled = Some(known);
        }
    }

    /// Gives each pool the memory it had, and each fresh pool its earlier curves and rates. Returns
    /// the earlier goal, if it names all pools.
    pub(super) fn take_over(
        &mut self,
        known: &Known,
        is_fresh: &[bool],
    ) -> Option<Vec<(Bytes, Evictor)>> {
        let mut goals = vec![];
        for (pool, is_fresh) in self.pools.iter_mut().zip(is_fresh) {
            let Some(old) = known.pools.iter().find(|old| old.name == pool.name) else {
                goals.push(None);
                continue;
            };
            let evictor = |name: &str| known::find(self.recipe.evictors, name);
            pool.budget = Bytes(old.budget);
            pool.evictor = evictor(&old.evictor).unwrap_or(pool.evictor);
            if *is_fresh {
                (pool.reads_per_s, pool.ops_per_s) = (old.reads_per_s, old.ops_per_s);
                pool.penalty_us = old.penalty_us;
                if let Some(watch) = &mut pool.watch {
                    watch.recall(old);
                }
            }
            let goal = old.goal.as_ref();
            goals.push(goal.and_then(|(budget, name)| Some((Bytes(*budget), evictor(name)?))));
        }
        goals.into_iter().collect()
    }
}
