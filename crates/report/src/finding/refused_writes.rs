//! Writes were refused because there was no room and nothing could be evicted.

use super::{Finding, Severity, command};
use crate::Report;
use crate::words::count;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    let server = &report.server;
    if server.refused == 0 {
        return;
    }
    let never_evicts = server.policy == "noeviction";
    let lets_evict = ("maxmemory-policy".to_owned(), "auto".to_owned());
    let sets = if never_evicts { vec![lets_evict] } else { vec![] };
    found.push(Finding {
        severity: Severity::Warning,
        says: format!("{} writes were refused for lack of memory.", count(server.refused)),
        evidence: if never_evicts {
            "maxmemory-policy is noeviction.".to_owned()
        } else {
            "The remaining items may not be evicted, or a value is too large.".to_owned()
        },
        todo: if never_evicts {
            command(&sets)
        } else {
            "Raise maxmemory, or lower the `min` and `max` of some tenants.".to_owned()
        },
        sets,
        ..Finding::default()
    });
}
