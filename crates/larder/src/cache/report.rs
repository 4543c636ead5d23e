//! The report of a cache about itself: sizes, counts, and the findings of the loop.

use super::Cache;
use crate::{CompressionStats, Pauses, Stats};
use base::Bytes;
use curve::MissRatioCurve;
use store::Scope;
use tune::Plan;

impl Cache {
    /// Number of entries of this part, including expired entries that are still in memory.
    pub fn len(&self) -> u64 {
        self.shared.store.len(Scope::tenant(self.part)).items
    }

    /// Whether this part has no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that the whole cache uses.
    pub fn used(&self) -> Bytes {
        self.shared.store.used()
    }

    /// Limit of the bytes of the whole cache; 0 for no bound.
    pub fn capacity(&self) -> Bytes {
        self.shared.store.limit()
    }

    /// Changes the capacity of the whole cache. A lower capacity is reached gradually: each
    /// insertion frees a little more than it takes, and [`Cache::maintain`] does the rest.
    pub fn set_capacity(&self, capacity: u64) {
        self.shared.store.set_limit(Bytes(capacity));
    }

    /// The statistics of this part: bytes, entries, hits and misses, cost of misses.
    ///
    /// ```
    /// let cache = larder::Cache::new(1 << 20);
    /// cache.get("absent");
    /// let stats = cache.stats();
    /// assert_eq!((stats.counters.hits, stats.counters.misses, stats.len.items), (0, 1, 0));
    /// ```
    pub fn stats(&self) -> Stats {
        self.shared.store.tenant_stats(self.part)
    }

    /// The compressed entries of this part, and the work for them
    /// ([`Builder::compressed`](crate::Builder::compressed)).
    pub fn compression(&self) -> CompressionStats {
        self.shared.store.compression_stats(self.part)
    }

    /// The time that operations of the whole cache spent on making room: a histogram and its
    /// maximum.
    pub fn pauses(&self) -> Pauses {
        self.shared.store.pauses()
    }

    /// The miss ratio of this part's reads at other sizes, under the first policy of the recipe;
    /// `None` with recipe `static`, and while the cache has seen too few reads.
    pub fn curve(&self) -> Option<MissRatioCurve> {
        let looping = self.shared.looping();
        let curves = looping.as_ref()?.pilot.curves(self.part);
        curves.first().map(|candidate| candidate.curve.clone())
    }

    /// The plan in force: the memory and the policy of each part, with the forecast without the
    /// plan and with it. `None` with recipe `static`, and before the first plan.
    pub fn plan(&self) -> Option<Plan> {
        self.shared.looping().as_ref()?.pilot.status().plan
    }
}
