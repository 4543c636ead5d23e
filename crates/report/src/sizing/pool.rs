//! One pool for all tenants, at any size and under any bounds.
//!
//! The curve of each tenant gives its memory at each size of the pool. Bounds change the memory of
//! one tenant and so the memory left to the others. The others then hold as much as in a pool of
//! another size. So the answer is the size at which the memory of all tenants, within their bounds,
//! adds up to the memory there is.

use super::fitted::Reading;
use super::{Division, Estimate, Sizing};
use crate::{Report, Tenant};

/// Bisection steps in the search for that size; more steps would change less than a byte in a
/// terabyte.
const STEPS: usize = 48;

/// Tenants that share a pool, with the sizing of each.
pub(crate) struct SharedPool<'a> {
    report: &'a Report,
    sizings: Vec<Option<Sizing<'a>>>,
}

/// The floor and the ceiling of a tenant, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Bounds {
    /// The bounds that are in force.
    pub(crate) fn of(tenant: &Tenant) -> Self {
        Self { min: tenant.min, max: tenant.max.unwrap_or(u64::MAX) }
    }
}

impl<'a> SharedPool<'a> {
    /// The pool of a report; `None` if its tenants do not share one, or no curve is known.
    pub(crate) fn of(report: &'a Report) -> Option<Self> {
        let is_shared =
            |tenant: &Tenant| tenant.curve.as_ref().is_none_or(|curve| !curve.pool.is_empty());
        if report.server.divided == 0 || !report.tenants.iter().all(is_shared) {
            return None;
        }
        let sizings: Vec<_> = report.tenants.iter().map(Sizing::in_pool).collect();
        sizings.iter().any(Option::is_some).then_some(Self { report, sizings })
    }

    /// Divides `memory` bytes within these bounds. The result is the middle of the two readings of
    /// plays, because the truth may lie anywhere between them.
    pub(crate) fn divide(&self, memory: u64, bounds: &[Bounds]) -> Division {
        let both = [Reading::Fitted, Reading::AsPlayed]
            .map(|reading| self.shares(memory, bounds, reading));
        let [fitted, played] = &both;
        let middle = |(one, other): (&u64, &u64)| one.midpoint(*other);
        let shares: Vec<_> = fitted.iter().zip(played).map(middle).collect();
        let ratios = self.sizings.iter().enumerate().map(|(at, sizing)| {
            let sizing = sizing.as_ref()?;
            // The miss ratio is that of the curve, as in every answer about this much memory.
            let ends = both.each_ref().map(|shares| sizing.at(shares[at]));
            Some(between(sizing.at(shares[at]), &ends))
        });
        let ratios = ratios.collect();
        Division::of(self.report, shares, ratios)
    }

    fn shares(&self, memory: u64, bounds: &[Bounds], reading: Reading) -> Vec<u64> {
        let tenants = &self.report.tenants;
        let used: u64 = tenants.iter().map(|tenant| tenant.used).sum();
        // Memory used for other things than items grows with the limit.
        let divided = self.report.server.divided as f64;
        let items = used as f64 * memory as f64 / divided;
        let held = |level: f64| -> Vec<f64> {
            let all = tenants.iter().zip(&self.sizings).zip(bounds);
            all.map(|((tenant, sizing), bounds)| {
                // A tenant without a curve holds the same part of any pool.
                let part = || tenant.used as f64 * level / divided;
                let free = sizing.map_or_else(part, |sizing| sizing.held(level, reading));
                // A floor gives no memory to a tenant whose keys already fit.
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
        // Floors may add up to more memory than there is.
        let asked: f64 = shares.iter().sum();
        if asked > 1.001 * items && asked > 0.0 {
            for share in &mut shares {
                *share *= items / asked;
            }
        }
        shares.into_iter().map(|share| share.round() as u64).collect()
    }
}

/// An estimate between two others, with a band wide enough for both.
fn between(middle: Estimate, [one, other]: &[Estimate; 2]) -> Estimate {
    let apart = (one.ratio - middle.ratio).abs().max((other.ratio - middle.ratio).abs());
    Estimate { band: one.band.max(other.band).hypot(apart), ..middle }
}
