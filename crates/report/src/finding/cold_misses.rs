//! Many reads ask for keys that were never written, which memory does not help.

use super::evidence::{busy, much_missed, waiting_of};
use super::{Finding, Severity};
use crate::Report;
use crate::words::{percent, span};
use base::Cause;

/// A cache that started less than this many seconds ago is young.
const YOUNG_S: u64 = 600;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    let uptime_s = report.server.uptime_s;
    let young = if uptime_s < YOUNG_S {
        format!(" But the cache started {} ago, and most keys are new to it.", span(uptime_s))
    } else {
        String::new()
    };
    // While a cache fills, most keys are new to it.
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
            evidence: format!("That is {} of its misses.{young}", percent(cold / ratio)),
            todo: "If the application knows these keys in advance, write them before clients read \
                   them."
                .to_owned(),
            worth_ms: waiting_of(tenant, cold),
            ..Finding::default()
        });
    }
}
