//! The engine: tables, items, sampled eviction, expiry, tenants, and the tap for models.
//!
//! Worker threads share a [`Store`]. It reads no clock, opens nothing and starts nothing: every
//! call receives the time, so the behaviour depends only on the calls. `store/store.rs` has the
//! calls on one key, and describes the locks.
//!
//! A call goes down a staircase, one floor a folder. A file imports from lower floors, or from a
//! file of its own floor that imports nothing of that floor:
//!
//! ```text
//!   store      the interface: calls on one key, walks, settings, reports
//!   shard      the data that a lock guards: contents and room; the order of a write
//!   room       memory for a write: `Room::reserve` is the way to it
//!   victims    limits; the pool that gives, the item that leaves
//!   contents   items of tenants, with the counters that follow them; `Contents` finds, puts an
//!              item into reserved room, and takes it out
//!   tenant     the part of one tenant in one shard
//!   compression  the stored form of compressed values, dictionaries
//!   learning   samples, costs of misses, lifetimes, evicted keys
//!   items      one item; tables, pages, trees, the timing wheel
//!   sync  bytes    locks and atomics; counters of bytes and the types of calls
//! ```
//!
//! A collection is an item whose value is a [`Tree`] of small nodes. `items/trees/` holds the
//! structure, `shard/edit.rs` changes a collection, and `store/detached.rs` holds one that no item
//! owns yet.
//!
//! Few files follow raw pointers: `items/item.rs`, one item; `items/table/bucket.rs`, one cache
//! line of pointers to items; `sync/`: the lock of a shard (`big_reader.rs`, `shim.rs`) and
//! prefetches; and in `items/pages/` one page (`page.rs`) and the source of pages (`arena.rs`,
//! `mapping.rs`). All other code is safe.
#![deny(unsafe_code)]

mod bytes;
mod compression;
mod contents;
mod items;
mod learning;
mod room;
mod shard;
mod store;
mod sync;
mod tenant;
mod victims;

pub use bytes::config::{Bounds, Compression, CompressionSettings, Config, Evictable, Pool, Slab};
pub use bytes::error::Error;
pub use bytes::key::{Key, Now, Scope};
pub use bytes::stats::{
    CompressionStats, Counters, Len, PenaltyClassStats, PenaltyStats, SizeCounts, Swept,
    TenantStats, ValueSamples,
};
pub use compression::codec::decompress_stored;
pub use compression::form::{COMPRESSIBLE, Corrupt};
pub use compression::outside::{
    DictionaryUse, HeldDictionary, SharedDictionary, StoredForm, without_dictionary,
};
pub use items::dump_index::Loaded;
pub use items::item::charge;
pub use items::sizes::size_class::{Move, SizeClass, SizeClassStats};
pub use items::trees::entry::{Entry, Probe};
pub use items::trees::tree::Tree;
pub use items::trees::trees::{SMALL_TREE, TREE};
pub use items::view::{Change, Item, Saved, ScanItem};
pub use learning::removals::{Removal, RemovalCause, RemovalListener};
pub use policy::Evictor;
pub use shard::edit::Edit;
pub use store::detached::DetachedTree;
pub use store::dump::Dump;
pub use store::learnt_state::{EvictedKeys, LearntState};
pub use store::store::Store;
pub use sync::gate::{Alone, Entered, Gate};
pub use victims::eviction_time::{Pauses, Spike};

#[cfg(test)]
mod tests;
