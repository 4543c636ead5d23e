//! Limits of the models of all pools: watched keys by memory, and sampled requests by time.

use crate::{Reading, Recipe};
use curve::Bytes;

/// The most keys that the models of all pools watch, and those of a single pool. From about 8 000
/// keys on the mean error of a curve is below half a percent.
const KEYS_MAX: usize = 98_304;
const KEYS_MAX_POOL: usize = 12_288;

/// Keys that the models of a pool may watch, however small their memory, unless the plant accepts
/// fewer.
const KEYS_FLOOR: usize = 4_096;

/// Bytes for a watched key: in each model, and in the observer, which also remembers earlier keys.
const KEY_BYTES_MODEL: u64 = 100;
const KEY_BYTES_OBSERVER: u64 = 90;

/// Sampled requests a second for the models of all pools together while the plant is not busy. They
/// take two percent of a core: each sample costs about five microseconds for four models.
pub(super) const SAMPLES_PER_S: f64 = 4_000.0;

/// Sampled requests a second while the plant is busy: a quarter of a percent of a core.
pub(super) const SAMPLES_PER_S_BUSY: f64 = 500.0;

/// Requests a second up to which the plant is not busy, and from which on it is busy. A single
/// request takes a core some eight microseconds, so these are four and sixteen percent.
const SPARE_OPS_PER_S: f64 = 5_000.0;
const BUSY_OPS_PER_S: f64 = 20_000.0;

/// Samples for each request of a still busier plant: several cores have time for more of them, and
/// their share stays at one percent.
const SAMPLES_PER_OP: f64 = 0.002;

/// The fewest keys behind a usable curve of a sample; without sampling, fewer are enough.
pub(super) const KEYS_MIN: usize = 256;

/// The lowest rate: below it models learn nothing.
pub(super) const RATE_MIN: f64 = 1.0 / 65_536.0;

/// Sampled requests a second that the models of all pools together may see, if the plant serves
/// `ops_per_s` requests a second.
pub(crate) fn samples_per_s(ops_per_s: f64) -> f64 {
    let busy = (ops_per_s - SPARE_OPS_PER_S) / (BUSY_OPS_PER_S - SPARE_OPS_PER_S);
    let least = SAMPLES_PER_S + (SAMPLES_PER_S_BUSY - SAMPLES_PER_S) * busy.clamp(0.0, 1.0);
    (ops_per_s * SAMPLES_PER_OP).clamp(least, SAMPLES_PER_S)
}

/// The most keys that the models of one pool of `pools` watch under `recipe`, within the memory
/// that the plant allows. Without that limit, the benefit of more keys bounds them.
pub(crate) fn keys_max(recipe: &Recipe, pools: usize, reading: &Reading) -> usize {
    if recipe.rate.is_some() {
        // A rate in the recipe decides the number of keys: the models then hold that share of the
        // residents.
        return usize::MAX;
    }
    let of_key = KEY_BYTES_OBSERVER + KEY_BYTES_MODEL * recipe.evictors.len() as u64;
    let keys = |memory: Bytes| KEYS_MAX.min((memory.0 / of_key) as usize);
    let paid = reading.model_memory.map_or(KEYS_MAX, keys);
    let free = (KEYS_MAX / pools.max(1)).clamp(2 * KEYS_MIN, KEYS_MAX_POOL);
    let floor = reading.model_keys_min.unwrap_or(KEYS_FLOOR);
    (paid / pools.max(1)).max(floor).min(free)
}

/// The power of two below a rate: a rate that followed every change would never be warm.
pub(crate) fn octave(rate: f64) -> f64 {
    rate.min(1.0).log2().floor().exp2().max(RATE_MIN)
}
