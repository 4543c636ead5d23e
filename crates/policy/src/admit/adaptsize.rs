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
//! The tuner is the one that its authors released, constants and all, and one of them is no detail:
//! e^x is taken as its Padé approximant \[2\], which is good to x = 3 and negative from 4.7 on. So
//! the hits that the model sees behind a strict filter are fewer than the formula has, and milder
//! filters win. That helps: the model knows the steady state alone, and a strict filter takes
//! longer to fill the cache than the traffic stays as it is. `exact=1` computes e^x as it is.
//!
//! \[1\] Berger, Sitaraman, Harchol-Balter. AdaptSize: Orchestrating the Hot Object Memory Cache in
//! a Content Delivery Network. NSDI '17.
//! \[2\] Baker, Graves-Morris. Padé Approximants. Cambridge 1996. Here \[4/3\] of the exponential.

use super::{Admit, Spec};
use crate::{Access, Param};
use base::Prng;
use std::collections::HashMap;

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "adaptsize",
    params: &[Param::count("interval", 30_000, 1, 1_000_000_000), Param::switch("exact", 0)],
    build: |params| {
        let interval = (params.get("interval") as u64).max(1);
        let exact = params.get("exact") != 0.0;
        Box::new(AdaptSize::new(params.capacity.as_f64(), interval, exact, params.seed))
    },
};

/// The scale to begin with, in bytes.
const START: f64 = 32_768.0;
/// Weight that the counts of earlier intervals keep.
const MEMORY: f64 = 0.3;
/// Counts below this are dropped.
const COUNT_MIN: f64 = 0.1;
/// The objects seen must be this many times the cache, or filtering has nothing to gain.
const CROWDED: f64 = 3.0;
/// Requests until the next look where they are not.
const RETRY: u64 = 1000;
/// Octaves from one point of the coarse search to the next.
const STRIDE: f64 = 4.0;
/// Steps of the golden section.
const SEARCH_STEPS: u32 = 15;
/// How far a golden section goes from its point into the wider part of the bracket.
const GOLDEN: f64 = 0.381_966;
/// Steps towards the age at which the cache is full.
const AGE_STEPS: u32 = 20;
/// An age that is for ever; its fourth power is still a number.
const AGE_MAX: f64 = 1e70;

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    size: f64,
    /// Requests by interval, smoothed; zero for an object that no interval has counted yet.
    count: f64,
    fresh: f64,
}

/// Admits small objects, with a scale of its own.
#[derive(Clone, Debug)]
pub struct AdaptSize {
    model: Model,
    interval: u64,
    /// Requests until the next choice.
    left: u64,
    scale: f64,
    /// Bytes of the objects known.
    bytes: f64,
    known: HashMap<u64, Known>,
    prng: Prng,
}

impl AdaptSize {
    /// A filter that chooses its scale every `interval` requests, by e^x itself where `exact`.
    /// Until the first choice it lets in what is small against 32 KiB.
    pub fn new(capacity: f64, interval: u64, exact: bool, seed: u64) -> Self {
        Self {
            model: Model { capacity, exact },
            interval,
            left: interval,
            scale: START,
            bytes: 0.0,
            known: HashMap::new(),
            prng: Prng::new(seed),
        }
    }

    fn choose(&mut self) {
        if self.bytes <= CROWDED * self.model.capacity {
            self.left = RETRY;
            return;
        }
        self.left = self.interval;
        for known in self.known.values_mut() {
            known.count = match known.count {
                0.0 => known.fresh,
                count => MEMORY * count + (1.0 - MEMORY) * known.fresh,
            };
            known.fresh = 0.0;
        }
        self.known.retain(|_, known| known.count >= COUNT_MIN);
        // Sums of floats depend on the order; by key it is the same in every run.
        let mut known: Vec<_> = self.known.iter().map(|(&key, &known)| (key, known)).collect();
        known.sort_unstable_by_key(|(key, _)| *key);
        let objects: Vec<Known> = known.into_iter().map(|(_, known)| known).collect();
        self.bytes = objects.iter().map(|known| known.size).sum();
        let top = self.model.capacity.log2();
        self.scale = highest(top, |exponent| self.model.hits(&objects, exponent.exp2())).exp2();
    }
}

/// Where `f` is highest between 0 and `top`: the best of a coarse grid, then golden sections of
/// what lies around it. Of equals the largest: the mildest filter fills the cache soonest.
fn highest(top: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut best, mut height) = (top, 0.0);
    let mut point = 2.0;
    while point < top {
        let here = f(point);
        if here >= height {
            (best, height) = (point, here);
        }
        point += STRIDE;
    }
    let (mut low, mut high) = (0.0, top);
    // Two points between the ends, each with its height.
    let (mut a, mut b) = if high - best > best - low {
        let right = best + GOLDEN * (high - best);
        ((best, height), (right, f(right)))
    } else {
        let left = low + GOLDEN * (best - low);
        ((left, f(left)), (best, height))
    };
    for _ in 0..SEARCH_STEPS {
        if b.1 >= a.1 {
            low = a.0;
            a = b;
            let right = a.0 + GOLDEN * (high - a.0);
            b = (right, f(right));
        } else {
            high = b.0;
            b = a;
            let left = b.0 - GOLDEN * (b.0 - low);
            a = (left, f(left));
        }
    }
    if a.1 > b.1 { a.0 } else { b.0 }
}

/// LRU of a capacity, behind a filter of any scale.
#[derive(Clone, Debug)]
struct Model {
    capacity: f64,
    exact: bool,
}

impl Model {
    /// Requests found, by interval.
    fn hits(&self, objects: &[Known], scale: f64) -> f64 {
        let admit: Vec<f64> = objects.iter().map(|known| (-known.size / scale).exp()).collect();
        let all = || objects.iter().zip(&admit);
        let entering: f64 = all().map(|(object, &a)| object.count * object.size * a).sum();
        if entering <= 0.0 {
            return 0.0;
        }
        let mut age = self.capacity / entering;
        for _ in 0..AGE_STEPS {
            let used: f64 = all().map(|(o, &a)| o.size * found(a, o.count * age)).sum();
            age = (age * self.capacity / used).min(AGE_MAX);
        }
        let found = if self.exact { found } else { found_by_pade };
        all().map(|(object, &a)| object.count * found(a, object.count * age)).sum()
    }
}

/// The probability to find what enters with probability `admit` and is asked for `x` times, on
/// average, in the time in which the cache is renewed.
fn found(admit: f64, x: f64) -> f64 {
    // Beyond e^150 the share is 1 whatever the filter says.
    let gain = admit * x.min(150.0).exp_m1();
    gain / (1.0 + gain)
}

/// [`found`] with the quotient of polynomials of degree 4 and 3 that is closest to e^x at 0.
fn found_by_pade(admit: f64, x: f64) -> f64 {
    let below = 840.0 - 360.0 * x + 60.0 * x.powi(2) - 4.0 * x.powi(3);
    let above = 840.0 + 480.0 * x + 120.0 * x.powi(2) + 16.0 * x.powi(3) + x.powi(4);
    let gain = admit * (above - below);
    (gain / (below + gain)).clamp(0.0, 1.0)
}

impl Admit for AdaptSize {
    fn on_access(&mut self, access: &Access, _: bool) {
        self.left -= 1;
        if self.left == 0 {
            self.choose();
        }
        let size = f64::from(access.size);
        let known = self.known.entry(access.key).or_default();
        self.bytes += size - known.size;
        known.size = size;
        known.fresh += 1.0;
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
        let mut tight = AdaptSize::new(20_000.0, 5_000, false, 1);
        let mut roomy = AdaptSize::new(1e9, 5_000, false, 1);
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
        assert_eq!(entered(&mut tight, 5_000), 0);
        assert!(entered(&mut tight, 100) > 500);
        assert!(entered(&mut roomy, 5_000) > 800);
    }

    #[test]
    fn the_approximant_is_close_where_little_is_asked_and_mild_where_much_is() {
        for (admit, x) in [(1.0, 0.5), (0.1, 2.0), (1e-4, 3.0)] {
            let (exact, near) = (found(admit, x), found_by_pade(admit, x));
            assert!((exact - near).abs() < 0.01 * exact, "{admit} {x}: {exact} {near}");
        }
        assert!(found(1e-3, 10.0) > 0.95 && found_by_pade(1e-3, 10.0) == 0.0);
    }

    #[test]
    fn the_search_finds_a_top_beside_the_grid() {
        let top = highest(20.0, |x| 100.0 - (x - 8.7).powi(2));
        assert!((top - 8.7).abs() < 0.05, "{top}");
    }
}
