//! Forecasts were too often wrong to be relied on.

use super::{Finding, Severity};
use crate::Report;
use crate::words::{comparisons, points};

/// Minutes with a forecast that this finding needs, at least.
const COUNT_MIN: u64 = 30;
/// Forecasts are unreliable if a twentieth of them was off by at least this difference of miss
/// ratios.
const MOST: f64 = 0.1;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    let forecasts = &report.forecasts;
    if forecasts.count < COUNT_MIN || forecasts.most < MOST {
        return;
    }
    found.push(Finding {
        severity: Severity::Note,
        says: format!(
            "One forecast of misses in 20 was off by {} or more.",
            points(forecasts.most)
        ),
        evidence: format!(
            "This covers {}; half of the forecasts were within {}.",
            comparisons(forecasts.count),
            points(forecasts.median)
        ),
        todo: "Forecasts for other sizes are uncertain, because the traffic changes.".to_owned(),
        ..Finding::default()
    });
}
