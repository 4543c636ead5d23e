//! Changes of plan, settings and load: the event itself, the claims made about it, and the figures
//! measured before and after it.

use crate::claim::Claim;
use serde::{Deserialize, Serialize};

/// Memory that a tenant gained or lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    /// The tenant whose memory changed.
    pub tenant: String,
    /// Bytes that the tenant had before.
    pub before: u64,
    /// Bytes that the tenant was given.
    pub after: u64,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The server started.
    Start,
    /// A setting, the memory or a tenant's configuration line changed.
    Setting,
    /// A tenant sends more or fewer requests.
    Load,
    /// A tenant misses more or less, for an unknown reason.
    Misses,
    /// A plan changed the division of memory.
    #[default]
    Plan,
}

impl ChangeKind {
    /// Whether figures from before this change say little about the time after it. Plans do not
    /// count: they change the division all the time.
    pub const fn begins_a_window(self) -> bool {
        matches!(self, Self::Start | Self::Setting | Self::Load | Self::Misses)
    }
}

/// A change of plan, settings or load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The time of the change, in Unix seconds.
    pub unix_s: u64,
    /// The kind of change.
    #[serde(default)]
    pub kind: ChangeKind,
    /// The event, in a sentence without a full stop.
    pub text: String,
    /// The tenants whose memory the change moved.
    pub moved: Vec<Moved>,
    /// The share of the waiting that the plan was expected to save.
    pub promised: Option<f64>,
    /// The forecast of the waiting after the change, divided by the waiting if nothing hit.
    pub expected: Option<f64>,
    /// The actual value of `expected`, known later.
    pub actual: Option<f64>,
    /// The measurements of a stretch before and after the change: first of all tenants, then of the
    /// tenants that wait most. Empty until the second stretch is over, and then final.
    #[serde(default)]
    pub effects: Vec<Effect>,
    /// The claims made about the change just before it.
    #[serde(default)]
    pub claims: Vec<Claim>,
}

impl Change {
    /// Whether this is an event of the load or the misses of one tenant.
    pub fn is_of(&self, tenant: &str) -> bool {
        let is_kind = matches!(self.kind, ChangeKind::Load | ChangeKind::Misses);
        let rest = self.text.strip_prefix(tenant).filter(|_| is_kind);
        rest.is_some_and(|rest| rest.starts_with([' ', '\'']))
    }
}

/// The measured effect of a change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The tenant; `None` for the sum of all tenants.
    pub tenant: Option<String>,
    /// Figures before the change.
    pub before: Fared,
    /// Figures after the change.
    pub after: Fared,
}

/// The figures of one tenant, or of all, over a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fared {
    /// Reads per second.
    pub reads_per_s: f64,
    /// The share of the reads that missed.
    pub miss_ratio: f64,
    /// Waiting for misses, in milliseconds per second.
    pub wait_ms_per_s: f64,
    /// Memory in use at the end, in bytes.
    pub used: u64,
}
