//! DLRU: one pool; five miniature caches, one for each K, say which would have waited least in the
//! interval that ended, and that K it is in the next [1].
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
    interval: 5_000_000,
    rate: Some(1.0 / 200.0),
    gain_min: f64::NEG_INFINITY,
    cooling_epochs: 0,
    keep: 0.0,
    ..Recipe::COMMON
};
