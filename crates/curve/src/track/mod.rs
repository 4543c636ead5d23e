//! What the models share: which keys are watched, when they expire, and how counted distances
//! become a curve.

mod age_model;
mod ages;
mod estimate;
mod expiry;
mod grid;
mod prefix_sums;
mod sampler;
mod stack_model;

pub(crate) use age_model::AgeModel;
pub(crate) use ages::{Ages, Hits, Live, Window, bin, width};
pub(crate) use estimate::Estimate;
pub(crate) use expiry::Expiry;
pub(crate) use grid::Grid;
pub(crate) use prefix_sums::PrefixSums;
pub(crate) use sampler::{Drawn, Sampler};
pub(crate) use stack_model::{Stack, StackModel};

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// Maps the hash of a key. Watched keys share their top bits, so these are stirred once more.
pub(crate) type KeyMap<T> = HashMap<u64, T, BuildHasherDefault<Ready>>;

/// A set of such hashes.
pub(crate) type KeySet = HashSet<u64, BuildHasherDefault<Ready>>;

/// Keys are hashes already.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ready(u64);

impl Hasher for Ready {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers");
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// Memory of a map with room for `capacity` entries: an entry, a control byte, and an eighth of
/// the buckets kept free.
pub(crate) fn map_bytes<T>(capacity: usize) -> usize {
    (capacity * 8 / 7) * (size_of::<(u64, T)>() + 1)
}
