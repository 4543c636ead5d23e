//! SHARDS: exact stack distances, but only of keys whose hash falls below a threshold [1].
//!
//! Sampling by key rather than by access keeps all accesses of a key or none, so the sampled trace
//! is a smaller trace of the same shape. The distances of other objects are scaled up by 1/R. The
//! accessed object's own bytes are not scaled, because they are not a sample.
//!
//! With a limit on the keys, the rate falls as new keys arrive, and memory stays constant. Counts
//! made at a higher rate are then scaled down, or early accesses would weigh too much. Misses are
//! divided by the reads that a sample should have, not by the reads that it happens to have.
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

/// Buckets of distances are no wider than a 128th of the distance, finer than a sample's accuracy.
const PRECISION: u32 = 7;
