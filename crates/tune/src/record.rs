//! The record of the pilot: every epoch with its plan's fate, its forecasts and its outcome.

use crate::{Evictor, Plan};
use base::Bytes;
use serde::Serialize;

/// The fate of an epoch's plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// No pool has a curve yet.
    Learning,
    /// The plan promised too little, or another policy was not better for long enough.
    Kept,
    /// The last decision is too recent.
    Cooling,
    /// The plan is in force.
    Adopted,
    /// The plan is in force, and reverses most moves of the plan before it.
    Reversed,
    /// The plan promises enough, and the pilot only watches.
    Advised,
    /// The forecasts of the plan in force were wrong beyond their band: the last division that met
    /// its forecasts is in force again.
    FellBack,
}

/// One round of the loop, for the record.
#[derive(Clone, Debug, Serialize)]
pub struct Epoch {
    /// Its number, from one.
    pub epoch: u64,
    /// Time of its end, in seconds on the clock of the plant.
    pub at_s: f64,
    /// The fate of its plan.
    pub decision: Decision,
    /// The saving that the plan promised, as a share of the cost of the plan in force.
    pub gain: f64,
    /// The saving that the pilot required.
    pub threshold: f64,
    /// Bytes moved between pools.
    #[serde(serialize_with = "crate::bytes")]
    pub moved: Bytes,
    /// The wait for misses in the next epoch, divided by the wait if nothing hit: forecast and
    /// outcome. The outcome is known at the end of the next epoch.
    pub forecast: Option<f64>,
    /// See `forecast`.
    pub outcome: Option<f64>,
    /// The largest excess of the outcome over the forecast with which the plan is still trusted.
    pub band: Option<f64>,
    /// The pools after the step.
    pub pools: Vec<PoolEpoch>,
}

/// One pool in an [`Epoch`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoolEpoch {
    /// The pool's name.
    pub name: String,
    /// Its memory after the step.
    #[serde(serialize_with = "crate::bytes")]
    pub budget: Bytes,
    /// Its policy after the step.
    pub evictor: Evictor,
    /// Bytes in use.
    #[serde(serialize_with = "crate::bytes")]
    pub used: Bytes,
    /// Pages that it holds, if memory is divided in pages.
    pub pages: Option<u64>,
    /// Reads a second, smoothed.
    pub reads_per_s: f64,
    /// Mean cost of a miss in the plan, in microseconds.
    pub penalty_us: f64,
    /// Miss ratio expected for the next epoch, with this memory and policy.
    pub forecast: Option<f64>,
    /// Miss ratio measured in the next epoch.
    pub outcome: Option<f64>,
}

/// The visible state of a pilot.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// The recipe with its settings.
    pub recipe: String,
    /// Number of epochs so far.
    pub epoch: u64,
    /// The divided memory.
    #[serde(serialize_with = "crate::bytes")]
    pub memory: Bytes,
    /// Share of the keys that the plant samples.
    pub rate: f64,
    /// Number of samples seen.
    pub samples: u64,
    /// Number of samples lost.
    pub dropped: u64,
    /// Bytes that the models take.
    #[serde(serialize_with = "crate::bytes")]
    pub model_bytes: Bytes,
    /// Bytes of the observer, which joins misses with their fills for the models.
    #[serde(serialize_with = "crate::bytes")]
    pub observer_bytes: Bytes,
    /// Price of each tenant's waiting, by tenant number; 1 beyond the end of the list.
    pub prices: Vec<f64>,
    /// The last plan, adopted or not.
    pub plan: Option<Plan>,
    /// The last epochs, oldest first.
    pub history: Vec<Epoch>,
}
