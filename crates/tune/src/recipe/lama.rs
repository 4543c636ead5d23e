//! LAMA: a pool for each slab class, curves of its reuses, and pages where they save the most
//! misses. At most 50 of 1 024 pages move at once, as often as the classes turn over [1]. The paper
//! draws the curves from footprints (`model=footprint`). For an endless trace these equal the
//! curves of `aet`, and they cannot forget a past phase. If a tenant has a promised miss ratio or
//! wait, its classes get the least memory that keeps it [2].
//!
//! [1] Hu, Wang, Li, Zhou, Luo, Ding, Jiang, Wang. LAMA: Optimized Locality-aware Memory Allocation
//!     for Key-value Cache. ATC '15.
//! [2] Hu, Wang, Zhou, Luo, Ding, Jiang, Wang. Optimizing Locality-Aware Memory Management of
//!     Key-Value Caches. IEEE TC '17.

use super::{Pools, Recipe};
use crate::{Evictor, Objective};

pub(super) const RECIPE: Recipe = Recipe {
    name: "lama",
    pools: Pools::Slab,
    model: Some("aet"),
    evictors: &[Evictor::LRU],
    planner: "qos",
    objective: Objective::Misses,
    interval: 1_000_000,
    turnover: true,
    gain_min: 0.002,
    cooling_epochs: 1,
    keep: 0.75,
    move_max: 50.0 / 1024.0,
    ..Recipe::COMMON
};
