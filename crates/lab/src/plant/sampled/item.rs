//! Items of the simulated store, and items that compete to be evicted.

use base::{Micros, Tick};
use policy::rank::gittins::Past;

#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) key: u64,
    pub(super) size: u32,
    pub(super) hits: u32,
    pub(super) last: Tick,
    pub(super) born: Tick,
    pub(super) expires: Micros,
    pub(super) penalty: Micros,
    pub(super) past: Past,
    /// Class of its size by the mean size when it was first written.
    pub(super) size_class: u8,
}

/// An item drawn for an eviction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) member: usize,
    pub(super) key: u64,
    pub(super) last: Tick,
    pub(super) size: u32,
    pub(super) rank: f32,
}
