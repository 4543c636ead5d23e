//! Auto: one pool for everybody, in which each byte goes where it saves the most waiting.
//!
//! No memory is divided. The rank is the Gittins index by price and size (`policy::rank::gittins`):
//! an item stays as long as what its bytes are to earn is more than what the others' would, whoever
//! owns it. A tenant's weight is a factor of its price, and so is what it is promised: while it
//! misses more than that its price rises, an epoch at a time (`pilot/price.rs`). Floors and
//! ceilings say in the store whose items may leave.
//!
//! Miniature caches of this rank, of K-LRU and of LFU judge it by waiting; only where another is
//! shown to be better for minutes in a row does it take its place (`planner/guard.rs`).

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
