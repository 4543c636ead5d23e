//! Auto: one pool for all tenants, in which each byte goes where it saves the most waiting.
//!
//! No memory is divided. The rank is the Gittins index by price and size (`policy::rank::gittins`):
//! an item stays as long as its bytes promise more than those of others, whoever owns them. A
//! tenant's weight is a factor of its price. So is its promise: while the tenant misses more than
//! promised, its price rises, an epoch at a time (`pilot/price.rs`). Floors and ceilings limit in
//! the store whose items may be evicted.
//!
//! Miniature caches of this rank, of K-LRU and of LFU compare the waiting. Another policy replaces
//! the rank only if it is better for minutes in a row (`planner/guard.rs`).

use super::Recipe;
use crate::Evictor;

pub(super) const RECIPE: Recipe = Recipe {
    name: "auto",
    model: Some("miniature"),
    curves: Some("krr"),
    evictors: &[Evictor::gittins(64), Evictor::klru_pool(5), Evictor::LFU],
    planner: "guard",
    gain_min: f64::NEG_INFINITY,
    cooling_epochs: 0,
    patience_epochs: 300,
    keep: 0.97,
    ..Recipe::COMMON
};
