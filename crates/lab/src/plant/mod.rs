//! Caches in virtual time for the pilot to steer. Three kinds have one interface,
//! [`SimulatedStore`]:
//!
//! - `sampled/`: the live store's rules, without its memory: sampled eviction from pools.
//! - `slabs/`: memcached's pages and size classes, with exact lists or LHD.
//! - `live/`: the live store itself.
//!
//! Requests are look-aside: the client of a read that misses fills it after the penalty of the
//! object, before it does anything else. So no store's clock need run, and hours pass in seconds.

#[cfg(test)]
mod beside;
mod counts;
mod live;
mod offload;
mod recipe;
mod sampled;
mod samples;
mod simulated;
mod simulation;
mod slabs;

pub use counts::{Bounds, Counts};
pub(crate) use live::{LivePlant, Product, Reported};
pub(crate) use recipe::of;
pub use sampled::SampledPlant;
pub use simulated::SimulatedStore;
pub(crate) use simulation::Simulation;
pub use slabs::{SlabPlant, Slabs};
