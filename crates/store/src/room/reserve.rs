//! Room for a write: reserved before it uses memory, and obtained by eviction if there is none.
//!
//! Evicted bytes stay reserved until the write has them, so no other thread can take them first. A
//! write that evicts as much as it needs does not change the store's counter.

use crate::room::budget::Around;
use crate::room::evict_tree::TreeTurn;
use crate::room::request::RoomRequest;
use crate::shard::shard::Shard;
use crate::{Error, Now};
use base::{Bytes, TenantId};

/// A check whether another shard holds more happens once in this many evictions.
const LOOK_EVERY: u64 = 16;

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
