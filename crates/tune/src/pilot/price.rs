//! The price of each tenant's waiting where all share one pool: its weight, or more while its
//! promise is broken.
//!
//! A promise is a bound in a problem that minimises the total waiting. Its multiplier is the factor
//! by which the tenant's waiting must count more for the bound to hold. Dual ascent finds it: the
//! multiplier rises while the bound is broken, and falls to one while it holds. The factor may be
//! near one, or a hundred where the tenant's misses are cheap beside the others'. So the steps are
//! those of its logarithm.
//!
//! ```text
//!   price = weight · e^μ        μ ← max(0, μ + η · (measured - target) / target)   an epoch
//! ```
//!
//! No curve is needed: the target is measured directly, and no memory is set aside.

use crate::plant::{Goal, Target};
use crate::{Reading, TenantReading};
use base::TenantId;
use std::collections::HashMap;

/// Change of the logarithm in an epoch for an error of the whole target, and the largest change.
const STEP: f64 = 0.2;
const STEP_MAX: f64 = 0.5;
/// The largest logarithm: memory cannot keep a promise that needs more.
const MU_MAX: f64 = 12.0;
/// The fewest reads behind a measurement.
const READS_MIN: u64 = 200;

/// The prices of tenants, with the multipliers of their promises.
#[derive(Debug, Default)]
pub(super) struct Prices {
    multipliers: HashMap<TenantId, Multiplier>,
    /// Prices by tenant; empty if all are one.
    in_force: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Multiplier {
    mu: f64,
    /// Counts as of the last measurement.
    gets: u64,
    misses: u64,
}

impl Multiplier {
    /// Adjusts the multiplier to the counts since the last measurement, if there are enough reads.
    fn rise(&mut self, tenant: &TenantReading, target: Target) {
        let gets = tenant.gets.saturating_sub(self.gets);
        if gets < READS_MIN {
            return;
        }
        let ratio = tenant.misses.saturating_sub(self.misses) as f64 / gets as f64;
        (self.gets, self.misses) = (tenant.gets, tenant.misses);
        let (measured, target) = match target {
            Target::MissRatio(target) => (ratio, target),
            Target::MeanUs(target) => match tenant.penalty {
                Some(penalty) => (ratio * penalty.as_f64(), target),
                None => return,
            },
        };
        let off = (measured - target) / target.max(1e-6);
        self.mu += (STEP * off).clamp(-STEP_MAX, STEP_MAX);
        self.mu = self.mu.clamp(0.0, MU_MAX);
    }
}

impl Prices {
    /// The present prices by tenant; empty if all are one.
    pub(super) fn in_force(&self) -> &[f64] {
        &self.in_force
    }

    /// Sets the prices at the end of an epoch.
    pub(super) fn set(&mut self, reading: &Reading) {
        self.multipliers.retain(|id, _| reading.goals.iter().any(|goal| goal.tenant == *id));
        for &Goal { tenant, target, .. } in &reading.goals {
            let Some(tenant) = reading.tenants.iter().find(|known| known.id == tenant) else {
                continue;
            };
            let TenantReading { gets, misses, .. } = *tenant;
            let new = Multiplier { mu: 0.0, gets, misses };
            self.multipliers.entry(tenant.id).or_insert(new).rise(tenant, target);
        }
        let price = |tenant: &TenantReading| {
            tenant.weight * self.multipliers.get(&tenant.id).map_or(1.0, |known| known.mu.exp())
        };
        let most = reading.tenants.iter().map(|tenant| usize::from(tenant.id) + 1).max();
        let mut prices = vec![1.0; most.unwrap_or_default()];
        for tenant in &reading.tenants {
            prices[usize::from(tenant.id)] = price(tenant);
        }
        let is_plain = prices.iter().all(|price| *price == 1.0);
        self.in_force = if is_plain { vec![] } else { prices };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(gets: u64, misses: u64) -> Reading {
        let tenant =
            |id, weight| TenantReading { id, gets, misses, weight, ..TenantReading::default() };
        let goal = Goal { tenant: 1, target: Target::MissRatio(0.1), priority: 0 };
        Reading {
            tenants: vec![tenant(0, 2.0), tenant(1, 1.0)],
            goals: vec![goal],
            ..Reading::default()
        }
    }

    #[test]
    fn a_broken_promise_raises_the_price_and_a_kept_one_lowers_it() {
        let mut prices = Prices::default();
        prices.set(&reading(0, 0));
        assert_eq!(prices.in_force(), [2.0, 1.0]);
        prices.set(&reading(1_000, 150));
        let off = (prices.in_force()[1].ln() - 0.1).abs();
        assert!(off < 1e-9, "half of the target too many");
        prices.set(&reading(1_100, 250));
        let off = (prices.in_force()[1].ln() - 0.1).abs();
        assert!(off < 1e-9, "too few reads");
        prices.set(&reading(2_000, 1_000));
        let off = (prices.in_force()[1].ln() - 0.6).abs();
        assert!(off < 1e-9, "by no more than a half");
        (3..20).for_each(|epoch| prices.set(&reading(epoch * 1_000, 1_000)));
        assert_eq!(prices.in_force(), [2.0, 1.0]);
        let mut plain = reading(20_000, 1_000);
        plain.goals.clear();
        plain.tenants[0].weight = 1.0;
        prices.set(&plain);
        assert!(prices.in_force().is_empty() && prices.multipliers.is_empty());
    }
}
