//! K-AET: K-LRU for every K, with and without Redis' eviction pool, from histograms of ages.
//!
//! Among n residents an eviction takes one of recency rank φ (0 the most recent, 1 the oldest) with
//! density w(φ): K·φ^(K-1) for the oldest of K draws. With a pool of 16 candidates kept between
//! evictions K arrive for each that is served, so only ranks above 1 - 1/K ever are, all of them
//! alike: w = K there and 0 below. (K = 5 with the pool is about 9-LRU, and is no K-LRU at all in
//! law.)
//!
//! Let S(u) be the probability that a live object of age u is still in the cache. Where each
//! resident is evicted at the mean rate x, an object survives the ages from a to b with
//! probability exp(-x·∫w(φ(u)) du), and φ(u) is the share of the residents that are younger than u:
//! live objects of that age times S. How many objects of each age are live is in the histograms.
//!
//! The cache begins empty. From window to window S is carried on, and x is what keeps the residents
//! within the capacity at the window's end: zero while the cache fills, and another number in
//! another phase. Hits are reads by age times S. In a steady state this is S' = -x·w(φ)·S; K = 1
//! gives e^(-xu), random replacement; K → ∞ gives `eaet`.
//!
//! All K, with and without the pool, come from the same histograms.

use crate::track::{AgeModel, Ages, Hits, Live, width};
use crate::{Bytes, MissRatio, MissRatioCurve, Params, Spec};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "kaet",
    predicts: Params::klru,
    build: |params| {
        let draw = |ages: &Ages, params: &Params| curve(ages, params.k, params.pool);
        Box::new(AgeModel::new(params, draw))
    },
};

/// Sizes solved for at least.
const SIZES: usize = 16;

/// A miss ratio this far from a straight line between two others is worth a point.
const STRAIGHT: f64 = 1e-3;

/// How near the residents must come to the capacity, as a share of it.
const TOLERANCE: f64 = 5e-4;

/// Recency ranks of victims.
#[derive(Clone, Copy, Debug)]
struct Law {
    k: i32,
    pool: bool,
}

impl Law {
    /// The share of victims of rank up to `rank`.
    #[inline]
    fn below(self, rank: f64) -> f64 {
        if self.pool {
            (1.0 - (1.0 - rank) * f64::from(self.k)).max(0.0)
        } else {
            rank.powi(self.k)
        }
    }

    /// The mean of the density between two ranks, of which the share of victims below is known.
    #[inline]
    fn between(self, low: (f64, f64), high: (f64, f64)) -> f64 {
        let width = high.0 - low.0;
        if width > 1e-9 {
            return (high.1 - low.1) / width;
        }
        let k = f64::from(self.k);
        match self.pool {
            true if low.0 < 1.0 - 1.0 / k => 0.0,
            true => k,
            false => k * low.0.powi(self.k - 1),
        }
    }
}

/// The bins of ages: left edge, width, and the age in their middle.
#[derive(Clone, Copy, Debug)]
struct Place {
    edge: f64,
    width: f64,
    middle: f64,
}

/// What happens between two snapshots.
struct Stretch<'a> {
    /// Whether the cache begins empty with it.
    is_first: bool,
    ticks: f64,
    /// Live objects by age at its end.
    live: &'a [Live],
    hits: &'a [Hits],
}

/// A cache on its way through the stretches.
#[derive(Clone, Debug)]
struct Cache {
    /// Survival by age, at the start of a stretch, in its middle, at its end.
    start: Vec<f64>,
    middle: Vec<f64>,
    end: Vec<f64>,
    /// ∫w up to the left edge of each bin.
    hazard: Vec<f64>,
    /// Evictions by resident and access, and residents, in the stretch before; zero in a cache
    /// that is not full.
    eviction_rate: f64,
    residents: f64,
}

/// Survival below this is none.
const NONE: f64 = 1e-9;

/// Follows an age that lags behind the bins as they are walked.
struct Lag {
    ticks: f64,
    at: usize,
}

impl Lag {
    /// Survival until `ticks` ago, and the hazard up to the age then; of objects younger than that,
    /// which were then just accessed, none.
    #[inline]
    fn back(&mut self, age: f64, places: &[Place], start: &[f64], hazard: &[f64]) -> (f64, f64) {
        let then = age - self.ticks;
        if then < 0.0 {
            return (1.0, 0.0);
        }
        while self.at + 1 < places.len() && places[self.at + 1].edge <= then {
            self.at += 1;
        }
        let (at, place) = (self.at, places[self.at]);
        let share = (then - place.edge) / place.width;
        let passed = hazard[at] + (hazard[at + 1] - hazard[at]) * share;
        // Survival is known in the middle of bins.
        let left = if then < place.middle { at.saturating_sub(1) } else { at };
        let right = if then < place.middle { at } else { at + 1 };
        let (Some(&low), Some(&high)) = (start.get(left), start.get(right)) else {
            return (start.get(left).copied().unwrap_or(0.0), passed);
        };
        let span = places[right.min(places.len() - 1)].middle - places[left].middle;
        let share = (then - places[left].middle) / span.max(0.5);
        let share = share.clamp(0.0, 1.0);
        (low + (high - low) * share, passed)
    }
}

impl Cache {
    fn empty(bins: usize) -> Self {
        let ones = vec![1.0; bins];
        let hazard = vec![0.0; bins + 1];
        let (start, middle, end) = (ones.clone(), ones.clone(), ones);
        Self { start, middle, end, hazard, residents: 0.0, eviction_rate: 0.0 }
    }

    /// Survival through a stretch if each of `residents` is evicted at the rate `x`. Returns the
    /// objects and bytes resident at its end.
    fn pass(
        &mut self,
        places: &[Place],
        stretch: &Stretch,
        law: Law,
        residents: f64,
        x: f64,
    ) -> (f64, f64) {
        let mut half = Lag { ticks: 0.5 * stretch.ticks, at: 0 };
        let mut whole = Lag { ticks: stretch.ticks, at: 0 };
        let (mut younger, mut bytes) = (0.0, 0.0);
        let mut rank = (0.0, law.below(0.0));
        let mut survival = 1.0;
        for (at, place) in places.iter().enumerate() {
            let live = stretch.live.get(at).copied().unwrap_or_default();
            let ranked = |younger: f64| {
                let rank = (younger / residents).min(1.0);
                (rank, law.below(rank))
            };
            // As if as many of this age survive as of the last, for a start.
            let next = ranked(younger + live.objects * survival);
            let slope = law.between(rank, next);
            let passed = self.hazard[at] + slope * 0.5 * place.width;
            self.hazard[at + 1] = self.hazard[at] + slope * place.width;
            let (before, then) = whole.back(place.middle, places, &self.start, &self.hazard);
            survival = before * (-x * (passed - then)).exp();
            let (before, then) = half.back(place.middle, places, &self.start, &self.hazard);
            let middle = before * (-x * (passed - then)).exp();
            (self.end[at], self.middle[at]) = (survival, middle);
            younger += live.objects * survival;
            bytes += live.bytes * survival;
            let reached = ranked(younger);
            self.hazard[at + 1] = self.hazard[at] + law.between(rank, reached) * place.width;
            rank = reached;
            if survival < NONE && middle < NONE {
                self.end[at..].fill(0.0);
                self.middle[at..].fill(0.0);
                break;
            }
        }
        (younger, bytes)
    }

    /// Carries the cache, of `room` bytes, through a stretch. Returns the hits.
    fn live_through(&mut self, places: &[Place], stretch: &Stretch, law: Law, room: f64) -> f64 {
        if self.eviction_rate > 0.0 {
            self.evict(places, stretch, law, room);
        }
        // Not full, or no longer.
        if self.eviction_rate <= 0.0 {
            let (objects, bytes) = self.pass(places, stretch, law, f64::INFINITY, 0.0);
            if bytes > room {
                self.residents = objects * room / bytes;
                self.eviction_rate = (bytes / room - 1.0) / stretch.ticks.min(1e12);
                self.evict(places, stretch, law, room);
            }
        }
        let weigh = |(at, hits): (usize, &Hits)| {
            let place = &places[at];
            // Loops end in the middle of a bin: what counts is how old the reads are, not the bin.
            let age = hits.ages / hits.reads.max(f64::MIN_POSITIVE) + 0.5;
            let off = if hits.reads > 0.0 { age - place.middle } else { 0.0 };
            let near = if off > 0.0 { at + 1 } else { at.saturating_sub(1) };
            let near = near.min(places.len() - 1);
            let span = places[near].middle - place.middle;
            let share = if near == at { 0.0 } else { off / span };
            let read = |survival: &[f64]| survival[at] + (survival[near] - survival[at]) * share;
            let (start, middle, end) = (read(&self.start), read(&self.middle), read(&self.end));
            hits.reads
                * match (stretch.is_first, place.middle > 0.5 * stretch.ticks) {
                    (false, _) => (start + 4.0 * middle + end) / 6.0,
                    // Nothing was there at the start, nor can anything be older than the stretch.
                    (true, false) => (2.0 * middle + end) / 3.0,
                    (true, true) => end,
                }
        };
        let sum = stretch.hits.iter().enumerate().map(weigh).sum();
        std::mem::swap(&mut self.start, &mut self.end);
        sum
    }

    /// Finds the rate of eviction that leaves `room` bytes at the end, and the residents of that
    /// many bytes, by which recency is ranked: secants on the logarithm of the rate, in bounds.
    /// The rate becomes zero where nothing needs to go.
    fn evict(&mut self, places: &[Place], stretch: &Stretch, law: Law, room: f64) {
        let floor = self.eviction_rate.ln() - 12.0;
        let mut rate = self.eviction_rate.ln();
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        let mut last: Option<(f64, f64)> = None;
        for _ in 0..40 {
            let (objects, bytes) = self.pass(places, stretch, law, self.residents, rate.exp());
            let excess = (bytes / room).max(1e-6).ln();
            // Where hardly anything stays its mean size says nothing.
            let many = bytes > 0.05 * room;
            let fitting = if many { objects * room / bytes } else { self.residents };
            let shift = fitting / self.residents - 1.0;
            self.residents = fitting;
            if excess.abs() < TOLERANCE && shift.abs() < TOLERANCE {
                break;
            }
            if shift.abs() > 0.02 {
                // Ranked anew: what was learned about the rate holds no longer.
                (low, high, last) = (f64::NEG_INFINITY, f64::INFINITY, None);
            }
            if excess > 0.0 { low = rate } else { high = rate }
            let slope = match last {
                Some((other, before)) if rate != other => (excess - before) / (rate - other),
                _ => -0.5,
            };
            last = Some((rate, excess));
            let mut next = rate - (excess / slope.clamp(-3.0, -0.05)).clamp(-2.5, 2.5);
            if next <= low || next >= high {
                next = 0.5 * (low + high);
            }
            rate = next;
            if rate < floor {
                self.eviction_rate = 0.0;
                return;
            }
            if high - low < 1e-9 {
                break;
            }
        }
        self.eviction_rate = rate.exp();
    }
}

fn curve(ages: &Ages, k: u32, pool: bool) -> MissRatioCurve {
    let law = Law { k: k.clamp(1, 1 << 20) as i32, pool: pool && k > 1 };
    let (origin, windows) = ages.windows();
    let bins = windows.iter().map(|window| window.live.len().max(window.hits.len()));
    // One more, for what is older than the middle of the last.
    let bins = bins.max().unwrap_or(0).max(origin.len()) + 1;
    let places = places(bins);
    let stretches: Vec<Stretch> = windows
        .iter()
        .enumerate()
        .map(|(at, window)| Stretch {
            is_first: at == 0 && origin.is_empty(),
            ticks: window.ticks,
            live: &window.live,
            hits: &window.hits,
        })
        .collect();
    let most = windows.iter().map(|window| window.live.iter().map(|live| live.bytes).sum::<f64>());
    let most = most.fold(0.0, f64::max);
    let (rate, reads) = (ages.drawn(), ages.reads());
    let steady = (!origin.is_empty()).then_some(Stretch {
        is_first: false,
        ticks: f64::INFINITY,
        live: origin,
        hits: &[],
    });
    let solve = |room: f64| -> f64 {
        let mut cache = Cache::empty(bins);
        // Of a past that is forgotten nothing is known but what was live: taken as steady.
        if let Some(past) = &steady {
            cache.live_through(&places, past, law, room);
        }
        let lived = stretches.iter().map(|next| cache.live_through(&places, next, law, room));
        let hits: f64 = lived.sum();
        MissRatio::of((ages.sampled() - hits).max(0.0), reads).0
    };
    let points = bend(most, solve);
    MissRatioCurve::new(
        points.into_iter().map(|(room, ratio)| {
            (Bytes((room / rate).ceil() as u64), MissRatio(ratio))
        }),
    )
}

/// Points of a curve up to `most`, closer together where it bends.
fn bend(most: f64, solve: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let mut points = vec![(0.0, 1.0)];
    for step in 1..=SIZES {
        let share = step as f64 / SIZES as f64;
        // Denser towards small caches, where curves are steep.
        let room = most * share * share;
        let point = (room, solve(room));
        divide(points[points.len() - 1], point, 3, &solve, &mut points);
        points.push(point);
    }
    points
}

/// Puts points between two, as long as the middle is not where a straight line would have it.
fn divide(
    left: (f64, f64),
    right: (f64, f64),
    depth: u32,
    solve: &impl Fn(f64) -> f64,
    points: &mut Vec<(f64, f64)>,
) {
    if depth == 0 || left.1 - right.1 < 2.0 * STRAIGHT {
        return;
    }
    let room = 0.5 * (left.0 + right.0);
    let middle = (room, solve(room));
    let bent = (middle.1 - 0.5 * (left.1 + right.1)).abs() > STRAIGHT;
    if bent {
        divide(left, middle, depth - 1, solve, points);
    }
    points.push(middle);
    if bent {
        divide(middle, right, depth - 1, solve, points);
    }
}

fn places(bins: usize) -> Vec<Place> {
    let mut edge = 0.0;
    (0..bins)
        .map(|at| {
            let width = width(at) as f64;
            let place = Place { edge, width, middle: edge + 0.5 * width };
            edge += width;
            place
        })
        .collect()
}

