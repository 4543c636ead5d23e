//! Random replacement: draws one candidate and evicts it.
//!
//! On a loop larger than the cache, where LRU never hits, it hits the part of the loop that random
//! victims spare.

use super::{Meta, Rank, Sampled, Tag};
use crate::{Evictor, Spec};
use base::{TenantId, Tick};
use std::sync::Arc;

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "random",
    params: &[],
    build: |params| Box::new(Sampled::new(Random, 1, 0, params.seed)),
    live: Some(|params| Evictor::sampled(Arc::new(Random), params)),
};

/// Ranks every item alike.
#[derive(Clone, Copy, Debug)]
pub struct Random;

impl Rank for Random {
    fn rank(&self, _: &Meta, _: Tick) -> f32 {
        0.0
    }

    fn rank_tags(&self, _: TenantId, tags: &[Tag], _: &[u32], _: Tick, into: &mut [f32]) -> bool {
        for (score, tag) in into.iter_mut().zip(tags) {
            *score = if tag.is_item() { 0.0 } else { f32::INFINITY };
        }
        true
    }
}
