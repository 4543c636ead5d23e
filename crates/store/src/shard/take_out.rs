//! Removals: on request, by a flush, and of items that have expired.

use crate::bytes::key::hash_of;
use crate::bytes::memory::Memory;
use crate::contents::exit::Exit;
use crate::contents::tenant::TenantShard;
use crate::items::item::{Owned, Ref};
use crate::items::table::item_table::{END, Slot};
use crate::learning::lifetimes;
use crate::learning::lifetimes::lived;
use crate::learning::tap::Seen;
use crate::shard::shard::Shard;
use crate::{Key, Now, Scope};
use base::{Sighting, TenantId};

impl Shard {
    /// The only way to remove an item from the table. It informs everything that counts removals.
    /// Returns the item, for the caller to give back to its page, and the bytes of buckets that are
    /// free now.
    #[inline]
    pub(crate) fn take_out(&mut self, at: TenantId, place: Slot, exit: Exit) -> (Owned, u64) {
        let lived = lived(self.lives.as_ref(), self.reader_slot);
        let tenant = &mut self.tenants[usize::from(at)];
        let item = tenant.table.get(place);
        if let Some(cause) = exit.cause() {
            lifetimes::record_end(lived, at, item, self.tick);
            crate::learning::removals::leaves(&mut tenant.removals, item, cause, self.tick);
        }
        if exit == Exit::Expired {
            self.tap.see_dead(at, self.tick, || hash_of(self.seed, item.db(), item.key()));
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
            self.sweeper.emptied = true;
        }
        (item, bytes)
    }

    /// Removes an item and frees its chunk. The page is freed too if the item was the last there.
    /// Returns the bytes that are free now; the account has them back already.
    pub(crate) fn remove(&mut self, at: TenantId, place: Slot, exit: Exit) -> u64 {
        let (item, bytes) = self.take_out(at, place, exit);
        let tenant = &mut self.tenants[usize::from(at)];
        let bytes = bytes + tenant.pages.free(item);
        tenant.account.give(bytes);
        self.sweeper.has_idle |= tenant.pages.has_idle();
        bytes
    }
}

impl Shard {
    /// Removes an item on request.
    pub(crate) fn delete(&mut self, memory: &Memory, key: &Key, place: Slot, now: Now) {
        let tenant = &self.tenants[key.tenant as usize];
        let item = tenant.table.get(place);
        self.tap.see(key, now, self.tick, Sighting::Delete, || Seen {
            size: tenant.charge_of(item),
            expires: item.expires(),
            ..Seen::NOTHING
        });
        let bytes = self.remove(key.tenant, place, Exit::Deleted);
        self.stopwatch.forget(key.hash);
        memory.give(bytes);
        self.shrink(memory, key.tenant);
    }

    /// Removes the items of a tenant in a database, or in all. Returns how many it removed.
    pub(crate) fn flush_db(&mut self, memory: &Memory, at: TenantId, db: Option<u8>) -> u64 {
        self.note_flush(Scope { tenant: Some(at), db });
        let (mut removed, mut position) = (0, 0);
        while position < END {
            let tenant = &self.tenants[at as usize];
            let is_wanted = |item: Ref, _| db.is_none_or(|db| item.db() == db);
            let Some(place) = tenant.table.find_at(position, is_wanted) else {
                position = tenant.table.next(position);
                continue;
            };
            memory.give(self.remove(at, place, Exit::Flushed));
            removed += 1;
        }
        while self.shrink(memory, at) {}
        removed
    }

    /// A random live item of `scope`, if a few draws or a walk find one here.
    pub(crate) fn draw(&mut self, scope: Scope, now: Now) -> Option<(TenantId, Slot)> {
        let len = |at: usize, tenant: &TenantShard| match scope.tenant {
            Some(only) if usize::from(only) != at => 0,
            _ => tenant.len(scope.db).items,
        };
        let lens: Vec<_> = self.tenants.iter().enumerate().map(|(at, t)| len(at, t)).collect();
        let total = lens.iter().sum::<u64>();
        if total == 0 {
            return None;
        }
        let mut r = self.prng.below(total);
        let at = lens.iter().position(|&len| {
            let is_mine = r < len;
            r = r.wrapping_sub(len);
            is_mine
        })?;
        let fits =
            |item: Ref| scope.db.is_none_or(|db| item.db() == db) && !item.is_dead(now.unix_ms);
        let table = &self.tenants[at].table;
        for _ in 0..DRAWS {
            let (place, word) = table.draw(&mut self.prng);
            if word != 0 && fits(table.get(place)) {
                return Some((at as TenantId, place));
            }
        }
        for start in [self.prng.below(END), 0] {
            let mut position = start;
            while position < END {
                if let Some(place) = table.find_at(position, |item, _| fits(item)) {
                    return Some((at as TenantId, place));
                }
                position = table.next(position);
            }
        }
        None
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
}

/// Draws for a random key before a walk looks for one.
const DRAWS: usize = 64;
