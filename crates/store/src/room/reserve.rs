//! Room for a write: reserved before it uses memory, and obtained by eviction if there is none.
//!
//! ```text
//!   a SET ─▶ has its class a free chunk? ──yes──▶ write
//!                │ no
//!                ▼
//!            is anything dead? ──yes──▶ it leaves
//!                │ no
//!                ▼
//!            may its tenant have a page more? ──yes──▶ a page (evict_page.rs):
//!                │ no                                  from the pool that is to give, the class
//!                ▼                                     whose victims are worth least
//!            a page of a class that is worth less (balance.rs), or
//!            the lowest rank of K candidates of its class leaves its chunk (evict.rs)
//! ```
//!
//! Every shard holds a random sample of every tenant. A shard that needs room therefore evicts
//! among its own items and does not involve others, except for items that are large compared to it.
//! A tenant at or below its min is skipped, unless it needs the room itself and no other tenant has
//! any to give. Items known to be dead are removed before all live ones (`expire.rs`).
//!
//! Evicted bytes stay reserved until the write has them, so no other thread can take them first. A
//! write that evicts as much as it needs does not change the store's counter.

use crate::items::pages::size_class::SizeClass;
use crate::items::table::item_table::Slot;
use crate::room::budget::{Around, RoomRequest};
use crate::room::evict_tree::TreeTurn;
use crate::shard::shard::Shard;
use crate::{Error, Key, Now};
use base::{Bytes, TenantId};

/// A check whether another shard holds more happens once in this many evictions.
const LOOK_EVERY: u64 = 16;

impl Shard {
    /// Whether there is a free chunk for an item of these contents.
    #[inline]
    pub(crate) fn has_chunk(&self, tenant: TenantId, contents: u64) -> bool {
        self.tenants[usize::from(tenant)].pages.has_room(contents)
    }

    /// Does the work of [`Shard::chunk_room`] while the item at `place` is being written. The item
    /// is spared. Returns its place, which evictions may change.
    pub(crate) fn reserve_pinned(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        place: Slot,
        contents: u64,
        now: Now,
    ) -> Result<Slot, Error> {
        let tenant = &self.tenants[usize::from(key.tenant)];
        let (word, item) = (tenant.table.word(place), tenant.table.get(place));
        if !self.has_chunk(key.tenant, contents) {
            // The item stays until the new one is written.
            let (held, need) = (tenant.charge_of(item), tenant.pages.classes().charge(contents));
            self.check_item(around, key.tenant, held, need)?;
        }
        self.chunk_room(around, key.tenant, contents, word, now)?;
        let place = self.tenants[usize::from(key.tenant)].table.find_word(key.hash, word);
        Ok(place.expect("an item that is spared stays"))
    }

    /// Ensures that there is a free chunk, or a run, for an item of these contents. The item whose
    /// [word](crate::items::table::item_table::ItemTable::word) is `pinned` stays.
    pub(crate) fn chunk_room(
        &mut self,
        around: &Around<'_>,
        tenant: TenantId,
        contents: u64,
        pinned: usize,
        now: Now,
    ) -> Result<(), Error> {
        if self.has_chunk(tenant, contents) {
            return Ok(());
        }
        self.timed(now, |shard| shard.clear_chunk(around, tenant, contents, pinned, now))
    }

    /// Does the work of [`Shard::chunk_room`] if no chunk is free.
    #[cold]
    fn clear_chunk(
        &mut self,
        around: &Around<'_>,
        tenant: TenantId,
        contents: u64,
        pinned: usize,
        now: Now,
    ) -> Result<(), Error> {
        if pinned == 0 {
            self.tailor_class(around, tenant, contents);
            if self.has_chunk(tenant, contents) {
                return Ok(());
            }
        }
        let pages = &self.tenants[usize::from(tenant)].pages;
        let (class, page) = (pages.classes().of(contents), pages.page_for(contents));
        let need = page + pages.class_cost(class);
        let is_chunk = class != pages.classes().large();
        let want = RoomRequest { tenant: Some(tenant), own: false, pinned, now };
        self.release_unwritten(around, tenant);
        if self.expire_for_chunk(around, tenant, contents, &want) {
            return Ok(());
        }
        if is_chunk && self.is_full(around, tenant, need) && !self.is_poor(around) {
            let gains = self.try_gain_page(around, SizeClass { tenant, class }, &want);
            if gains && self.has_chunk(tenant, contents) {
                self.eviction_times.victim();
                return Ok(());
            }
            if self.evict_some(around, tenant, class, &want) {
                return Ok(());
            }
        }
        self.make_room(around, tenant, need, pinned, now)?;
        if self.tenants[usize::from(tenant)].pages.add_page(class, page) {
            return Ok(());
        }
        self.give(&around.budget.memory, tenant, need);
        Err(Error::Full)
    }

    /// Gives back the page of a large item that was not written in the end.
    pub(crate) fn release_unwritten(&mut self, around: &Around<'_>, tenant: TenantId) {
        let bytes = self.tenants[usize::from(tenant)].pages.release_unwritten();
        self.give(&around.budget.memory, tenant, bytes);
    }

    /// Whether the tenant can only get a page from itself, or from pools that are within their
    /// budgets.
    fn is_full(&mut self, around: &Around<'_>, tenant: TenantId, need: u64) -> bool {
        let account = &self.tenants[usize::from(tenant)].account;
        if account.max() < account.used() + need {
            return true;
        }
        around.budget.memory.used() + need > around.budget.memory.effective()
            && !account.is_below_min(need)
            && !self.pools.owes(&mut self.order, tenant, need)
    }
}

impl Shard {
    /// Reserves `need` bytes for a write of the tenant, and evicts if necessary.
    #[inline]
    pub(crate) fn make_room(
        &mut self,
        around: &Around<'_>,
        tenant: TenantId,
        need: u64,
        pinned: usize,
        now: Now,
    ) -> Result<(), Error> {
        let memory = &around.budget.memory;
        if memory.try_take(need) {
            if self.tenants[tenant as usize].account.try_take(need) {
                return Ok(());
            }
            memory.give(need);
        }
        let want = RoomRequest { tenant: Some(tenant), own: false, pinned, now };
        self.timed(now, |shard| shard.evict_for(around, want, tenant, need))
    }

    /// Reserves `need` bytes only in a tenant's account, for bytes that another tenant is charged
    /// so far. The store's counter does not change.
    pub(crate) fn make_room_within(
        &mut self,
        around: &Around<'_>,
        tenant: TenantId,
        need: u64,
        pinned: usize,
        now: Now,
    ) -> Result<(), Error> {
        if self.tenants[tenant as usize].account.try_take(need) {
            return Ok(());
        }
        let own = RoomRequest { tenant: Some(tenant), own: true, pinned, now };
        let freed = self.timed(now, |shard| shard.evict_own(around, &own, tenant, need))?;
        around.budget.memory.give(freed);
        Ok(())
    }

    /// Refuses a write that keeps `held` bytes of an item and adds `need` more, if an item can
    /// never have that many. It is called before any eviction for any step of the write.
    pub(crate) fn check_item(
        &self,
        around: &Around<'_>,
        tenant: TenantId,
        held: u64,
        need: u64,
    ) -> Result<(), Error> {
        self.check_fit(around, tenant, held.saturating_add(need))
    }

    /// Reserves `need` bytes in a tenant's account, and evicts its own items for it. Returns the
    /// bytes that are free now, which stay reserved in the store's memory.
    fn evict_own(
        &mut self,
        around: &Around<'_>,
        own: &RoomRequest,
        tenant: TenantId,
        need: u64,
    ) -> Result<u64, Error> {
        let mut credit = 0;
        while !self.tenants[tenant as usize].account.try_take(need) {
            match self.evict_anywhere(around, own) {
                0 => {
                    around.budget.memory.give(credit);
                    return Err(Error::Full);
                }
                freed => credit += freed,
            }
        }
        Ok(credit)
    }

    #[cold]
    fn evict_for(
        &mut self,
        around: &Around<'_>,
        want: RoomRequest,
        tenant: TenantId,
        need: u64,
    ) -> Result<(), Error> {
        let memory = &around.budget.memory;
        self.check_fit(around, tenant, need)?;
        if self.release_idle(memory) > 0 && memory.try_take(need) {
            // Pages without items are freed before any item is evicted.
            if self.tenants[tenant as usize].account.try_take(need) {
                return Ok(());
            }
            memory.give(need);
        }
        // Evicted bytes stay reserved, so that no other thread can take them before this write
        // does.
        let mut credit =
            self.evict_own(around, &RoomRequest { own: true, ..want }, tenant, need)?;
        while credit < need && !memory.try_take(need - credit) {
            match self.evict_anywhere(around, &want) {
                0 => {
                    self.tenants[tenant as usize].account.give(need);
                    memory.give(credit);
                    return Err(Error::Full);
                }
                freed => credit += freed,
            }
        }
        memory.give(credit.saturating_sub(need));
        // After a limit was lowered, each write also reduces the memory in use a little.
        if memory.excess() > 0 {
            let freed = self.evict_page(&want);
            if freed > 0 {
                self.eviction_times.victim();
            }
            memory.give(freed);
        }
        Ok(())
    }

    /// Evicts a page, here or in a shard that holds more and is free.
    fn evict_anywhere(&mut self, around: &Around<'_>, want: &RoomRequest) -> u64 {
        let freed = self.evict_somewhere(around, want);
        if freed > 0 {
            self.eviction_times.victim();
        }
        freed
    }

    fn evict_somewhere(&mut self, around: &Around<'_>, want: &RoomRequest) -> u64 {
        let freed = self.expire(want);
        if freed > 0 {
            return freed;
        }
        let freed = self.evict_tree(want, TreeTurn::ByShare);
        if freed > 0 {
            return freed;
        }
        if let Some(other) = self.richer(around) {
            let freed = around.others.try_evict_at(other, want);
            if freed > 0 {
                return freed;
            }
        }
        match self.evict_page(want) {
            0 if self.pools.evict() => {
                let first = self.prng.below(256) as usize;
                around.others.evict_elsewhere(self.at, first, want)
            }
            freed => freed,
        }
    }

    /// Another shard that holds enough more to give room. Each shard has the same share of the
    /// keys, so each should have the same share of the memory. If each made room only for itself,
    /// it would keep the memory that it had when the store filled up, and later lose or gain by
    /// chance.
    fn richer(&mut self, around: &Around<'_>) -> Option<usize> {
        let first = self.prng.below(around.budget.shards() as u64) as usize;
        around.others.richer(self.at, first)
    }

    /// Whether another shard should make room, checked only now and then.
    pub(crate) fn is_poor(&mut self, around: &Around<'_>) -> bool {
        around.budget.shards() > 1
            && self.prng.below(LOOK_EVERY) == 0
            && self.richer(around).is_some()
    }

    /// Refuses a write that would evict items in vain. Only writes that are large compared to the
    /// limit can fail after evictions, so only those are checked.
    pub(crate) fn check_fit(
        &self,
        around: &Around<'_>,
        tenant: TenantId,
        need: u64,
    ) -> Result<(), Error> {
        let max = self.tenants[tenant as usize].account.max();
        let effective = around.budget.memory.effective();
        if need < max.min(effective) / 16 {
            return Ok(());
        }
        let most = effective.saturating_sub(around.budget.fixed_bytes(self.tenants.len())).min(max);
        if need > most {
            return Err(Error::TooLarge { need: Bytes(need), limit: Bytes(most) });
        }
        let others = self.tenants.iter().enumerate().filter(|(at, _)| *at != tenant as usize);
        let protected: u64 = others.map(|(_, tenant)| tenant.account.protected()).sum();
        if need > most.saturating_sub(protected) { Err(Error::Full) } else { Ok(()) }
    }
}
