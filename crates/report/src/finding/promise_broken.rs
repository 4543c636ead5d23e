//! A tenant misses more than its target allows.

use super::evidence::{busy, waiting_of};
use super::{Finding, Severity};
use crate::Report;
use crate::sizing::{Need, Sizing};
use crate::words::{percent, size};

/// Chance alone may exceed a target by this difference of miss ratios.
const SLACK: f64 = 0.015;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    for tenant in busy(report) {
        let target = tenant.target.as_ref().and_then(|target| target.parse::<f64>().ok());
        let Some((target, ratio)) = target.zip(tenant.recent.miss_ratio()) else { continue };
        if ratio <= target + SLACK {
            continue;
        }
        let mut sets = vec![];
        let (evidence, todo) = match Sizing::of(tenant).map(|sizing| sizing.need(target)) {
            Some(Need::Memory { bytes, .. }) if bytes > tenant.used => {
                let floor = format!("{}mb", bytes.div_ceil(1 << 20));
                let todo = format!("`min {floor}` reserves that much for it.");
                sets.push(("min".to_owned(), floor));
                (format!("It holds {} and would need {}.", size(tenant.used), size(bytes)), todo)
            }
            Some(Need::Never { floor }) => (
                format!("With all its keys in memory it would miss {}.", percent(floor)),
                format!("Set a target of at least {}.", percent(floor + SLACK)),
            ),
            _ => (
                "Its memory should be enough, or there are too few samples to tell.".to_owned(),
                "Wait some minutes: its memory may still be growing.".to_owned(),
            ),
        };
        found.push(Finding {
            severity: Severity::Warning,
            tenant: Some(tenant.name.clone()),
            says: format!("misses {}, but its target is {}.", percent(ratio), percent(target)),
            evidence,
            todo,
            sets,
            worth_ms: waiting_of(tenant, ratio - target),
            ..Finding::default()
        });
    }
}
