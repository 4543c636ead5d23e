//! Requests to each size class, while a pilot divides pages among the classes.
//!
//! A hit counts for the class of its item. A miss knows its key, but not the size of the missing
//! item. It counts when its fetch ends in a write, for the class of the written item. A miss
//! without a following write has no class, and no page would help it.

use crate::Store;
use crate::item::Ref;
use crate::shard::Shard;
use crate::table::Place;
use crate::tenant::TenantShard;
use base::TenantId;
use std::ops::AddAssign;
use std::sync::atomic::Ordering::Relaxed;

/// Requests to a size class, counted since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SizeCounts {
    /// Reads. A read that misses counts once its class is known.
    pub gets: u64,
    /// Reads that did not find their item.
    pub misses: u64,
    /// Writes.
    pub sets: u64,
    /// Hits on items that had been idle for nearly as long as victims are. They are in the last
    /// part of an unused item's lifetime, a part as large as one page is of all pages. Not counted
    /// if the rank learns.
    pub tail_hits: u64,
}

impl AddAssign for SizeCounts {
    fn add_assign(&mut self, other: Self) {
        self.gets += other.gets;
        self.misses += other.misses;
        self.sets += other.sets;
        self.tail_hits += other.tail_hits;
    }
}

impl super::Class {
    /// The age from which on an item is in the last page's worth of memory, in requests to the
    /// shard.
    fn tail(&self) -> f64 {
        let lasts = -self.victims.density;
        let pages = self.pages.len() as f64;
        if lasts > 0.0 { lasts * (1.0 - 1.0 / pages.max(1.0)) } else { f64::INFINITY }
    }
}

impl super::Pages {
    fn of(&mut self, item: Ref) -> &mut super::Class {
        &mut self.held[self.classes.of(item.contents())]
    }
}

impl TenantShard {
    /// The size class of an item.
    pub(crate) fn size_class(&self, item: Ref) -> u16 {
        self.pages.classes.of(item.contents()) as u16
    }

    /// The class of the item at a place.
    fn sized(&mut self, place: Place) -> &mut super::Class {
        let item = self.table.get(place);
        self.pages.of(item)
    }
}

impl Shard {
    /// Counts a read that found an item of a class, idle for `age`.
    pub(crate) fn size_is_read(&mut self, tenant: TenantId, class: u16, age: u32) {
        let held = &mut self.tenants[usize::from(tenant)].pages.held;
        // All items of the class may have been removed since.
        if let Some(class) = held.get_mut(usize::from(class)) {
            class.counts.gets += 1;
            class.counts.tail_hits += u64::from(f64::from(age) >= class.tail());
        }
    }

    /// Counts reads that missed the item that is at this place now.
    pub(crate) fn size_is_missed(&mut self, tenant: TenantId, place: Place, reads: u64) {
        let class = self.tenants[usize::from(tenant)].sized(place);
        class.counts.gets += reads;
        class.counts.misses += reads;
    }

    /// Counts a write of the item at this place.
    pub(crate) fn size_is_written(&mut self, tenant: TenantId, place: Place) {
        self.tenants[usize::from(tenant)].sized(place).counts.sets += 1;
    }
}

impl Store {
    /// Starts or stops counting the requests to each size class. Misses and writes are counted only
    /// while fetches are timed ([`Store::set_stopwatch`]).
    pub fn count_sizes(&self, on: bool) {
        if self.counts_sizes.swap(on, Relaxed) != on {
            self.shards.iter().for_each(|shard| shard.write_drained().set_counts_sizes(on));
        }
    }
}

impl Shard {
    /// Sets whether requests are counted by size.
    pub(crate) fn set_counts_sizes(&mut self, on: bool) {
        self.counts_sizes = on;
        self.is_watched = self.penalty_table.is_some() || on;
    }
}
