//! The pilot: observe, model, plan, apply, once an epoch.
//!
//! The safeguards of the loop are here, and not in the recipes:
//!
//! - **Minimum gain.** A plan must promise to save a share θ of the cost of the plan in force under
//!   the same curves. Curves are noisy, and the best of many divisions always looks a little
//!   better than it is. A plan that takes only memory without use to its holders needs a fifth
//!   of θ.
//! - **Hysteresis.** θ doubles when a plan reverses most moves of the plan before it, and
//!   decays slowly.
//! - **Cooling off.** After a plan, and for each pool after a change of policy, nothing new is
//!   decided for some epochs: the effect takes a turnover of the memory to show.
//! - **A bound on moves.** The division walks towards its plan, at most a share of the memory an
//!   epoch, and no pool loses more than a quarter of its memory at once. The goal of the walk is
//!   the best division overall, not the best within reach: curves have cliffs, and a walk that
//!   looked only at the next step would stop before them.
//! - **One change at a time.** A pool that changes its policy in an epoch keeps its budget in it.
//! - **Calibrated curves.** The misses of a pool at its present size are counted, and its curves
//!   are shifted to pass through the measured miss ratio (`calibration.rs`).
//! - **Checked forecasts.** Every epoch records the miss ratios it expects. One epoch later the
//!   measured ratios are recorded beside them.
//! - **Rollback.** If the forecasts of a plan are wrong by more than recent forecasts were, the
//!   pilot returns to the last plan with correct forecasts. It then tries nothing new for a while.
//! - **No action without knowledge.** A pool with too few samples keeps its share. A pool that was
//!   never read and holds nothing lends its share at once, until it is read.

mod decide;
mod epoch;
mod handover;
mod measure;
mod patience;
mod pools;
mod price;
mod replays;
mod snapshot;
mod state;
mod status;
mod views;

pub use crate::causes::SIZES;
pub use crate::record::{Decision, Epoch, PoolEpoch, Status};
pub use replays::{Replayed, Trial};
pub use state::Pilot;
