//! AdaptSize: an object enters with probability e^(-size / c), and c follows the workload.
//!
//! Large objects push out many small ones, so most of them are better left outside; how large is
//! too large changes with the traffic. Every so often c is chosen anew: a model in the manner of
//! Che predicts the object hit ratio of LRU behind the filter for any c, from the rates and sizes
//! of the objects seen, and the best c is taken. The model: with a_i = e^(-s_i / c), rate r_i and
//! an eviction age T, object i is found with probability
//!
//! ```text
//! h_i = a_i (e^(r_i T) - 1) / (1 + a_i (e^(r_i T) - 1)),    where   Σ s_i h_i = capacity
//! ```
//!
//! fixes T. It optimises hits of objects, not of bytes, and it knows of no order but LRU.
//!
//! \[1\] Berger, Sitaraman, Harchol-Balter. AdaptSize: Orchestrating the Hot Object Memory Cache in
//! a Content Delivery Network. NSDI '17.

use super::{Admit, Spec};
use crate::Access;
use base::Prng;
use base::hash::mix;
use std::collections::HashMap;

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "adaptsize",
    params: &[("interval", 250_000.0)],
    build: |params| {
        let interval = (params.get("interval") as u64).max(1000);
        Box::new(AdaptSize::new(params.capacity.as_f64(), interval, params.seed))
    },
};

/// Weight that the counts of earlier intervals keep.
const MEMORY: f64 = 0.3;
/// Counts below this are dropped.
const COUNT_MIN: f64 = 0.1;
/// The objects seen must be this many times the cache, or filtering has nothing to gain.
const CROWDED: f64 = 3.0;
/// Objects that the model looks at, at most.
const SAMPLE: usize = 1 << 12;
/// Share of the best prediction that is as good as the best.
const ENOUGH: f64 = 0.995;
/// Bisection steps for T; each halves its octave.
const STEPS: u32 = 24;

#[derive(Clone, Copy, Debug)]
struct Known {
    size: f64,
    /// Requests by interval, smoothed.
    count: f64,
    fresh: f64,
}

/// Admits small objects, with a scale of its own.
#[derive(Clone, Debug)]
pub struct AdaptSize {
    capacity: f64,
    interval: u64,
    scale: f64,
    requests: u64,
    known: HashMap<u64, Known>,
    prng: Prng,
}

impl AdaptSize {
    /// A filter that chooses its scale every `interval` requests. Until then it lets everything
    /// in that is small against the cache.
    pub fn new(capacity: f64, interval: u64, seed: u64) -> Self {
        let prng = Prng::new(seed);
        Self { capacity, interval, scale: capacity, requests: 0, known: HashMap::new(), prng }
    }

    fn choose(&mut self) {
        for known in self.known.values_mut() {
            known.count = MEMORY * known.count + (1.0 - MEMORY) * known.fresh;
            known.fresh = 0.0;
        }
        self.known.retain(|_, known| known.count >= COUNT_MIN);
        let bytes: f64 = self.known.values().map(|known| known.size).sum();
        if bytes <= CROWDED * self.capacity {
            self.scale = self.capacity;
            return;
        }
        // The keys are hashes: the lowest are a sample, and the same in every run.
        let mut sample: Vec<(u64, Known)> =
            self.known.iter().map(|(key, known)| (mix(*key), *known)).collect();
        sample.sort_by_key(|(hash, _)| *hash);
        sample.truncate(SAMPLE);
        let objects: Vec<Known> = sample.into_iter().map(|(_, known)| known).collect();
        let sampled: f64 = objects.iter().map(|known| known.size).sum();
        let room = self.capacity * sampled / bytes;
        let steps = 2 * (self.capacity.max(4.0).log2().ceil() as i32 + 1);
        let predicted: Vec<(f64, f64)> = (2..=steps)
            .map(|half| f64::from(half) / 2.0)
            .map(|exponent| (exponent.exp2(), predict(&objects, room, exponent.exp2())))
            .collect();
        let best = predicted.iter().map(|(_, hits)| *hits).fold(0.0, f64::max);
        // The model knows the steady state alone; a filter that lets more in gets there sooner.
        let good = predicted.iter().rev().find(|(_, hits)| *hits >= ENOUGH * best);
        self.scale = good.map_or(self.capacity, |(scale, _)| *scale);
    }
}

/// Requests found, by interval, in `room` bytes if the scale were `scale`.
fn predict(objects: &[Known], room: f64, scale: f64) -> f64 {
    let admit: Vec<f64> = objects.iter().map(|known| (-known.size / scale).exp()).collect();
    let found = |object: &Known, admit: f64, age: f64| {
        // Beyond e^50 the share is 1 whatever the filter says.
        let gain = admit * (object.count * age).min(50.0).exp_m1();
        gain / (1.0 + gain)
    };
    let used = |age: f64| -> f64 {
        objects.iter().zip(&admit).map(|(o, &a)| o.size * found(o, a, age)).sum()
    };
    let (mut low, mut high) = (-30.0f64, 30.0f64);
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if used(middle.exp2()) < room {
            low = middle;
        } else {
            high = middle;
        }
    }
    let age = low.exp2();
    objects.iter().zip(&admit).map(|(o, &a)| o.count * found(o, a, age)).sum()
}

impl Admit for AdaptSize {
    fn on_access(&mut self, access: &Access, _: bool) {
        let size = f64::from(access.size);
        let known = self.known.entry(access.key).or_insert(Known { size, count: 0.0, fresh: 0.0 });
        known.size = size;
        known.fresh += 1.0;
        self.requests += 1;
        if self.requests.is_multiple_of(self.interval) {
            self.choose();
        }
    }

    fn admit(&mut self, incoming: &Access, _: Option<u64>) -> bool {
        self.prng.chance((-f64::from(incoming.size) / self.scale).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small objects that come back beside large ones that do not: the filter must learn to keep
    /// the large ones outside, and must not when everything fits.
    #[test]
    fn large_objects_asked_for_once_are_kept_out() {
        let mut tight = AdaptSize::new(20_000.0, 5_000, 1);
        let mut roomy = AdaptSize::new(1e9, 5_000, 1);
        for i in 0..20_000u64 {
            let access = if i % 4 == 0 {
                Access::get(1 << 32 | i, 5_000)
            } else {
                Access::get(i % 150, 100)
            };
            tight.on_access(&access, false);
            roomy.on_access(&access, false);
        }
        let entered = |filter: &mut AdaptSize, size: u32| {
            (0..1000).filter(|&key| filter.admit(&Access::get(key, size), None)).count()
        };
        assert!(entered(&mut tight, 5_000) < 100);
        assert!(entered(&mut tight, 100) > 500);
        assert_eq!(entered(&mut roomy, 5_000), 1000);
    }
}
