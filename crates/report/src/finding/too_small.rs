//! Twice the memory would save much of the waiting.

use super::{Finding, Severity, command};
use crate::Report;
use crate::claim;
use crate::words::{percent, size, wait};

/// The least share of the waiting that twice the memory must save.
const SAVED_MIN: f64 = 0.25;

/// The least saving that is worth a finding, in milliseconds per second.
const WAIT_MIN_MS: f64 = 1.0;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    let claims = claim::memory(report, 2 * report.server.divided);
    let Some(twice) = claims.first().filter(|twice| twice.is_sound()) else { return };
    let saves_ms = -twice.change();
    let saved = saves_ms / twice.now.max(f64::MIN_POSITIVE);
    if saved < SAVED_MIN || saves_ms < WAIT_MIN_MS {
        return;
    }
    let sets = vec![("maxmemory".to_owned(), format!("{}mb", report.server.maxmemory >> 19))];
    found.push(Finding {
        severity: Severity::Advice,
        says: format!(
            "Twice the memory, {}, would save {} of waiting per second, {} of the total.",
            size(2 * report.server.maxmemory),
            wait(1e3 * saves_ms),
            percent(saved)
        ),
        evidence: format!("Give or take {}.", wait(1e3 * twice.band())),
        todo: command(&sets),
        sets,
        worth_ms: saves_ms,
        claims,
        ..Finding::default()
    });
}
