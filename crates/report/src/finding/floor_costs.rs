//! A floor keeps memory with a tenant where it saves little.

use super::{Finding, Report, Severity};
use crate::words::{size, wait};

/// A floor binds where a MiB of the tenant's saves less than this share of what one saves others.
const BELOW: f64 = 0.5;
/// Waiting that is worth a sentence, in milliseconds a second.
const WORTH_MIN_MS: f64 = 0.1;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    let saving = |tenant: &crate::Tenant| Some((tenant.mib_saves_us?, tenant.used as f64));
    let all: Vec<_> = report.tenants.iter().filter_map(saving).collect();
    let used: f64 = all.iter().map(|(_, used)| used).sum();
    let mean = all.iter().map(|(us, used)| us * used).sum::<f64>() / used.max(1.0);
    for tenant in &report.tenants {
        let Some(saves) = tenant.mib_saves_us.filter(|saves| *saves < BELOW * mean) else {
            continue;
        };
        let is_at_floor = tenant.min > 0 && tenant.used <= tenant.min + tenant.min / 16;
        let worth_ms = (mean - saves) * tenant.used as f64 / f64::from(1 << 20) / 1e3;
        if is_at_floor && worth_ms >= WORTH_MIN_MS {
            found.push(Finding {
                severity: Severity::Note,
                tenant: Some(tenant.name.clone()),
                says: format!(
                    "its floor of {} makes the others wait about {} a second longer.",
                    size(tenant.min),
                    wait(1e3 * worth_ms)
                ),
                evidence: format!(
                    "A MiB saves {} a second here, and {} in the mean.",
                    wait(saves),
                    wait(mean)
                ),
                todo: "A lower `min` gives them the memory.".to_owned(),
                worth_ms,
                ..Finding::default()
            });
        }
    }
}
