//! The effect of another memory limit.

use super::{SharedPool, Sizing, divide};
use crate::Report;

/// The effect of another memory limit on all tenants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// Memory for all tenants, in bytes.
    pub memory: u64,
    /// Waiting saved, in milliseconds per second; negative where waiting grows.
    pub saves_ms: f64,
    /// The band of the waiting to either side, in milliseconds per second.
    pub band_ms: f64,
    /// Whether `memory` exceeds the size at which all keys seen fit.
    pub is_beyond: bool,
}

/// The effect of `memory` bytes for all tenants; `None` where no curve is known or there is no
/// limit.
pub fn outlook(report: &Report, memory: u64) -> Option<Outlook> {
    let sizings: Vec<_> = report.tenants.iter().map(Sizing::of).collect();
    if sizings.iter().all(Option::is_none) || report.server.divided == 0 {
        return None;
    }
    let (now, then) = (divide(report, report.server.divided), divide(report, memory));
    let known = report.tenants.iter().zip(&sizings);
    let end: u64 =
        known.map(|(tenant, sizing)| sizing.as_ref().map_or(tenant.used, Sizing::end)).sum();
    if SharedPool::of(report).is_some() {
        // The bands of a pool are those of the difference from the measured figures.
        let saves_ms = now.wait_ms - then.wait_ms;
        let ends = sizings.iter().flatten().map(Sizing::pool_end);
        let is_beyond = memory > ends.max().unwrap_or_default();
        return Some(Outlook { memory, saves_ms, band_ms: then.band_ms, is_beyond });
    }
    // Both divisions rest on the same sample, so their errors are equal, except for the part of the
    // reads in which they differ.
    let saves_ms = now.wait_ms - then.wait_ms;
    let share = (saves_ms.abs() / now.wait_ms.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    let band_ms = now.band_ms.max(then.band_ms) * share.sqrt();
    Some(Outlook { memory, saves_ms, band_ms, is_beyond: memory > end })
}
