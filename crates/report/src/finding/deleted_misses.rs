//! Many reads ask for keys that clients had deleted.

use super::evidence::{busy, much_missed, waiting_of};
use super::{Finding, Severity};
use crate::Report;
use crate::words::percent;
use base::Cause;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    for tenant in busy(report) {
        let Some(deleted) = much_missed(tenant, Cause::Deleted) else { continue };
        let of_misses = deleted / tenant.recent.miss_ratio().unwrap_or(1.0);
        found.push(Finding {
            severity: Severity::Advice,
            tenant: Some(tenant.name.clone()),
            says: format!("{} of its misses are reads of deleted keys.", percent(of_misses)),
            evidence: format!("That is {} of its reads.", percent(deleted)),
            todo: "Clients that change data can write the new value instead of sending DEL."
                .to_owned(),
            worth_ms: waiting_of(tenant, deleted),
            ..Finding::default()
        });
    }
}
