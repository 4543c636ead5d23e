//! Values shrink, compression is off, and more memory would save waiting.

use super::evidence::busy;
use super::{Finding, Severity, command};
use crate::sizing::Sizing;
use crate::words::{count, percent, size, wait};
use crate::{Report, SAMPLES_MIN, Shrinks, Tenant, claim};

/// Values that shrink to this share of their bytes or less are worth a finding.
const RATIO_MAX: f64 = 0.6;

/// The least saving that is worth a finding, in milliseconds per second.
const WAIT_MIN_MS: f64 = 1.0;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    let shrinks = |tenant: &Tenant| -> Option<Shrinks> {
        let is_known = |shrinks: &Shrinks| shrinks.values >= SAMPLES_MIN;
        let shrinks = tenant.compressed.sampled.filter(is_known)?;
        (shrinks.values_to <= RATIO_MAX && Sizing::of(tenant).is_some()).then_some(shrinks)
    };
    let saves = |tenant: &Tenant, shrinks: Shrinks| tenant.used as f64 * (1.0 - shrinks.memory_to);
    let known = busy(report).filter_map(|tenant| Some((tenant, shrinks(tenant)?)));
    let most = known.max_by(|a, b| saves(a.0, a.1).total_cmp(&saves(b.0, b.1)));
    let Some((tenant, shrinks)) = most else { return };
    let claims = claim::compression(report);
    let waiting = claims.first().filter(|waiting| waiting.is_sound());
    let (Some(waiting), Some(memory_to)) = (waiting, claim::memory_to(report)) else { return };
    let worth_ms = -waiting.change();
    if worth_ms < WAIT_MIN_MS {
        return;
    }
    let sets = vec![("compression".to_owned(), "auto".to_owned())];
    found.push(Finding {
        severity: Severity::Advice,
        tenant: Some(tenant.name.clone()),
        says: format!(
            "its values shrink to {} of their bytes, and compression is off.",
            percent(shrinks.values_to)
        ),
        evidence: format!(
            "{} of its values were sampled. All items would take {} instead of {}, and clients \
             would wait {} per second less, give or take {}, as with {} of memory.",
            count(shrinks.values),
            size((report.server.used as f64 * memory_to) as u64),
            size(report.server.used),
            wait(1e3 * worth_ms),
            wait(1e3 * waiting.band()),
            size((report.server.maxmemory as f64 / memory_to) as u64)
        ),
        todo: command(&sets),
        sets,
        worth_ms,
        claims,
        ..Finding::default()
    });
}
