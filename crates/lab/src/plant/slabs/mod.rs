//! A cache of slabs in virtual time: pages, size classes, and in each class
//! an LRU list, as in memcached, or LHD, as in RankCache (`worth`).
//!
//! ```text
//!   pages     ┌──────────┐┌──────────┐┌──────────┐    first come; when all are taken, one moves
//!             │ 96 96 96 ││ 120 120  ││ 96 96 96 │    only if the budgets say so, and the items
//!             └──────────┘└──────────┘└──────────┘    on it are evicted
//!   classes   96: newest ─▶ … ─▶ oldest               an item needs a chunk of its class; where
//!            120: newest ─▶ … ─▶ oldest               none is free the oldest of the class goes,
//!                                                     or of some the one that is worth least
//! ```
//!
//! When no page is free, a class gets one only if its budget has room for it and some other class
//! is above its own budget. So a plan takes effect as requests arrive. Budgets that are set while
//! pages are free do not count: the planner could not know which classes would take the free pages.
//! A class without any page takes one from the class with most. memcached takes that page from
//! beyond its limit, but here the limit is a promise.

mod cut;
mod item;
mod pages;
mod plant;
mod steer;
mod victims;
mod worth;

pub use cut::Slabs;
pub use plant::SlabPlant;

#[cfg(test)]
mod tests;
