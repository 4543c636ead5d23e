//! RankCache: a pool for each slab class, with LHD of 64 candidates in each. At intervals a page
//! moves from the class whose victims have the lowest worth to the class whose victims have the
//! highest [1]. Nothing is sampled: the plan uses the victims.
//!
//! The paper decides every 500 000 requests, in caches of some thousands of pages of a megabyte; a
//! smaller cache turns over sooner. A hundredth of the number of items is a good interval in reads.
//! A store of several shards balances each of them itself, and reports the result to the pilot.
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
