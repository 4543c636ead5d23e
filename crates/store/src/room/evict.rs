//! Eviction: an item gives its chunk to another of its class, or a page moves to another class.
//!
//! ```text
//!   a SET ─▶ has its class a free chunk? ──yes──▶ write
//!                │ no
//!                ▼
//!            is anything dead? ──yes──▶ it leaves
//!                │ no
//!                ▼
//!            may its tenant have a page more? ──yes──▶ make_room, evict_page:
//!                │ no                                  from the pool that is to give, the class
//!                ▼                                     whose victims are worth least
//!            a page of a class that is worth less (balance.rs), or
//!            the lowest rank of K candidates of its class leaves its chunk (choose.rs)
//! ```
//!
//! Every shard holds a random sample of every tenant. A shard that needs room therefore evicts
//! among its own items and does not involve others, except for items that are large compared to it
//! (`reserve.rs`). A tenant at or below its min is skipped, unless it needs the room itself and no
//! other tenant has any to give. Items known to be dead are removed before all live ones
//! (`expire.rs`). A dead item that is drawn is removed at once, whatever its rank.
//!
//! If pools are penalty classes, a chunk is taken from the class that is furthest above its budget.
//! Victims of such a class count as worth less, so that pages move away from the sizes that it has.

use crate::bytes::measured::SLOTS;
use crate::contents::exit::Exit;
use crate::contents::tenant::TenantShard;
use crate::items::pages::size_class::SizeClass;
use crate::items::pages::victim::Victim;
use crate::items::table::bucket::address_of;
use crate::items::table::item_table::Slot;
use crate::room::budget::Around;
use crate::room::choose::VictimQuery;
use crate::room::evict_tree::TreeTurn;
use crate::room::request::RoomRequest;
use crate::shard::shard::Shard;
use crate::{Error, Evictable, Key, Now};
use base::TenantId;
use smallvec::SmallVec;

/// Pages of a class that are compared to find the one with the fewest items.
const PAGES_TRIED: u64 = 8;
/// Most items evicted by rank before a page is cleared. Further small items of the page are evicted
/// without ranking, to bound the time.
const RESCUED_MAX: u32 = 128;
/// Most tenants of a pool that are considered for losing a page.
const DONORS: usize = 16;
/// The bytes of a penalty class divided by its budget, to this power, scale the age of its victims;
/// then the bound of this factor, which holds in both directions.
const OVERDRAWN: i32 = 8;
const OVERDRAWN_MAX: f64 = 16.0;

/// Whether a tenant's own items may be evicted for its writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FloorRule {
    /// Only while the tenant has more than its min.
    IfAboveMin,
    /// Always, because no other tenant has anything to give.
    InAnyCase,
}

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
    /// [word](crate::items::table::item_table::Table::word) is `pinned` stays.
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

    /// Evicts items of a class from their chunks: one, and with it a few more that were chosen
    /// ahead, for the writes to come. Reaching an item takes most of the time of an eviction.
    /// Returns whether there was one.
    fn evict_some(
        &mut self,
        around: &Around<'_>,
        at: TenantId,
        class: usize,
        want: &RoomRequest,
    ) -> bool {
        let mut gone = 0;
        while let Some(bytes) = self.evict_one(at, class, want) {
            self.give(&around.budget.memory, at, bytes);
            self.eviction_times.victim();
            gone += 1;
            let pages = &self.tenants[usize::from(at)].pages;
            if !pages.may_evict_along(class, gone, self.pools.evictor(at), self.reader_slot) {
                break;
            }
        }
        gone > 0
    }

    /// Evicts the item of a class that is worth least, if there is one. Returns the bytes of
    /// buckets that are free now.
    fn evict_one(&mut self, at: TenantId, class: usize, want: &RoomRequest) -> Option<u64> {
        let chosen = self.choose(at, class, want)?;
        Some(self.evict(at, class, &chosen))
    }

    /// Evicts the least valuable items of a class, until the others fit in one page fewer. The
    /// items on the page that is cleared need not be the least valuable. Returns the bytes of
    /// buckets that are free now; the account has them back already.
    pub(crate) fn shrink_by_a_page(&mut self, of: SizeClass, want: &RoomRequest) -> u64 {
        let mut bytes = 0;
        for _ in 0..RESCUED_MAX {
            if self.tenants[usize::from(of.tenant)].pages.fits_a_page_less(of.class) {
                break;
            }
            let Some(freed) = self.evict_one(of.tenant, of.class, want) else { break };
            bytes += freed;
        }
        self.tenants[usize::from(of.tenant)].account.give(bytes);
        bytes
    }

    /// The penalty classes from which to evict, in this order, each with its bytes divided by its
    /// budget. Empty if pools are not penalty classes.
    fn penalties(&mut self, at: TenantId) -> SmallVec<[(u8, f64); SLOTS]> {
        if !self.pools.are_classes() {
            return SmallVec::new();
        }
        let mut all = self.pools.classes(&mut self.order);
        let tenant = &self.tenants[usize::from(at)];
        all.retain(|(class, _)| tenant.has_class(*class));
        all
    }

    fn choose(&mut self, at: TenantId, class: usize, want: &RoomRequest) -> Option<Victim> {
        let penalties = self.penalties(at);
        let Self { pools, tenants, prng, tick, seed, draws, reader_slot, evictable, .. } = self;
        let tenant = &mut tenants[usize::from(at)];
        if *evictable != Evictable::Any && tenant.len(None).expires == 0 {
            return None;
        }
        let mut choice = VictimQuery {
            evictor: pools.evictor(at),
            tenant: at,
            only: None,
            tick: *tick,
            reader_slot: *reader_slot,
            unix_ms: want.now.unix_ms,
            pinned: address_of(want.pinned),
            seed: *seed,
            evictable: *evictable,
        };
        for (penalty, _) in penalties {
            choice.only = Some(penalty);
            let chosen = tenant.pages.choose(class, &choice, prng, draws);
            if chosen.is_some() {
                return chosen;
            }
        }
        choice.only = None;
        let chosen = tenant.pages.choose(class, &choice, prng, draws);
        tenant.pages.prefetch_queued(class, *reader_slot, &tenant.table);
        chosen
    }

    /// Chooses a victim of a class without evicting it, to learn what the memory of a quiet class
    /// is worth.
    pub(crate) fn probe_victim(&mut self, tenant: TenantId, class: usize, now: Now) {
        let want = RoomRequest { tenant: Some(tenant), own: true, pinned: 0, now };
        if let Some(chosen) = self.choose(tenant, class, &want) {
            self.note_worth(tenant, class, &chosen);
        }
    }

    /// Records what a victim is worth if it was chosen by its rank: the rank itself if ranks are
    /// worth per byte, otherwise the negative age.
    fn note_worth(&mut self, at: TenantId, class: usize, chosen: &Victim) {
        let Some(rank) = chosen.rank else { return };
        let worth = if self.pools.evictor(at).rank.is_worth() {
            f64::from(rank)
        } else {
            let pages = &self.tenants[usize::from(at)].pages;
            let Some(stamps) = pages.stamps_of(class, chosen) else { return };
            -f64::from(stamps.age(self.tick)) * self.overdrawn(stamps.penalty_class())
        };
        self.tenants[usize::from(at)].pages.note_victim(class, worth);
    }

    /// The factor by which the bytes of a penalty class, compared to its budget, count against its
    /// victims.
    fn overdrawn(&mut self, penalty: u8) -> f64 {
        if !self.pools.are_classes() {
            return 1.0;
        }
        let all = self.pools.classes(&mut self.order);
        let share = all.iter().find(|(class, _)| *class == penalty).map_or(1.0, |(_, of)| *of);
        share.powi(OVERDRAWN).clamp(1.0 / OVERDRAWN_MAX, OVERDRAWN_MAX)
    }

    /// Evicts an item, which frees its chunk. Returns the bytes of buckets that are free now, for
    /// the caller to give back.
    fn evict(&mut self, at: TenantId, class: usize, chosen: &Victim) -> u64 {
        self.note_worth(at, class, chosen);
        let place = self.place_of(at, class, chosen);
        self.remember(at, place);
        let exit = if chosen.is_dead { Exit::Expired } else { Exit::Evicted };
        let (item, bytes) = self.take_out(at, place, exit);
        let tenant = &mut self.tenants[usize::from(at)];
        tenant.pages.vacate_in(class, chosen.page, item, !chosen.is_dead);
        tenant.counters.expired_for_room += u64::from(chosen.is_dead);
        bytes
    }

    /// The place in the table of a chosen item.
    fn place_of(&self, at: TenantId, class: usize, chosen: &Victim) -> Slot {
        let tenant = &self.tenants[usize::from(at)];
        let anew = || {
            let met = tenant.pages.met(class, chosen.page, chosen.slot, self.seed, 0)?;
            tenant.table.find_address(met.hash, met.addr)
        };
        let place = tenant.table.find_address(chosen.hash, chosen.addr).or_else(anew);
        place.expect("every item in a page is in the table")
    }

    /// Evicts a page or a large item, or a collection if no page may be evicted. Items that are due
    /// to expire come first. Returns the bytes that are free now, which stay reserved in the
    /// store's memory for the caller; 0 if nothing here may be evicted.
    pub(crate) fn evict_page(&mut self, want: &RoomRequest) -> u64 {
        let freed = self.expire(want);
        if freed > 0 {
            return freed;
        }
        let first = self.pools.first(&mut self.order, want);
        let freed = self.evict_page_of(first, want, FloorRule::IfAboveMin);
        if freed > 0 {
            return freed;
        }
        // Nothing of that pool may be evicted here.
        let all = self.pools.all_in_order(want);
        let others = all.iter().filter(|&&pool| pool != first);
        let mut others = others.map(|&pool| (pool, FloorRule::IfAboveMin)).collect::<Vec<_>>();
        others.extend(all.iter().map(|&pool| (pool, FloorRule::InAnyCase)));
        let mut freed = others.into_iter().map(|(pool, own)| self.evict_page_of(pool, want, own));
        match freed.find(|&freed| freed > 0) {
            Some(freed) => freed,
            None => self.evict_tree(want, TreeTurn::Always),
        }
    }

    /// Evicts a page or a large item of a pool's tenants, from the class whose memory is worth
    /// least. So large items compete with all small ones.
    fn evict_page_of(&mut self, pool: usize, want: &RoomRequest, own: FloorRule) -> u64 {
        let mut donors = self.donors(pool, want, own);
        while !donors.is_empty() {
            let from = donors.swap_remove(self.least(&donors, want.now));
            let buckets = self.shrink_by_a_page(from, want);
            let freed = buckets + self.take_page(from, want);
            if freed > 0 {
                return freed;
            }
        }
        0
    }

    /// The index of the class whose memory is worth least. For a quiet class a victim is chosen to
    /// find out.
    fn least(&mut self, donors: &[SizeClass], now: Now) -> usize {
        let mut least = (f64::INFINITY, 0);
        for (at, &of) in donors.iter().enumerate() {
            if self.tenants[usize::from(of.tenant)].pages.is_quiet(of.class) {
                self.probe_victim(of.tenant, of.class, now);
            }
            let loss = self.class_state(of, false).loss();
            if loss < least.0 {
                least = (loss, at);
            }
        }
        least.1
    }

    /// The classes of a pool's tenants that may lose a page. With many tenants, only some are
    /// considered.
    fn donors(&mut self, pool: usize, want: &RoomRequest, own: FloorRule) -> Vec<SizeClass> {
        let Self { pools, tenants, prng, .. } = self;
        let may_lose = |tenant: TenantId| {
            let TenantShard { account, pages, .. } = &tenants[usize::from(tenant)];
            let is_loose = match want.tenant {
                Some(writer) if writer == tenant => {
                    want.own || own == FloorRule::InAnyCase || !account.is_below_min(0)
                }
                _ => !want.own && account.loose() >= pages.classes().page(),
            };
            is_loose && pages.with_pages().next().is_some()
        };
        let mut donors = vec![];
        for tenant in pools.drawn_from(pool, prng).filter(|&tenant| may_lose(tenant)).take(DONORS) {
            let TenantShard { pages, trees, .. } = &tenants[usize::from(tenant)];
            // If collections hold most of the memory, pages of small items are kept. Clearing one
            // would evict hot items too, and free little of the collections' memory.
            let are_trees = trees.bytes() > pages.bytes();
            let may_go = |class: &usize| !are_trees || !pages.classes().is_small(*class);
            let classes = pages.with_pages().filter(may_go);
            donors.extend(classes.map(|class| SizeClass { tenant, class }));
        }
        donors
    }

    /// Takes a page or a large item from a class. Returns the bytes that are free now, 0 for none.
    pub(crate) fn take_page(&mut self, of: SizeClass, want: &RoomRequest) -> u64 {
        let Some(index) = self.victim_page(of, want) else { return 0 };
        let tenant = &self.tenants[usize::from(of.tenant)];
        if !tenant.pages.may_go(of.class, index, self.evictable) {
            return 0;
        }
        let bytes = tenant.pages.bytes_of(of.class, index);
        if want.tenant == Some(of.tenant) {
            tenant.account.give(bytes);
        } else if !tenant.account.try_give(bytes) {
            // Other shards have taken the bytes that it could spare.
            return 0;
        }
        let buckets = self.clear(of, index, want.now);
        let tenant = &mut self.tenants[usize::from(of.tenant)];
        tenant.account.give(buckets);
        buckets + tenant.pages.release(of.class, index)
    }

    /// The page of a class to evict: of some pages the one with the fewest items; for large items
    /// the one that is worth least.
    fn victim_page(&mut self, of: SizeClass, want: &RoomRequest) -> Option<usize> {
        let pages = &self.tenants[usize::from(of.tenant)].pages;
        if of.class != pages.classes().large() {
            return pages.emptiest(of.class, PAGES_TRIED, address_of(want.pinned), &mut self.prng);
        }
        let chosen = self.choose(of.tenant, of.class, want)?;
        // A dead item is worth nothing.
        self.note_worth(of.tenant, of.class, &chosen);
        Some(chosen.page)
    }

    /// Clears a page of its items. An item moves to a free chunk of its class if there is one, and
    /// is evicted otherwise. Returns the bytes of buckets that are free now.
    fn clear(&mut self, of: SizeClass, index: usize, now: Now) -> u64 {
        let (at, class) = (usize::from(of.tenant), of.class);
        let mut bytes = 0;
        self.tenants[at].pages.close(class, index);
        for slot in 0..self.tenants[at].pages.classes().slots(class) {
            let pages = &self.tenants[at].pages;
            let met = pages.met(class, index, slot, self.seed, now.unix_ms);
            let Some(chosen) = met else { continue };
            if !chosen.is_dead && pages.takes_another(class) {
                self.tenants[at].moves(class, index, &chosen);
            } else {
                bytes += self.evict(of.tenant, class, &chosen);
                self.tenants[at].pages.close(class, index);
            }
        }
        bytes
    }
}
