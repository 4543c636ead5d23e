//! Many reads ask for keys whose time to live is over.

use super::evidence::{busy, much_missed, waiting_of};
use super::{Finding, Severity};
use crate::Report;
use crate::claim::{self, Claim};
use crate::words::{percent, points};
use base::Cause;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    for tenant in busy(report) {
        let Some(expired) = much_missed(tenant, Cause::Expired) else { continue };
        let of_misses = expired / tenant.recent.miss_ratio().unwrap_or(1.0);
        let twice = claim::twice_the_ttl(report, tenant).filter(Claim::is_sound);
        found.push(Finding {
            severity: Severity::Advice,
            tenant: Some(tenant.name.clone()),
            says: format!("{} of its misses are of keys that had expired.", percent(of_misses)),
            evidence: format!("That is {} of its reads.", points(expired)),
            todo: match &twice {
                Some(claim) => format!(
                    "A TTL of twice the length would save {} of its reads, give or take {}.",
                    points(-claim.change()),
                    points(claim.band())
                ),
                None => "A longer TTL saves some of them, where the data may be older and memory \
                         has room."
                    .to_owned(),
            },
            worth_ms: waiting_of(
                tenant,
                twice.as_ref().map_or(0.25 * expired, |claim| -claim.change()),
            ),
            claims: twice.into_iter().collect(),
            ..Finding::default()
        });
    }
}
