//! Sources of room: the limits of the store, the pool that gives, the item that leaves.
//!
//! `budget.rs` has the limits, `pools.rs` names the pool, `choose.rs` and `queue.rs` name the item
//! of a class, and `eviction_time.rs` counts the time.

pub(crate) mod budget;
pub(crate) mod choose;
pub(crate) mod eviction_time;
pub(crate) mod lowest;
pub(crate) mod pools;
pub(crate) mod queue;
