//! SHARDS: exact stack distances, but only of keys whose hash falls below a threshold.
//!
//! Sampling by key rather than by access keeps all accesses of a key or none, so the sampled trace
//! is a smaller trace of the same shape. Distances are scaled up by 1/R: those of the other
//! objects, for the object itself is not a sample of anything.
//!
//! With a limit on the keys the rate falls as new keys come, and memory stays constant. Counts
//! made at a higher rate are then scaled down, or early accesses would weigh too much. Misses are
//! divided by the reads that a sample should have, not by those it happens to have.
//!
//! [1] Waldspurger, Park, Garthwaite, Ahmad. Efficient MRC Construction with SHARDS. FAST '15.

use crate::olken::Recency;
use crate::track::StackModel;
use crate::{Params, Spec};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "shards",
    predicts: Params::lru,
    build: |params| Box::new(StackModel::new(params, PRECISION, Recency::default())),
};

/// Buckets of distances are no wider than a 128th of the distance: less than a sample can tell.
const PRECISION: u32 = 7;
