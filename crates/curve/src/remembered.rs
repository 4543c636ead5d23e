//! What a model has seen, as numbers: a model that is told goes on where another one ended, in this
//! process or in the next.

use serde::{Deserialize, Serialize};

/// Counts and watched objects of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    /// Share of the keys that are watched.
    pub rate: f64,
    /// Sampled reads by distance, in the model's own buckets.
    pub hits: Vec<f64>,
    /// The largest distance.
    pub farthest: u64,
    /// Sampled reads.
    pub sampled: f64,
    /// All reads.
    pub reads: f64,
    /// Objects that are watched, from the top of the stack down.
    pub objects: Vec<RememberedObject>,
}

/// A watched object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RememberedObject {
    /// The hash of its key.
    pub key: u64,
    /// Its bytes.
    pub size: u32,
    /// Microseconds it has to live; 0 where nothing limits it.
    pub left_us: u64,
}

/// Buckets of distances, at most: more than 64 bits of distance need in any model.
const HITS_MAX: usize = 1 << 16;

impl Remembered {
    /// Whether these are numbers that a model may have.
    pub(crate) fn is_sound(&self) -> bool {
        let counts = self.hits.iter().chain([&self.sampled, &self.reads]);
        let are_counts = counts.into_iter().all(|count| count.is_finite() && *count >= 0.0);
        are_counts && self.rate > 0.0 && self.rate <= 1.0 && self.hits.len() <= HITS_MAX
    }
}
