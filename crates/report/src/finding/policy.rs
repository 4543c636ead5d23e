//! Clients would wait less for the same requests under another eviction policy.

use super::{Finding, Severity, command};
use crate::Report;
use crate::claim::{self, Claim};
use crate::words::percent;

/// The least gain that counts, as a share of the waiting.
const GAIN_MIN: f64 = 0.02;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    let Some(present) = report.policies.iter().find(|trial| trial.is_present) else { return };
    let others = report.policies.iter().filter(|trial| !trial.is_present);
    let Some(best) = others.min_by(|a, b| a.waits.total_cmp(&b.waits)) else { return };
    let gain = 1.0 - best.waits;
    let claim = claim::policy(report, &best.policy).filter(Claim::is_sound);
    let Some(claim) = claim.filter(|_| gain >= GAIN_MIN) else { return };
    let sets = vec![("maxmemory-policy".to_owned(), best.policy.clone())];
    found.push(Finding {
        severity: Severity::Advice,
        says: format!(
            "With {} clients would wait {} less than with {}, for the same requests.",
            best.policy,
            percent(gain),
            present.policy
        ),
        evidence: format!(
            "This comes from replays of sampled requests, give or take {}.",
            percent(best.band)
        ),
        todo: command(&sets),
        sets,
        worth_ms: -claim.change(),
        claims: vec![claim],
        ..Finding::default()
    });
}
