//! The store in the pilot's words: what is counted of a tenant, and pools as a step names them.
//!
//! `tune` knows no store and `store` no pilot; whoever steers a live store, the server or a cache
//! in process, translates here.
#![forbid(unsafe_code)]

use base::{Bytes, Micros, TenantId};
use policy::rank::klru::Klru;
use std::sync::Arc;
use store::{ClassStats, Evictor, PenaltyStats, Pool, Store};
use tune::{Part, PoolStep, Tenant};

/// What penalties measured until an epoch ago weigh against those since.
pub const PENALTY_KEEP: f64 = 0.95;

/// Fetches below which their mean cost is not used.
const FETCHES_MIN: f64 = 16.0;

/// What models may take, as a divisor of the limit, beyond the least that they need. In a small
/// cache memory is what plans gain, and models that took a third of it would lose more than that.
const MODELS: u64 = 16;

/// Candidates that stand for an order that the store does not keep: with so many the item idle
/// longest of all is seldom far.
const LRU_CANDIDATES: u8 = 16;

/// What the models may take of the memory there is.
pub fn model_memory(store: &Store) -> Option<Bytes> {
    Some(Bytes(store.limit().0 / MODELS))
}

fn mean(penalty: &PenaltyStats) -> Option<Micros> {
    (penalty.count >= FETCHES_MIN && penalty.mean > Micros(0)).then_some(penalty.mean)
}

fn part(class: &ClassStats) -> Part {
    Part {
        class: class.class,
        used: class.used,
        gets: class.gets,
        misses: class.misses,
        sets: class.sets,
        penalty: mean(&class.penalty),
    }
}

/// A tenant without bounds, as the store counts it.
pub fn tenant(store: &Store, id: TenantId, name: &str) -> Tenant {
    let stats = store.tenant_stats(id);
    Tenant {
        id,
        name: name.to_owned(),
        used: stats.used,
        items: stats.len.items,
        gets: stats.counters.gets(),
        misses: stats.counters.misses,
        sets: stats.counters.sets,
        penalty: mean(&stats.penalty),
        min: Bytes(0),
        max: None,
        weight: 1.0,
        classes: store.class_stats(id).iter().map(part).collect(),
    }
}

/// How the store evicts as a step says.
pub fn evictor(step: tune::Evictor) -> Evictor {
    match (step.policy, step.k) {
        ("lhd", k) => Evictor::lhd(k),
        (_, 0) => Evictor { rank: Arc::new(Klru), k: LRU_CANDIDATES, pool: false },
        (_, k) => Evictor { rank: Arc::new(Klru), k, pool: step.pool },
    }
}

/// A pool of the store as a step says.
pub fn pool(step: &PoolStep) -> Pool {
    Pool {
        tenants: step.tenants.clone(),
        class: step.class,
        budget: step.budget,
        evictor: evictor(step.evictor),
    }
}
