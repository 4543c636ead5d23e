//! Many reads ask for keys that were never written, which memory does not help.

use super::evidence::{busy, much_missed, waiting_of};
use super::{Finding, Severity};
use crate::Report;
use crate::words::percent;
use base::Cause;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    // Most keys are new to a young cache, and to a tenant that reads fewer and fewer of them.
    if report.is_young() {
        return;
    }
    for tenant in busy(report).filter(|tenant| !tenant.first_reads_fall) {
        let Some(cold) = much_missed(tenant, Cause::NeverSeen) else { continue };
        let ratio = tenant.recent.miss_ratio().unwrap_or_default();
        found.push(Finding {
            severity: Severity::Note,
            tenant: Some(tenant.name.clone()),
            says: format!(
                "{} of its reads ask for keys that were never written before: memory does not help \
                 these reads.",
                percent(cold)
            ),
            evidence: format!("That is {} of its misses.", percent(cold / ratio)),
            todo: "If the application knows these keys in advance, write them before clients read \
                   them."
                .to_owned(),
            worth_ms: waiting_of(tenant, cold),
            ..Finding::default()
        });
    }
}
