//! The division of memory: decides how much each tenant gets now, and under which policy.
//!
//! ```text
//!             read                                       apply
//!   Plant ──▶ Reading ─▶ Observer ─▶ models ─▶ Snapshot ─▶ planner ─▶ Plan ─▶ Step ──▶ Plant
//!                                              (curves)
//! ```
//!
//! Deciding is kept apart from doing. A planner is a pure function from a [`Snapshot`] to a
//! [`Plan`]; the [`Pilot`] runs the loop once an epoch and decides whether a plan is worth its
//! moves; a [`Plant`] carries out bounded steps. Nothing here touches an item, reads a clock or
//! opens a file: a run is a function of the plant's readings, the recipe and the seed.
#![forbid(unsafe_code)]

mod budgets;
mod calibration;
mod causes;
mod evictor;
mod known;
mod merged;
pub mod objective;
pub mod observe;
pub mod periodic;
pub mod pilot;
pub mod plan;
pub mod planner;
pub mod plant;
pub mod recipe;
mod record;
pub mod slab;
pub mod snapshot;
pub mod tape;
pub mod tenant;
mod trust;
mod watch;

pub use evictor::{Evictor, POOL};
pub use known::{Known, KnownCurve, KnownPool};
pub use merged::Row;
pub use objective::Objective;
pub use pilot::Pilot;
pub use plan::{Plan, Share};
pub use plant::{Goal, Part, Plant, PoolStep, Reading, SlabClass, Step, Target, TenantReading};
pub use recipe::Recipe;
pub use snapshot::Snapshot;

/// Writes bytes as a plain number. (serde calls it with a reference.)
#[allow(clippy::trivially_copy_pass_by_ref)]
fn bytes<S: serde::Serializer>(bytes: &base::Bytes, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(bytes.0)
}
