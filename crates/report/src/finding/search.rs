//! Searches a report for findings of every kind.

use super::{ALL, Finding};
use crate::Report;

/// All findings of a report, the most severe first and then by `worth_ms`.
pub fn all(report: &Report) -> Vec<Finding> {
    let mut found = vec![];
    for spec in ALL {
        let from = found.len();
        (spec.find)(report, &mut found);
        for finding in &mut found[from..] {
            spec.name.clone_into(&mut finding.finding);
        }
    }
    found.sort_by(|a, b| {
        b.severity.cmp(&a.severity).then_with(|| b.worth_ms.total_cmp(&a.worth_ms))
    });
    found
}
