//! kRedis: a pool for each tenant, with KRR curves for K = 1, 5, 8 and 16 merged into one. Dynamic
//! programming gives each pool a budget and a K.
//!
//! [1] Yang, Wang, Wang. Fast Modeling and Memory Allocation for K-LRU Caches (KRR, ICPP '21;
//! kRedis, IEEE TCC '23).

use super::{Pools, Recipe};
use crate::Evictor;

pub(super) const RECIPE: Recipe = Recipe {
    name: "kredis",
    pools: Pools::Tenant,
    model: Some("krr"),
    evictors: &[Evictor::klru_pool(5), Evictor::klru(1), Evictor::klru(8), Evictor::klru(16)],
    planner: "dp",
    ..Recipe::COMMON
};
