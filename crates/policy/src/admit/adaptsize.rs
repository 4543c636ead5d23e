//! AdaptSize: an object enters with probability e^(-size / c), and c follows the workload.
//!
//! Large objects evict many small ones, so most of them should stay outside. The size that is too
//! large changes with the traffic. At regular intervals the filter chooses c anew. A model in the
//! manner of Che predicts the object hit ratio of LRU behind the filter for any c, from the rates
//! and sizes of the objects seen. The filter takes the best c. In the model object i is found, with
//! a_i = e^(-s_i / c), rate r_i and an eviction age T, with probability
//!
//! ```text
//! h_i = a_i (e^(r_i T) - 1) / (1 + a_i (e^(r_i T) - 1)),    where   Σ s_i h_i = capacity
//! ```
//!
//! The sum fixes T. The model optimises hits of objects, not of bytes, and it assumes LRU order.
//!
//! The tuner is the one that its authors released, with their constants. One of their choices
//! matters: the Padé approximant \[2\] stands for e^x. It is accurate up to x = 3 and negative from
//! 4.7 on. So behind a strict filter the model sees fewer hits than the formula gives, and milder
//! filters win. That helps: the model describes only the steady state, and the traffic changes
//! before a strict filter has filled the cache. `exact=1` computes e^x exactly.
//!
//! \[1\] Berger, Sitaraman, Harchol-Balter. AdaptSize: Orchestrating the Hot Object Memory Cache in
//! a Content Delivery Network. NSDI '17.
//! \[2\] Baker, Graves-Morris. Padé Approximants. Cambridge 1996. Here \[4/3\] of the exponential.

use super::{Admit, FilterSpec};
use crate::Param;
use base::{Access, Prng};
use std::collections::HashMap;

/// The registry entry.
pub const SPEC: FilterSpec = FilterSpec {
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
/// Objects with a lower count are forgotten.
const COUNT_MIN: f64 = 0.1;
/// The objects seen must hold more than this many times the capacity, or filtering gains nothing.
const CROWDED: f64 = 3.0;
/// Requests until the next attempt where the objects seen hold fewer bytes than that.
const RETRY: u64 = 1000;
/// Octaves from one point of the coarse search to the next.
const STRIDE: f64 = 4.0;
/// Steps of the golden section.
const SEARCH_STEPS: u32 = 15;
/// Share of the wider part of the bracket at which a golden section places its next point.
const GOLDEN: f64 = 0.381_966;
/// Iterations that approach the age at which the cache is full.
const AGE_STEPS: u32 = 20;
/// The largest age, in place of infinity; its fourth power is still finite.
const AGE_MAX: f64 = 1e70;

#[derive(Clone, Copy, Debug, Default)]
struct RequestRate {
    size: f64,
    /// Requests an interval, smoothed; zero for an object that no interval has counted yet.
    count: f64,
    fresh: f64,
}

/// Admits small objects, with a scale that follows the workload.
#[derive(Clone, Debug)]
pub struct AdaptSize {
    model: AdmissionModel,
    interval: u64,
    /// Requests until the filter chooses its scale again.
    left: u64,
    scale: f64,
    /// Bytes of all known objects.
    bytes: f64,
    known: HashMap<u64, RequestRate>,
    prng: Prng,
}

impl AdaptSize {
    /// A filter that chooses its scale every `interval` requests. It computes e^x exactly where
    /// `exact` is set. Until the first choice it admits objects that are small against 32 KiB.
    pub fn new(capacity: f64, interval: u64, exact: bool, seed: u64) -> Self {
        Self {
            model: AdmissionModel { capacity, exact },
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
        // A sum of floats depends on the order. In the order of keys every run gives the same sum.
        let mut known: Vec<_> = self.known.iter().map(|(&key, &known)| (key, known)).collect();
        known.sort_unstable_by_key(|(key, _)| *key);
        let objects: Vec<RequestRate> = known.into_iter().map(|(_, known)| known).collect();
        self.bytes = objects.iter().map(|known| known.size).sum();
        let top = self.model.capacity.log2();
        self.scale = highest(top, |exponent| self.model.hits(&objects, exponent.exp2())).exp2();
    }
}

/// The argument between 0 and `top` at which `f` is highest. A coarse grid finds the best point,
/// and golden sections refine the interval around it. Among equal points of the grid the largest
/// wins, for the mildest filter fills the cache soonest.
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

/// A model of an LRU cache behind a filter of any scale.
#[derive(Clone, Debug)]
struct AdmissionModel {
    capacity: f64,
    exact: bool,
}

impl AdmissionModel {
    /// Expected hits an interval, for a filter of this scale.
    fn hits(&self, objects: &[RequestRate], scale: f64) -> f64 {
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

/// The probability that a request finds an object that enters with probability `admit`. The object
/// has `x` requests, on average, in the time in which the cache replaces its content.
fn found(admit: f64, x: f64) -> f64 {
    // Beyond e^150 the probability is 1 for any filter.
    let gain = admit * x.min(150.0).exp_m1();
    gain / (1.0 + gain)
}

/// [`found`] with the quotient of polynomials of degrees 4 and 3 that is closest to e^x at 0.
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

    /// Small objects recur and large ones do not: the filter must learn to refuse the large ones.
    /// Where everything fits, it must not.
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
