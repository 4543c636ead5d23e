//! Requests to each size class, while a pilot divides pages among them.
//!
//! A read that hits is of the class of its item. A miss knows its key, not the size of what it did
//! not find: it counts when the fetch that it began ends in a write, for the class of what was
//! written. A miss that nobody answers with a write is of no class, and no page would help it.

use crate::Store;
use crate::item::Ref;
use crate::shard::Shard;
use crate::table::Place;
use crate::tenant::TenantShard;
use base::TenantId;
use std::ops::AddAssign;
use std::sync::atomic::Ordering::Relaxed;

/// Requests to a size class. Counts are since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SizeCounts {
    /// Reads; those that missed count once it is known of which class.
    pub gets: u64,
    /// Reads that found nothing.
    pub misses: u64,
    /// Writes.
    pub sets: u64,
    /// Hits on items that had been idle for nearly as long as those that leave: of the time that
    /// an item lasts unused, the last part, as large as a page is of all pages. Not where the
    /// rank learns.
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
    /// The age, in requests to the shard, from which on an item is of the last page's worth.
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
    /// The class of sizes of an item.
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
    /// A read found an item of a class that had been idle for so long.
    pub(crate) fn size_is_read(&mut self, tenant: TenantId, class: u16, age: u32) {
        let held = &mut self.tenants[usize::from(tenant)].pages.held;
        // All items may have gone since.
        if let Some(class) = held.get_mut(usize::from(class)) {
            class.counts.gets += 1;
            class.counts.tail_hits += u64::from(f64::from(age) >= class.tail());
        }
    }

    /// So many reads missed what stands at this place now.
    pub(crate) fn size_is_missed(&mut self, tenant: TenantId, place: Place, reads: u64) {
        let class = self.tenants[usize::from(tenant)].sized(place);
        class.counts.gets += reads;
        class.counts.misses += reads;
    }

    /// An item was written.
    pub(crate) fn size_is_written(&mut self, tenant: TenantId, place: Place) {
        self.tenants[usize::from(tenant)].sized(place).counts.sets += 1;
    }
}

impl Store {
    /// Counts what is asked of each class of sizes, or stops.
    /// Misses and writes are counted while fetches are timed ([`Store::set_stopwatch`]).
    pub fn count_sizes(&self, on: bool) {
        if self.counts_sizes.swap(on, Relaxed) != on {
            self.shards.iter().for_each(|shard| shard.write_drained().set_counts_sizes(on));
        }
    }
}

impl Shard {
    /// Whether requests are counted by size.
    pub(crate) fn set_counts_sizes(&mut self, on: bool) {
        self.counts_sizes = on;
        self.is_watched = self.penalty_table.is_some() || on;
    }
}
