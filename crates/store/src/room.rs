//! Room for a write: reserved before it takes memory, and evicted for if there is none.
//!
//! What is evicted stays reserved until the write has it, so no other thread can take it first,
//! and a write that evicts as much as it needs leaves the store's counter alone.

use crate::pools::Want;
use crate::shard::Shard;
use crate::trees::Often;
use crate::{Error, Now, Store};
use base::{Bytes, TenantId};

/// Once in so many evictions it is asked whether another shard holds more.
const LOOK_EVERY: u64 = 16;

impl Shard {
    /// Reserves `need` bytes for a write of the tenant, evicting what must go for it.
    #[inline]
    pub(crate) fn make_room(
        &mut self,
        store: &Store,
        tenant: TenantId,
        need: u64,
        spare: usize,
        now: Now,
    ) -> Result<(), Error> {
        let memory = &store.memory;
        if memory.try_take(need) {
            if self.tenants[tenant as usize].account.try_take(need) {
                return Ok(());
            }
            memory.give(need);
        }
        let want = Want { tenant: Some(tenant), own: false, spare, now };
        self.paused(now, |shard| shard.evict_for(store, want, tenant, need))
    }

    /// Reserves `need` bytes in a tenant's account alone, for what another tenant is charged so
    /// far: the store's memory is not asked for more.
    pub(crate) fn make_room_within(
        &mut self,
        store: &Store,
        tenant: TenantId,
        need: u64,
        spare: usize,
        now: Now,
    ) -> Result<(), Error> {
        if self.tenants[tenant as usize].account.try_take(need) {
            return Ok(());
        }
        let own = Want { tenant: Some(tenant), own: true, spare, now };
        let freed = self.paused(now, |shard| shard.evict_own(store, &own, tenant, need))?;
        store.memory.give(freed);
        Ok(())
    }

    /// Refuses a write of an item of which `held` bytes stay and `need` more come, if it can never
    /// have so many: before anything is evicted for any step of it.
    pub(crate) fn check_item(
        &self,
        store: &Store,
        tenant: TenantId,
        held: u64,
        need: u64,
    ) -> Result<(), Error> {
        self.check_fit(store, tenant, held.saturating_add(need))
    }

    /// Reserves `need` bytes in a tenant's account, making its own items leave. Returns the bytes
    /// that are free now, which stay reserved in the store's memory.
    fn evict_own(
        &mut self,
        store: &Store,
        own: &Want,
        tenant: TenantId,
        need: u64,
    ) -> Result<u64, Error> {
        let mut credit = 0;
        while !self.tenants[tenant as usize].account.try_take(need) {
            match self.evict_anywhere(store, own) {
                0 => {
                    store.memory.give(credit);
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
        store: &Store,
        want: Want,
        tenant: TenantId,
        need: u64,
    ) -> Result<(), Error> {
        let memory = &store.memory;
        self.check_fit(store, tenant, need)?;
        if self.release_idle(memory) > 0 && memory.try_take(need) {
            // Before any item leaves, pages do that have none.
            if self.tenants[tenant as usize].account.try_take(need) {
                return Ok(());
            }
            memory.give(need);
        }
        // What is evicted stays reserved, so that nobody else can take it before this write does.
        let mut credit = self.evict_own(store, &Want { own: true, ..want }, tenant, need)?;
        while credit < need && !memory.try_take(need - credit) {
            match self.evict_anywhere(store, &want) {
                0 => {
                    self.tenants[tenant as usize].account.give(need);
                    memory.give(credit);
                    return Err(Error::Full);
                }
                freed => credit += freed,
            }
        }
        memory.give(credit.saturating_sub(need));
        // After a limit was lowered each write also lowers what is in use, by a little.
        if memory.excess() > 0 {
            let freed = self.evict_page(&want);
            if freed > 0 {
                self.pausing.victim();
            }
            memory.give(freed);
        }
        Ok(())
    }

    /// Makes a page leave, here or in a shard that holds more and is free.
    fn evict_anywhere(&mut self, store: &Store, want: &Want) -> u64 {
        let freed = self.evict_somewhere(store, want);
        if freed > 0 {
            self.pausing.victim();
        }
        freed
    }

    fn evict_somewhere(&mut self, store: &Store, want: &Want) -> u64 {
        let freed = self.expire(want);
        if freed > 0 {
            return freed;
        }
        let freed = self.evict_tree(want, Often::ByShare);
        if freed > 0 {
            return freed;
        }
        if let Some(other) = self.richer(store) {
            let freed = store.try_evict_at(other, want);
            if freed > 0 {
                return freed;
            }
        }
        match self.evict_page(want) {
            0 if self.pools.evict() => {
                let first = self.prng.below(256) as usize;
                store.evict_elsewhere(self.at, first, want)
            }
            freed => freed,
        }
    }

    /// Another shard that holds so much more that it is to make room. Each has the same share of
    /// the keys, so each is to have the same share of the memory; were all room made at home, each
    /// would keep what it had when memory filled up, and lose or gain by chance from there on.
    fn richer(&mut self, store: &Store) -> Option<usize> {
        let first = self.prng.below(store.shards.len() as u64) as usize;
        store.richer(self.at, first)
    }

    /// Whether it is time to ask, and another shard is to make room.
    pub(crate) fn is_poor(&mut self, store: &Store) -> bool {
        store.shards.len() > 1 && self.prng.below(LOOK_EVERY) == 0 && self.richer(store).is_some()
    }

    /// Refuses a write before anything is evicted in vain for it. Only writes that are large
    /// beside the limit can fail to fit once something is evicted, so only those are checked.
    pub(crate) fn check_fit(
        &self,
        store: &Store,
        tenant: TenantId,
        need: u64,
    ) -> Result<(), Error> {
        let max = self.tenants[tenant as usize].account.max();
        let effective = store.memory.effective();
        if need < max.min(effective) / 16 {
            return Ok(());
        }
        let most = effective.saturating_sub(store.fixed_bytes(self.tenants.len())).min(max);
        if need > most {
            return Err(Error::TooLarge { need: Bytes(need), limit: Bytes(most) });
        }
        let others = self.tenants.iter().enumerate().filter(|(at, _)| *at != tenant as usize);
        let protected: u64 = others.map(|(_, tenant)| tenant.account.protected()).sum();
        if need > most.saturating_sub(protected) { Err(Error::Full) } else { Ok(()) }
    }
}
