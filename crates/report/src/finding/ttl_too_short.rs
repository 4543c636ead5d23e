//! Many reads ask for keys whose time to live is over.

use super::{Finding, Report, Severity, much_missed, waiting_of};
use crate::words::{percent, points};
use base::Cause;

/// The least number of sampled misses on expired keys for an estimate of a longer TTL.
const SAMPLED_MIN: f64 = 100.0;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    for tenant in super::busy(report) {
        let Some(expired) = much_missed(tenant, Cause::Expired) else { continue };
        let of_misses = expired / tenant.recent.miss_ratio().unwrap_or(1.0);
        let sampled = tenant.recent.sampled as f64 * of_misses;
        let twice = tenant.twice_the_ttl.filter(|_| sampled >= SAMPLED_MIN);
        found.push(Finding {
            severity: Severity::Advice,
            tenant: Some(tenant.name.clone()),
            says: format!("{} of its misses are of keys that had expired.", percent(of_misses)),
            evidence: format!("That is {} of its reads.", points(expired)),
            todo: match twice {
                Some(share) => format!(
                    "A TTL of twice the length would save {} of its reads, while there is room.",
                    points(expired * share)
                ),
                None => "A longer TTL saves some of them, where the data may be older.".to_owned(),
            },
            worth_ms: waiting_of(tenant, expired * twice.unwrap_or(0.5)),
            ..Finding::default()
        });
    }
}
