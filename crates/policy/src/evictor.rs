//! The form of a policy in the live store: draw candidates, score them, evict the lowest rank.
//!
//! The store keeps no order, so every policy there is a [`Rank`] over a sample. A policy's
//! [`Spec`](crate::Spec) says whether it has such a form.

use crate::{Params, Rank};
use std::fmt;
use std::sync::Arc;

/// The method by which a pool of the live store chooses its victims.
#[derive(Clone)]
pub struct Evictor {
    /// Scores candidates; the lowest is evicted.
    pub rank: Arc<dyn Rank>,
    /// Candidates drawn for an eviction. With 0 nothing is evicted, and writes fail when memory is
    /// full.
    pub k: u8,
    /// Whether twice as many are drawn. This stands for candidates kept for later evictions: Redis
    /// keeps sixteen, with about the same effect.
    pub pool: bool,
}

impl Evictor {
    /// Uses `rank` with the policy's parameters `k` and `pool`, where it has them.
    pub(crate) fn sampled(rank: Arc<dyn Rank>, params: &Params<'_>) -> Self {
        let k = params.find("k").map_or(1, |k| k.min(f64::from(u8::MAX)) as u8);
        Self { rank, k, pool: params.find("pool").is_some_and(|pool| pool > 0.0) }
    }
}

impl fmt::Debug for Evictor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (k, pool) = (self.k, self.pool);
        if let Some(lessons) = self.rank.learns() {
            // The rank itself is a table of thousands of numbers, so it is left out.
            return write!(f, "{lessons:?} k={k} pool={pool}");
        }
        write!(f, "{:?} k={k} pool={pool}", self.rank)
    }
}
