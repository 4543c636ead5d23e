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

use crate::bytes::freed::Freed;
use crate::contents::contents::Contents;
use crate::contents::need::{Need, Reserved};
use crate::items::sizes::size_class::SizeClass;
use crate::room::expire::{expire, expire_for_chunk};
use crate::room::room::{Room, TreeTurn};
use crate::room::tailor::tailor_class;
use crate::victims::budget::{Around, RoomRequest};
use crate::{Error, Now};
use base::TenantId;

/// A check whether another shard holds more happens once in this many evictions.
const LOOK_EVERY: u64 = 16;

impl Room {
    /// Reserves the room that a write needs, by evictions if there is none. On failure nothing is
    /// reserved.
    #[inline]
    pub(crate) fn reserve(
        &mut self,
        contents: &mut Contents,
        around: &Around<'_>,
        need: &Need,
        now: Now,
    ) -> Result<Reserved, Error> {
        if need.expiry {
            self.reserve_expiry(contents, around, need, now)?;
        }
        let mut bytes = need.bytes;
        match (need.place, need.chunk) {
            (None, Some(chunk)) => bytes = self.reserve_item(contents, around, need, chunk, now)?,
            (Some(_), Some(chunk)) => self.reserve_copy(contents, around, need, chunk, now)?,
            (_, None) if need.is_charged => self.reserve_charged(contents, around, need, now)?,
            (_, None) if bytes > 0 => self.make_room(contents, around, need, bytes, now)?,
            (_, None) => {}
        }
        let place = match need.place {
            Some(_) if need.expiry || need.chunk.is_some() => {
                Some(contents.spared(need.tenant, need.hash, need.pinned))
            }
            place => place,
        };
        Ok(Reserved { place, bytes })
    }

    /// Ensures that the tenant's wheel can take one more entry.
    fn reserve_expiry(
        &mut self,
        contents: &mut Contents,
        around: &Around<'_>,
        need: &Need,
        now: Now,
    ) -> Result<(), Error> {
        let cost = contents.tenant(need.tenant).wheel_cost();
        if cost > 0 {
            self.make_room(contents, around, need, cost, now)?;
            around.budget.memory.take_back(contents.widen_wheel(need.tenant, cost));
        }
        Ok(())
    }

    /// Reserves a chunk for a new item, and its place in the table. Returns the bytes reserved for
    /// the table.
    fn reserve_item(
        &mut self,
        contents: &mut Contents,
        around: &Around<'_>,
        need: &Need,
        chunk: u64,
        now: Now,
    ) -> Result<u64, Error> {
        let mut reserved = 0;
        // Evictions may change the need of the table, and evictions for the table may take away
        // chunks.
        let made = loop {
            let table = contents.tenant(need.tenant).table.insert_cost(need.hash);
            if table < reserved {
                // Evictions freed so much that the table need not grow; a page may need these
                // bytes.
                contents.give(&around.budget.memory, need.tenant, reserved - table);
                reserved = table;
            }
            if !contents.has_chunk(need.tenant, chunk)
                && let Err(error) = self.reserve_chunk(contents, around, need, chunk, now)
            {
                break Err(error);
            }
            let table = contents.tenant(need.tenant).table.insert_cost(need.hash);
            if table <= reserved {
                break Ok(());
            }
            if let Err(error) = self.make_room(contents, around, need, table - reserved, now) {
                break Err(error);
            }
            reserved = table;
        };
        if let Err(error) = made {
            around.budget.memory.take_back(contents.release_unwritten(need.tenant));
            contents.give(&around.budget.memory, need.tenant, reserved);
            return Err(error);
        }
        Ok(reserved)
    }

    /// Reserves a chunk for a copy of the written item, which stays until the copy is written.
    fn reserve_copy(
        &mut self,
        contents: &mut Contents,
        around: &Around<'_>,
        need: &Need,
        chunk: u64,
        now: Now,
    ) -> Result<(), Error> {
        if contents.has_chunk(need.tenant, chunk) {
            return Ok(());
        }
        let tenant = contents.tenant(need.tenant);
        let held = tenant.charge_of(tenant.table.get(contents.spared(
            need.tenant,
            need.hash,
            need.pinned,
        )));
        let bytes = held.saturating_add(tenant.pages.classes().charge(chunk));
        around.budget.check_fit(contents, need.tenant, bytes)?;
        self.reserve_chunk(contents, around, need, chunk, now)
    }

    /// Reserves bytes only in a tenant's account, for bytes that another tenant is charged so far.
    /// The store's counter does not change.
    fn reserve_charged(
        &mut self,
        contents: &mut Contents,
        around: &Around<'_>,
        need: &Need,
        now: Now,
    ) -> Result<(), Error> {
        if contents.tenant(need.tenant).account.try_take(need.bytes) {
            return Ok(());
        }
        let own = RoomRequest { own: true, ..RoomRequest::of(need, now) };
        let freed = self.timed(contents, now, |room, contents| {
            room.evict_own(contents, around, &own, need.tenant, need.bytes)
        })?;
        around.budget.memory.take_back(freed);
        Ok(())
    }

    /// Ensures that there is a free chunk, or a run, for an item with `bytes` bytes of contents.
    fn reserve_chunk(
        &mut self,
        contents: &mut Contents,
        around: &Around<'_>,
        need: &Need,
        bytes: u64,
        now: Now,
    ) -> Result<(), Error> {
        self.timed(contents, now, |room, contents| {
            room.clear_chunk(contents, around, need, bytes, now)
        })
    }

    /// Does the work of [`Room::reserve_chunk`].
    #[cold]
    fn clear_chunk(
        &mut self,
        contents: &mut Contents,
        around: &Around<'_>,
        need: &Need,
        bytes: u64,
        now: Now,
    ) -> Result<(), Error> {
        let tenant = need.tenant;
        if need.pinned == 0 {
            tailor_class(contents, around, tenant, bytes);
            if contents.has_chunk(tenant, bytes) {
                return Ok(());
            }
        }
        let pages = &contents.tenant(tenant).pages;
        let (class, page) = (pages.classes().of(bytes), pages.page_for(bytes));
        let cost = page + pages.class_cost(class);
        let is_chunk = class != pages.classes().large();
        let want = RoomRequest::of(need, now);
        around.budget.memory.take_back(contents.release_unwritten(tenant));
        if expire_for_chunk(contents, around, tenant, bytes, &want) {
            return Ok(());
        }
        if is_chunk
            && self.is_full(contents, around, tenant, cost)
            && !self.is_poor(contents, around)
        {
            let gains = self.try_gain_page(contents, around, SizeClass { tenant, class }, &want);
            if gains && contents.has_chunk(tenant, bytes) {
                self.eviction_times.victim();
                return Ok(());
            }
            if self.evict_some(contents, around, tenant, class, &want) {
                return Ok(());
            }
        }
        self.make_room(contents, around, need, cost, now)?;
        if contents.tenant_mut(tenant).pages.add_page(class, page) {
            return Ok(());
        }
        contents.give(&around.budget.memory, tenant, cost);
        Err(Error::Full)
    }

    /// Whether the tenant can only get a page from itself, or from pools that are within their
    /// budgets.
    fn is_full(
        &mut self,
        contents: &Contents,
        around: &Around<'_>,
        tenant: TenantId,
        need: u64,
    ) -> bool {
        let account = &contents.tenant(tenant).account;
        if account.max() < account.used() + need {
            return true;
        }
        around.budget.memory.used() + need > around.budget.memory.effective()
            && !account.is_below_min(need)
            && !self.pools.owes(&mut self.order, tenant, need)
    }
}

impl Room {
    /// Reserves `bytes` bytes for a write of the tenant, and evicts if necessary.
    #[inline]
    fn make_room(
        &mut self,
        contents: &mut Contents,
        around: &Around<'_>,
        need: &Need,
        bytes: u64,
        now: Now,
    ) -> Result<(), Error> {
        if contents.try_take(&around.budget.memory, need.tenant, bytes) {
            return Ok(());
        }
        let want = RoomRequest::of(need, now);
        self.timed(contents, now, |room, contents| {
            room.evict_for(contents, around, &want, need.tenant, bytes)
        })
    }

    /// Reserves `need` bytes in a tenant's account, and evicts its own items for it. Returns the
    /// bytes of these items.
    fn evict_own(
        &mut self,
        contents: &mut Contents,
        around: &Around<'_>,
        own: &RoomRequest,
        tenant: TenantId,
        need: u64,
    ) -> Result<Freed, Error> {
        let mut credit = Freed::NOTHING;
        while !contents.tenant(tenant).account.try_take(need) {
            let freed = self.evict_anywhere(contents, around, own);
            if freed.is_nothing() {
                around.budget.memory.take_back(credit);
                return Err(Error::Full);
            }
            credit += freed;
        }
        Ok(credit)
    }

    #[cold]
    fn evict_for(
        &mut self,
        contents: &mut Contents,
        around: &Around<'_>,
        want: &RoomRequest,
        tenant: TenantId,
        need: u64,
    ) -> Result<(), Error> {
        let memory = &around.budget.memory;
        around.budget.check_fit(contents, tenant, need)?;
        let idle = contents.release_idle();
        let had_idle = !idle.is_nothing();
        memory.take_back(idle);
        // Pages without items are freed before any item is evicted.
        if had_idle && contents.try_take(memory, tenant, need) {
            return Ok(());
        }
        let own = RoomRequest { own: true, ..*want };
        let mut credit = self.evict_own(contents, around, &own, tenant, need)?;
        while credit.bytes() < need && !memory.try_take(need - credit.bytes()) {
            let freed = self.evict_anywhere(contents, around, want);
            if freed.is_nothing() {
                contents.tenant(tenant).account.give(need);
                memory.take_back(credit);
                return Err(Error::Full);
            }
            credit += freed;
        }
        memory.take_back(credit.without(need));
        // After a limit was lowered, each write also reduces the memory in use a little.
        if memory.excess() > 0 {
            let freed = self.evict_page(contents, want);
            if !freed.is_nothing() {
                self.eviction_times.victim();
            }
            memory.take_back(freed);
        }
        Ok(())
    }

    /// Evicts a page, here or in a shard that holds more and is free.
    fn evict_anywhere(
        &mut self,
        contents: &mut Contents,
        around: &Around<'_>,
        want: &RoomRequest,
    ) -> Freed {
        let freed = self.evict_somewhere(contents, around, want);
        if !freed.is_nothing() {
            self.eviction_times.victim();
        }
        freed
    }

    fn evict_somewhere(
        &mut self,
        contents: &mut Contents,
        around: &Around<'_>,
        want: &RoomRequest,
    ) -> Freed {
        let freed = expire(contents, want);
        if !freed.is_nothing() {
            return freed;
        }
        let freed = self.evict_tree(contents, want, TreeTurn::ByShare);
        if !freed.is_nothing() {
            return freed;
        }
        if let Some(other) = self.richer(contents, around) {
            let freed = around.others.try_evict_at(other, want);
            if !freed.is_nothing() {
                return freed;
            }
        }
        let freed = self.evict_page(contents, want);
        if freed.is_nothing() && self.pools.evict() {
            let first = contents.clock.prng.below(256) as usize;
            return around.others.evict_elsewhere(self.at, first, want);
        }
        freed
    }

    /// Another shard that holds enough more to give room. Each shard has the same share of the
    /// keys, so each should have the same share of the memory. If each made room only for itself,
    /// it would keep the memory that it had when the store filled up, and later lose or gain by
    /// chance.
    fn richer(&mut self, contents: &mut Contents, around: &Around<'_>) -> Option<usize> {
        let first = contents.clock.prng.below(around.budget.shards() as u64) as usize;
        around.others.richer(self.at, first)
    }

    /// Whether another shard should make room, checked only now and then.
    fn is_poor(&mut self, contents: &mut Contents, around: &Around<'_>) -> bool {
        around.budget.shards() > 1
            && contents.clock.prng.below(LOOK_EVERY) == 0
            && self.richer(contents, around).is_some()
    }
}
