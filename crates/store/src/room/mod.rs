//! Room for a write: reserved, by evictions if there is none.
//!
//! [`Room::reserve`](room::Room::reserve) is the only way to room. `reserve.rs` is the order in
//! which it is sought, `evict.rs` evicts an item, `evict_page.rs` a page, `evict_tree.rs` a
//! collection; `victims/` names the pool and the item. All of them see the contents of the shard,
//! and none sees the shard.

pub(crate) mod admission;
pub(crate) mod balance;
pub(crate) mod compress;
pub(crate) mod compression_state;
pub(crate) mod evict;
pub(crate) mod evict_page;
pub(crate) mod evict_tree;
pub(crate) mod expire;
pub(crate) mod offer;
pub(crate) mod reserve;
pub(crate) mod room;
pub(crate) mod sweep;
pub(crate) mod tailor;
