//! The tenants as the pilot reads them: counts of the store, and settings of the owner.

use base::{Bytes, Micros, TenantId};
use store::{PenaltyClassStats, PenaltyStats, Store, TenantStats};
use tune::{Part, Target, TenantReading};

/// The settings of a tenant that its owner knows and the store does not.
#[derive(Clone, Debug)]
pub struct Known {
    /// The tenant's name in reports.
    pub name: String,
    /// Bytes that other tenants cannot take from it.
    pub min: Bytes,
    /// Most bytes that it may use.
    pub max: Option<Bytes>,
    /// Weight of its waiting time.
    pub weight: f64,
    /// Its target, and its priority where memory cannot meet all targets.
    pub goal: Option<(Target, u32)>,
}

impl Known {
    /// A tenant without bounds or promises.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), min: Bytes(0), max: None, weight: 1.0, goal: None }
    }
}

/// The mean penalty is not used until this many fetches were measured.
const FETCHES_MIN: f64 = 16.0;

/// Divisor of the limit that gives the memory for models, beyond their minimum. In a small cache
/// plans gain only memory; models that used a third of it would cost more than that gain.
const MODELS: u64 = 16;

/// Memory that the models may use.
pub(crate) fn model_memory(store: &Store) -> Bytes {
    Bytes(store.limit().0 / MODELS)
}

fn mean(penalty: &PenaltyStats) -> Option<Micros> {
    (penalty.count >= FETCHES_MIN && penalty.mean > Micros(0)).then_some(penalty.mean)
}

fn part(class: &PenaltyClassStats) -> Part {
    Part {
        class: class.class,
        used: class.used,
        gets: class.gets,
        misses: class.misses,
        sets: class.sets,
        penalty: mean(&class.penalty),
    }
}

/// The tenants: the store's counts, with the owner's settings from `known`.
pub(crate) fn tenants(store: &Store, known: &[Known]) -> Vec<TenantReading> {
    let all = store.all_stats();
    let tenant = |(at, (known, stats)): (usize, (&Known, &TenantStats))| TenantReading {
        id: at as TenantId,
        name: known.name.clone(),
        used: stats.used,
        items: stats.len.items,
        gets: stats.counters.gets(),
        misses: stats.counters.misses,
        sets: stats.counters.sets,
        penalty: mean(&stats.penalty),
        min: known.min,
        max: known.max,
        weight: known.weight,
        classes: store.penalty_class_stats(at as TenantId).iter().map(part).collect(),
    };
    known.iter().zip(&all).enumerate().map(tenant).collect()
}
