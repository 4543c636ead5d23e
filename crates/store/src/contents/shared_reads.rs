//! The common cases: a read that leaves the shard's shared lines unchanged, and a write that
//! changes nothing there but a value.
//!
//! A read holds one reader slot of its shard (`sync/big_reader.rs`). It records its effects in the
//! *read buffer* of that slot: that there was an access, which advances the shard's tick unless it
//! missed, and the age of the item, for the counters and for a rank that learns. The next thread
//! that holds the shard exclusively advances the tick by all new records, and drains the buffer of
//! its own slot, in order. A thread sees the shard's tick plus the new records of its own slot. It
//! does not see the records of other slots, at most [`RECORDS`] each. So ticks differ a little
//! between threads, and are exact if there is only one.
//!
//! An item's stamps are written in place, as two atomic words. Of two simultaneous hits one may not
//! be counted in them, nor those of a thread whose tick is behind that of the last hit. The stamps
//! of items that are read all the time are not written while the change would be tiny. So all
//! readers keep the cache line. The recorded age is then that since the last write of the stamps,
//! at most a few hundredths of the number of items.
//!
//! A write that replaces a value by one that fits in place looks for it while it holds only its own
//! slot. Then it takes the other slots, so that no thread sees half of the write, and records it.
//! The lines of the shard stay as they are, and those of the item arrive while the thread takes the
//! slots.
//!
//! Other work needs the shard exclusively: to remove a dead item, to time a miss, to report a key
//! that models sample, and to record an access when the buffer is full.

use crate::compression::counts::OnWrite;
use crate::contents::contents::{Contents, view};
use crate::items::item::Parts;
use crate::items::table::item_table::Slot;
use crate::items::trees::trees::has_tree;
use crate::learning::lifetimes;
use crate::learning::removals::listens;
use crate::sync::big_reader::READER_SLOTS_MAX;
use crate::tenant::tenant::TenantShard;
use crate::{Item, Key, Now};
use base::TenantId;
use policy::rank::Stamps;

/// Most records in a read buffer. When it is full, the next access holds the shard exclusively.
const RECORDS: usize = 64;
/// Most ticks by which another thread's stamps may be ahead of this thread's tick.
const FUZZ: u32 = (RECORDS * (READER_SLOTS_MAX + 1)) as u32;
/// The stamps of an item with many hits are not written while its age is a smaller part of the
/// number of items than this, as a power of two.
const YOUNG: u32 = 6;

/// One read, or one replaced value.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    /// For an item that was found: its idle time. The size class and the tenant follow.
    age: u32,
    size_class: u16,
    tenant: TenantId,
    /// As in the item's stamps; [`NONE`] if no item was read.
    class: u8,
}

/// The class in the record of a read without an item.
const NONE: u8 = 0;
/// The size class in the record of a replaced value.
const REPLACED: u16 = u16::MAX;

/// The accesses of the threads of a reader slot, not yet in the counters of the shard.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct ReadBuffer {
    len: u32,
    /// The number of these records that the shard's tick accounts for: it advances by one for each,
    /// but not for a miss.
    counted: u32,
    /// The shard's tick when it was last held exclusively. It is copied here, because the shard's
    /// own tick is in a line that every write changes.
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
pub(crate) enum SharedRead<'a> {
    /// The item exists.
    Hit(Item<'a>),
    /// The item does not exist.
    Miss,
    /// The answer needs the shard exclusively. Nothing was recorded.
    NeedsExclusive,
}

impl Contents {
    /// Applies the records of a slot's buffer, and empties it.
    #[inline]
    pub(crate) fn drain(&mut self, buffer: &mut ReadBuffer, reader_slot: usize) {
        self.count_new_records(buffer);
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

    /// Advances the tick by the new records of a buffer.
    #[inline]
    pub(crate) fn count_new_records(&mut self, buffer: &mut ReadBuffer) {
        self.clock.tick += u64::from(buffer.len - buffer.counted);
        buffer.counted = buffer.len;
    }

    /// Copies the tick into a buffer.
    #[inline]
    pub(crate) fn publish(&self, buffer: &mut ReadBuffer) {
        buffer.tick = self.clock.tick;
    }
}

impl Contents {
    /// Reads an item for the holder of a reader slot.
    #[inline]
    pub(crate) fn read_shared(
        &self,
        buffer: &mut ReadBuffer,
        key: &Key,
        now: Now,
    ) -> SharedRead<'_> {
        if buffer.len as usize == RECORDS || self.tap.sees(key) {
            return SharedRead::NeedsExclusive;
        }
        let tenant = &self.tenants[usize::from(key.tenant)];
        let Some(item) = tenant.table.look_up(key.hash, key.db, key.bytes) else {
            // A miss starts a stopwatch, and counts for the past of an evicted key.
            if self.stopwatch.is_on() || self.ghosts.is_some() {
                return SharedRead::NeedsExclusive;
            }
            buffer.push(Record { tenant: key.tenant, ..Record::default() });
            // A miss does not advance the tick.
            buffer.counted += 1;
            return SharedRead::Miss;
        };
        if item.is_dead(now.unix_ms) {
            return SharedRead::NeedsExclusive;
        }
        let tick = buffer.now() + 1;
        let mut stamps = item.stamps();
        let age = age_of(stamps, tick);
        let size_class = if self.counts_sizes { tenant.size_class(item) } else { 0 };
        buffer.push(Record { age, size_class, tenant: key.tenant, class: stamps.class });
        let items = tenant.table.about();
        if stamps.hits < u8::MAX || age as usize > items >> YOUNG {
            // If another thread's stamp is ahead of this tick, it stays.
            stamps.hit(if age == 0 { stamps.last.into() } else { tick });
            lifetimes::classify(self.lessons, &mut stamps, age, items);
            item.stamp(stamps);
        }
        SharedRead::Hit(view(item, stamps, 0, tenant.pages.classes(), &tenant.trees))
    }

    /// The place of an item whose value can be replaced and only recorded, if there is one. The
    /// caller holds a reader slot and takes all slots next.
    #[inline]
    pub(crate) fn replaceable(
        &self,
        value_max: u64,
        buffer: &ReadBuffer,
        key: &Key,
        parts: &Parts,
    ) -> Option<Slot> {
        let tenant = &self.tenants[usize::from(key.tenant)];
        let len = parts.value[0].len();
        let is_recorded = parts.expires.is_none()
            && len as u64 <= value_max
            && (buffer.len as usize) < RECORDS
            && !self.stopwatch.may_await(key.hash)
            && !self.tap.sees(key)
            && !self.counts_sizes
            && !self.renews
            && self.on_write != OnWrite::All
            && self.restoring.is_none()
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

    /// Replaces the value at `place`. The caller is a thread of this slot, holds all slots since it
    /// looked, and has drained no buffer.
    #[inline]
    pub(crate) fn replace_shared(
        &mut self,
        buffer: &mut ReadBuffer,
        reader_slot: usize,
        key: &Key,
        place: Slot,
        parts: &Parts,
    ) {
        let TenantShard { table, pages, compressed, .. } =
            &mut self.tenants[usize::from(key.tenant)];
        let items = table.about();
        let mut item = table.get_mut(place);
        if item.view().is_compressed() {
            compressed.leaves(item.view().value());
        }
        let is_replaced = item.overwrite(pages.classes(), parts.value[0], None);
        debug_assert!(is_replaced, "there is room");
        item.set_kind(parts.kind, false);
        let tick = buffer.now() + 1;
        let mut stamps = item.view().stamps();
        let (tenant, class) = (key.tenant, stamps.class);
        buffer.push(Record { age: 0, tenant, size_class: REPLACED, class });
        let age = age_of(stamps, tick);
        if let Some(lives) = &self.lives {
            // The lifetime of the old value ends unread. Each slot has its own counters.
            lives.of(reader_slot).count(key.tenant, stamps.hit_class(), age, false);
        }
        if age > 0 {
            lifetimes::note_write(self.lessons, &mut stamps, tick);
        }
        lifetimes::classify(self.lessons, &mut stamps, age, items);
        self.get(key, place).stamp(stamps);
    }

    /// Looks at an item without any effect on it.
    #[inline]
    pub(crate) fn peek(&self, buffer: &ReadBuffer, key: &Key, now: Now) -> SharedRead<'_> {
        let tenant = &self.tenants[usize::from(key.tenant)];
        match tenant.table.look_up(key.hash, key.db, key.bytes) {
            None => SharedRead::Miss,
            Some(item) if item.is_dead(now.unix_ms) => SharedRead::NeedsExclusive,
            Some(item) => {
                let tick = buffer.now();
                let stamps = item.stamps();
                let age = age_of(stamps, tick);
                SharedRead::Hit(view(item, stamps, age, tenant.pages.classes(), &tenant.trees))
            }
        }
    }
}

/// The age of stamps; 0 if another thread's stamps are ahead of this thread's tick.
#[inline]
fn age_of(stamps: Stamps, tick: u64) -> u32 {
    let age = stamps.age(tick);
    if age.wrapping_neg() < FUZZ { 0 } else { age }
}
