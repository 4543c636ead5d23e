//! A read that writes nothing which other threads read in common, and a write that writes nothing
//! of that but a value: the common cases.
//!
//! A read holds one reader slot of its shard (`big_reader.rs`), so what it must tell it records in
//! that slot's *read buffer*: that there was an access, which moves the shard's tick, and how old
//! the item was, for the counters and for a rank that learns. The thread that holds the shard alone
//! next moves the tick by all records that are new, and drains the buffer of its own slot, in
//! order. In a thread's own eyes the tick is the shard's and as many more as its slot has new
//! records; what other slots have recorded meanwhile, [`RECORDS`] each at most, it does not see. So
//! ticks are a little fuzzy among threads, and exact where there is one.
//!
//! An item's stamps are written where they stand, as two atomic words: of two hits at once one may
//! not be counted in them, nor those of a thread whose tick is behind that of the last. Of what is
//! read all the time they are not written at all while they would tell next to nothing: all its
//! readers keep the line, and the age that is recorded, a few hundredths of the number of items at
//! most, is that since they were written.
//!
//! A write that replaces a value by one that fits its place looks for it with its own slot held,
//! then takes the others, so that nobody sees half of it, and records it: the lines of the shard
//! stay as they are, and those of the item come while the other slots do.
//!
//! What a read cannot do like this it leaves to one that holds the shard alone: to remove a dead
//! item, to time a miss, to report a key that models sample, and to record when the buffer is full.

use crate::big_reader::{Buffered, READER_SLOTS_MAX};
use crate::item::{Parts, Ref};
use crate::learn;
use crate::removal::listens;
use crate::shard::{Shard, view};
use crate::table::Place;
use crate::tenant::TenantShard;
use crate::trees::has_tree;
use crate::{Item, Key, Now, Store};
use base::TenantId;
use policy::rank::Stamps;
use std::sync::atomic::Ordering::Relaxed;

/// Records in a read buffer, at most: a full one is a reason to hold the shard alone.
const RECORDS: usize = 64;
/// Ticks by which the stamps of another thread's hit may seem to come from the future, at most.
const FUZZ: u32 = (RECORDS * (READER_SLOTS_MAX + 1)) as u32;
/// Stamps of an item that was read so often are not written anew while its age is so small a part
/// of the number of items that there are buckets for: as a power of two.
const YOUNG: u32 = 6;

/// One read, or one value replaced.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    /// Of an item that was found: for how long it had been idle, and what it was.
    age: u32,
    size_class: u16,
    tenant: TenantId,
    /// As in the item's stamps; [`NONE`] where none was read.
    class: u8,
}

/// The class of no item.
const NONE: u8 = 0;
/// The size class in a record of no item that was read: a value was replaced.
const REPLACED: u16 = u16::MAX;

/// The accesses of the threads of a reader slot, not yet in the counters of the shard.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct ReadBuffer {
    len: u32,
    /// Of these, as many as the shard's tick has moved by.
    counted: u32,
    /// The shard's tick when it was last held alone: here, because the shard's own is in a line
    /// that every write makes new.
    tick: u64,
    list: [Record; RECORDS],
}

impl Default for ReadBuffer {
    fn default() -> Self {
        Self { len: 0, counted: 0, tick: 0, list: [Record::default(); RECORDS] }
    }
}

impl ReadBuffer {
    /// The tick after these records.
    #[inline]
    const fn now(&self) -> u64 {
        self.tick + (self.len - self.counted) as u64
    }

    #[inline]
    fn push(&mut self, record: Record) {
        self.list[self.len as usize] = record;
        self.len += 1;
    }
}

/// The outcome of a read that holds a reader slot.
pub(crate) enum Glance<'a> {
    /// There is such an item.
    Hit(Item<'a>),
    /// There is none.
    Miss,
    /// It takes the whole shard to tell. Nothing was recorded.
    Unclear,
}

impl Buffered for Shard {
    type Buffer = ReadBuffer;

    #[inline]
    fn drain(&mut self, buffer: &mut ReadBuffer, reader_slot: usize) {
        self.count(buffer);
        for read in &buffer.list[..buffer.len as usize] {
            let tenant = &mut self.tenants[usize::from(read.tenant)];
            if read.size_class == REPLACED {
                tenant.counters.sets += 1;
                if self.is_watched {
                    self.class_is_set(read.tenant, Stamps::penalty_class_of(read.class));
                }
                continue;
            }
            if read.class == NONE {
                tenant.counters.misses += 1;
                continue;
            }
            tenant.counters.hits += 1;
            if let Some(lives) = &self.lives {
                lives.of(reader_slot).count(
                    read.tenant,
                    Stamps::hit_class_of(read.class),
                    read.age,
                    true,
                );
            }
            if self.is_watched {
                self.class_is_read(read.tenant, Stamps::penalty_class_of(read.class));
                if self.counts_sizes {
                    self.size_is_read(read.tenant, read.size_class, read.age);
                }
            }
        }
        (buffer.len, buffer.counted) = (0, 0);
    }

    #[inline]
    fn count(&mut self, buffer: &mut ReadBuffer) {
        self.tick += u64::from(buffer.len - buffer.counted);
        buffer.counted = buffer.len;
    }

    #[inline]
    fn publish(&self, buffer: &mut ReadBuffer) {
        buffer.tick = self.tick;
    }
}

impl Shard {
    /// A read by the holder of a reader slot.
    #[inline]
    pub(crate) fn glance(&self, buffer: &mut ReadBuffer, key: &Key, now: Now) -> Glance<'_> {
        if buffer.len as usize == RECORDS || self.tap.sees(key) {
            return Glance::Unclear;
        }
        let tenant = &self.tenants[usize::from(key.tenant)];
        let Some(item) = tenant.table.look_up(key.hash, key.db, key.bytes) else {
            if self.stopwatch.is_on() {
                return Glance::Unclear;
            }
            buffer.push(Record { tenant: key.tenant, ..Record::default() });
            return Glance::Miss;
        };
        if item.is_dead(now.unix_ms) {
            return Glance::Unclear;
        }
        let tick = buffer.now() + 1;
        let mut stamps = item.stamps();
        let age = age_of(stamps, tick);
        let size_class = if self.counts_sizes { tenant.size_class(item) } else { 0 };
        buffer.push(Record { age, size_class, tenant: key.tenant, class: stamps.class });
        let items = tenant.table.about();
        if stamps.hits < u8::MAX || age as usize > items >> YOUNG {
            self.refresh(item, &mut stamps, age, items, tick);
        }
        Glance::Hit(view(item, stamps, 0, tenant.pages.classes(), &tenant.trees))
    }

    /// Where an item stands whose value can be replaced by a thread that records it, if there is
    /// one: asked by the holder of a reader slot that will hold all.
    #[inline]
    pub(crate) fn replaceable(
        &self,
        store: &Store,
        buffer: &ReadBuffer,
        key: &Key,
        parts: &Parts,
    ) -> Option<Place> {
        let tenant = &self.tenants[usize::from(key.tenant)];
        let len = parts.value[0].len();
        let is_recorded = parts.expires.is_none()
            && len as u64 <= store.value_max.load(Relaxed)
            && (buffer.len as usize) < RECORDS
            && !self.stopwatch.may_await(key.hash)
            && !self.tap.sees(key)
            && !self.counts_sizes
            && !self.renews
            && self.changed.is_none()
            && tenant.away.is_none()
            && !listens(tenant.removals.as_deref());
        if !is_recorded {
            return None;
        }
        let (place, item) = tenant.table.find_item(key.hash, key.db, key.bytes)?;
        if item.expires().is_some()
            || has_tree(item.kind())
            || !item.has_room(tenant.pages.classes(), len, false)
            || (self.penalty_table.is_some()
                && !self.class_stays(key, item.stamps().penalty_class()))
        {
            return None;
        }
        item.prefetch_to_write();
        Some(place)
    }

    /// Replaces the value there, by a thread of this slot that holds all slots since, and has
    /// drained no buffer.
    #[inline]
    pub(crate) fn replace(
        &mut self,
        buffer: &mut ReadBuffer,
        reader_slot: usize,
        key: &Key,
        place: Place,
        parts: &Parts,
    ) {
        let TenantShard { table, pages, .. } = &mut self.tenants[usize::from(key.tenant)];
        let items = table.about();
        let mut item = table.get_mut(place);
        let is_replaced = item.overwrite(pages.classes(), parts.value[0], None);
        debug_assert!(is_replaced, "there is room");
        item.set_kind(parts.kind);
        let tick = buffer.now() + 1;
        let mut stamps = item.view().stamps();
        let (tenant, class) = (key.tenant, stamps.class);
        buffer.push(Record { age: 0, tenant, size_class: REPLACED, class });
        let age = age_of(stamps, tick);
        if let Some(lives) = &self.lives {
            // The value that was there ends its life unread. Counters of a slot are its own.
            lives.of(reader_slot).count(key.tenant, stamps.hit_class(), age, false);
        }
        self.refresh(self.get(key, place), &mut stamps, age, items, tick);
    }

    /// Looks at an item, without a trace.
    #[inline]
    pub(crate) fn peek(&self, buffer: &ReadBuffer, key: &Key, now: Now) -> Glance<'_> {
        let tenant = &self.tenants[usize::from(key.tenant)];
        match tenant.table.look_up(key.hash, key.db, key.bytes) {
            None => Glance::Miss,
            Some(item) if item.is_dead(now.unix_ms) => Glance::Unclear,
            Some(item) => {
                let tick = buffer.now();
                let stamps = item.stamps();
                let age = age_of(stamps, tick);
                Glance::Hit(view(item, stamps, age, tenant.pages.classes(), &tenant.trees))
            }
        }
    }

    /// Writes the stamps of an item that is used at this age.
    #[inline]
    fn refresh(&self, item: Ref, stamps: &mut Stamps, age: u32, items: usize, tick: u64) {
        // A thread that is ahead of this one stays ahead.
        stamps.hit(if age == 0 { stamps.last.into() } else { tick });
        learn::classify(self.lessons, stamps, age, items);
        item.stamp(*stamps);
    }
}

/// The age of stamps, of which another thread's may be ahead of this one's tick.
#[inline]
fn age_of(stamps: Stamps, tick: u64) -> u32 {
    let age = stamps.age(tick);
    if age.wrapping_neg() < FUZZ { 0 } else { age }
}
