//! Findings: facts that a person should know and actions to take. Each kind has one file, and its
//! name stands in one list.
//!
//! A finding is a function of the report alone, and names its evidence. Too few samples, or a
//! difference within its band, give no finding.

use crate::claim::Claim;
use crate::{Report, Tenant};
use serde::{Deserialize, Serialize};

/// How urgent a finding is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Information without a need to act.
    #[default]
    Note,
    /// A change would improve the cache.
    Advice,
    /// Something is wrong and should be fixed.
    Warning,
}

impl Severity {
    /// The name in JSON and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Advice => "advice",
            Self::Warning => "warning",
        }
    }
}

/// A fact to know or an action to take.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The kind of finding: the name of its file.
    pub finding: String,
    /// How urgent a finding is.
    pub severity: Severity,
    /// The tenant that it concerns; `None` where it concerns the whole cache.
    pub tenant: Option<String>,
    /// The finding itself, in a sentence. The name of the tenant, if any, stands before it.
    pub says: String,
    /// The evidence, in a sentence.
    pub evidence: String,
    /// The action to take, in a sentence; it may contain a command to type.
    pub todo: String,
    /// The waiting that it concerns, in milliseconds per second.
    pub worth_ms: f64,
    /// The claims that its sentences make.
    #[serde(default)]
    pub claims: Vec<Claim>,
}

/// A kind of finding.
pub struct Spec {
    /// Its name.
    pub name: &'static str,
    /// Adds the findings of this kind in a report to the list.
    pub find: fn(&Report, &mut Vec<Finding>),
}

macro_rules! findings {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*
        /// Every kind of finding.
        pub const ALL: &[Spec] = &[$(Spec { name: stringify!($name), find: $name::find }),*];
    };
}

findings!(
    refused_writes,
    memory_overcommitted,
    starved,
    promise_broken,
    too_small,
    too_large,
    policy,
    cold_misses,
    ttl_too_short,
    deleted_misses,
    read_too_early,
    large_items,
    hot_key,
    write_only,
    floor_costs,
    forecast_off,
    loop_off,
);

/// All findings of a report, the most severe first and then by `worth_ms`.
pub fn all(report: &Report) -> Vec<Finding> {
    let mut found = vec![];
    for spec in ALL {
        let from = found.len();
        (spec.find)(report, &mut found);
        for finding in &mut found[from..] {
            spec.name.clone_into(&mut finding.finding);
        }
    }
    found.sort_by(|a, b| {
        b.severity.cmp(&a.severity).then_with(|| b.worth_ms.total_cmp(&a.worth_ms))
    });
    found
}

/// A tenant with fewer recent reads gets no finding.
const READS_MIN: u64 = 1_000;

/// Tenants with enough recent reads for a finding.
fn busy(report: &Report) -> impl Iterator<Item = &Tenant> {
    report.tenants.iter().filter(|tenant| tenant.recent.reads >= READS_MIN)
}

/// The part of a tenant's waiting that a share of its reads causes, in milliseconds per second.
fn waiting_of(tenant: &Tenant, share_of_reads: f64) -> f64 {
    let ratio = tenant.recent.miss_ratio().unwrap_or_default();
    tenant.recent.wait_ms_per_s() * share_of_reads / ratio.max(f64::MIN_POSITIVE)
}

/// A cause is worth a finding from this share of the reads and this share of the misses on.
const POINTS_MIN: f64 = 0.03;
const SHARE_MIN: f64 = 0.25;

/// The share of a tenant's reads that miss for a cause, if that is worth a finding.
fn much_missed(tenant: &Tenant, cause: base::Cause) -> Option<f64> {
    let points = tenant.recent.missed_for(cause)?;
    let ratio = tenant.recent.miss_ratio()?;
    (points >= POINTS_MIN && points >= SHARE_MIN * ratio).then_some(points)
}

#[cfg(test)]
pub(crate) mod tests;
