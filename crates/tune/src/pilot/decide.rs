//! Decides whether a plan comes into force, and walks towards it.

use super::state::{Pilot, THRESHOLD_MAX};
use crate::record::Decision;
use crate::{Evictor, Plan, Recipe, Snapshot};
use base::Bytes;

/// The most memory that a pool loses in an epoch, as a share of its own.
const LOSS_MAX: f64 = 0.25;

/// Part of the required gain that suffices for a plan that costs no pool: the memory it moves had
/// no use, so it may gain little.
const HARMLESS: f64 = 0.2;

/// The most that losers may lose, as a part of the others' gain, in a plan that counts as costing
/// no pool.
const COST: f64 = 0.1;

/// Whether the plan makes no pool wait much longer.
fn costs_nobody(snapshot: &Snapshot, plan: &Plan, in_force: &[(Bytes, Evictor)]) -> bool {
    let (mut gained, mut lost) = (0.0, 0.0);
    for ((pool, share), &(budget, evictor)) in snapshot.pools.iter().zip(&plan.pools).zip(in_force)
    {
        let saved =
            snapshot.cost(pool, budget, evictor) - snapshot.cost(pool, share.budget, share.evictor);
        if saved > 0.0 { gained += saved } else { lost -= saved }
    }
    gained > 0.0 && lost <= COST * gained
}

/// Whether a policy is the recipe's first, which takes its place back without patience.
fn returns_to(recipe: &Recipe, evictor: Evictor) -> bool {
    recipe.patience_epochs > 0 && recipe.evictors[0] == evictor
}

impl Pilot {
    /// Decides whether the plan comes into force. Returns the decision, the promised gain and the
    /// required gain.
    pub(super) fn decide(
        &mut self,
        snapshot: &Snapshot,
        plan: &Plan,
        by_curves: bool,
    ) -> (Decision, f64, f64) {
        let threshold = self.threshold;
        if by_curves && snapshot.pools.iter().all(|pool| pool.candidates.is_empty()) {
            return (Decision::Learning, 0.0, threshold);
        }
        if self.only_watches {
            let gain = plan.gain();
            let is_enough = !by_curves || gain >= threshold;
            let is_other = plan.pools.iter().any(|share| {
                (share.budget, share.evictor) != (share.budget_now, share.evictor_now)
            });
            let decision = if is_enough && is_other { Decision::Advised } else { Decision::Kept };
            return (decision, gain, threshold);
        }
        let present: Vec<_> = self.pools.iter().map(|pool| (pool.budget, pool.evictor)).collect();
        if self.recipe.gain_min > 0.0 {
            if let Some(good) = self.trust.fall_back(self.epoch) {
                self.goal = Some(good);
                self.decided = self.epoch;
                self.last_moves.clear();
                self.threshold = (threshold * 2.0).min(THRESHOLD_MAX);
                return (Decision::FellBack, 0.0, threshold);
            }
            if self.trust.backs_off(self.epoch) {
                return (Decision::Cooling, 0.0, threshold);
            }
        }
        let in_force = self.goal.clone().unwrap_or_else(|| present.clone());
        let cost = snapshot.total(in_force.iter().copied());
        let gain = if cost > 0.0 { 1.0 - plan.cost / cost } else { 0.0 };
        // A promise is kept at any cost, and memory that it no longer needs is returned.
        let is_judged = by_curves && snapshot.goals.is_empty();
        // Curves from parts of the traffic are too noisy to show that a pool has no use for its
        // memory.
        let is_harmless = !self.recipe.seen_in_parts && costs_nobody(snapshot, plan, &in_force);
        let asked = if is_harmless { threshold * HARMLESS } else { threshold };
        let (shown, kept): (Vec<_>, Vec<_>) =
            plan.pools.iter().zip(&in_force).map(|(share, kept)| (share.evictor, kept.1)).unzip();
        let (first, epochs) = (self.recipe.evictors[0], self.recipe.patience_epochs);
        let is_enough = self.patience.is_enough(&shown, &kept, first, epochs);
        if is_judged && gain < asked || plan.division() == in_force || !is_enough {
            self.threshold = (threshold * 0.9).max(self.recipe.gain_min);
            return (Decision::Kept, gain, threshold);
        }
        let cooling = u64::from(self.recipe.cooling_epochs);
        let returns = shown.iter().all(|evictor| returns_to(&self.recipe, *evictor));
        if is_judged && !returns && self.decided > 0 && self.epoch - self.decided < cooling {
            return (Decision::Cooling, gain, threshold);
        }
        let moves: Vec<_> = plan
            .pools
            .iter()
            .zip(&present)
            .map(|(share, (budget, _))| share.budget.as_f64() - budget.as_f64())
            .collect();
        let taken_back: f64 = moves
            .iter()
            .zip(&self.last_moves)
            .filter(|(new, old)| new.signum() != old.signum())
            .map(|(new, old)| new.abs().min(old.abs()))
            .sum();
        let all: f64 = self.last_moves.iter().map(|old| old.abs()).sum();
        self.goal = Some(plan.division());
        self.decided = self.epoch;
        self.trust.adopt();
        self.last_moves = moves;
        if all > 0.0 && taken_back > 0.5 * all {
            self.threshold = (threshold * 2.0).min(THRESHOLD_MAX);
            return (Decision::Reversed, gain, threshold);
        }
        (Decision::Adopted, gain, threshold)
    }

    /// One bounded step from the present division towards the goal. Returns the bytes that pools
    /// gained.
    pub(super) fn walk(&mut self, by_curves: bool) -> Bytes {
        let Some(goal) = &self.goal else { return Bytes(0) };
        if !by_curves && self.recipe.pools.needs_pages() {
            // Such a planner chooses its own steps, a page at a time.
            let mut gained = Bytes(0);
            for (pool, &(budget, _)) in self.pools.iter_mut().zip(goal) {
                gained += budget.saturating_sub(pool.budget);
                pool.budget = budget;
            }
            return gained;
        }
        let cooling = u64::from(self.recipe.cooling_epochs);
        let mut wants = vec![0.0; self.pools.len()];
        for ((pool, want), &(budget, evictor)) in self.pools.iter_mut().zip(&mut wants).zip(goal) {
            let cooled = returns_to(&self.recipe, evictor)
                || pool.switched == 0
                || self.epoch - pool.switched >= cooling;
            if pool.evictor != evictor && cooled {
                pool.evictor = evictor;
                pool.switched = self.epoch;
                continue;
            }
            *want = budget.as_f64() - pool.budget.as_f64();
            // The last bit moves at once, or the walk would never end.
            let loss = LOSS_MAX * pool.budget.as_f64() + self.limit.as_f64() / 256.0;
            *want = want.max(-loss.min(pool.budget.as_f64()));
        }
        let given: f64 = wants.iter().map(|want| (-want).max(0.0)).sum();
        let asked: f64 = wants.iter().map(|want| want.max(0.0)).sum();
        let held: Bytes = self.pools.iter().map(|pool| pool.budget).sum();
        let spare = self.limit.saturating_sub(held).as_f64();
        let most = self.recipe.move_max * self.limit.as_f64();
        let moved = asked.min(given + spare).min(most);
        if moved < 1.0 {
            return Bytes(0);
        }
        // Spare memory is used before any pool loses memory.
        let taken = (moved - spare).max(0.0).min(given);
        let mut gained = Bytes(0);
        for (pool, want) in self.pools.iter_mut().zip(wants) {
            if want < 0.0 {
                let loss = Bytes((-want * taken / given).ceil() as u64);
                pool.budget = pool.budget.saturating_sub(loss);
            } else if want > 0.0 {
                let gain = Bytes((want * moved / asked) as u64);
                pool.budget += gain;
                gained += gain;
            }
        }
        gained
    }
}
