//! Evidence that several kinds of findings rest on.

use crate::{Report, Tenant};
use base::Cause;

/// A tenant with fewer recent reads gets no finding.
pub(super) const READS_MIN: u64 = 1_000;

/// Tenants with enough recent reads for a finding.
pub(super) fn busy(report: &Report) -> impl Iterator<Item = &Tenant> {
    report.tenants.iter().filter(|tenant| tenant.recent.reads >= READS_MIN)
}

/// The part of a tenant's waiting that a share of its reads causes, in milliseconds per second.
pub(super) fn waiting_of(tenant: &Tenant, share_of_reads: f64) -> f64 {
    let ratio = tenant.recent.miss_ratio().unwrap_or_default();
    tenant.recent.wait_ms_per_s() * share_of_reads / ratio.max(f64::MIN_POSITIVE)
}

/// A cause is worth a finding from this share of the reads and this share of the misses on.
const POINTS_MIN: f64 = 0.03;
const SHARE_MIN: f64 = 0.25;

/// The share of a tenant's reads that miss for a cause, if that is worth a finding.
pub(super) fn much_missed(tenant: &Tenant, cause: Cause) -> Option<f64> {
    let points = tenant.recent.missed_for(cause)?;
    let ratio = tenant.recent.miss_ratio()?;
    (points >= POINTS_MIN && points >= SHARE_MIN * ratio).then_some(points)
}
