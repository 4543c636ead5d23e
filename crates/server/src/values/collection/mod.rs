//! Lists, sets and sorted sets: one piece of memory while they are small, a tree beyond.
//!
//! ```text
//!   flat, up to 4 KB     ┌─────┬───────┬─────┬───────┬──
//!                        │ len │ body… │ len │ body… │ …       in the order of the collection
//!                        └─────┴───────┴─────┴───────┴──
//!   beyond               a tree of the store (`store::Tree`) with the same bodies
//! ```
//!
//! | | body | order in one piece | order in the tree |
//! |---|---|---|---|
//! | list | an element | position | position |
//! | set | a member | order of insertion | a hash of the member |
//! | sorted set | score and member | score, then member | the same (`zset.rs`) |
//!
//! Each of them has a file for its differences. A collection that became a tree stays one until it
//! is empty. There are no empty collections: the key disappears with the last element.
//!
//! No command holds the lock for more than a bounded number of elements ([`STEP_ELEMENTS`],
//! [`STEP_BYTES`]). Hashes have values and expiries for their fields; they are in `values/hash/`.

mod body;
mod encoding;
pub(crate) mod flat;
mod held;
pub(crate) mod list;
mod place;
mod saved;
pub(crate) mod set;
mod shape;
mod view;
pub(crate) mod zset;

pub(crate) use super::step::STEP_ELEMENTS;
pub(crate) use encoding::encoding;
pub(crate) use held::{Held, change};
pub(crate) use saved::{copied, flat, gather, grown};
pub(crate) use shape::{FLAT_MAX, Shape};
pub(crate) use view::View;
