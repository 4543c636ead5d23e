//! Changes of plan, settings and load: what happened, what was claimed of it, and what was measured
//! before it and after it.

use crate::claim;
use serde::{Deserialize, Serialize};

/// Memory that a tenant won or lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    /// The tenant that has it.
    pub tenant: String,
    /// Bytes it had before.
    pub before: u64,
    /// Bytes it was given.
    pub after: u64,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The server started.
    Start,
    /// A setting, the memory or a tenant's line.
    Setting,
    /// A tenant asks for more or less.
    Load,
    /// A tenant misses more or less, of a cause that is not known.
    Misses,
    /// The division of memory, by a plan.
    #[default]
    Plan,
}

impl ChangeKind {
    /// Whether what was before says little of what comes: plans change things all the time.
    pub const fn begins_a_window(self) -> bool {
        matches!(self, Self::Start | Self::Setting | Self::Load | Self::Misses)
    }
}

/// A change of plan, settings or load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// When.
    pub unix_s: u64,
    /// Its kind.
    #[serde(default)]
    pub kind: ChangeKind,
    /// The event, in a sentence without a full stop.
    pub text: String,
    /// The tenants that were given more or less.
    pub moved: Vec<Moved>,
    /// The share of the waiting that it was to save.
    pub promised: Option<f64>,
    /// Waiting by what it would be if nothing hit: as expected after it, and as it came.
    pub expected: Option<f64>,
    /// See `expected`.
    pub came: Option<f64>,
    /// The measurements of a span before it and of one after it: of all, then of the tenants
    /// that wait most. Empty until the second is over; what was told stays.
    #[serde(default)]
    pub effects: Vec<Effect>,
    /// The claims that were made of it just before.
    #[serde(default)]
    pub claims: Vec<claim::Claim>,
}

/// The effect of a change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// To whom; nobody in particular where it is the sum.
    pub tenant: Option<String>,
    /// Before it.
    pub before: Fared,
    /// After it.
    pub after: Fared,
}

/// How a tenant, or all, fared for a while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fared {
    /// Reads a second.
    pub reads_per_s: f64,
    /// The share that missed.
    pub miss_ratio: f64,
    /// Waiting, in milliseconds a second.
    pub wait_ms_per_s: f64,
    /// Memory in use at the end, in bytes.
    pub used: u64,
}
