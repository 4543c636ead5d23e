//! LAMA: a pool for each slab class, curves of its reuses, and pages where the fewest reads miss,
//! at most 50 of 1 024 moved at once, as often as the classes turn over [1]. The paper draws the
//! curves from footprints (`model=footprint`), which for an endless trace are those of `aet` and
//! cannot forget a past phase. Where a tenant was promised a miss ratio or a wait, its classes get
//! the least memory that keeps it [2].
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
