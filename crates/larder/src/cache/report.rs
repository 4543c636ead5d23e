//! What a cache tells of itself: sizes, counts, and what the loop has found.

use super::Cache;
use crate::{Pauses, Stats};
use base::Bytes;
use curve::MissRatioCurve;
use store::Scope;
use tune::Plan;

impl Cache {
    /// Entries of this part, counting the dead that nobody has met yet.
    pub fn len(&self) -> u64 {
        self.shared.store.len(Scope::tenant(self.part)).items
    }

    /// Whether this part has no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that the whole cache takes.
    pub fn used(&self) -> Bytes {
        self.shared.store.used()
    }

    /// Bytes that the whole cache may take; 0 for no bound.
    pub fn capacity(&self) -> Bytes {
        self.shared.store.limit()
    }

    /// Changes the capacity of the whole cache. A lower one is reached by and by: each insertion
    /// frees a little more than it takes, and [`Cache::maintain`] does the rest.
    pub fn set_capacity(&self, capacity: u64) {
        self.shared.store.set_limit(Bytes(capacity));
    }

    /// This part: bytes, entries, hits and misses, what misses cost.
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

    /// What operations took to make room, in the whole cache: a histogram and its maximum.
    pub fn pauses(&self) -> Pauses {
        self.shared.store.pauses()
    }

    /// What share of this part's reads would miss at other sizes, under the first policy of the
    /// recipe; `None` with recipe `static`, and where too little was seen.
    pub fn curve(&self) -> Option<MissRatioCurve> {
        let looping = self.shared.looping();
        let curves = looping.as_ref()?.pilot.curves(self.part);
        curves.first().map(|candidate| candidate.curve.clone())
    }

    /// The plan in force: who gets how much memory under which policy, what was expected without
    /// it and what with it; `None` with recipe `static`, and before the first.
    pub fn plan(&self) -> Option<Plan> {
        self.shared.looping().as_ref()?.pilot.status().plan
    }
}
