//! Learning from watched keys: a share of all keys, whether the store holds them or not.
//!
//! The taps of the shards queue the events of watched keys (`tap.rs`). The sweep takes the queues
//! now and then. When it is time, it computes new indices without any shard's lock, and puts them
//! in place as a whole, like a change of the pools. All keys are watched while there are few. With
//! more keys the share shrinks, to a fiftieth, or to the keys that fit in a hundredth of the
//! memory.
//!
//! At a high rate of requests, a part of them is enough to learn from, and recording a request
//! needs the shard exclusively. So above some thousand watched requests per second, fewer keys are
//! watched. Looks are spaced in proportion to their cost.
//!
//! Tables and counts take memory away from items. In a small cache with many tenants they have less
//! detail.
//!
//! Each shard remembers evicted keys, so that a key that returns keeps its birth and hits. From the
//! time when evictions are near, it remembers as many keys as it has items, or as many as fit in
//! another hundredth of its memory. If items are small, remembering more would cost them more
//! memory than it gains.
//!
//! Ages are in requests to a shard. They apply to other shards too, because each has approximately
//! the same share of the requests.

use crate::bytes::account::Account;
use crate::learning::tap::{Watched, What};
use crate::sync::shim::lock;
use base::{Filter, Micros, Sighting, TenantId};
use policy::rank::gittins::{
    Cost, IndexTable, Indices, KeyEvent, Learner, LearnerOptions, PENALTIES, Pace, TENANTS,
    size_class,
};
use std::sync::Arc;

/// The least share of keys that is watched.
const SHARE_MIN: f64 = 0.02;
/// Memory for watched keys, and the same again for evicted keys, as a divisor of the limit.
pub(crate) const PART: u64 = 100;
/// Bytes per watched key.
const BYTES_OF_A_KEY: u64 = 32;

/// Number of keys that may be watched in any case, because fewer give too little to learn from.
const WATCHED_MIN: u64 = 4_000;
/// Watched requests per second above which fewer keys are watched.
const PACE_MAX: f64 = 6_000.0;
/// Least time between two looks, for each tenant with a table.
pub(crate) const LOOKS_APART: Micros = Micros::from_millis(50);
/// Memory for tables and counts: at least this much, or this part of the limit.
const DETAIL_MIN: u64 = 256 << 10;
const DETAIL_PART: u64 = 333;

/// Results of learning from watched keys.
#[derive(Debug)]
pub(crate) struct Watching {
    pub(crate) learner: Learner,
    pub(crate) indices: Arc<Indices>,
    /// Bytes charged for all of it.
    pub(crate) bytes: u64,
    /// Time of the last look.
    pub(crate) looked: Micros,
    pub(crate) pace: Pace,
    /// A queue that goes round the shards, so that none is allocated while clients are served.
    pub(crate) queue: Vec<Watched>,
}

/// The detail of learning for a number of tenants, in a cache with a limit.
pub(crate) fn options(limit: u64, tenants: usize) -> LearnerOptions {
    let most = match limit {
        0 => u64::MAX,
        limit => DETAIL_MIN.max(limit / DETAIL_PART),
    };
    LearnerOptions::within(most / tenants.clamp(1, TENANTS) as u64)
}

impl Watching {
    pub(crate) fn new(tenants: usize) -> Self {
        let indices = Arc::new(Indices::new(IndexTable::default(), &[1], 0.0, &[]));
        let learner = Learner::new(tenants).watching(Filter::with_rate(SHARE_MIN));
        Self {
            learner,
            indices,
            bytes: 0,
            looked: Micros(0),
            pace: Pace::of(PACE_MAX),
            queue: vec![],
        }
    }

    pub(crate) fn indices(&self) -> Arc<Indices> {
        Arc::clone(&self.indices)
    }

    /// The keys whose requests the taps record.
    pub(crate) const fn filter(&self) -> Filter {
        self.learner.filter()
    }

    /// Bytes charged for all of it.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Learns from the events of watched keys in one shard.
    pub(crate) fn take(&mut self, watched: &[Watched]) {
        for seen in watched {
            let (sighting, size) = match seen.what {
                What::Seen(sighting, size) => (sighting, size),
                What::Fetched(class) => {
                    self.learner.fetched(seen.key, class);
                    continue;
                }
            };
            let kind = match sighting {
                Sighting::Hit => KeyEvent::Read,
                Sighting::Miss => KeyEvent::Missed,
                Sighting::Write => KeyEvent::Write,
                Sighting::Delete => KeyEvent::Gone,
            };
            let of_size = size_class(size as f32, self.indices.mean_size());
            self.learner.access(seen.tenant, seen.key, kind, seen.tick, of_size);
        }
    }

    /// Watches fewer keys if there are too many, or if they take more than `bytes_max`. Returns
    /// whether it does.
    pub(crate) fn narrow(&mut self, bytes_max: u64) -> bool {
        let by_memory = (bytes_max / BYTES_OF_A_KEY).max(WATCHED_MIN) as usize;
        self.learner.set_keys_max(by_memory.min(self.pace.keys_max()));
        self.learner.narrow()
    }
}

/// The cost of a miss of each tenant, and the weight of its waiting time.
pub(crate) fn costs(learner: &Learner, accounts: &[Arc<Account>], prices: &[f32]) -> Vec<Cost> {
    let cost = |(at, account): (usize, &Arc<Account>)| {
        let measured = lock(&account.measured);
        let (mean, known) = (measured.stats().mean.as_f64() as f32, measured.by_class());
        drop(measured);
        Cost {
            mean,
            // Costs that clients state have no noise.
            by_class: if account.is_hinted() {
                [0.0; PENALTIES]
            } else {
                learner.expected(at as TenantId, &known)
            },
            factor: prices.get(at).copied().unwrap_or(1.0),
        }
    };
    accounts.iter().enumerate().map(cost).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_caches_of_many_tenants_learn_less() {
        let detail = |limit: u64, tenants: usize| {
            let LearnerOptions { parts, fast, .. } = options(limit << 20, tenants);
            (parts, fast)
        };
        assert_eq!(detail(0, 50), (true, true));
        assert_eq!([1, 2, 3].map(|tenants| detail(32, tenants).0), [true, true, false]);
        assert_eq!((detail(32, 1), detail(32, 2)), ((true, true), (true, false)));
        assert_eq!((detail(1_000, 8), detail(1_000, 32)), ((true, true), (false, false)));
    }
}
