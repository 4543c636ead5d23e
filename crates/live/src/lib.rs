//! The live store as the pilot sees and sets it.
//!
//! `tune` knows no store and `store` no pilot: this crate is where they meet, for the server, for a
//! cache in process and for the lab alike. `plant.rs` is the plant, `evictor.rs` the policies in
//! the store's words, `pages.rs` pages of classes of sizes.
#![forbid(unsafe_code)]

mod evictor;
mod pages;
mod plant;

pub use evictor::evictor;
pub use plant::{Known, Live, Look, PENALTY_KEEP, tick};

use base::{Bytes, Micros, TenantId};
use store::{PenaltyClassStats, PenaltyStats, Store, TenantStats};
use tune::{Part, TenantReading};

/// Fetches below which their mean cost is not used.
const FETCHES_MIN: f64 = 16.0;

/// What models may take, as a divisor of the limit, beyond the least that they need. In a small
/// cache memory is what plans gain, and models that took a third of it would lose more than that.
const MODELS: u64 = 16;

/// What the models may take of the memory there is.
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

/// The tenants as the store counts them, with what their owner knows of them.
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
