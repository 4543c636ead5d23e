//! Sampled requests of the store, for the models and for a rank that learns from them.
//!
//! An unsampled key costs one comparison of its hash, which is already known. A sampled request
//! goes into a queue of its shard, which is held exclusively for it. A queue that is not emptied in
//! time drops requests and counts them: the models should miss samples rather than make clients
//! wait.
//!
//! A rank may watch keys of its own: a share of all keys, the same for every tenant. The watched
//! keys and the sampled keys are nested, because both depend on the same bits of the hash. So one
//! comparison covers both.

use crate::items::table::item_table::SHARE;
use crate::{Key, Now};
use base::{Filter, Micros, Sample, Sighting, TenantId, penalty};
use policy::rank::Stamps;

/// A request to a key that a rank watches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watched {
    pub(crate) key: u64,
    /// Accesses to the shard so far.
    pub(crate) tick: u64,
    pub(crate) tenant: TenantId,
    pub(crate) what: What,
}

/// The event of a watched request. `Seen` has the bytes charged for the key's item, 0 without one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    Seen(Sighting, u32),
    /// A fetch ended, and its cost is in this class.
    Fetched(u8),
}

/// The item that a request found, wrote or removed.
pub(crate) struct Observation {
    /// Bytes charged for the item; 0 without one.
    pub(crate) size: u64,
    pub(crate) expires: Option<u64>,
    pub(crate) stamps: Stamps,
}

impl Observation {
    /// No item.
    pub(crate) const NOTHING: Self = Self { size: 0, expires: None, stamps: Stamps::new(0, 0) };
}

/// The filter that keeps more keys.
const fn wider(one: Filter, other: Filter) -> Filter {
    if one.threshold() > other.threshold() { one } else { other }
}

/// The queues of one shard.
#[derive(Debug)]
pub(crate) struct Tap {
    /// By tenant, the wider one of its filter and the watched share.
    seen: Vec<Filter>,
    /// The sampled keys by tenant. A tenant beyond the end is not sampled.
    filters: Vec<Filter>,
    /// The keys that a rank watches, for every tenant.
    watch: Filter,
    samples: Vec<Sample>,
    watched: Vec<Watched>,
    capacity: usize,
    lost: u64,
}

impl Tap {
    pub(crate) const fn new(capacity: usize) -> Self {
        Self {
            seen: vec![],
            filters: vec![],
            watch: Filter::NONE,
            samples: vec![],
            watched: vec![],
            capacity,
            lost: 0,
        }
    }

    /// Chooses the keys of a tenant that models sample.
    pub(crate) fn set_filter(&mut self, tenant: TenantId, filter: Filter) {
        let at = usize::from(tenant);
        if at >= self.filters.len() {
            self.filters.resize(at + 1, Filter::NONE);
        }
        if at >= self.seen.len() {
            self.seen.resize(at + 1, self.watch);
        }
        self.filters[at] = filter;
        self.seen[at] = wider(filter, self.watch);
    }

    /// Chooses the keys that a rank watches, for `tenants` tenants.
    pub(crate) fn set_watch(&mut self, watch: Filter, tenants: usize) {
        self.watch = watch;
        if watch == Filter::NONE {
            self.watched = vec![];
        }
        self.seen.clear();
        self.seen.extend(self.filters.iter().map(|&filter| wider(filter, watch)));
        self.seen.resize(tenants.max(self.filters.len()), watch);
    }

    /// Whether requests for this key are sampled or watched.
    #[inline]
    pub(crate) fn sees(&self, key: &Key) -> bool {
        self.seen.get(usize::from(key.tenant)).is_some_and(|filter| filter.keeps(key.hash))
    }

    /// Records a request at a tick if its key is sampled or watched.
    #[inline]
    pub(crate) fn see(
        &mut self,
        key: &Key,
        now: Now,
        tick: u64,
        sighting: Sighting,
        item: impl FnOnce() -> Observation,
    ) {
        if self.sees(key) {
            self.push(key, now, tick, sighting, &item());
        }
    }

    /// Records that a dead item was removed. `hash` computes the hash of its key, and is called
    /// only while keys are watched. For a rank that learns, the item's life ends here, and not at a
    /// later read.
    #[inline]
    pub(crate) fn see_dead(&mut self, tenant: TenantId, tick: u64, hash: impl FnOnce() -> u64) {
        if self.watch != Filter::NONE {
            self.watch(tenant, hash(), tick, What::Seen(Sighting::Delete, 0));
        }
    }

    /// Records that a fetch ended, with a cost of this class.
    pub(crate) fn see_fetched(&mut self, key: &Key, tick: u64, class: u8) {
        self.watch(key.tenant, key.hash, tick, What::Fetched(class));
    }

    fn watch(&mut self, tenant: TenantId, hash: u64, tick: u64, what: What) {
        if self.watch.keeps(hash) && self.watched.len() < self.capacity {
            self.watched.push(Watched { key: hash, tick, tenant, what });
        }
    }

    #[cold]
    fn push(&mut self, key: &Key, now: Now, tick: u64, sighting: Sighting, seen: &Observation) {
        let tenant = key.tenant;
        let size = u32::try_from(seen.size).unwrap_or(u32::MAX);
        self.watch(tenant, key.hash, tick, What::Seen(sighting, size));
        if !self.filters.get(usize::from(tenant)).is_some_and(|of| of.keeps(key.hash)) {
            return;
        }
        if self.samples.len() >= self.capacity {
            self.lost += 1;
            return;
        }
        let Observation { size, expires, stamps } = *seen;
        // An item in its last millisecond is still alive. A time of 0 would mean no limit.
        let left_ms = expires.map_or(0, |when| when.saturating_sub(now.unix_ms).max(1));
        self.samples.push(Sample {
            time: now.micros,
            key: key.hash,
            tenant,
            sighting,
            // A model must count an item's actual memory, including its place in the table.
            size: if size > 0 { (size + SHARE).try_into().unwrap_or(u32::MAX) } else { 0 },
            ttl: Micros(left_ms.saturating_mul(1_000)),
            penalty: penalty::of_class(stamps.penalty_class()),
        });
    }

    /// Appends the samples to `all`. Returns the number of lost ones since the last call.
    pub(crate) fn drain(&mut self, all: &mut Vec<Sample>) -> u64 {
        all.append(&mut self.samples);
        std::mem::take(&mut self.lost)
    }

    /// Exchanges the requests for watched keys since the last call for an empty queue, whose memory
    /// serves from now on.
    pub(crate) const fn exchange_watched(&mut self, queue: &mut Vec<Watched>) {
        std::mem::swap(&mut self.watched, queue);
    }
}
