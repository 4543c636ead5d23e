//! One part of the store: the data that a lock guards.
//!
//! A shard has a table for each tenant, and everything that requests write: its counter of accesses
//! (the clock for the age of items), the tap's queue, the stopwatch. So a request takes one lock
//! and nothing else, except the byte counters when bytes change. The code here holds the shard
//! exclusively; most reads do not need that (`read.rs`).

use crate::bytes::measured::Fetched;
use crate::bytes::memory::Memory;
use crate::contents::changed_keys::ChangedKeys;
use crate::contents::exit::Exit;
use crate::contents::tenant::TenantShard;
use crate::items::item::Ref;
use crate::items::pages::size_classes::SizeClasses;
use crate::items::table::item_table::Slot;
use crate::items::trees::trees::Trees;
use crate::learning::ghosts::GhostTable;
use crate::learning::lifetimes;
use crate::learning::lifetimes::{Lives, lived};
use crate::learning::penalty_classes::PenaltyTable;
use crate::learning::stopwatch::Stopwatch;
use crate::learning::tap::{Seen, Tap};
use crate::room::choose::Candidates;
use crate::room::eviction_time::EvictionTimes;
use crate::room::expire::Sweeper;
use crate::room::pools::{OverdraftOrder, Pools};
use crate::sync::shim::AtomicBool;
use crate::{Evictable, Item, Key, Now};
use base::{Prng, Sighting, TenantId};
use policy::rank::{Lessons, Stamps};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// One part of the store. The fields are in this order so that a read hit needs only the first
/// lines, which hardly any write changes.
#[repr(C, align(64))]
pub(crate) struct Shard {
    pub(crate) tenants: Vec<TenantShard>,
    pub(crate) tap: Tap,
    pub(crate) stopwatch: Stopwatch,
    /// The lessons from which a rank learns, if one does.
    pub(crate) lessons: Option<Lessons>,
    /// Counts lifetimes while a rank learns from them.
    pub(crate) lives: Option<Lives>,
    /// Whether penalty classes or sizes are counted.
    pub(crate) is_watched: bool,
    /// Whether requests are counted by size class.
    pub(crate) counts_sizes: bool,
    pub(crate) seed: u64,
    /// The shard's number.
    pub(crate) at: usize,
    pub(crate) pools: Arc<Pools>,
    pub(crate) nanos: fn() -> u64,
    /// Keys written or removed during a restore of items of an earlier run.
    pub(crate) changed: Option<Box<ChangedKeys>>,
    /// Remembers penalties of keys, while pools are penalty classes.
    pub(crate) penalty_table: Option<Box<PenaltyTable>>,
    /// Whether any tenant may have a collection.
    pub(crate) has_trees: bool,
    /// The items that may be evicted.
    pub(crate) evictable: Evictable,
    /// Remembers evicted keys, while a rank depends on the whole past of a key.
    pub(crate) pasts: Option<Box<GhostTable>>,
    line: NewLine,
    /// Accesses so far.
    pub(crate) tick: u64,
    /// The reader slot of the thread that wrote last, below
    /// [`READER_SLOTS_MAX`](crate::sync::big_reader::READER_SLOTS_MAX). It continues its rounds of
    /// evictions.
    pub(crate) reader_slot: usize,
    /// When ranks were last balanced, and the earliest time for the next balancing.
    pub(crate) balanced: u64,
    pub(crate) balance_at: u64,
    pub(crate) prng: Prng,
    /// Time that operations took to make room.
    pub(crate) eviction_times: EvictionTimes,
    /// No wheel has a due entry up to this time.
    pub(crate) no_expiry_before: u64,
    /// Whether a rank depends on the last write.
    pub(crate) renews: bool,
    /// Whether a tenant has a wheel.
    pub(crate) has_wheels: bool,
    /// Whether an item here may have an expiry, for callers without a lock.
    expires: Arc<AtomicBool>,
    /// The class that the current write hints for its item; 0 for none.
    pub(crate) cost_hint: u8,
    /// The order in which pools give.
    pub(crate) order: OverdraftOrder,
    /// Memory for the candidates of an eviction.
    pub(crate) draws: Candidates,
    pub(crate) sweeper: Sweeper,
}

/// Puts the fields after it in another cache line than the fields before, to avoid false sharing.
#[derive(Debug, Default)]
#[repr(align(64))]
struct NewLine;

/// The caller's view of an item.
#[expect(clippy::inline_always, reason = "in line, what a caller does not look at costs nothing")]
#[inline(always)]
pub(crate) fn view<'a>(
    item: Ref<'a>,
    stamps: Stamps,
    idle: u32,
    sizes: &'a SizeClasses,
    trees: &'a Trees,
) -> Item<'a> {
    Item {
        value: item.value(),
        kind: item.kind(),
        expires: item.expires(),
        key_len: item.key().len(),
        idle,
        in_use: stamps.in_use(),
        hits: stamps.hits,
        penalty_class: stamps.penalty_class(),
        contents: item.contents(),
        sizes: Some(sizes),
        trees: Some(trees),
    }
}

impl Shard {
    /// Creates an empty shard with this number and seed. Its tap holds up to `samples_max` samples,
    /// and `nanos` is the clock for evictions.
    pub(crate) fn new(
        at: usize,
        seed: u64,
        samples_max: usize,
        nanos: fn() -> u64,
        (pools, expires): (Arc<Pools>, Arc<AtomicBool>),
    ) -> Self {
        Self {
            line: NewLine,
            tick: 0,
            reader_slot: 0,
            draws: Candidates::default(),
            tenants: vec![],
            tap: Tap::new(samples_max),
            stopwatch: Stopwatch::default(),
            prng: Prng::new(seed ^ at as u64),
            seed,
            at,
            pools,
            order: OverdraftOrder::default(),
            no_expiry_before: u64::MAX,
            has_wheels: false,
            expires,
            renews: false,
            sweeper: Sweeper::default(),
            eviction_times: EvictionTimes::default(),
            nanos,
            lessons: None,
            lives: None,
            changed: None,
            is_watched: false,
            counts_sizes: false,
            balanced: 0,
            balance_at: 0,
            penalty_table: None,
            has_trees: false,
            evictable: Evictable::Any,
            pasts: None,
            cost_hint: 0,
        }
    }

    /// Records that an item here may have an expiry, also for callers without a lock.
    pub(crate) fn note_wheel(&mut self) {
        self.has_wheels = true;
        self.expires.store(true, Relaxed);
    }

    /// The caller's view of a tenant's item.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    pub(crate) fn view_of<'a>(&'a self, at: TenantId, item: Ref<'a>) -> Item<'a> {
        let (stamps, TenantShard { pages, trees, .. }) =
            (item.stamps(), &self.tenants[usize::from(at)]);
        view(item, stamps, stamps.age(self.tick), pages.classes(), trees)
    }

    /// The caller's view of the item at a place.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    pub(crate) fn view(&self, key: &Key, place: Slot) -> Item<'_> {
        self.view_of(key.tenant, self.get(key, place))
    }

    /// The live item of a key. A dead one is removed.
    #[inline]
    pub(crate) fn find(&mut self, key: &Key, now: Now, memory: &Memory) -> Option<Slot> {
        let tenant = &self.tenants[key.tenant as usize];
        let place = tenant.table.find(key.hash, key.db, key.bytes)?;
        if tenant.table.get(place).is_dead(now.unix_ms) {
            memory.give(self.remove(key.tenant, place, Exit::Expired));
            return None;
        }
        Some(place)
    }

    /// Reads an item: counts the read, refreshes the item, informs the tap, and times a miss.
    #[inline]
    pub(crate) fn read(&mut self, key: &Key, now: Now, memory: &Memory) -> Option<Slot> {
        self.tick += 1;
        let tenant = &mut self.tenants[key.tenant as usize];
        let place = tenant.table.find(key.hash, key.db, key.bytes);
        if let Some(place) = place {
            let items = tenant.table.about();
            let mut item = tenant.table.get_mut(place);
            if !item.view().is_dead(now.unix_ms) {
                let mut stamps = item.view().stamps();
                let age = stamps.age(self.tick);
                let lived = lived(self.lives.as_ref(), self.reader_slot);
                lifetimes::record_use(lived, key.tenant, stamps, age, true);
                stamps.hit(self.tick);
                lifetimes::classify(self.lessons, &mut stamps, age, items);
                item.set_stamps(stamps);
                tenant.counters.hits += 1;
                let seen = || {
                    let (item, expires) = (item.view(), item.view().expires());
                    let size = tenant.pages.classes().charge(item.contents())
                        + tenant.trees.bytes_of(item);
                    Seen { size, expires, stamps }
                };
                self.tap.see(key, now, self.tick, Sighting::Hit, seen);
                if self.is_watched {
                    self.class_is_read(key.tenant, stamps.penalty_class());
                    if self.counts_sizes {
                        let tenant = &self.tenants[key.tenant as usize];
                        let class = tenant.size_class(tenant.table.get(place));
                        self.size_is_read(key.tenant, class, age);
                    }
                }
                return Some(place);
            }
            memory.give(self.remove(key.tenant, place, Exit::Expired));
        }
        let tenant = &mut self.tenants[key.tenant as usize];
        tenant.counters.misses += 1;
        tenant.counters.misses_expired += u64::from(place.is_some());
        self.tap.see(key, now, self.tick, Sighting::Miss, || Seen::NOTHING);
        if !key.is_untimed {
            let lost = self.stopwatch.start(key.tenant, key.hash, now.micros);
            if let Some((tenant, hash, reads)) = lost {
                self.class_is_missed(tenant, hash, reads);
            }
        }
        None
    }

    /// Refreshes an item.
    #[inline]
    pub(crate) fn hit(&mut self, key: &Key, place: Slot) {
        let mut item = self.tenants[key.tenant as usize].table.get_mut(place);
        let mut stamps = item.view().stamps();
        stamps.hit(self.tick);
        item.set_stamps(stamps);
    }

    #[inline]
    pub(crate) fn get(&self, key: &Key, place: Slot) -> Ref<'_> {
        self.tenants[key.tenant as usize].table.get(place)
    }

    /// Calls [`Shard::written`] for the item in the table.
    pub(crate) fn written_anew(&mut self, key: &Key, now: Now) {
        let table = &self.tenants[key.tenant as usize].table;
        if let Some(place) = table.find(key.hash, key.db, key.bytes) {
            let item = table.get(place);
            let (contents, expires) = (item.contents(), item.expires());
            self.written(key, now, || (contents, expires));
        }
    }

    /// Sets the birth of an item to its last write.
    #[cold]
    fn renew(&mut self, key: &Key) {
        let table = &mut self.tenants[key.tenant as usize].table;
        if let Some(place) = table.find(key.hash, key.db, key.bytes) {
            let mut item = table.get_mut(place);
            let stamps = item.view().stamps().renewed(self.tick);
            item.set_stamps(stamps);
        }
    }

    /// After a write: counts it, informs the tap, and stops the stopwatch.
    #[inline]
    pub(crate) fn written(
        &mut self,
        key: &Key,
        now: Now,
        item: impl FnOnce() -> (u64, Option<u64>),
    ) {
        self.tenants[key.tenant as usize].counters.sets += 1;
        if self.renews {
            self.renew(key);
        }
        if self.stopwatch.is_on() {
            self.fetch_ends(key, now);
        }
        let TenantShard { table, pages, trees, .. } = &self.tenants[key.tenant as usize];
        self.tap.see(key, now, self.tick, Sighting::Write, || {
            let (contents, expires) = item();
            let found = table.find(key.hash, key.db, key.bytes).map(|place| table.get(place));
            let stamps = found.map_or_else(Stamps::default, Ref::stamps);
            let tree = found.map_or(0, |item| trees.bytes_of(item));
            Seen { size: pages.classes().charge(contents) + tree, expires, stamps }
        });
    }

    /// Stops the stopwatch after a write.
    #[inline(never)]
    fn fetch_ends(&mut self, key: &Key, now: Now) {
        let fetched = self.stopwatch.stop(key.hash, now.micros);
        if let Some(fetched) = fetched {
            let waiters = if let Fetched::In(_, waiters) = fetched { waiters } else { 0 };
            self.fetched(key, fetched, 1 + u64::from(waiters));
        }
        self.class_is_written(key, fetched.is_some());
    }

    /// Gives back bytes of a tenant.
    #[inline]
    pub(crate) fn give(&self, memory: &Memory, tenant: TenantId, bytes: u64) {
        self.tenants[tenant as usize].account.give(bytes);
        memory.give(bytes);
    }
}
