//! The report of a cache about its own work, as one value, and the conclusions drawn from it.
//!
//! The server builds a [`Report`] from its store and its pilot. LARDER, INFO, `/metrics`,
//! memcached's `stats`, the dashboard, `larder top` and `larder advise` read it. A new fact is
//! added in one place; [`facts`] names the facts that are numbers. Every conclusion is a function
//! of the report alone: [`sizing`] computes the effect of other memory sizes, [`finding`] lists
//! what a person should know or do, and [`say`] puts both in sentences. [`draw`] makes tables,
//! charts and pages of figures.
#![forbid(unsafe_code)]

mod change;
mod check;
pub mod claim;
mod compared;
mod compressed;
pub mod draw;
mod effects;
mod estimates;
pub mod facts;
pub mod finding;
mod forecasts;
mod gains;
mod history;
mod levels;
mod load_events;
mod loads;
mod moves;
pub mod nodes;
pub mod page;
pub mod plans;
mod played;
pub mod plays;
mod process;
mod recent;
mod report;
mod rings;
pub mod say;
mod shift;
pub mod sizing;
mod tenant;
mod trials;
pub mod words;

pub use change::{Change, ChangeKind, Effect, Fared, Moved};
pub use compressed::{Compressed, SAMPLES_MIN, Shrinks};
pub use forecasts::{ComparedForecast, Forecasts};
pub use gains::{Gain, Gains};
pub use history::{History, Lately, TENANTS_MAX};
pub use moves::{MemoryGift, MemoryMoves, TenantMoved};
pub use process::{CommandTimes, MEMORY, MemoryUse, Process, ProcessPoint, QUANTILES, ThreadUse};
pub use recent::Recent;
pub use report::{Plays, PolicyTrial, Report, Server};
pub use rings::Point;
pub use shift::Shift;
pub use sizing::Curve;
pub use tenant::{CostClass, Counters, FetchClass, HotKey, SizeClass, Tenant};
