//! Hashes: fields and their values, in one piece of memory or in a tree.
//!
//! A small hash, and a hash with one field of any length, is one piece like any other value
//! (`packed.rs`). Beyond [`PACKED_MAX`] a hash is a tree of the store (`store::Tree`), with its
//! entries in the order of a hash of their names:
//!
//! ```text
//!    the item's value            an entry's body
//!   ┌────────┬────────────────┐ ┌──────────┬───────┬────────┐
//!   │ number │ the key's life │ │ name_len │ name… │ value… │
//!   └────────┴────────────────┘ └──────────┴───────┴────────┘
//!     4        8                  1 to 5
//! ```
//!
//! So a field is found, set or removed in O(log n) at any size. A cursor is a place in an order
//! that does not change: HSCAN shows each field that exists all the time exactly once. A hash that
//! became a tree stays one until it is empty.
//!
//! No command holds the lock for more than a bounded number of fields ([`STEP_FIELDS`],
//! [`STEP_BYTES`]). A command on more fields releases the lock between its steps.
//!
//! Fields may expire before their key. An expired field is not shown, and the next command that
//! meets it removes it. If every field has an expiry, the item's own expiry is that of the last
//! field. So the sweep removes the whole item like any expired one. The key's own expiry is kept
//! aside.

mod change;
mod layout;
mod packed;
mod saved;
mod view;

pub(crate) use super::step::{STEP_BYTES, STEP_ELEMENTS as STEP_FIELDS};
pub(crate) use change::{Hash, change};
pub(crate) use layout::{ends, life, live_until, note};
pub(crate) use saved::{flat, gather, grown};
pub(crate) use view::{Field, View};
