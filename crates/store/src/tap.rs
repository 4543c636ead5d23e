//! Sampled requests out of the store, for the models.
//!
//! An unsampled key costs one comparison of a hash that is there already. A sampled one goes into
//! a queue of its shard, which is held alone for it; a queue that nobody empties in time
//! drops, and counts what it dropped: the models would rather miss samples than make clients wait.

use crate::table::SHARE;
use crate::{Key, Now};
use base::{Filter, Micros, Sample, Sighting, TenantId, penalty};

/// One shard's queue.
#[derive(Debug)]
pub(crate) struct Tap {
    /// By tenant; one that was never set is not sampled.
    filters: Vec<Filter>,
    samples: Vec<Sample>,
    capacity: usize,
    lost: u64,
}

impl Tap {
    pub(crate) const fn new(capacity: usize) -> Self {
        Self { filters: vec![], samples: vec![], capacity, lost: 0 }
    }

    pub(crate) fn set_filter(&mut self, tenant: TenantId, filter: Filter) {
        let at = usize::from(tenant);
        if at >= self.filters.len() {
            self.filters.resize(at + 1, Filter::NONE);
        }
        self.filters[at] = filter;
    }

    /// Whether requests of this key are sampled.
    #[inline]
    pub(crate) fn sees(&self, key: &Key) -> bool {
        self.filters.get(usize::from(key.tenant)).is_some_and(|filter| filter.keeps(key.hash))
    }

    /// Notes a request if its key is sampled; `item` tells what is charged for the item, when it
    /// expires and the class of its penalty.
    #[inline]
    pub(crate) fn see(
        &mut self,
        key: &Key,
        now: Now,
        sighting: Sighting,
        item: impl FnOnce() -> (u64, Option<u64>, u8),
    ) {
        if self.sees(key) {
            self.push(key, now, sighting, item());
        }
    }

    #[cold]
    fn push(
        &mut self,
        key: &Key,
        now: Now,
        sighting: Sighting,
        (size, expires, class): (u64, Option<u64>, u8),
    ) {
        if self.samples.len() >= self.capacity {
            self.lost += 1;
            return;
        }
        // An item in its last millisecond is still alive; no time at all would mean no limit.
        let left_ms = expires.map_or(0, |when| when.saturating_sub(now.unix_ms).max(1));
        self.samples.push(Sample {
            time: now.micros,
            key: key.hash,
            tenant: key.tenant,
            sighting,
            // What an item takes is what a model must think it takes: its place in the table too.
            size: if size > 0 { (size + SHARE).try_into().unwrap_or(u32::MAX) } else { 0 },
            ttl: Micros(left_ms.saturating_mul(1_000)),
            penalty: penalty::of_class(class),
        });
    }

    /// Moves the samples to the end of `all`; returns how many were lost since the last time.
    pub(crate) fn drain(&mut self, all: &mut Vec<Sample>) -> u64 {
        all.append(&mut self.samples);
        std::mem::take(&mut self.lost)
    }
}
