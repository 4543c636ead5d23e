//! The live store as the pilot observes and controls it.
//!
//! `tune` does not know the store, and `store` does not know the pilot. This crate joins them for
//! the server, for a cache in process and for the lab. `plant.rs` implements the plant,
//! `evictor.rs` translates policies, and `pages.rs` handles the pages of size classes.
#![forbid(unsafe_code)]

mod evictor;
mod pages;
mod plant;

pub use evictor::evictor;
pub use plant::{Known, Live, Look, PENALTY_KEEP, tick};

use base::{Bytes, Micros, TenantId};
use store::{PenaltyClassStats, PenaltyStats, Store, TenantStats};
use tune::{Part, TenantReading};

/// The mean penalty is not used until this many fetches were measured.
const FETCHES_MIN: f64 = 16.0;

/// Divisor of the limit that gives the memory for models, beyond their minimum. In a small cache
/// plans gain only memory; models that used a third of it would cost more than that gain.
const MODELS: u64 = 16;

/// Memory that the models may use.
fn model_memory(store: &Store) -> Bytes {
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
fn tenants(store: &Store, known: &[Known]) -> Vec<TenantReading> {
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
