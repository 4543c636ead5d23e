//! Writes were refused because there was no room and nothing could be evicted.

use super::{Finding, Severity};
use crate::Report;
use crate::words::count;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    let server = &report.server;
    if server.refused == 0 {
        return;
    }
    let never_evicts = server.policy == "noeviction";
    found.push(Finding {
        severity: Severity::Warning,
        says: format!("{} writes were refused for lack of memory.", count(server.refused)),
        evidence: if never_evicts {
            "maxmemory-policy is noeviction.".to_owned()
        } else {
            "The remaining items may not be evicted, or a value is too large.".to_owned()
        },
        todo: if never_evicts {
            "CONFIG SET maxmemory-policy auto".to_owned()
        } else {
            "Raise maxmemory, or lower the `min` and `max` of some tenants.".to_owned()
        },
        ..Finding::default()
    });
}
