//! What the pilot shows of itself: every epoch with its plan's fate, its forecasts and what came.

use crate::{Evictor, Plan};
use base::Bytes;
use serde::Serialize;

/// What became of the plan of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Nothing is known of any pool yet.
    Learning,
    /// The plan promised too little, or another policy was not shown to be better for long enough.
    Kept,
    /// The last decision is too young.
    Cooling,
    /// The plan is in force.
    Adopted,
    /// The plan is in force, and takes back most of what the one before it moved.
    Reversed,
    /// The plan promises enough, and the pilot only watches.
    Advised,
    /// The forecasts of the plan in force were wrong beyond their band: the last division that kept
    /// its word is in force again.
    FellBack,
}

/// One round of the loop, for the record.
#[derive(Clone, Debug, Serialize)]
pub struct Epoch {
    /// Its number, from one.
    pub epoch: u64,
    /// When it ended, in seconds on the clock of the plant.
    pub at_s: f64,
    /// What became of its plan.
    pub decision: Decision,
    /// What the plan promised to save, as a share of the cost of the plan in force.
    pub gain: f64,
    /// What it had to promise.
    pub threshold: f64,
    /// Bytes that changed hands.
    #[serde(serialize_with = "crate::bytes")]
    pub moved: Bytes,
    /// What the next epoch is to wait for misses, by what it would wait if nothing hit: as
    /// forecast, and as it came. Known once the next epoch is over.
    pub forecast: Option<f64>,
    /// See `forecast`.
    pub outcome: Option<f64>,
    /// How much worse than forecast the outcome may be before the plan is no longer trusted.
    pub band: Option<f64>,
    /// The pools after the step.
    pub pools: Vec<PoolEpoch>,
}

/// One pool in an [`Epoch`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoolEpoch {
    /// The pool.
    pub name: String,
    /// Its memory after the step.
    #[serde(serialize_with = "crate::bytes")]
    pub budget: Bytes,
    /// Its policy after the step.
    pub evictor: Evictor,
    /// Memory in use.
    #[serde(serialize_with = "crate::bytes")]
    pub used: Bytes,
    /// Pages it holds, where memory is divided in pages.
    pub pages: Option<u64>,
    /// Reads a second, smoothed.
    pub reads_per_s: f64,
    /// Mean cost of a miss in microseconds, as planned with.
    pub penalty_us: f64,
    /// Miss ratio expected for the next epoch, with this memory and policy.
    pub forecast: Option<f64>,
    /// Miss ratio measured in the next epoch.
    pub outcome: Option<f64>,
}

/// All there is to show of a pilot.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// The recipe with its settings.
    pub recipe: String,
    /// Epochs so far.
    pub epoch: u64,
    /// The memory that is divided.
    #[serde(serialize_with = "crate::bytes")]
    pub memory: Bytes,
    /// Share of the keys the plant samples.
    pub rate: f64,
    /// Samples seen.
    pub samples: u64,
    /// Samples lost.
    pub dropped: u64,
    /// Memory the models take.
    #[serde(serialize_with = "crate::bytes")]
    pub model_bytes: Bytes,
    /// Memory of what joins misses with their fills for them.
    #[serde(serialize_with = "crate::bytes")]
    pub observer_bytes: Bytes,
    /// How much the waiting of each tenant counts, by its number; 1 where none is named.
    pub prices: Vec<f64>,
    /// The last plan, adopted or not.
    pub plan: Option<Plan>,
    /// The last epochs, oldest first.
    pub history: Vec<Epoch>,
}
