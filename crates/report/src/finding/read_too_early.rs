//! Clients read keys before their writer has written them.

use super::evidence::{busy, much_missed, waiting_of};
use super::{Finding, Severity};
use crate::Report;
use crate::words::percent;
use base::Cause;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    for tenant in busy(report) {
        let Some(early) = much_missed(tenant, Cause::TooEarly) else { continue };
        let of_misses = early / tenant.recent.miss_ratio().unwrap_or(1.0);
        found.push(Finding {
            severity: Severity::Advice,
            tenant: Some(tenant.name.clone()),
            says: format!(
                "{} of its misses are reads of keys that were written only later, independently of \
                 the read.",
                percent(of_misses)
            ),
            evidence: format!("That is {} of its reads.", percent(early)),
            todo: "Write the keys earlier, or let readers fetch and write what they miss."
                .to_owned(),
            worth_ms: waiting_of(tenant, early),
            ..Finding::default()
        });
    }
}
