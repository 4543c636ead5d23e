//! A finding, and its kind's entry in the list of all.

use crate::Report;
use crate::claim::Claim;
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

/// Settings to change: names and values.
pub type Remedy = Vec<(String, String)>;

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
    /// The settings that carry out the action, as CONFIG SET takes them; empty where a person must
    /// decide or act elsewhere. A `min` or `max` belongs into the tenant's line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets: Remedy,
    /// The waiting that it concerns, in milliseconds per second.
    pub worth_ms: f64,
    /// The claims that its sentences make.
    #[serde(default)]
    pub claims: Vec<Claim>,
}

/// A kind of finding.
pub struct FindingSpec {
    /// Its name.
    pub name: &'static str,
    /// Adds the findings of this kind in a report to the list.
    pub find: fn(&Report, &mut Vec<Finding>),
}
