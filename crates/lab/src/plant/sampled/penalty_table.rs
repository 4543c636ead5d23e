//! Costs of misses: the mean of a tenant's fetches, and the class of each key's fetches.
//!
//! The class of a key is remembered beyond its eviction, for some 130 000 keys. A miss counts for
//! the class of its key, and the item that fills it joins that class.

use base::Micros;
use base::penalty::Estimate;
use std::collections::{HashMap, VecDeque};

/// Mean time of the latest fetches: older ones fade.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    count: f64,
    mean: f64,
}

/// Number of fetches that a mean remembers.
const FETCHES: f64 = 1_000.0;

impl Mean {
    pub(super) fn add(&mut self, took: Micros) {
        self.count = (self.count + 1.0).min(FETCHES);
        self.mean += (took.as_f64() - self.mean) / self.count;
    }

    /// The mean; `None` where no fetch took any time.
    pub(super) fn get(self) -> Option<Micros> {
        (self.mean > 0.0).then(|| Micros(self.mean.round() as u64))
    }
}

/// Penalty classes of keys, resident or evicted.
#[derive(Debug, Default)]
pub(super) struct PenaltyTable {
    classes: HashMap<(usize, u64), Estimate>,
    order: VecDeque<(usize, u64)>,
}

/// Maximum number of keys that are remembered.
const KEYS_MAX: usize = 1 << 17;

impl PenaltyTable {
    /// Remembers the class of an evicted item.
    pub(super) fn leave(&mut self, at: usize, key: u64, class: u8) {
        if class != 0 && self.class(at, key) != class {
            self.put(at, key, Estimate::of_class(class));
        }
    }

    /// Adds the time of a fetch. Returns the class of the key from here on.
    pub(super) fn measure(&mut self, at: usize, key: u64, took: Micros) -> u8 {
        let mut estimate = Estimate::new(took);
        if let Some(known) = self.classes.get(&(at, key)) {
            estimate = *known;
            estimate.add(took);
        }
        self.put(at, key, estimate);
        estimate.class()
    }

    fn put(&mut self, at: usize, key: u64, estimate: Estimate) {
        if self.classes.insert((at, key), estimate).is_none() {
            self.order.push_back((at, key));
        }
        while self.order.len() > KEYS_MAX {
            if let Some(oldest) = self.order.pop_front() {
                self.classes.remove(&oldest);
            }
        }
    }

    pub(super) fn class(&self, at: usize, key: u64) -> u8 {
        self.classes.get(&(at, key)).map_or(0, |known| known.class())
    }
}
