//! More memory for all would save much of the waiting.

use super::{Finding, Report, Severity};
use crate::sizing::{divide, outlook};
use crate::words::{percent, size, wait};

/// The share of the waiting that twice the memory saves, at least.
const SAVED_MIN: f64 = 0.25;

/// Waiting that is worth a sentence, in milliseconds a second.
const WAIT_MIN_MS: f64 = 1.0;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    let now = divide(report, report.server.divided);
    let Some(twice) = outlook(report, 2 * report.server.divided) else { return };
    let saved = twice.saves_ms / now.wait_ms.max(f64::MIN_POSITIVE);
    if saved < SAVED_MIN || twice.saves_ms < WAIT_MIN_MS.max(twice.band_ms) {
        return;
    }
    found.push(Finding {
        severity: Severity::Advice,
        says: format!(
            "Twice the memory, {}, would save {} of waiting in every second, {} of it.",
            size(2 * report.server.maxmemory),
            wait(1e3 * twice.saves_ms),
            percent(saved)
        ),
        evidence: format!("Give or take {}.", wait(1e3 * twice.band_ms)),
        todo: format!("CONFIG SET maxmemory {}mb", report.server.maxmemory >> 19),
        worth_ms: twice.saves_ms,
        ..Finding::default()
    });
}
