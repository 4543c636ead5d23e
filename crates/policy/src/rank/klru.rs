//! K-LRU: evicts, of K items drawn at random, the one with the oldest last use.
//!
//! K is Redis' `maxmemory-samples`. Redis also keeps a pool of 16 good candidates between evictions
//! (`pool=16`). With it no item younger than the recency rank 1 - 1/K is ever evicted, and K = 5
//! behaves like 9-LRU. K = 1 is random replacement; from K = 16 on it is LRU within a percent.

use super::{Meta, Rank, Sampled, Tag};
use crate::{Evictor, Param, Spec};
use base::{TenantId, Tick};
use std::sync::Arc;

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "klru",
    params: &[Param::k(5), Param::pool()],
    build: |params| Box::new(Sampled::of(Klru, params)),
    live: Some(|params| Evictor::sampled(Arc::new(Klru), params)),
};

/// Ranks an item the lower, the longer it is idle.
#[derive(Clone, Copy, Debug)]
pub struct Klru;

impl Rank for Klru {
    fn rank(&self, item: &Meta, _: Tick) -> f32 {
        -(item.age as f32)
    }

    fn rank_tags(&self, _: TenantId, tags: &[Tag], _: &[u32], now: Tick, into: &mut [f32]) -> bool {
        for (score, tag) in into.iter_mut().zip(tags) {
            *score = if tag.is_item() { -(tag.age(now.0) as f32) } else { f32::INFINITY };
        }
        true
    }

    fn is_of_age(&self) -> bool {
        true
    }
}

impl Default for Evictor {
    /// K-LRU of 5 candidates with a pool, as in Redis.
    fn default() -> Self {
        Self { rank: Arc::new(Klru), k: 5, pool: true }
    }
}
