//! RankCache: a pool for each slab class, in each LHD with 64 candidates, and now and then a page
//! from the class whose victims are worth least to the one whose victims are worth most [1].
//! Nothing is sampled: what is planned by is what left.
//!
//! The paper looks every 500 000 requests, at caches of some thousands of pages of a megabyte; a
//! smaller cache turns over sooner. A hundredth of the items is a good number of reads. A store of
//! several shards balances each for itself, and tells the pilot what came of it.
//!
//! [1] Beckmann, Chen, Cidon. LHD: Improving Cache Hit Rate by Maximizing Hit Density. NSDI '18.

use super::{Pools, Recipe};
use crate::{Evictor, Objective};

pub(super) const RECIPE: Recipe = Recipe {
    name: "rankcache",
    pools: Pools::Slab,
    evictors: &[Evictor::lhd(64)],
    planner: "rank_balance",
    objective: Objective::Misses,
    interval: 5_000,
    gain_min: 0.0,
    ..Recipe::COMMON
};
