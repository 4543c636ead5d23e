//! Code shared by the models: sampling of keys, expiry, and the conversion of counted distances
//! into a curve.

mod age_model;
mod ages;
mod estimate;
mod expiry;
mod grid;
mod map_bytes;
mod prefix_sums;
mod sampler;
mod stack_model;
mod windows;

pub(crate) use age_model::AgeModel;
pub(crate) use ages::Ages;
pub(crate) use base::hash::{KeyMap, KeySet};
pub(crate) use estimate::Estimate;
pub(crate) use expiry::Expiry;
pub use grid::GROUPS;
pub(crate) use grid::Grid;
pub(crate) use map_bytes::map_bytes;
pub(crate) use prefix_sums::PrefixSums;
pub(crate) use sampler::{Drawn, Sampler};
pub(crate) use stack_model::{Stack, StackModel};
pub(crate) use windows::{Hits, Live, WINDOWS_MAX, Window, add_hits, add_live, bin, width};
