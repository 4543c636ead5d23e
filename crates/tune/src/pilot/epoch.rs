//! The loop: looks at the plant, and the end of an epoch.

use super::state::{Pilot, Steered, held};
use crate::budgets::fit;
use crate::record::{Epoch, PoolEpoch};
use crate::trust::Trust;
use crate::{Plant, PoolStep, Reading, Step, planner, slab};
use base::{Bytes, Filter, Micros};

/// Epochs the pilot remembers.
const HISTORY_MAX: usize = 240;

impl Pilot {
    /// Looks at the plant once, and applies a step at the end of an epoch. Returns true if an epoch
    /// ended. Call it several times an epoch, so that the plant's queue of samples stays short.
    pub fn tick(&mut self, plant: &mut dyn Plant) -> bool {
        let mut reading = plant.read();
        self.views.form(&self.recipe, &reading, self.seed);
        if self.form_pools(&reading) {
            self.send(plant);
        }
        if std::mem::take(&mut self.is_moved) {
            self.take_natural(&reading);
            (self.goal, self.last_moves, self.trust) = (None, vec![], Trust::default());
            self.decided = self.epoch;
            self.send(plant);
        }
        if self.brake(&reading) {
            self.send(plant);
        }
        self.learn(&mut reading);
        let gets = reading.tenants.iter().map(|tenant| tenant.gets).sum::<u64>();
        let (begun, gets_before) = *self.begun.get_or_insert((reading.now, gets));
        let is_over = match self.recipe.interval {
            0 => reading.now.saturating_sub(begun) >= self.recipe.epoch,
            interval => {
                // An epoch lasts until the pools turn over, but at least a sixteenth of the
                // interval and at most all of it. The first plan determines the turnover, so the
                // first epoch is short.
                let early = interval / 16;
                let is_first = self.recipe.turnover && self.epoch == 0;
                let unknown = if is_first { early } else { interval };
                let reads = self.turnover.map_or(unknown, |t| t.clamp(early, interval));
                gets.saturating_sub(gets_before) + self.carried >= reads
            }
        };
        if !is_over || reading.limit == Bytes(0) {
            return false;
        }
        (self.begun, self.carried) = (Some((reading.now, gets)), 0);
        self.epoch += 1;
        let steered = self.end_epoch(&reading, reading.now.saturating_sub(begun));
        if steered {
            self.send(plant);
        }
        true
    }

    /// Returns at once to an earlier division, because the load for which it was made is expected
    /// again. Its outcome is judged like the outcome of a plan.
    pub fn restore(&mut self, division: &[(String, Bytes)], plant: &mut dyn Plant) {
        let of = |pool: &Steered| division.iter().find(|(name, _)| *name == pool.name);
        let wanted: Vec<_> =
            self.pools.iter().map(|pool| of(pool).map_or(pool.budget, |(_, was)| *was)).collect();
        let bounds = vec![(Bytes(0), None); wanted.len()];
        for (pool, budget) in self.pools.iter_mut().zip(fit(&wanted, &bounds, self.limit)) {
            pool.budget = budget;
        }
        self.goal = None;
        self.decided = self.epoch;
        self.send(plant);
    }

    /// Adopts the actual division at the next tick. Call it after memory was moved outside the
    /// plan: the plan and its forecasts no longer hold.
    pub const fn follow(&mut self) {
        self.is_moved = true;
    }

    /// Lets the plant carry out the division in force.
    fn send(&mut self, plant: &mut dyn Plant) {
        let step = self.step();
        plant.apply(&step);
        self.sent = Some(step);
    }

    /// The division in force, as a step for the plant.
    pub(super) fn step(&mut self) -> Step {
        for pool in &mut self.pools {
            if let Some(watch) = &mut pool.watch {
                watch.resize(pool.budget);
            }
        }
        let pools = self.pools.iter().map(|pool| PoolStep {
            tenants: pool.tenants.clone(),
            class: pool.class,
            budget: pool.budget,
            evictor: pool.evictor,
            filter: if self.limit == Bytes(0) { Filter::NONE } else { pool.filter() },
        });
        Step { pools: pools.collect(), prices: self.prices.in_force().to_vec() }
    }

    /// Measures, plans, decides and walks. Returns true if the plant needs a new step.
    fn end_epoch(&mut self, reading: &Reading, length: Micros) -> bool {
        self.measure(reading, length);
        if self.recipe.has_prices() {
            self.prices.set(reading);
        }
        self.views.epoch(self.recipe.keep);
        self.lend_idle(reading);
        self.windows.epoch(reading);
        if self.is_first_come() || self.only_watches {
            self.take_natural(reading);
        }
        let snapshot = self.snapshot(reading);
        let planner = planner::find(self.recipe.planner)
            .unwrap_or_else(|error| panic!("{}: {error}", self.recipe.name));
        let plan = (planner.plan)(&snapshot);
        self.judge();
        let page = snapshot.pools.iter().find_map(|pool| Some(pool.slab.as_ref()?.page));
        self.turnover = page.filter(|_| self.recipe.turnover).and_then(|page| {
            let moved = self.recipe.move_max * self.limit.as_f64() / page.as_f64();
            slab::turnover(&snapshot.pools, moved as u64)
        });
        if snapshot.goals.iter().any(|promise| slab::is_broken(promise, &snapshot.pools)) {
            // A broken promise needs the next plan at once, without waiting for the effect of the
            // last one.
            self.turnover = self.turnover.map(|_| 0);
        }
        let (decision, gain, threshold) = self.decide(&snapshot, &plan, planner.by_curves);
        let moved = self.walk(planner.by_curves);
        self.plan = Some(plan);
        let pools = self.pools.iter().zip(&snapshot.pools).map(|(pool, known)| PoolEpoch {
            name: pool.name.clone(),
            budget: pool.budget,
            evictor: pool.evictor,
            used: pool.used,
            pages: known.slab.as_ref().map(|slab| slab.pages),
            reads_per_s: pool.reads_per_s,
            penalty_us: pool.penalty_us,
            forecast: pool.forecast(known),
            outcome: None,
        });
        let pools = pools.collect();
        for pool in &mut self.pools {
            pool.held = held(pool);
        }
        let at_s = reading.now.as_f64() / 1e6;
        if self.history.len() == HISTORY_MAX {
            self.history.pop_front();
        }
        self.history.push_back(Epoch {
            epoch: self.epoch,
            at_s,
            decision,
            gain,
            threshold,
            moved,
            forecast: None,
            outcome: None,
            band: None,
            pools,
        });
        // The models narrow their filters between steps, so the last step sent is what counts.
        let step = self.step();
        self.sent.as_ref() != Some(&step)
    }

    /// Compares the forecasts of the epoch before with the actual miss ratios.
    fn judge(&mut self) {
        let present = self.pools.iter().map(|pool| (pool.budget, pool.evictor)).collect();
        self.trust.begin(present);
        let Some(last) = self.history.back_mut() else { return };
        if let Some(verdict) = self.trust.judge(&last.pools, self.goal.as_ref()) {
            last.forecast = Some(verdict.forecast);
            last.outcome = Some(verdict.outcome);
            last.band = Some(verdict.band);
        }
    }
}
