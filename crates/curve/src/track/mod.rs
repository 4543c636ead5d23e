//! Code shared by the models: sampling of keys, expiry, and the conversion of counted distances
//! into a curve.

mod age_model;
mod ages;
mod estimate;
mod expiry;
mod grid;
mod prefix_sums;
mod sampler;
mod stack_model;

pub(crate) use age_model::AgeModel;
pub(crate) use ages::{Ages, Hits, Live, WINDOWS_MAX, Window, add_hits, add_live, bin, width};
pub(crate) use base::hash::{KeyMap, KeySet};
pub(crate) use estimate::Estimate;
pub(crate) use expiry::Expiry;
pub(crate) use grid::Grid;
pub(crate) use prefix_sums::PrefixSums;
pub(crate) use sampler::{Drawn, Sampler};
pub(crate) use stack_model::{Stack, StackModel};

/// Memory of a map with room for `capacity` entries: an entry, a control byte, and an eighth of
/// the buckets kept free.
pub(crate) fn map_bytes<T>(capacity: usize) -> usize {
    (capacity * 8 / 7) * (size_of::<(u64, T)>() + 1)
}
