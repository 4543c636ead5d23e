//! What a person should know or do: one file each, and its name in one list.
//!
//! A finding is a function of the report alone. It says what it rests on, and nothing is found that
//! the data cannot bear: too few samples, or a difference within its band, find nothing.

use crate::claim::Claim;
use crate::{Report, Tenant};
use serde::{Deserialize, Serialize};

/// How much it matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know.
    #[default]
    Note,
    /// Something can be gained.
    Advice,
    /// Something is lost.
    Warning,
}

impl Severity {
    /// The word for it in JSON and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Advice => "advice",
            Self::Warning => "warning",
        }
    }
}

/// One thing to know or do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Its kind: the name of its file.
    pub finding: String,
    /// How much it matters.
    pub severity: Severity,
    /// Whose it is; nobody's where it is of the whole cache.
    pub tenant: Option<String>,
    /// What was found, in a sentence.
    pub says: String,
    /// What that rests on, in a sentence.
    pub evidence: String,
    /// What to do, in a sentence that can be typed in part.
    pub todo: String,
    /// Waiting that it is about, in milliseconds a second.
    pub worth_ms: f64,
    /// The claims that its sentences make.
    #[serde(default)]
    pub claims: Vec<Claim>,
}

/// A kind of finding.
pub struct Spec {
    /// Its name.
    pub name: &'static str,
    /// Looks for it in a report.
    pub find: fn(&Report, &mut Vec<Finding>),
}

macro_rules! findings {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*
        /// Every kind.
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

/// All that is found in a report, what matters most first.
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

/// Reads in the stretch that is looked at, below which nothing is said of a tenant.
const READS_MIN: u64 = 1_000;

/// Tenants that were read enough for anything to be said.
fn busy(report: &Report) -> impl Iterator<Item = &Tenant> {
    report.tenants.iter().filter(|tenant| tenant.recent.reads >= READS_MIN)
}

/// The part of a tenant's waiting that a share of its reads makes.
fn waiting_of(tenant: &Tenant, share_of_reads: f64) -> f64 {
    let ratio = tenant.recent.miss_ratio().unwrap_or_default();
    tenant.recent.wait_ms_per_s() * share_of_reads / ratio.max(f64::MIN_POSITIVE)
}

/// A cause is worth a sentence from so many points of the reads on, and from such a share of the
/// misses.
const POINTS_MIN: f64 = 0.03;
const SHARE_MIN: f64 = 0.25;

/// The points of a tenant's reads that miss for a cause, where that is worth a sentence.
fn much_missed(tenant: &Tenant, cause: base::Cause) -> Option<f64> {
    let points = tenant.recent.missed_for(cause)?;
    let ratio = tenant.recent.miss_ratio()?;
    (points >= POINTS_MIN && points >= SHARE_MIN * ratio).then_some(points)
}

#[cfg(test)]
pub(crate) mod tests;
