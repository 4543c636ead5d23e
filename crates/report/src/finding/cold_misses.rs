//! Many reads are the first of their key: no memory helps those.

use super::{Finding, Report, Severity, much_missed, waiting_of};
use crate::words::{count, percent, points};
use base::Cause;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    for tenant in super::busy(report) {
        let Some(cold) = much_missed(tenant, Cause::NeverSeen) else { continue };
        let ratio = tenant.recent.miss_ratio().unwrap_or_default();
        found.push(Finding {
            severity: Severity::Note,
            tenant: Some(tenant.name.clone()),
            says: format!(
                "misses {}, and {} of that are reads of keys that nobody had written: no memory \
                 helps those.",
                percent(ratio),
                points(cold)
            ),
            evidence: format!("Of {} sampled misses.", count(tenant.recent.sampled)),
            todo: "Write these keys before they are asked for, where it is known which will be."
                .to_owned(),
            worth_ms: waiting_of(tenant, cold),
            ..Finding::default()
        });
    }
}
