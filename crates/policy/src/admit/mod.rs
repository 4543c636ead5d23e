//! Filters: should an object enter at all?
//!
//! A filter stands in front of any policy (`lru+tinylfu`). An object that it refuses costs no
//! eviction.

pub mod adaptsize;
pub mod always;
mod filter;
mod sketch;
pub mod tinylfu;

pub use filter::{Admit, FilterSpec};
pub(crate) use sketch::Sketch;

/// Every filter.
pub const ALL: &[&FilterSpec] = &[&always::SPEC, &tinylfu::SPEC, &adaptsize::SPEC];
