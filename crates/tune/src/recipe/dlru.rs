//! DLRU: one pool. Five miniature caches, one for each K, show which K would have waited least
//! lately, and the pool adopts that K [1].
//!
//! The paper counts for five million reads, decides, and counts anew. Here counts fade instead,
//! with as long a memory, and decisions are twenty times as frequent: chance has no more influence,
//! and changes show sooner.
//!
//! [1] Wang, Yang, Wang. Dynamically configuring LRU replacement policy in Redis. MEMSYS '20.

use super::Recipe;
use crate::Evictor;

pub(super) const RECIPE: Recipe = Recipe {
    name: "dlru",
    model: Some("miniature"),
    evictors: &[
        Evictor::klru_pool(5),
        Evictor::klru(1),
        Evictor::klru(2),
        Evictor::klru(10),
        Evictor::klru(16),
    ],
    planner: "adapt_k",
    interval: 250_000,
    rate: Some(1.0 / 200.0),
    gain_min: f64::NEG_INFINITY,
    cooling_epochs: 0,
    keep: 0.95,
    ..Recipe::COMMON
};
