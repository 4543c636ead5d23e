//! pRedis: a pool for each class of penalties, curves by EAET, and the division with the least
//! reads times miss ratio times mean penalty [1].
//!
//! [1] Pan, Luo, Wang, Wang. pRedis: Penalty and Locality Aware Memory Allocation in Redis.
//!     SoCC '19.

use super::{Pools, Recipe};

pub(super) const RECIPE: Recipe = Recipe {
    name: "predis",
    pools: Pools::Class,
    model: Some("eaet"),
    planner: "dp",
    ..Recipe::COMMON
};
