//! A tenant writes far more values than clients read.

use super::{Finding, Severity};
use crate::Report;
use crate::words::{count, size};

/// The least number of writes for each read, without the writes that fill a miss.
const WRITES_MIN: f64 = 5.0;
/// With fewer writes there is no finding.
const COUNTED_MIN: u64 = 10_000;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    for tenant in &report.tenants {
        let counters = &tenant.counters;
        let own = counters.writes.saturating_sub(counters.misses);
        let is_much = tenant.used > report.server.divided / 20;
        if own < COUNTED_MIN || (own as f64) < WRITES_MIN * counters.reads() as f64 || !is_much {
            continue;
        }
        let most = format!("{}mb", (tenant.used / 4).div_ceil(1 << 20));
        found.push(Finding {
            severity: Severity::Advice,
            tenant: Some(tenant.name.clone()),
            says: format!(
                "writes {} values for {} reads, and holds {}.",
                count(counters.writes),
                count(counters.reads()),
                size(tenant.used)
            ),
            evidence: "Clients never read most of the values it writes.".to_owned(),
            todo: format!(
                "`max {most}` limits its memory; or write only values that clients read."
            ),
            sets: vec![("max".to_owned(), most)],
            ..Finding::default()
        });
    }
}
