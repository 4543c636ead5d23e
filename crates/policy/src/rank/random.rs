//! Random replacement: one candidate, and it goes.
//!
//! No worse than LRU on a loop larger than the cache, where LRU never hits: the share of the loop
//! that survives is what a random victim spares.

use super::{Meta, Rank, Sampled};
use crate::{Spec, Tick};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "random",
    params: &[],
    build: |params| Box::new(Sampled::new(Random, 1, 0, params.seed)),
};

/// Every item ranks alike.
#[derive(Clone, Copy, Debug)]
pub struct Random;

impl Rank for Random {
    fn rank(&self, _: &Meta, _: Tick) -> f32 {
        0.0
    }
}
