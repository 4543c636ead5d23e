//! Removals: the one way out of a table, with everything that must hear of it.

use crate::bytes::freed::Freed;
use crate::bytes::key::hash_of;
use crate::bytes::memory::Memory;
use crate::contents::contents::Contents;
use crate::items::item::{Owned, Ref};
use crate::items::pages::victim::Victim;
use crate::items::table::item_table::{END, Slot};
use crate::learning::exit::Exit;
use crate::learning::lifetimes;
use crate::learning::lifetimes::lived;
use crate::learning::removals;
use crate::learning::tap::Observation;
use crate::tenant::tenant::TenantShard;
use crate::{Key, Now, Scope};
use base::{Sighting, TenantId};

impl Contents {
    /// Removes an item and frees its chunk. The page is freed too if the item was the last there.
    pub(crate) fn take_out(&mut self, at: TenantId, place: Slot, exit: Exit) -> Freed {
        let (item, bytes) = self.unlink(at, place, exit);
        let tenant = &mut self.tenants[usize::from(at)];
        let bytes = bytes + tenant.pages.free(item);
        self.has_idle |= tenant.pages.has_idle();
        tenant.account.release(bytes)
    }

    /// Evicts an item of a class. Its chunk stays in the page, for another item of the class.
    pub(crate) fn take_victim(&mut self, at: TenantId, class: usize, chosen: &Victim) -> Freed {
        let place = self.place_of(at, class, chosen);
        self.remember(at, place);
        let exit = if chosen.is_dead { Exit::Expired } else { Exit::Evicted };
        let (item, bytes) = self.unlink(at, place, exit);
        let tenant = &mut self.tenants[usize::from(at)];
        tenant.pages.vacate_in(class, chosen.page, item, !chosen.is_dead);
        tenant.counters.expired_for_room += u64::from(chosen.is_dead);
        tenant.account.release(bytes)
    }

    /// The only way to remove an item from a table. It informs everything that counts removals.
    /// Returns the item, for the caller to give back to its page, and the bytes of buckets and of
    /// its tree that are free now.
    #[inline]
    fn unlink(&mut self, at: TenantId, place: Slot, exit: Exit) -> (Owned, u64) {
        let tick = self.clock.tick;
        let lived = lived(self.lives.as_ref(), self.clock.reader_slot);
        let tenant = &mut self.tenants[usize::from(at)];
        let item = tenant.table.get(place);
        if let Some(cause) = exit.cause() {
            lifetimes::record_end(lived, at, item, tick);
            removals::leaves(&mut tenant.removals, item, cause, tick, &tenant.compressed);
        }
        if exit == Exit::Expired {
            self.tap.see_dead(at, tick, || hash_of(self.seed, item.db(), item.key()));
        }
        let charge = if exit == Exit::Evicted { tenant.charge_of(item) } else { 0 };
        let (item, bytes) = tenant.take(place);
        match exit {
            Exit::Evicted => {
                tenant.counters.evicted += 1;
                tenant.counters.evicted_bytes += charge;
                if let Some(table) = &mut self.penalty_table {
                    table.leave(self.seed, at, &item);
                }
            }
            Exit::Expired => tenant.counters.expired += 1,
            Exit::Deleted => tenant.counters.deletes += 1,
            Exit::Flushed | Exit::Dumped => {}
        }
        if matches!(exit, Exit::Expired | Exit::Flushed | Exit::Dumped) {
            self.emptied = true;
        }
        (item, bytes)
    }

    /// The place in the table of a chosen item.
    fn place_of(&self, at: TenantId, class: usize, chosen: &Victim) -> Slot {
        let tenant = self.tenant(at);
        let anew = || {
            let met = tenant.pages.met(class, chosen.page, chosen.slot, self.seed, 0)?;
            tenant.table.find_address(met.hash, met.addr)
        };
        let place = tenant.table.find_address(chosen.hash, chosen.addr).or_else(anew);
        place.expect("every item in a page is in the table")
    }
}

impl Contents {
    /// Removes an item on request.
    pub(crate) fn delete(&mut self, memory: &Memory, key: &Key, place: Slot, now: Now) {
        let tenant = &self.tenants[key.tenant as usize];
        let item = tenant.table.get(place);
        self.tap.see(key, now, self.clock.tick, Sighting::Delete, || Observation {
            size: tenant.charge_of(item),
            expires: item.expires(),
            ..Observation::NOTHING
        });
        let freed = self.take_out(key.tenant, place, Exit::Deleted);
        self.stopwatch.forget(key.hash);
        memory.take_back(freed);
        self.shrink(memory, key.tenant);
    }

    /// Removes the items of a tenant in a database, or in all. Returns how many it removed.
    pub(crate) fn flush_db(&mut self, memory: &Memory, at: TenantId, db: Option<u8>) -> u64 {
        self.note_flush(Scope { tenant: Some(at), db });
        let (mut removed, mut position) = (0, 0);
        while position < END {
            let tenant = self.tenant(at);
            let is_wanted = |item: Ref, _| db.is_none_or(|db| item.db() == db);
            let Some(place) = tenant.table.find_at(position, is_wanted) else {
                position = tenant.table.next(position);
                continue;
            };
            memory.take_back(self.take_out(at, place, Exit::Flushed));
            removed += 1;
        }
        while self.shrink(memory, at) {}
        removed
    }

    /// Merges a bucket of the tenant's table if the table has become sparse and there is room for
    /// the merge. Returns whether it did.
    pub(crate) fn shrink(&mut self, memory: &Memory, tenant: TenantId) -> bool {
        let seed = self.seed;
        let TenantShard { table, account, .. } = &mut self.tenants[tenant as usize];
        if !table.is_sparse() {
            return false;
        }
        let (cost, before) = (table.merge_cost(), table.bytes());
        if !account.try_take(cost) {
            return false;
        }
        if !memory.try_take(cost) {
            account.give(cost);
            return false;
        }
        table.merge(seed);
        let bytes = before + cost - table.bytes();
        self.give(memory, tenant, bytes);
        true
    }

    /// Frees the page of a large item that was not written in the end.
    pub(crate) fn release_unwritten(&mut self, tenant: TenantId) -> Freed {
        let TenantShard { pages, account, .. } = self.tenant_mut(tenant);
        account.release(pages.release_unwritten())
    }

    /// Frees the pages of classes whose last item was removed since the last call.
    pub(crate) fn release_idle(&mut self) -> Freed {
        let mut freed = Freed::NOTHING;
        if std::mem::take(&mut self.has_idle) {
            for tenant in &mut self.tenants {
                let bytes = tenant.pages.release_idle();
                freed += tenant.account.release(bytes);
            }
        }
        freed
    }
}
