//! Learning of the rank, in the pilot's thread: watched keys in, a table of indices out.
//!
//! The learner is the one of Larder's own store (`policy::rank::gittins`). It watches a share of
//! the keys, whether the server holds them or not. Its events are the samples of the filter, with
//! the number of requests at which they happened.

use crate::exchange::{Look, Seen};
use base::{Filter, Micros, Sighting, TenantId};
use policy::rank::gittins::Learner;
use policy::rank::gittins::{
    ClassFetches, Cost, Indices, KeyEvent, LearnerOptions, LiveRank, PENALTIES, Pace, TENANTS,
    size_class,
};
use policy::rank::{Learnt, Rank};
use std::sync::Arc;
use tune::{Objective, Recipe, Step};

/// The least share of the keys that is watched, and the number of keys up to which all are.
const SHARE_MIN: f64 = 0.02;
const WATCHED_ALL: f64 = 12_000.0;
/// Watched requests a second above which fewer keys are watched: each costs the server about a
/// third of a GET.
const PACE_MAX: f64 = 5_000.0;
/// Memory for watched keys, as a divisor of the limit, with bytes of a key and the fewest keys.
const PART: u64 = 400;
const BYTES_OF_A_KEY: u64 = 32;
const WATCHED_MIN: u64 = 2_000;
/// Memory for counts and tables, as a divisor of the limit.
const DETAIL_PART: u64 = 200;

/// The costs of a tenant's misses: their mean, which is zero if none was measured, and by class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Costs {
    pub(crate) mean: f32,
    pub(crate) by_class: [ClassFetches; PENALTIES],
}

/// The learner, and the rank learnt so far.
#[derive(Debug)]
pub(crate) struct Learning {
    learner: Learner,
    pace: Pace,
    rank: LiveRank,
    /// Bytes of the last indices.
    indices: usize,
    mean_size: f32,
    /// Requests at the last event.
    tick: u64,
}

/// Whether a recipe ranks single keys.
pub(crate) fn ranks(recipe: &Recipe) -> bool {
    recipe.pools.is_single() && recipe.evictors.first().is_some_and(|one| one.policy == "gittins")
}

impl Learning {
    /// A learner without knowledge.
    pub(crate) fn new(recipe: &Recipe) -> Self {
        Self {
            learner: Learner::new(1).watching(Filter::with_rate(SHARE_MIN)),
            pace: Pace::of(PACE_MAX),
            rank: LiveRank::unlearnt(recipe.objective == Objective::Latency),
            indices: 0,
            mean_size: 0.0,
            tick: 0,
        }
    }

    /// The keys to watch, in a server with this number of keys.
    pub(crate) fn filter(&self, keys: u64) -> Filter {
        let most = Filter::with_rate((WATCHED_ALL / keys.max(1) as f64).clamp(SHARE_MIN, 1.0));
        let own = self.learner.filter();
        if own.threshold() < most.threshold() { own } else { most }
    }

    /// Number of watched keys.
    pub(crate) fn watched(&self) -> usize {
        self.learner.watched()
    }

    /// Bytes of the learner, of the last indices, and of those before, which the server may still
    /// use.
    pub(crate) fn bytes(&self) -> u64 {
        (self.learner.bytes() + 2 * self.indices) as u64
    }

    /// Learns from events until now.
    pub(crate) fn take(&mut self, seen: &[Seen], look: &Look, now: Micros) {
        self.learner.set_tenants(look.tenants.len());
        // Samples for the models are of more keys, or of fewer.
        let filter = self.learner.filter();
        let (mut requests, own) = (0, |seen: &&Seen| filter.keeps(seen.sample.key));
        for Seen { sample, tick, fetched, .. } in seen.iter().filter(own) {
            requests += 1;
            self.tick = self.tick.max(*tick);
            let kind = match sample.sighting {
                Sighting::Hit => KeyEvent::Read,
                Sighting::Miss => KeyEvent::Missed,
                Sighting::Write => KeyEvent::Write,
                Sighting::Delete => KeyEvent::Gone,
            };
            let of_size = size_class(sample.size as f32, self.mean_size);
            self.learner.access(sample.tenant, sample.key, kind, *tick, of_size);
            if *fetched > 0 {
                self.learner.fetched(sample.key, *fetched);
            }
        }
        self.pace.note(requests, self.learner.watched(), now);
        let by_memory = (look.server.limit / PART / BYTES_OF_A_KEY).max(WATCHED_MIN) as usize;
        self.learner.set_keys_max(by_memory.min(self.pace.keys_max()));
        self.learner.narrow();
    }

    /// The rank with new indices, if it is time to compute them.
    pub(crate) fn look(&mut self, look: &Look, step: Option<&Step>) -> Option<Arc<dyn Rank>> {
        let items: Vec<usize> = look.tenants.iter().map(|tenant| tenant.items as usize).collect();
        let all: usize = items.iter().sum();
        let tick = self.tick.max(look.tick);
        if !self.learner.is_due(tick, all) {
            return None;
        }
        let tenants = look.tenants.len().clamp(1, TENANTS) as u64;
        let detail = look.server.limit / DETAIL_PART / tenants;
        self.learner.set_options(LearnerOptions::within(detail));
        let table = self.learner.learn(tick, all, look.evictions);
        let used: u64 = look.tenants.iter().map(|tenant| tenant.used.0).sum();
        self.mean_size = used as f32 / all as f32;
        let costs: Vec<Cost> = (0..).zip(&look.costs).map(|one| self.cost(one, step)).collect();
        let indices = Arc::new(Indices::new(table, &items, self.mean_size, &costs));
        self.indices = indices.bytes();
        self.rank.renewed(&Learnt { watched: Some(indices), ..Learnt::default() })
    }

    fn cost(&self, (tenant, costs): (TenantId, &Costs), step: Option<&Step>) -> Cost {
        let price = step.and_then(|step| step.prices.get(usize::from(tenant)));
        Cost {
            mean: costs.mean,
            by_class: self.learner.expected(tenant, &costs.by_class),
            factor: price.map_or(1.0, |price| *price as f32),
        }
    }
}
