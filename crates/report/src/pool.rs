//! One pool for all tenants at any size and under any bounds.
//!
//! The curve of each tenant says what it holds at each size of the pool. Bounds change what a
//! tenant holds, and with it how much is left to the others: they then hold what they would in a
//! pool of another size. So the answer is the one size at which all that is held, within its
//! bounds, is as much as there is.

use crate::sizing::{Division, Reading, Sizing, between};
use crate::{Report, Tenant};

/// Halvings in the search for the size: beyond, the difference is less than a byte in a terabyte.
const STEPS: usize = 48;

/// Tenants that share a pool, with what is known of each.
pub(crate) struct Pool<'a> {
    report: &'a Report,
    sizings: Vec<Option<Sizing<'a>>>,
}

/// The bounds of a tenant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Bounds {
    /// The bounds in force.
    pub(crate) fn of(tenant: &Tenant) -> Self {
        Self { min: tenant.min, max: tenant.max.unwrap_or(u64::MAX) }
    }
}

impl<'a> Pool<'a> {
    /// The pool of a report whose tenants share one.
    pub(crate) fn of(report: &'a Report) -> Option<Self> {
        let is_shared =
            |tenant: &Tenant| tenant.curve.as_ref().is_none_or(|curve| !curve.pool.is_empty());
        if report.server.divided == 0 || !report.tenants.iter().all(is_shared) {
            return None;
        }
        let sizings: Vec<_> = report.tenants.iter().map(Sizing::in_pool).collect();
        sizings.iter().any(Option::is_some).then_some(Self { report, sizings })
    }

    /// So much memory for all, within these bounds. Between the two readings of what plays hold the
    /// truth is anywhere.
    pub(crate) fn divide(&self, memory: u64, bounds: &[Bounds]) -> Division {
        let both = [Reading::Fitted, Reading::AsPlayed]
            .map(|reading| self.shares(memory, bounds, reading));
        let [fitted, played] = &both;
        let shares = fitted.iter().zip(played).map(|(one, other)| one.midpoint(*other)).collect();
        let ratios = self.sizings.iter().enumerate().map(|(at, sizing)| {
            let sizing = sizing.as_ref()?;
            Some(between(&both.each_ref().map(|shares| sizing.at(shares[at]))))
        });
        Division::of(self.report, shares, ratios.collect())
    }

    fn shares(&self, memory: u64, bounds: &[Bounds], reading: Reading) -> Vec<u64> {
        let tenants = &self.report.tenants;
        let used: u64 = tenants.iter().map(|tenant| tenant.used).sum();
        // The memory beside items grows with the limit.
        let divided = self.report.server.divided as f64;
        let items = used as f64 * memory as f64 / divided;
        let held = |level: f64| -> Vec<f64> {
            let all = tenants.iter().zip(&self.sizings).zip(bounds);
            all.map(|((tenant, sizing), bounds)| {
                // A tenant without a curve holds as large a part of any pool.
                let part = || tenant.used as f64 * level / divided;
                let free = sizing.map_or_else(part, |sizing| sizing.held(level, reading));
                // A floor gives nothing to a tenant that has no more to put there.
                let all = sizing.map_or(u64::MAX, |sizing| sizing.end().max(tenant.used));
                free.max(bounds.min.min(all) as f64).min(bounds.max as f64)
            })
            .collect()
        };
        let ends = self.sizings.iter().flatten().map(Sizing::pool_end);
        let (mut low, mut high) = (0.0, ends.max().unwrap_or_default() as f64);
        if held(high).iter().sum::<f64>() > items {
            for _ in 0..STEPS {
                let middle = f64::midpoint(low, high);
                if held(middle).iter().sum::<f64>() > items { high = middle } else { low = middle }
            }
        }
        let mut shares = held(high);
        // Floors may ask for more than there is.
        let asked: f64 = shares.iter().sum();
        if asked > 1.001 * items && asked > 0.0 {
            for share in &mut shares {
                *share *= items / asked;
            }
        }
        shares.into_iter().map(|share| share.round() as u64).collect()
    }
}
