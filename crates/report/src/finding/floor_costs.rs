//! A tenant's floor keeps memory that would save the other tenants more waiting.

use super::{Finding, Severity};
use crate::Report;
use crate::claim;
use crate::words::{size, wait};

/// The least waiting that is worth a finding, in milliseconds per second.
const WORTH_MIN_MS: f64 = 0.1;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    for tenant in &report.tenants {
        let Some(without) = claim::floor_costs(report, tenant) else { continue };
        let worth_ms = -without.change();
        if !without.is_sound() || worth_ms < WORTH_MIN_MS {
            continue;
        }
        found.push(Finding {
            severity: Severity::Note,
            tenant: Some(tenant.name.clone()),
            says: format!(
                "its floor of {} makes the other tenants wait about {} per second longer.",
                size(tenant.min),
                wait(1e3 * worth_ms)
            ),
            evidence: format!(
                "Without the floor they would wait {} instead of {}, give or take {}.",
                wait(1e3 * without.value),
                wait(1e3 * without.now),
                wait(1e3 * without.band())
            ),
            todo: "A lower `min` leaves them that memory.".to_owned(),
            worth_ms,
            claims: vec![without],
            ..Finding::default()
        });
    }
}
