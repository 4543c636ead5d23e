//! Room for a write: which pool gives, which class, which item.
//!
//! [`Room::reserve`](room::Room::reserve) is the only way to room. `reserve.rs` is the order in
//! which it is sought, `pools.rs` names the pool, `evict.rs` evicts an item, `evict_page.rs` a
//! page, `evict_tree.rs` a collection, and `choose.rs` names the item. All of them see the contents
//! of the shard, and none sees the shard.

pub(crate) mod admission;
pub(crate) mod balance;
pub(crate) mod budget;
pub(crate) mod choose;
pub(crate) mod evict;
pub(crate) mod evict_page;
pub(crate) mod evict_tree;
pub(crate) mod eviction_time;
pub(crate) mod expire;
pub(crate) mod lowest;
pub(crate) mod pools;
pub(crate) mod queue;
pub(crate) mod reserve;
pub(crate) mod room;
pub(crate) mod tailor;
