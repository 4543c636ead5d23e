//! A division of memory, and its effect.

use super::{Estimate, waits};
use crate::Report;

/// A division of memory among all tenants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Division {
    /// Bytes of each tenant, in the order of the report.
    pub shares: Vec<u64>,
    /// The miss ratio of each tenant, where its curve is known.
    pub ratios: Vec<Option<Estimate>>,
    /// Waiting for misses of all tenants, in milliseconds per second.
    pub wait_ms: f64,
    /// The band of the waiting to either side, in milliseconds per second.
    pub band_ms: f64,
}

impl Division {
    /// The division with these shares and miss ratios, with the waiting that follows from them.
    pub(crate) fn of(report: &Report, shares: Vec<u64>, ratios: Vec<Option<Estimate>>) -> Self {
        let known = report.tenants.iter().zip(&ratios).zip(&shares);
        let each = known.map(|((tenant, ratio), share)| {
            if let Some(ratio) = ratio {
                return waits(tenant, *ratio);
            }
            // Without a curve, a tenant that keeps its memory goes on waiting as long as now.
            let ratio = tenant.recent.wait_ms_per_s();
            let moved = tenant.used.abs_diff(*share) as f64 / tenant.used.max(1) as f64;
            Estimate { ratio, band: ratio * moved.min(1.0) }
        });
        let each: Vec<_> = each.collect();
        Self {
            wait_ms: each.iter().map(|wait| wait.ratio).sum(),
            // The errors of tenants are independent.
            band_ms: each.iter().map(|wait| wait.band * wait.band).sum::<f64>().sqrt(),
            shares,
            ratios,
        }
    }
}
