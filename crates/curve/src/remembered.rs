//! The state of a model as numbers. A later model, in this process or in the next, can continue
//! from it.

use crate::counted::HITS_MAX;
use crate::track::{GROUPS, Live, WINDOWS_MAX, Window};
use serde::{Deserialize, Serialize};

/// Counts and watched objects of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    /// Share of the keys that are watched.
    pub rate: f64,
    /// Sampled reads by stack distance, in the model's own buckets.
    pub hits: Vec<f64>,
    /// Misses by group of keys, for a model that simulates a cache.
    pub missed: Vec<f64>,
    /// The largest distance.
    pub farthest: u64,
    /// Sampled reads.
    pub sampled: f64,
    /// All reads.
    pub reads: f64,
    /// Objects that are watched, or resident in the simulated cache, the last used first.
    pub objects: Vec<RememberedObject>,
    /// The histograms of a model of ages.
    pub ages: Option<RememberedAges>,
    /// Width of the buckets of distances: each distance is divided into 2 to this power.
    pub precision: u32,
}

/// Histograms of ages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RememberedAges {
    pub(crate) skipped: bool,
    pub(crate) saw_others: bool,
    pub(crate) origin: Vec<Live>,
    pub(crate) windows: Vec<Window>,
    pub(crate) open: Window,
    pub(crate) length: f64,
}

/// A watched or resident object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RememberedObject {
    /// The hash of its key.
    pub key: u64,
    /// Its charged bytes.
    pub size: u32,
    /// Time left to live in microseconds; 0 without a limit.
    pub left_us: u64,
    /// Accesses to all keys since its own last one, for models that count them.
    pub age: u64,
}

impl RememberedAges {
    fn is_sound(&self) -> bool {
        self.length.is_finite()
            && self.length >= 0.0
            && Live::are_sound(&self.origin)
            && self.windows.len() <= WINDOWS_MAX
            && self.windows.iter().chain([&self.open]).all(Window::is_sound)
    }
}

impl Remembered {
    /// Whether the numbers are in the range that a model can count.
    pub(crate) fn is_sound(&self) -> bool {
        let counts = self.hits.iter().chain(&self.missed).chain([&self.sampled, &self.reads]);
        let are_counts = counts.into_iter().all(|count| count.is_finite() && *count >= 0.0);
        let are_sound = self.ages.as_ref().is_none_or(RememberedAges::is_sound);
        are_counts
            && are_sound
            && self.rate > 0.0
            && self.rate <= 1.0
            && self.hits.len() <= HITS_MAX
            && self.missed.len() <= GROUPS
    }
}
