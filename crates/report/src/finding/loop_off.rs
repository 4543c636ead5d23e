//! The loop is off, so causes of misses and other sizes are not measured.

use super::{Finding, Severity, command};
use crate::Report;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    if report.is_steered() {
        return;
    }
    let sets =
        ["maxmemory-policy", "recipe"].map(|name| (name.to_owned(), "auto".to_owned())).into();
    found.push(Finding {
        severity: Severity::Note,
        says:
            "Self-tuning is off: causes of misses and forecasts for other sizes are not measured."
                .to_owned(),
        evidence: format!("maxmemory-policy is {}.", report.server.policy),
        todo: command(&sets),
        sets,
        ..Finding::default()
    });
}
