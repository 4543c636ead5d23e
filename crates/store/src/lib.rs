//! The engine: tables, items, sampled eviction, expiry, tenants, and the tap for models.
//!
//! Worker threads share a [`Store`]. It reads no clock, opens nothing and starts nothing: every
//! call receives the time, so the behaviour depends only on the calls. `store.rs` has the whole
//! interface, and describes the locks.
//!
//! A collection is an item whose value is a [`Tree`] of small nodes. `tree/` is the structure
//! alone, `trees.rs` handles ownership and charges, `edit.rs` changes a collection, and `loose.rs`
//! holds one that no item owns yet.
//!
//! Few files follow raw pointers: `item.rs`, one item; `table/bucket.rs`, one cache line of
//! pointers to items; `big_reader.rs`, the lock of a shard; and in `slab/` one page and the source
//! of pages. All other code is safe.
#![deny(unsafe_code)]

mod admission;
#[allow(unsafe_code)]
mod big_reader;
mod config;
mod dump;
mod edit;
mod error;
mod evict;
mod expire;
#[allow(unsafe_code)]
mod fetch;
mod gate;
#[allow(unsafe_code)]
mod item;
mod key;
mod known_keys;
mod learn;
mod loose;
mod memory;
mod pause;
mod penalty;
mod penalty_classes;
mod pools;
mod read;
mod removal;
mod restore;
mod room;
mod segments;
mod shard;
mod slab;
mod stats;
mod store;
#[allow(unsafe_code)]
mod sync;
mod table;
mod tap;
mod tenant;
mod tree;
mod trees;
mod view;
mod watch;
mod wheel;

pub use config::{Bounds, Config, Evictable, Pool};
pub use dump::{Dump, Loaded};
pub use edit::Edit;
pub use error::Error;
pub use gate::{Alone, Entered, Gate};
pub use item::charge;
pub use key::{Key, Now, Scope};
pub use known_keys::{EvictedKeys, KnownKeys};
pub use loose::Loose;
pub use pause::{Pauses, Spike};
pub use policy::Evictor;
pub use removal::{Removal, RemovalCause, RemovalListener};
pub use restore::Saved;
pub use slab::{Move, SizeClass, SizeClassStats, SizeCounts, Slab};
pub use stats::{Counters, Len, PenaltyClassStats, PenaltyStats, Swept, TenantStats};
pub use store::Store;
pub use tree::{Entry, Probe, Tree};
pub use trees::{SMALL_TREE, TREE};
pub use view::{Change, Item, ScanItem};

#[cfg(test)]
mod tests;
