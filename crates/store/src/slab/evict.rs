//! Room in pages: by an item that leaves its chunk to the next of its class, or by a whole page.

use super::sample::{Choice, Chosen};
use super::{SizeClass, Slabs};
use crate::evict::Want;
use crate::item::Owned;
use crate::learn::{self, lived};
use crate::shard::Shard;
use crate::table::{Place, address_of};
use crate::tenant::Tenant;
use crate::{Cause, Error, Key, Now, Store};
use base::TenantId;

/// Pages of a class looked at for the one with the fewest items.
const PAGES_TRIED: u64 = 8;

impl Tenant {
    /// The pages. There are some in the slab layout only.
    pub(crate) fn pages(&mut self) -> &mut Slabs {
        self.slabs.as_mut().expect("the layout is the slab layout")
    }

    /// Copies an item, with `more` at its end and this expiry, into a chunk that has room.
    pub(crate) fn copy(&mut self, place: Place, more: &[u8], expires: Option<u64>) -> Owned {
        let slabs = self.slabs.as_mut().expect("the layout is the slab layout");
        let item = self.table.get(place);
        slabs.write(&item.parts([item.value(), more], expires), item.stamps())
    }

    /// Puts an item in the place of one with the same key; returns the bytes that are free now.
    pub(crate) fn exchange(&mut self, place: Place, hash: u64, item: Owned) -> u64 {
        let new = self.charge_of(item.view());
        let old = self.table.swap(place, hash, item);
        let class = old.view().stamps().penalty_class();
        self.class_leaves(class, self.charge_of(old.view()));
        self.class_enters(class, new);
        self.discard(old)
    }

    /// Moves an item into another page of its class, which has room.
    fn moves(&mut self, class: usize, index: usize, chosen: &Chosen) {
        let place = self.place_at(chosen.hash, chosen.addr).expect("every item is in the table");
        let expires = self.table.get(place).expires();
        let copy = self.copy(place, b"", expires);
        let old = self.table.swap(place, chosen.hash, copy);
        let slabs = self.pages();
        slabs.vacate(old);
        slabs.held[class].close(index);
    }

    /// The place of the item that stands at `addr`, if it has this hash. Another that has it, or
    /// looks as if it had, stands elsewhere.
    fn place_at(&self, hash: u64, addr: usize) -> Option<Place> {
        self.table.find_address(hash, addr)
    }

    /// The place of an item that was chosen.
    fn place_of(&self, class: usize, chosen: &Chosen, seed: u64) -> Place {
        let anew = || {
            let held = &self.slabs.as_ref()?.held[class];
            let met = held.met(chosen.page, chosen.slot, seed, 0)?;
            self.place_at(met.hash, met.addr)
        };
        let place = self.place_at(chosen.hash, chosen.addr).or_else(anew);
        place.expect("every item in a page is in the table")
    }
}

/// Items made to leave for the others on a page that goes: of small ones some go unranked, for the
/// time that it takes.
const RESCUED_MAX: u32 = 128;

impl Shard {
    /// Whether an item of these contents finds a chunk.
    #[inline]
    pub(crate) fn has_chunk(&self, tenant: TenantId, contents: u64) -> bool {
        let slabs = &self.tenants[tenant as usize].slabs;
        slabs.as_ref().is_none_or(|slabs| slabs.has_room(contents))
    }

    /// [`Shard::chunk_room`] while the item at `place` is being written: it is spared, and its
    /// place, which evictions may change, is returned.
    pub(crate) fn chunk_beside(
        &mut self,
        store: &Store,
        key: &Key,
        place: Place,
        contents: u64,
        now: Now,
    ) -> Result<Place, Error> {
        let word = self.tenants[key.tenant as usize].table.word(place);
        self.chunk_room(store, key.tenant, contents, word, now)?;
        let place = self.tenants[key.tenant as usize].table.find_word(key.hash, word);
        Ok(place.expect("an item that is spared stays"))
    }

    /// Sees to it that an item of these contents finds a chunk, or a run. The item whose
    /// [word](crate::table::Table::word) is `spare` stays.
    pub(crate) fn chunk_room(
        &mut self,
        store: &Store,
        tenant: TenantId,
        contents: u64,
        spare: usize,
        now: Now,
    ) -> Result<(), Error> {
        if self.tenants[tenant as usize].pages().has_room(contents) {
            return Ok(());
        }
        self.paused(now, |shard| shard.clear_chunk(store, tenant, contents, spare, now))
    }

    /// [`Shard::chunk_room`] where none is free.
    #[cold]
    fn clear_chunk(
        &mut self,
        store: &Store,
        tenant: TenantId,
        contents: u64,
        spare: usize,
        now: Now,
    ) -> Result<(), Error> {
        let slabs = self.tenants[tenant as usize].pages();
        let (class, need) = (slabs.classes().of(contents), slabs.page_for(contents));
        let is_chunk = class != slabs.classes().large();
        let want = Want { tenant: Some(tenant), own: false, spare, now };
        self.release_unwritten(store, tenant);
        if self.bury_for_chunk(store, tenant, contents, &want) {
            return Ok(());
        }
        if is_chunk && self.is_full(store, tenant, need) {
            let gains = self.gains_page(store, SizeClass { tenant, class }, &want);
            if gains && self.has_chunk(tenant, contents) {
                self.pausing.victim();
                return Ok(());
            }
            if self.leave_chunks(store, tenant, class, &want) {
                return Ok(());
            }
        }
        self.make_room(store, tenant, need, spare, now)?;
        if self.tenants[tenant as usize].pages().add_page(class, need) {
            return Ok(());
        }
        self.give(&store.memory, tenant, need);
        Err(Error::Full)
    }

    /// Gives back the page of a large item that was not written after all.
    pub(crate) fn release_unwritten(&mut self, store: &Store, tenant: TenantId) {
        let slabs = &mut self.tenants[tenant as usize].slabs;
        let bytes = slabs.as_mut().map_or(0, Slabs::release_unwritten);
        self.give(&store.memory, tenant, bytes);
    }

    /// Whether no page can be had for a tenant but at the cost of its own or of pools that are
    /// within their budgets.
    fn is_full(&self, store: &Store, tenant: TenantId, need: u64) -> bool {
        let account = &self.tenants[tenant as usize].account;
        if account.max() < account.used() + need {
            return true;
        }
        store.memory.used() + need > store.memory.effective() && !self.pools.owes(tenant, need)
    }

    /// Makes items of a class leave their chunks: one, and with it a few more that have been looked
    /// for ahead, for the writes to come: most of what an eviction takes is getting to it. Whether
    /// there was one.
    fn leave_chunks(&mut self, store: &Store, at: TenantId, class: usize, want: &Want) -> bool {
        let mut gone = 0;
        while self.leave_chunk(store, at, class, want) {
            self.pausing.victim();
            gone += 1;
            let slabs = self.tenants[at as usize].pages();
            if !slabs.goes_along(class, gone, self.pools.evictor(at), self.lane) {
                break;
            }
        }
        gone > 0
    }

    /// Makes an item of a class leave its chunk. Whether there was one.
    pub(super) fn leave_chunk(
        &mut self,
        store: &Store,
        at: TenantId,
        class: usize,
        want: &Want,
    ) -> bool {
        let Some(bytes) = self.leaves_chunk(at, class, want) else { return false };
        self.give(&store.memory, at, bytes);
        true
    }

    /// An item of a class leaves its chunk, if there is one, as [`Shard::leaves`].
    fn leaves_chunk(&mut self, at: TenantId, class: usize, want: &Want) -> Option<u64> {
        let chosen = self.choose(at, class, want)?;
        Some(self.leaves(at, class, &chosen))
    }

    /// Makes those items of a class leave that are worth least, until the others find room in a
    /// page less: what stands on the page that goes is no worse than the rest. Returns the bytes
    /// of buckets that are free now.
    pub(super) fn make_chunks(&mut self, of: SizeClass, want: &Want) -> u64 {
        let mut bytes = 0;
        for _ in 0..RESCUED_MAX {
            let slabs = self.tenants[usize::from(of.tenant)].pages();
            let (held, slots) = (&slabs.held[of.class], slabs.classes.slots(of.class));
            let room = (held.pages.len() as u64).saturating_sub(1) * u64::from(slots);
            if held.items <= room || of.class == slabs.classes.large() {
                break;
            }
            let Some(freed) = self.leaves_chunk(of.tenant, of.class, want) else { break };
            bytes += freed;
        }
        self.tenants[usize::from(of.tenant)].account.give(bytes);
        bytes
    }

    fn choose(&mut self, tenant: TenantId, class: usize, want: &Want) -> Option<Chosen> {
        let Self { pools, tenants, prng, tick, seed, draws, lane, .. } = self;
        let choice = Choice {
            evictor: pools.evictor(tenant),
            tenant,
            tick: *tick,
            lane: *lane,
            unix_ms: want.now.unix_ms,
            spare: address_of(want.spare),
            seed: *seed,
        };
        let Tenant { slabs: Some(slabs), table, .. } = &mut tenants[tenant as usize] else {
            return None;
        };
        let chosen = slabs.choose(class, &choice, prng, draws);
        slabs.expect_queued(class, *lane, table);
        chosen
    }

    /// Looks for what would leave a class, and lets it stay: what a quiet class's memory is worth.
    pub(super) fn pretend(&mut self, tenant: TenantId, class: usize, now: Now) {
        let want = Want { tenant: Some(tenant), own: true, spare: 0, now };
        if let Some(chosen) = self.choose(tenant, class, &want)
            && let Some(worth) = self.worth(tenant, class, &chosen)
        {
            self.tenants[tenant as usize].pages().held[class].victims.add(worth);
        }
    }

    /// What one that is chosen by its rank is worth: that rank if it was learnt, else its age,
    /// below zero.
    fn worth(&self, at: TenantId, class: usize, chosen: &Chosen) -> Option<f64> {
        let rank = chosen.rank?;
        if self.pools.evictor(at).rank.learns() {
            return Some(rank.into());
        }
        let held = &self.tenants[at as usize].slabs.as_ref()?.held[class];
        let age = held.pages[chosen.page].look(chosen.slot, |item| item.stamps().age(self.tick));
        age.map(|age| -f64::from(age))
    }

    /// An item leaves, and its chunk is free. Returns the bytes of buckets that are free now, which
    /// are the caller's to give back.
    fn leaves(&mut self, at: TenantId, class: usize, chosen: &Chosen) -> u64 {
        let worth = self.worth(at, class, chosen);
        let tenant = &mut self.tenants[at as usize];
        let place = tenant.place_of(class, chosen, self.seed);
        learn::ends(lived(self.lives.as_ref(), self.lane), at, tenant.table.get(place), self.tick);
        let (item, bytes) = tenant.take(place);
        let cause = if chosen.is_dead { Cause::Expired } else { Cause::Evicted };
        crate::departed::leaves(&mut tenant.departures, item.view(), cause, self.tick);
        let slabs = tenant.slabs.as_mut().expect("the layout is the slab layout");
        let charge = slabs.classes.charge(item.view().contents());
        slabs.vacate_in(class, chosen.page, item);
        if chosen.is_dead {
            tenant.counters.expired += 1;
            tenant.counters.expired_for_room += 1;
            return bytes;
        }
        if let Some(worth) = worth {
            slabs.held[class].victims.add(worth);
        }
        slabs.held[class].evicted += 1;
        tenant.counters.evicted += 1;
        tenant.counters.evicted_bytes += charge;
        bytes
    }

    /// Makes a page, or a large item, of a pool's tenants leave, from the class in which it is
    /// worth least; as [`Shard::evict`]. So what is large competes with all that is small, too.
    pub(crate) fn evict_page(&mut self, pool: usize, want: &Want) -> u64 {
        let mut donors = self.donors(pool, want);
        while !donors.is_empty() {
            let from = donors.swap_remove(self.least(&donors, want.now));
            let buckets = self.make_chunks(from, want);
            let freed = buckets + self.take_from(from.tenant, from.class, want);
            if freed > 0 {
                return freed;
            }
        }
        0
    }

    /// The place of the class whose memory is worth least. One that is quiet tells what would leave
    /// it.
    fn least(&mut self, donors: &[SizeClass], now: Now) -> usize {
        let mut least = (f64::INFINITY, 0);
        for (at, &of) in donors.iter().enumerate() {
            let held = &mut self.tenants[usize::from(of.tenant)].pages().held[of.class];
            let is_quiet = held.evicted == held.weighed;
            held.weighed = held.evicted;
            if is_quiet && held.items > 0 {
                self.pretend(of.tenant, of.class, now);
            }
            let loss = self.known(of, false).loss();
            if loss < least.0 {
                least = (loss, at);
            }
        }
        least.1
    }

    /// The classes of a pool's tenants that may lose a page.
    fn donors(&mut self, pool: usize, want: &Want) -> Vec<SizeClass> {
        let Self { pools, tenants, .. } = self;
        let mut donors = vec![];
        for tenant in pools.tenants_that_evict(pool) {
            let Tenant { account, slabs: Some(slabs), .. } = &tenants[tenant as usize] else {
                continue;
            };
            let may_lose = match want.tenant {
                Some(own) if own == tenant => true,
                _ => !want.own && account.loose() >= slabs.classes.page(),
            };
            if may_lose {
                let held = slabs.held.iter().enumerate().filter(|(_, held)| held.bytes > 0);
                donors.extend(held.map(|(class, _)| SizeClass { tenant, class }));
            }
        }
        donors
    }

    /// Takes a page, or a large item, from a class; returns the bytes that are free now, 0 for
    /// none.
    pub(super) fn take_from(&mut self, at: TenantId, class: usize, want: &Want) -> u64 {
        let Some(index) = self.victim_page(at, class, want) else { return 0 };
        let account = &self.tenants[at as usize].account;
        let bytes = self.tenants[at as usize]
            .slabs
            .as_ref()
            .map_or(0, |s| s.held[class].pages[index].bytes);
        if want.tenant == Some(at) {
            account.give(bytes);
        } else if !account.try_give(bytes) {
            // Other shards took what it could spare in the meantime.
            return 0;
        }
        let buckets = self.clear(at, class, index, want.now);
        let tenant = &mut self.tenants[at as usize];
        tenant.account.give(buckets);
        buckets + tenant.pages().release(class, index)
    }

    /// The page of a class that is to go: that of the item chosen where each has its own, else the
    /// one with the fewest items of a few drawn. Never that of the item that is being written.
    fn victim_page(&mut self, at: TenantId, class: usize, want: &Want) -> Option<usize> {
        let spare = address_of(want.spare);
        let chosen = match self.tenants[at as usize].pages().classes.chunk(class) {
            0 => Some(self.choose(at, class, want)?),
            _ => None,
        };
        // One that is dead is worth nothing to anybody.
        let worth = chosen.and_then(|chosen| self.worth(at, class, &chosen));
        let held = &mut self.tenants[at as usize].slabs.as_mut()?.held[class];
        if let Some(Chosen { page, .. }) = chosen {
            if let Some(worth) = worth {
                held.victims.add(worth);
            }
            return Some(page);
        }
        let count = held.pages.len() as u64;
        let drawn = (0..PAGES_TRIED.min(count)).map(|_| self.prng.below(count) as usize);
        let all = drawn.chain(0..held.pages.len().min(2));
        all.filter(|&page| !held.pages[page].has(spare)).min_by_key(|&page| held.pages[page].used())
    }

    /// Clears a page of its items: those that find room elsewhere in their class move there, the
    /// others leave. Returns the bytes of buckets that are free now.
    fn clear(&mut self, at: TenantId, class: usize, index: usize, now: Now) -> u64 {
        let mut bytes = 0;
        let slabs = self.tenants[at as usize].pages();
        let is_chunk = class != slabs.classes.large();
        slabs.held[class].close(index);
        for slot in 0..slabs.classes.slots(class) {
            let held = &self.tenants[at as usize].pages().held[class];
            let Some(chosen) = held.met(index, slot, self.seed, now.unix_ms) else { continue };
            if is_chunk && !chosen.is_dead && !held.open.is_empty() {
                self.tenants[at as usize].moves(class, index, &chosen);
            } else {
                bytes += self.leaves(at, class, &chosen);
                self.tenants[at as usize].pages().held[class].close(index);
            }
        }
        bytes
    }
}
