//! A request for room, the limits that every write respects, and the shards beside the locked one.

use crate::Now;
use crate::bytes::memory::Memory;
use crate::contents::tenant::TenantShard;
use crate::sync::shim::{AtomicBool, AtomicU64};
use base::TenantId;
use std::sync::atomic::Ordering::Relaxed;

/// The memory of the whole store, and its limits.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) memory: Memory,
    /// Bytes of the longest value.
    pub(crate) value_max: AtomicU64,
    /// Length of the longest page of a fitted class, in bytes.
    pub(crate) page_max: u64,
    /// Bytes of a page of most classes.
    page: u64,
    /// Number of shards.
    shards: usize,
    /// Whether large values compete with the items that they would evict.
    pub(crate) competes: AtomicBool,
    /// Whether pages move to classes whose victims are worth more.
    pub(crate) balances: AtomicBool,
}

impl Budget {
    /// The budget of a store with this many shards, whose pages have these lengths in bytes.
    pub(crate) fn new(
        limit: u64,
        value_max: u64,
        shards: usize,
        (page, page_max): (u64, u64),
    ) -> Self {
        Self {
            memory: Memory::new(limit),
            value_max: AtomicU64::new(value_max),
            page_max,
            page,
            shards,
            competes: AtomicBool::new(true),
            balances: AtomicBool::new(true),
        }
    }

    pub(crate) const fn page(&self) -> u64 {
        self.page
    }

    pub(crate) const fn shards(&self) -> usize {
        self.shards
    }

    pub(crate) fn balances(&self) -> bool {
        self.balances.load(Relaxed)
    }

    /// Bytes that tenants take without any item.
    pub(crate) const fn fixed_bytes(&self, tenants: usize) -> u64 {
        (tenants * self.shards) as u64 * TenantShard::fixed_bytes()
    }
}

/// The surroundings of a locked shard.
#[derive(Clone, Copy)]
pub(crate) struct Around<'s> {
    pub(crate) budget: &'s Budget,
    pub(crate) others: &'s dyn OtherShards,
}

/// The need for room of a write or of the sweep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoomRequest {
    /// The tenant that writes; `None` for the sweep.
    pub(crate) tenant: Option<TenantId>,
    /// Whether only the tenant's own items may be evicted, because it is at its max.
    pub(crate) own: bool,
    /// [`ItemTable::word`](crate::items::table::item_table::ItemTable::word) of the written item.
    pub(crate) pinned: usize,
    pub(crate) now: Now,
}

/// The other shards, as sources of room. The caller holds the shard at `at`; `first` is random.
pub(crate) trait OtherShards {
    /// The shard that holds most, of some starting at a random one, if it holds enough more than
    /// the shard at `at` to give a page.
    fn richer(&self, at: usize, first: usize) -> Option<usize>;

    /// Evicts a page in another shard, if its lock is free now. Returns its bytes.
    fn try_evict_at(&self, other: usize, want: &RoomRequest) -> u64;

    /// Evicts a page in any shard except the one at `at`. Returns its bytes; 0 if nothing in any
    /// shard may be evicted.
    fn evict_elsewhere(&self, at: usize, first: usize, want: &RoomRequest) -> u64;
}
