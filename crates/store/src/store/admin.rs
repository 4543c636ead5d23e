//! Settings: limits, tenants, pools.

use crate::bytes::account::Account;
use crate::bytes::config::Slab;
use crate::compression::work::CodecWork;
use crate::items::pages::pages::Pages;
use crate::items::sizes::division::PAGES;
use crate::learning::penalty_classes::PenaltyClassCounts;
use crate::store::store::Admin;
use crate::sync::shim::lock;
use crate::tenant::tenant::TenantShard;
use crate::victims::pools::Pools;
use crate::{Bounds, Evictable, Pool, Store};
use base::{Bytes, TenantId};
use policy::Evictor;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

impl Store {
    /// Changes the limit; 0 for none. A lower limit is reached gradually: each write frees a little
    /// more than it takes, and [`Store::sweep`] does the rest.
    pub fn set_limit(&self, limit: Bytes) {
        self.budget.memory.set_limit(limit.0);
        self.arena.set_limit(limit.0);
    }

    /// Whether the store's pages are too long, and its shards too many, for a limit: a new store
    /// with that limit would hold more items.
    pub fn is_coarse_for(&self, limit: Bytes, slab: &Slab) -> bool {
        let (shards, page) = (self.shards.len(), self.sizes.page());
        let fresh = slab.shards(limit.0, shards);
        let pages = limit.0 / (shards as u64 * page);
        let is_finer =
            || fresh < shards || slab.classes(limit.0, fresh, self.tenants()).page() < page;
        limit.0 > 0 && pages < PAGES && is_finer()
    }

    /// Changes which items may be evicted.
    pub fn set_evictable(&self, evictable: Evictable) {
        for shard in &self.shards {
            shard.write_drained().parts().1.set_evictable(evictable);
        }
    }

    /// Changes the length of the longest value, at most 4 GiB - 1. Longer values that exist stay.
    pub fn set_max_item(&self, max: Bytes) {
        self.budget.set_value_max(max.0.min(u64::from(u32::MAX)));
    }

    /// Sets whether large values that may be declined compete with the items that they would evict.
    pub fn set_admission(&self, competes: bool) {
        self.budget.competes.store(competes, Relaxed);
    }

    /// Bytes of the limit set aside.
    pub fn reserve(&self) -> Bytes {
        Bytes(self.budget.memory.reserve())
    }

    /// Sets bytes of the limit aside, for memory of the allocator beyond the charged bytes. Has no
    /// effect without a limit.
    pub fn set_reserve(&self, reserve: Bytes) {
        self.budget.memory.set_reserve(reserve.0);
    }

    /// Divides the memory between new pools. Tenants that no pool names join the first one; an
    /// empty list changes nothing. Nothing is evicted at once: items above their pool's budget are
    /// the first victims when a write needs room.
    pub fn set_pools(&self, pools: &[Pool]) {
        let mut admin = lock(&self.admin);
        if !pools.is_empty() {
            admin.pools = pools.to_vec();
            self.publish(&mut admin);
        }
    }

    /// The eviction policy of a tenant, as it was set, without later learning. If several pools
    /// hold the tenant, by class, that of the first.
    pub fn evictor(&self, tenant: TenantId) -> Evictor {
        let admin = lock(&self.admin);
        let named = admin.pools.iter().find(|pool| pool.tenants.contains(&tenant));
        named.unwrap_or(&admin.pools[0]).evictor.clone()
    }

    pub(crate) fn publish(&self, admin: &mut Admin) {
        self.switch_lessons(admin);
        let places = self.switch_classes(admin);
        let learnt = Self::learnt(admin);
        let pools = Arc::new(Pools::new(&admin.pools, &admin.accounts, &learnt));
        for (shard, held) in self.shards.iter().zip(&self.held) {
            let mut shard = shard.write_drained();
            let (contents, room) = shard.parts();
            for account in admin.accounts.iter().skip(contents.tenants.len()) {
                let pages = Pages::new(&self.arena, &self.sizes, held);
                let at = contents.tenants.len();
                let tenant = TenantShard::new(Arc::clone(account), pages, &admin.work[at]);
                contents.tenants.push(tenant);
            }
            room.set_pools(contents, &pools);
            Self::teach(admin, contents);
            contents.count_classes(places);
        }
    }

    /// Changes a tenant's bounds. A lower max is reached gradually.
    pub fn set_bounds(&self, tenant: TenantId, bounds: Bounds) {
        if let Some(account) = lock(&self.admin).accounts.get(usize::from(tenant)) {
            account.set_bounds(bounds);
        }
    }

    /// Adds a tenant to the first pool, and returns its number.
    pub fn add_tenant(&self, bounds: Bounds) -> TenantId {
        let mut admin = lock(&self.admin);
        let account = Account::new(bounds);
        let bytes = self.budget.fixed_bytes(1);
        account.take(bytes);
        self.budget.memory.take(bytes);
        admin.accounts.push(account);
        admin.work.push(CodecWork::new(self.nanos));
        self.publish(&mut admin);
        (admin.accounts.len() - 1) as TenantId
    }

    /// Bytes of other tenants that a tenant's writes can never evict.
    pub fn protected_from(&self, tenant: TenantId) -> Bytes {
        let admin = lock(&self.admin);
        let others = admin.accounts.iter().enumerate().filter(|(at, _)| *at != usize::from(tenant));
        Bytes(others.map(|(_, account)| account.protected()).sum())
    }

    /// The number of tenants.
    pub fn tenants(&self) -> usize {
        lock(&self.admin).accounts.len()
    }
}

/// Bytes of the limit for each place in the penalty table.
const BYTES_PER_PLACE: u64 = 512;

/// Range of the number of places of all shards together.
const PLACES: std::ops::RangeInclusive<u64> = 1 << 12..=1 << 20;

impl Store {
    /// Sets whether the penalties of a tenant are the hints of [`Store::set_with_hint`] instead of
    /// measured times.
    pub fn set_hinted(&self, tenant: TenantId, hinted: bool) {
        if let Some(account) = lock(&self.admin).accounts.get(usize::from(tenant)) {
            account.set_hinted(hinted);
        }
    }

    /// Starts counting classes if a pool has one, and stops when none has. Returns the number of
    /// keys that each shard remembers; `None` to count nothing.
    pub(crate) fn switch_classes(&self, admin: &mut Admin) -> Option<usize> {
        let on = admin.pools.iter().any(|pool| pool.class.is_some());
        let places = (self.budget.memory.limit() / BYTES_PER_PLACE)
            .clamp(*PLACES.start(), *PLACES.end())
            .next_power_of_two() as usize
            / self.shards.len();
        let of_shard =
            admin.accounts.len() * size_of::<PenaltyClassCounts>() + places * size_of::<u32>();
        let bytes = if on { (self.shards.len() * of_shard) as u64 } else { 0 };
        self.budget.memory.take(bytes);
        self.budget.memory.give(std::mem::replace(&mut admin.class_bytes, bytes));
        on.then_some(places)
    }
}

impl Store {
    /// Starts or stops counting the requests to each size class. Misses and writes are counted only
    /// while fetches are timed ([`Store::set_stopwatch`]).
    pub fn count_sizes(&self, on: bool) {
        if self.counts_sizes.swap(on, Relaxed) != on {
            self.shards.iter().for_each(|shard| {
                shard.write_drained().contents_mut().set_counts_sizes(on);
            });
        }
    }
}
