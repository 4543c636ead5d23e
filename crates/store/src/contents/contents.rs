//! The items of a shard, and everything that their reads and writes change beside them.
//!
//! A shard has a table for each tenant, the tap's queue, the stopwatch and what ranks learn from.
//! The code here holds the shard exclusively; most reads do not need that (`shared_reads.rs`). An
//! item enters by `put.rs` and leaves by `take_out.rs`. Contents never make room: the write asks
//! what it needs (`need.rs`), `room/` reserves it, and then nothing can fail.

use crate::bytes::memory::Memory;
use crate::compression::counts::OnWrite;
use crate::items::item::Ref;
use crate::items::sizes::size_classes::SizeClasses;
use crate::items::table::item_table::Slot;
use crate::items::trees::trees::Trees;
use crate::learning::changed_keys::ChangedKeys;
use crate::learning::exit::Exit;
use crate::learning::ghosts::GhostTable;
use crate::learning::lifetimes;
use crate::learning::lifetimes::{Lives, lived};
use crate::learning::penalty_classes::PenaltyTable;
use crate::learning::stopwatch::Stopwatch;
use crate::learning::tap::{Observation, Tap};
use crate::sync::shim::AtomicBool;
use crate::tenant::tenant::TenantShard;
use crate::{Item, Key, Now};
use base::{Prng, Sighting, TenantId};
use policy::rank::{Lessons, Stamps};
use std::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The contents of a shard. The fields are in this order so that a read hit needs only the first
/// lines, which hardly any write changes.
#[repr(C, align(64))]
pub(crate) struct Contents {
    pub(crate) tenants: Vec<TenantShard>,
    pub(crate) tap: Tap,
    pub(crate) stopwatch: Stopwatch,
    /// The lessons from which a rank learns, if one does.
    pub(crate) lessons: Option<Lessons>,
    /// Whether penalty classes or sizes are counted.
    pub(super) is_watched: bool,
    /// Whether requests are counted by size class.
    pub(super) counts_sizes: bool,
    /// Whether a rank depends on the last write.
    pub(crate) renews: bool,
    /// Whether any tenant may have a collection.
    pub(super) has_trees: bool,
    /// Counts lifetimes while a rank learns from them.
    pub(crate) lives: Option<Lives>,
    pub(super) seed: u64,
    /// Keys written or removed during a restore of items of an earlier run.
    pub(super) restoring: Option<Box<ChangedKeys>>,
    /// Remembers penalties of keys, while pools are penalty classes.
    pub(super) penalty_table: Option<Box<PenaltyTable>>,
    /// Remembers evicted keys, while a rank depends on the whole past of a key.
    pub(crate) ghosts: Option<Box<GhostTable>>,
    line: NewLine,
    pub(crate) clock: ShardClock,
    /// No wheel has a due entry up to this time.
    pub(crate) no_expiry_before: u64,
    /// Whether a tenant has a wheel.
    pub(crate) has_wheels: bool,
    /// The class that the current write hints for its item; 0 for none.
    pub(crate) cost_hint: u8,
    /// Whether items were removed without an access since the sweep's last walk ended.
    pub(crate) emptied: bool,
    /// The values that writes compress.
    pub(crate) on_write: OnWrite,
    /// Whether a tenant may have pages without items.
    pub(super) has_idle: bool,
    /// Whether an item here may have an expiry, for callers without a lock.
    pub(super) expires: Arc<AtomicBool>,
    /// How often so many due entries were looked at that a live item may have been evicted.
    #[cfg(test)]
    pub(crate) gave_up: u64,
}

/// The count of accesses, the thread that holds the shard, and the generator of random numbers.
#[derive(Debug)]
pub(crate) struct ShardClock {
    /// Accesses so far. A read that misses is none: it and the write of the fetched value are one
    /// request, or ages would grow with the misses.
    pub(crate) tick: u64,
    /// The reader slot of the thread that wrote last, below
    /// [`READER_SLOTS_MAX`](crate::sync::big_reader::READER_SLOTS_MAX). It continues its rounds of
    /// evictions.
    pub(crate) reader_slot: usize,
    pub(crate) prng: Prng,
}

impl ShardClock {
    pub(crate) fn new(seed: u64) -> Self {
        Self { tick: 0, reader_slot: 0, prng: Prng::new(seed) }
    }
}

/// Puts the fields after it in another cache line than the fields before, to avoid false sharing.
#[derive(Debug, Default)]
#[repr(align(64))]
struct NewLine;

/// The lines that a read hit needs.
const HIT_LINES: usize = 4;

const _: () = {
    assert!(offset_of!(Contents, lives) + size_of::<Option<Lives>>() <= 64 * HIT_LINES);
    assert!(offset_of!(Contents, ghosts) / 64 < offset_of!(Contents, clock) / 64);
};

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
        is_compressed: item.is_compressed(),
        hidden: 0,
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

impl Contents {
    /// Creates the empty contents of the shard with this number, for keys hashed with this seed.
    /// The tap holds up to `samples_max` samples.
    pub(crate) fn new(at: usize, seed: u64, samples_max: usize, expires: Arc<AtomicBool>) -> Self {
        Self {
            tenants: vec![],
            tap: Tap::new(samples_max),
            stopwatch: Stopwatch::default(),
            lessons: None,
            is_watched: false,
            counts_sizes: false,
            renews: false,
            has_trees: false,
            lives: None,
            seed,
            restoring: None,
            penalty_table: None,
            ghosts: None,
            line: NewLine,
            clock: ShardClock::new(seed ^ at as u64),
            no_expiry_before: u64::MAX,
            has_wheels: false,
            cost_hint: 0,
            emptied: false,
            on_write: OnWrite::Nothing,
            has_idle: false,
            expires,
            #[cfg(test)]
            gave_up: 0,
        }
    }

    /// The seed of the keys' hashes.
    pub(crate) const fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether requests are counted by size class.
    pub(crate) const fn counts_sizes(&self) -> bool {
        self.counts_sizes
    }

    #[inline]
    pub(crate) fn tenant(&self, tenant: TenantId) -> &TenantShard {
        &self.tenants[usize::from(tenant)]
    }

    #[inline]
    pub(crate) fn tenant_mut(&mut self, tenant: TenantId) -> &mut TenantShard {
        &mut self.tenants[usize::from(tenant)]
    }

    /// Whether there is a free chunk for an item with `bytes` bytes of contents.
    #[inline]
    pub(crate) fn has_chunk(&self, tenant: TenantId, bytes: u64) -> bool {
        self.tenant(tenant).pages.has_room(bytes)
    }

    /// The place of a key's item, dead or alive.
    #[inline]
    pub(crate) fn place(&self, key: &Key) -> Option<Slot> {
        self.tenant(key.tenant).table.find(key.hash, key.db, key.bytes)
    }

    /// The place of the item that is written, which evictions have spared.
    pub(crate) fn spared(&self, tenant: TenantId, hash: u64, pinned: usize) -> Slot {
        let place = self.tenant(tenant).table.find_word(hash, pinned);
        place.expect("an item that is spared stays")
    }

    /// The caller's view of a tenant's item.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    pub(crate) fn view_of<'a>(&'a self, at: TenantId, item: Ref<'a>) -> Item<'a> {
        let (stamps, TenantShard { pages, trees, .. }) = (item.stamps(), self.tenant(at));
        view(item, stamps, stamps.age(self.clock.tick), pages.classes(), trees)
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
        let place = self.place(key)?;
        if self.get(key, place).is_dead(now.unix_ms) {
            memory.take_back(self.take_out(key.tenant, place, Exit::Expired));
            return None;
        }
        Some(place)
    }

    /// The live item of a key, for an access that is no read: counts the access, and refreshes the
    /// item.
    #[inline]
    pub(crate) fn touch(&mut self, key: &Key, now: Now, memory: &Memory) -> Option<Slot> {
        self.clock.tick += 1;
        let found = self.find(key, now, memory);
        if let Some(place) = found {
            self.refresh(key, place);
        }
        found
    }

    /// Reads an item: counts the read, refreshes the item, informs the tap, and times a miss.
    #[inline]
    pub(crate) fn read(&mut self, key: &Key, now: Now, memory: &Memory) -> Option<Slot> {
        let tick = self.clock.tick + 1;
        let tenant = &mut self.tenants[key.tenant as usize];
        let place = tenant.table.find(key.hash, key.db, key.bytes);
        if let Some(place) = place {
            let items = tenant.table.about();
            let mut item = tenant.table.get_mut(place);
            if !item.view().is_dead(now.unix_ms) {
                self.clock.tick = tick;
                let mut stamps = item.view().stamps();
                let age = stamps.age(tick);
                let lived = lived(self.lives.as_ref(), self.clock.reader_slot);
                lifetimes::record_use(lived, key.tenant, stamps, age, true);
                stamps.hit(tick);
                lifetimes::classify(self.lessons, &mut stamps, age, items);
                item.set_stamps(stamps);
                tenant.counters.hits += 1;
                let seen = || {
                    let (item, expires) = (item.view(), item.view().expires());
                    let size = tenant.pages.classes().charge(item.contents())
                        + tenant.trees.bytes_of(item);
                    Observation { size, expires, stamps }
                };
                self.tap.see(key, now, tick, Sighting::Hit, seen);
                if self.is_watched {
                    self.class_is_read(key.tenant, stamps.penalty_class());
                    if self.counts_sizes {
                        let class = self.tenant(key.tenant).size_class(self.get(key, place));
                        self.size_is_read(key.tenant, class, age);
                    }
                }
                return Some(place);
            }
            memory.take_back(self.take_out(key.tenant, place, Exit::Expired));
        }
        let tenant = &mut self.tenants[key.tenant as usize];
        tenant.counters.misses += 1;
        tenant.counters.misses_expired += u64::from(place.is_some());
        self.past_is_hit(key);
        self.tap.see(key, now, self.clock.tick, Sighting::Miss, || Observation::NOTHING);
        if !key.is_untimed {
            let lost = self.stopwatch.start(key.tenant, key.hash, now.micros);
            if let Some((tenant, hash, reads)) = lost {
                self.class_is_missed(tenant, hash, reads);
            }
        }
        None
    }

    /// Counts the last read of a tenant as a miss after all, because the value is corrupt.
    #[cold]
    pub(crate) fn read_was_a_miss(&mut self, tenant: TenantId) {
        let counters = &mut self.tenant_mut(tenant).counters;
        counters.hits = counters.hits.saturating_sub(1);
        counters.misses += 1;
    }

    /// Refreshes an item at an access that is no read.
    #[inline]
    fn refresh(&mut self, key: &Key, place: Slot) {
        let mut item = self.tenants[key.tenant as usize].table.get_mut(place);
        let mut stamps = item.view().stamps();
        lifetimes::note_write(self.lessons, &mut stamps, self.clock.tick);
        item.set_stamps(stamps);
    }

    #[inline]
    pub(crate) fn get(&self, key: &Key, place: Slot) -> Ref<'_> {
        self.tenant(key.tenant).table.get(place)
    }

    /// Records that an item here may have an expiry, also for callers without a lock.
    pub(super) fn note_wheel(&mut self) {
        self.has_wheels = true;
        self.expires.store(true, Relaxed);
    }

    /// Takes free bytes for a tenant, if both its limit and the store's leave room for them.
    #[inline]
    pub(crate) fn try_take(&self, memory: &Memory, tenant: TenantId, bytes: u64) -> bool {
        if !memory.try_take(bytes) {
            return false;
        }
        let is_taken = self.tenant(tenant).account.try_take(bytes);
        if !is_taken {
            memory.give(bytes);
        }
        is_taken
    }

    /// Gives back bytes of a tenant.
    #[inline]
    pub(crate) fn give(&self, memory: &Memory, tenant: TenantId, bytes: u64) {
        memory.take_back(self.tenant(tenant).account.release(bytes));
    }
}
