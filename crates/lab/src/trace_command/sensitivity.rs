//! Whether the number of candidates of an eviction matters.
//!
//! K-LRU with K = 1 is random replacement, and with K = 16 it is nearly LRU. Where both miss alike
//! at every size, the choice of K gains nothing. Where they differ, or change places from one size
//! to another, the choice is worth something. Both are simulated at several sizes, counted in
//! objects, over requests kept from the trace: all requests up to two million, and beyond that the
//! requests for a share of the keys.

use base::{Access, Bytes, Filter, Op};
use policy::Cache;
use serde::Serialize;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Maximum number of requests kept; more say nothing new and take longer.
const REQUESTS_MAX: usize = 2_000_000;
/// Least number of keys in a sample. Below it, the first requests are kept instead, unsampled.
const KEYS_MIN: usize = 8_000;
/// Sizes as shares of the keys.
const SHARES: [f64; 10] = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9];
const KS: [u32; 3] = [1, 5, 16];
/// Least difference in miss ratio that counts as mild, and as strong.
const MILD: f64 = 0.02;
const STRONG: f64 = 0.05;

/// Requests kept for the simulation.
#[derive(Debug)]
pub(super) struct Kept {
    requests: Vec<(u64, Op)>,
    keys: HashSet<u64>,
    filter: Filter,
    full: bool,
}

impl Default for Kept {
    fn default() -> Self {
        Self { requests: vec![], keys: HashSet::new(), filter: Filter::ALL, full: false }
    }
}

impl Kept {
    /// Keeps a request, if its key is sampled and there is room.
    pub(super) fn add(&mut self, access: &Access) {
        if self.full || !self.filter.keeps(access.key) {
            return;
        }
        if self.requests.len() == REQUESTS_MAX {
            if self.keys.len() / 2 < KEYS_MIN {
                self.full = true;
                return;
            }
            let filter = Filter::below(self.filter.threshold() / 2);
            self.requests.retain(|(key, _)| filter.keeps(*key));
            self.keys.retain(|key| filter.keeps(*key));
            self.filter = filter;
            if !filter.keeps(access.key) {
                return;
            }
        }
        self.requests.push((access.key, access.op));
        self.keys.insert(access.key);
    }
}

/// Miss ratios at one size.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Point {
    /// Size of the cache as a share of the keys.
    pub(super) share: f64,
    pub(super) k1: f64,
    pub(super) k5: f64,
    pub(super) k16: f64,
}

/// Whether the choice of K matters.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Sensitivity {
    /// `no`, `mild` or `strong`.
    pub(super) class: &'static str,
    /// `none`, `more` (candidates are better), `fewer`, or `crossing` where it depends on the size.
    pub(super) better: &'static str,
    /// The largest and the smallest difference: miss ratio with K = 1 less that with K = 16.
    pub(super) difference_max: f64,
    pub(super) difference_min: f64,
    /// Share of the keys that were simulated, and number of requests.
    pub(super) rate: f64,
    pub(super) requests: usize,
    pub(super) points: Vec<Point>,
}

/// Simulates; `None` where nothing was kept.
pub(super) fn measure(kept: &Kept) -> Option<Sensitivity> {
    if kept.requests.is_empty() {
        return None;
    }
    let keys = kept.keys.len() as f64;
    let runs: Vec<(f64, u32)> =
        SHARES.iter().flat_map(|share| KS.iter().map(move |k| (*share, *k))).collect();
    let turn = AtomicUsize::new(0);
    let ratios = Mutex::new(vec![0.0; runs.len()]);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from).min(runs.len()) {
            scope.spawn(|| {
                while let Some((share, k)) = runs.get(turn.fetch_add(1, Ordering::Relaxed)) {
                    let objects = ((share * keys).round() as u64).max(1);
                    let ratio = simulate(&kept.requests, objects, *k);
                    let at = runs.iter().position(|run| run == &(*share, *k)).unwrap_or(0);
                    ratios.lock().unwrap_or_else(PoisonError::into_inner)[at] = ratio;
                }
            });
        }
    });
    let ratios = ratios.into_inner().unwrap_or_else(PoisonError::into_inner);
    let points: Vec<_> = SHARES
        .iter()
        .zip(ratios.chunks_exact(KS.len()))
        .map(|(share, ratios)| Point {
            share: *share,
            k1: ratios[0],
            k5: ratios[1],
            k16: ratios[2],
        })
        .collect();
    let differences = points.iter().map(|point| point.k1 - point.k16);
    let difference_max = differences.clone().fold(f64::NEG_INFINITY, f64::max);
    let difference_min = differences.fold(f64::INFINITY, f64::min);
    let largest = difference_max.max(-difference_min);
    Some(Sensitivity {
        class: if largest < MILD {
            "no"
        } else if largest < STRONG {
            "mild"
        } else {
            "strong"
        },
        better: match (difference_max >= MILD, difference_min <= -MILD) {
            (true, true) => "crossing",
            (true, false) => "more",
            (false, true) => "fewer",
            (false, false) => "none",
        },
        difference_max,
        difference_min,
        rate: kept.filter.rate(),
        requests: kept.requests.len(),
        points,
    })
}

/// The miss ratio of K-LRU, where each request reads one object of size one.
fn simulate(requests: &[(u64, Op)], objects: u64, k: u32) -> f64 {
    let Ok(choice) = policy::parse(&format!("klru:k={k}")) else { return f64::NAN };
    let mut cache = Cache::new(&choice, Bytes(objects), 1);
    for (key, op) in requests {
        cache.access(&match op {
            Op::Delete => Access::delete(*key),
            Op::Get | Op::Set => Access::get(*key, 1),
        });
    }
    cache.stats().miss_ratio()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Sensitivity {
        let mut source = trace::synth::open(text, &trace::ReadOptions::default()).unwrap();
        let mut kept = Kept::default();
        while let Some(access) = source.next() {
            kept.add(&access.unwrap());
        }
        measure(&kept).unwrap()
    }

    /// On a loop, random eviction keeps a part where LRU keeps nothing. Uniform requests make all
    /// policies equal.
    #[test]
    fn a_loop_is_sensitive_and_uniform_requests_are_not() {
        let loop_of = of("loop:keys=1000:requests=50000");
        assert_eq!((loop_of.class, loop_of.better), ("strong", "fewer"));
        let uniform = of("uniform:keys=1000:requests=50000");
        assert_eq!((uniform.class, uniform.better), ("no", "none"));
    }
}
