//! One key has so large a share of the requests that it limits the gain from more threads.

use super::evidence::busy;
use super::{Finding, Severity};
use crate::Report;
use crate::words::{count, percent, quoted};

/// The share of all requests from which a key limits the gain from more threads or nodes: at 0.2,
/// ten of them serve at most five times as much as one.
const SHARE_MIN: f64 = 0.2;

/// With fewer reads per second, one thread serves any key.
const BUSY: f64 = 1_000.0;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    let all = report.recent.reads_per_s();
    for tenant in busy(report) {
        let Some(hot) = tenant.hot_keys.first() else { continue };
        let own = hot.share * tenant.recent.reads_per_s();
        if all < BUSY || own < SHARE_MIN * all {
            continue;
        }
        found.push(Finding {
            severity: Severity::Advice,
            tenant: Some(tenant.name.clone()),
            says: format!(
                "uses the key {} in {} of its requests.",
                quoted(&hot.key),
                percent(hot.share)
            ),
            evidence: format!(
                "All tenants together send {} requests per second.",
                count(all as u64)
            ),
            todo: "Keep it in the clients for a second (CLIENT TRACKING reports its changes), or \
                   store several copies of it."
                .to_owned(),
            ..Finding::default()
        });
    }
}
