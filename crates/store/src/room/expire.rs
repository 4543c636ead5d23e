//! Expiry: items are entered in a wheel when they get an expiry, and removed when it is due.
//!
//! Each tenant of each shard keeps a timing wheel (`items/wheel.rs`) of expiries. A writer that
//! sets an earlier expiry than before first makes room for an entry, so that nothing changes if
//! there is none, and enters it afterwards. Due entries are *expired* one after the other: all dead
//! items of the entry's chain are removed. If the entry's own item is alive, it is entered again.
//!
//! Two callers expire entries: the sweep, as bounded work in the background, and writes that need
//! room, before they evict anything. While a dead item is among the first [`LOOKS`] due entries of
//! a shard, no live item is evicted there. The two are counted separately.
//!
//! The sweep also walks through tables, one bucket after the other, to refresh stamps before they
//! wrap, and to merge buckets of tables that have become sparse. Then, if a limit was lowered, it
//! evicts.

use crate::bytes::key::hash_of;
use crate::bytes::memory::Memory;
use crate::bytes::stats::Swept;
use crate::contents::exit::Exit;
use crate::contents::tenant::TenantShard;
use crate::items::table::item_table::{END, Slot};
use crate::room::budget::{Around, RoomRequest};
use crate::shard::shard::Shard;
use crate::{Error, Key, Now};
use base::TenantId;

/// Accesses after which a table is walked for its stamps: often enough, because stamps wrap after
/// 2^26.
const STAMPS_EVERY: u64 = 1 << 23;
/// Accesses after which a walk may find a table that became sparse.
const WALK_EVERY: u64 = 1 << 10;
/// Entries that a write looks at for each item that it would evict: some hundred nanoseconds each.
const LOOKS: usize = 128;
/// Most tenants whose wheels are looked at together, so that the wait of a write does not grow with
/// the number of tenants.
const TENANTS_MAX: usize = 64;
/// Buckets that are entered for each new entry, while a walk refills a wheel.
const WALK_STEPS: usize = 4;
/// Entries whose memory a sweep frees at once.
const SHRINK_STEPS: usize = 4 << 10;

/// The position and the state of a shard's sweep.
#[derive(Debug, Default)]
pub(crate) struct Sweeper {
    tenant: usize,
    position: u64,
    /// Start of this walk through all tables, in accesses to the shard.
    begun: u64,
    /// Whether the walk visits every table, to refresh stamps.
    for_stamps: bool,
    /// Start of the last such walk.
    stamped: u64,
    /// The tenant whose dead items the next round removes first.
    first: usize,
    /// Whether items were removed without an access since the last walk ended.
    pub(crate) emptied: bool,
    /// Whether a tenant may have pages without items.
    pub(crate) has_idle: bool,
    /// How often [`LOOKS`] entries were looked at, after which a live item may have been evicted.
    #[cfg(test)]
    pub(crate) gave_up: u64,
}

impl Shard {
    /// Ensures that a tenant's wheel can take one more entry. The item whose
    /// [word](crate::items::table::item_table::ItemTable::word) is `pinned` stays.
    pub(crate) fn wheel_room(
        &mut self,
        around: &Around<'_>,
        tenant: TenantId,
        pinned: usize,
        now: Now,
    ) -> Result<(), Error> {
        let cost = self.tenants[tenant as usize].wheel_cost();
        if cost == 0 {
            return Ok(());
        }
        self.make_room(around, tenant, cost, pinned, now)?;
        self.note_wheel();
        let TenantShard { wheel, .. } = &mut self.tenants[tenant as usize];
        let before = wheel.as_ref().map_or(0, |wheel| wheel.bytes());
        let wheel = wheel.get_or_insert_default();
        wheel.reserve();
        let rest = before + cost - wheel.bytes();
        self.give(&around.budget.memory, tenant, rest);
        Ok(())
    }

    /// Does the work of [`Shard::wheel_room`] while the item at `place` is being written. The item
    /// is spared. Returns its place, which evictions may change.
    pub(crate) fn wheel_room_pinned(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        place: Slot,
        now: Now,
    ) -> Result<Slot, Error> {
        let word = self.tenants[key.tenant as usize].table.word(place);
        self.wheel_room(around, key.tenant, word, now)?;
        let place = self.tenants[key.tenant as usize].table.find_word(key.hash, word);
        Ok(place.expect("an item that is spared stays"))
    }

    /// Enters the current expiry of an item. The caller has made room.
    #[inline(never)]
    pub(crate) fn note_expiry(&mut self, key: &Key, when: u64, now: Now) {
        let at = key.tenant as usize;
        let tenant = &mut self.tenants[at];
        let wheel = tenant.wheel.as_mut().expect("room was made in it");
        wheel.enter(key.hash, when, now.unix_ms);
        self.no_expiry_before = self.no_expiry_before.min(wheel.no_expiry_before());
        self.walk_wheel(at, WALK_STEPS, now);
    }

    /// Enters all items of a tenant again if too many entries may be stale, from up to `budget`
    /// buckets. Returns the number of buckets that it looked at.
    fn walk_wheel(&mut self, at: usize, budget: usize, now: Now) -> usize {
        let tenant = &mut self.tenants[at];
        let (expiring, items) = (tenant.len(None).expires as usize, tenant.table.len());
        let TenantShard { wheel: Some(wheel), table, .. } = tenant else { return 0 };
        if wheel.is_loose(expiring, items) {
            wheel.restart();
        }
        for step in 0..budget {
            let Some(position) = wheel.walk else { return step };
            let mut is_whole = true;
            let next = table.walk(self.seed, position, |item| {
                let Some(when) = item.expires() else { return };
                is_whole &= wheel.has_spare();
                if is_whole {
                    wheel.enter(hash_of(self.seed, item.db(), item.key()), when, now.unix_ms);
                }
            });
            self.no_expiry_before = self.no_expiry_before.min(wheel.no_expiry_before());
            if !is_whole {
                // The bucket is looked at again once there is room for another entry.
                return step;
            }
            wheel.walk = Some(next).filter(|&next| next < END);
        }
        budget
    }

    /// Expires one due entry of a tenant. Returns the number of dead items removed, and the bytes
    /// that are free now; the account has them back already. `None` if nothing is due.
    fn expire_one(&mut self, at: usize, now: Now) -> Option<(u64, u64)> {
        let tenant = &mut self.tenants[at];
        let taken = tenant.wheel.as_mut()?.take(now.unix_ms)?;
        let (mut dead, mut bytes) = (0, 0);
        let is_dead = |item: crate::items::item::Ref| item.is_dead(now.unix_ms);
        while let Some(place) = self.tenants[at].table.find_beside(taken.hash, is_dead) {
            bytes += self.remove(at as TenantId, place, Exit::Expired);
            dead += 1;
        }
        let tenant = &mut self.tenants[at];
        let mut when = None;
        _ = tenant.table.find_beside(taken.hash, |item| {
            if let Some(expires) = item.expires()
                && hash_of(self.seed, item.db(), item.key()) as u32 == taken.hash
            {
                when = Some(when.map_or(expires, |when: u64| when.min(expires)));
            }
            false
        });
        if let Some(wheel) = &mut tenant.wheel {
            wheel.put_back(taken, when);
        }
        Some((dead, bytes))
    }

    /// Expires entries for a write that needs room. Returns the bytes that are free now, as
    /// [`Shard::evict_page`] does; 0 if no page became free.
    #[inline]
    pub(crate) fn expire(&mut self, want: &RoomRequest) -> u64 {
        let freed = self.free_leaves(want);
        if freed > 0 {
            return freed;
        }
        if want.now.unix_ms <= self.no_expiry_before {
            return 0;
        }
        let mut looks = LOOKS;
        loop {
            match self.expire_some(want, &mut looks) {
                // A chunk is free, but not its page.
                Some(0) => {}
                freed => return freed.unwrap_or(0),
            }
        }
    }

    /// Expires entries, as [`Shard::expire`], until there is a free chunk for an item of these
    /// contents. Returns whether there is.
    pub(crate) fn expire_for_chunk(
        &mut self,
        around: &Around<'_>,
        tenant: TenantId,
        contents: u64,
        want: &RoomRequest,
    ) -> bool {
        let mut looks = LOOKS;
        while want.now.unix_ms > self.no_expiry_before
            && let Some(freed) = self.expire_some(want, &mut looks)
        {
            around.budget.memory.give(freed);
            if self.has_chunk(tenant, contents) {
                return true;
            }
        }
        false
    }

    /// Expires entries until a dead item is removed, and returns the bytes that are free now.
    /// `None` if nothing more is due, or too many entries were looked at.
    #[cold]
    fn expire_some(&mut self, want: &RoomRequest, looks: &mut usize) -> Option<u64> {
        let count = self.tenants.len();
        let (first, looked_at) = match want.tenant.filter(|_| want.own) {
            Some(own) => (usize::from(own), 1),
            None if count <= TENANTS_MAX => (0, count),
            None => (self.prng.below(count as u64) as usize, TENANTS_MAX),
        };
        for at in (first..first + looked_at).map(|at| at % count) {
            while *looks > 0 {
                let Some((dead, bytes)) = self.expire_one(at, want.now) else { break };
                *looks -= 1;
                self.tenants[at].counters.expired_for_room += dead;
                if dead > 0 {
                    return Some(bytes);
                }
            }
        }
        #[cfg(test)]
        {
            self.sweeper.gave_up += u64::from(*looks == 0);
        }
        if count <= TENANTS_MAX {
            self.update_no_expiry();
        }
        None
    }

    /// Finds the time until which no wheel has a due entry.
    fn update_no_expiry(&mut self) {
        let wheels = self.tenants.iter().filter_map(|tenant| tenant.wheel.as_ref());
        let quiet = wheels.map(|wheel| wheel.no_expiry_before()).min();
        self.has_wheels = quiet.is_some();
        self.no_expiry_before = quiet.unwrap_or(u64::MAX);
    }

    /// Expires up to `budget` due entries, tenant by tenant, and maintains the wheels.
    fn sweep_wheels(&mut self, memory: &Memory, now: Now, budget: usize) -> Swept {
        let mut swept = Swept::default();
        if !self.has_wheels {
            return swept;
        }
        let count = self.tenants.len();
        let looked_at = count.min(TENANTS_MAX);
        // With many tenants, each round takes the next ones.
        let step = if looked_at < count { looked_at } else { 1 };
        let first = self.sweeper.first % count.max(1);
        self.sweeper.first = first + step;
        for at in (first..first + looked_at).map(|at| at % count) {
            while swept.buckets < budget
                && let Some((dead, bytes)) = self.expire_one(at, now)
            {
                memory.give(bytes);
                self.tenants[at].counters.expired_swept += dead;
                swept.expired += dead as usize;
                swept.buckets += 1;
            }
            swept.buckets += self.walk_wheel(at, budget - swept.buckets, now);
            let tenant = &mut self.tenants[at];
            let (before, expiring) = (tenant.wheel_bytes(), tenant.len(None).expires);
            match &mut tenant.wheel {
                Some(wheel) if wheel.is_empty() && expiring == 0 => tenant.wheel = None,
                Some(wheel) => wheel.shrink(SHRINK_STEPS),
                None => {}
            }
            let bytes = before - tenant.wheel_bytes();
            self.give(memory, at as TenantId, bytes);
        }
        if looked_at == count || first + step >= count {
            self.update_no_expiry();
        }
        swept
    }

    /// Expires up to `budget` entries, and spends the rest of the budget on buckets of tables.
    /// Stops at the end of the last table.
    pub(crate) fn sweep(&mut self, memory: &Memory, now: Now, budget: usize) -> Swept {
        let mut swept = self.sweep_wheels(memory, now, budget);
        self.release_idle(memory);
        if !self.walks() {
            return swept;
        }
        // Tables get a turn even if entries are always due.
        let budget = if budget == 0 { 0 } else { budget.max(swept.buckets + 1) };
        while swept.buckets < budget {
            let Sweeper { tenant: at, position, for_stamps, .. } = self.sweeper;
            if at >= self.tenants.len() {
                self.end_of_walk();
                break;
            }
            swept.buckets += 1;
            let tenant = &mut self.tenants[at];
            let next = if tenant.table.is_sparse() || for_stamps {
                let tick = self.tick;
                let TenantShard { table, pages, .. } = tenant;
                let next = table.walk_mut(position, |mut item| {
                    let mut stamps = item.view().stamps();
                    stamps.refresh(tick);
                    item.set_stamps(stamps);
                    if for_stamps {
                        pages.retag(item.view());
                    }
                });
                self.shrink(memory, at as TenantId);
                next
            } else {
                END
            };
            self.sweeper.position = next;
            if next == END {
                self.sweeper.tenant += 1;
                self.sweeper.position = 0;
            }
        }
        swept
    }

    /// Frees the pages of classes whose last item was removed since the last call. Returns their
    /// bytes.
    pub(crate) fn release_idle(&mut self, memory: &Memory) -> u64 {
        if !std::mem::take(&mut self.sweeper.has_idle) {
            return 0;
        }
        let mut freed = 0;
        for tenant in &mut self.tenants {
            let bytes = tenant.pages.release_idle();
            tenant.account.give(bytes);
            freed += bytes;
        }
        memory.give(freed);
        freed
    }

    /// Whether a walk is under way, or a new one may find something to do.
    fn walks(&self) -> bool {
        let Sweeper { tenant, position, begun, for_stamps, emptied, .. } = self.sweeper;
        let is_under_way = tenant > 0 || position > 0 || for_stamps;
        is_under_way || emptied || self.tick - begun >= WALK_EVERY
    }

    fn end_of_walk(&mut self) {
        let Sweeper { begun, for_stamps, stamped, first, .. } = self.sweeper;
        let stamped = if for_stamps { begun } else { stamped };
        let for_stamps = self.tick - stamped >= STAMPS_EVERY;
        let begun = self.tick;
        let has_idle = self.sweeper.has_idle;
        self.sweeper =
            Sweeper { begun, for_stamps, stamped, first, has_idle, ..Sweeper::default() };
    }

    /// Evicts a page if the store, or the tenant `above`, has more than its limit. Returns whether
    /// it did. One page per call is enough, because the shard is locked meanwhile.
    pub(crate) fn trim(&mut self, memory: &Memory, above: Option<TenantId>, now: Now) -> bool {
        let is_above = |at: &TenantId| self.tenants[usize::from(*at)].account.excess() > 0;
        let want = RoomRequest { tenant: None, own: false, pinned: 0, now };
        let want = match above.filter(is_above) {
            Some(tenant) => RoomRequest { tenant: Some(tenant), own: true, ..want },
            None if memory.excess() > 0 => want,
            None => return false,
        };
        let freed = self.evict_page(&want);
        memory.give(freed);
        self.sweeper.emptied |= freed > 0;
        freed > 0
    }
}
