//! A request for room, the limits that every write respects, and the shards beside the locked one.

use crate::bytes::freed::Freed;
use crate::bytes::memory::Memory;
use crate::contents::contents::Contents;
use crate::contents::need::Need;
use crate::sync::shim::{AtomicBool, AtomicU64};
use crate::tenant::tenant::TenantShard;
use crate::{Error, Now};
use base::{Bytes, TenantId};
use std::sync::atomic::Ordering::Relaxed;

/// The memory of the whole store, and its limits.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) memory: Memory,
    /// Bytes of the longest value.
    value_max: AtomicU64,
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

    /// Changes the length of the longest value.
    pub(crate) fn set_value_max(&self, bytes: u64) {
        self.value_max.store(bytes, Relaxed);
    }

    /// Bytes of the longest value.
    #[inline]
    pub(crate) fn value_max(&self) -> u64 {
        self.value_max.load(Relaxed)
    }

    /// Refuses a value that is longer than allowed.
    #[inline]
    pub(crate) fn check_value(&self, len: usize) -> Result<(), Error> {
        let (len, limit) = (len as u64, self.value_max());
        if len > limit {
            return Err(Error::TooLong { need: Bytes(len), limit: Bytes(limit) });
        }
        Ok(())
    }

    /// Refuses a write that would evict items in vain, because an item can never have `need` bytes.
    /// Only writes that are large compared to the limit can fail after evictions, so only those are
    /// checked. It is called before any eviction for any step of the write.
    pub(crate) fn check_fit(
        &self,
        contents: &Contents,
        tenant: TenantId,
        need: u64,
    ) -> Result<(), Error> {
        let tenants = &contents.tenants;
        let max = contents.tenant(tenant).account.max();
        let effective = self.memory.effective();
        if need < max.min(effective) / 16 {
            return Ok(());
        }
        let most = effective.saturating_sub(self.fixed_bytes(tenants.len())).min(max);
        if need > most {
            return Err(Error::TooLarge { need: Bytes(need), limit: Bytes(most) });
        }
        let others = tenants.iter().enumerate().filter(|(at, _)| *at != tenant as usize);
        let protected: u64 = others.map(|(_, tenant)| tenant.account.protected()).sum();
        if need > most.saturating_sub(protected) { Err(Error::Full) } else { Ok(()) }
    }
}

/// The limits of the store and the other shards, which a locked shard uses beside its own data to
/// make room.
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

impl RoomRequest {
    /// The request of a write.
    pub(crate) const fn of(need: &Need, now: Now) -> Self {
        Self { tenant: Some(need.tenant), own: false, pinned: need.pinned, now }
    }

    /// The only tenant whose items may be evicted, if only one's may be.
    pub(crate) fn own_tenant(&self) -> Option<TenantId> {
        self.tenant.filter(|_| self.own)
    }
}

/// The other shards, as sources of room. The caller holds the shard at `at`; `first` is random.
pub(crate) trait OtherShards {
    /// The shard that holds most, of some starting at a random one, if it holds enough more than
    /// the shard at `at` to give a page.
    fn richer(&self, at: usize, first: usize) -> Option<usize>;

    /// Evicts a page in another shard, if its lock is free now.
    fn try_evict_at(&self, other: usize, want: &RoomRequest) -> Freed;

    /// Evicts a page in any shard except the one at `at`. Nothing is free afterwards if nothing in
    /// any shard may be evicted.
    fn evict_elsewhere(&self, at: usize, first: usize, want: &RoomRequest) -> Freed;
}
