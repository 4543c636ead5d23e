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
            says: format!("{} of its misses are reads of expired keys.", percent(of_misses)),
            evidence: format!("That is {} of its reads.", percent(expired)),
            todo: match &twice {
                Some(claim) => format!(
                    "A TTL twice as long would turn {} of its reads into hits, give or take {}.",
                    percent(-claim.change()),
                    points(claim.band())
                ),
                None => {
                    "A longer TTL would save some of them, if the data may be older and memory has \
                     room."
                        .to_owned()
                }
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
