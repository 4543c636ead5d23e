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
//! All K, with and without the pool, come from the same histograms: [`Kaet::of`].
//!
//! Solving is bound by the chain from one age to the next, so several sizes go down the ages side
//! by side, in lanes that the compiler turns into vectors; the sizes are put where the curve bends,
//! all of one round at once.

mod solve;

use crate::track::{AgeModel, Ages};
use crate::{Bytes, MissRatio, MissRatioCurve, Params, Spec};
use solve::{Known, Law, Past};

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

/// Times that a stretch between two of the first sizes may be halved.
const HALVINGS: u32 = 3;

/// The histograms, for whichever K is asked for.
#[derive(Debug)]
pub struct Kaet(Ages);

impl Kaet {
    /// Has seen nothing yet. Of the parameters, K and the pool do not matter.
    pub fn new(params: &Params) -> Self {
        Self(Ages::new(params))
    }

    /// Sees one access.
    #[inline]
    pub fn access(&mut self, access: &crate::Access) {
        self.0.access(access);
    }

    /// The curve for evictions of `k` candidates, with or without the pool.
    pub fn of(&self, k: u32, pool: bool) -> MissRatioCurve {
        curve(&self.0, k, pool)
    }
}

fn curve(ages: &Ages, k: u32, pool: bool) -> MissRatioCurve {
    let law = Law::new(k, pool);
    let past = Past::of(ages);
    let (rate, reads) = (ages.bytes_drawn(), ages.reads());
    let mut known = Known::default();
    let solve = |rooms: &[f64]| -> Vec<f64> {
        let misses = |hits: f64| (ages.sampled() - hits).max(0.0);
        let hits = past.hits(law, rooms, &mut known).into_iter();
        hits.map(|hits| MissRatio::of(misses(hits), reads).0).collect()
    };
    let points = bend(past.most(), solve);
    MissRatioCurve::new(
        // The first is that of no cache at all, which goes without saying.
        points.into_iter().skip(1).map(|(room, ratio)| {
            (Bytes((room / rate).ceil().max(1.0) as u64), MissRatio(ratio))
        }),
    )
}

/// Points of a curve up to `most`, closer together where it bends: between two of them lies another
/// as long as the one in the middle is not where a straight line would have it.
fn bend(most: f64, mut solve: impl FnMut(&[f64]) -> Vec<f64>) -> Vec<(f64, f64)> {
    // Denser towards small caches, where curves are steep.
    let room = |step: usize| most * (step as f64 / SIZES as f64).powi(2);
    let rooms: Vec<f64> = (1..=SIZES).map(room).collect();
    let mut points = vec![(0.0, 1.0)];
    points.extend(rooms.iter().copied().zip(solve(&rooms)));
    let mut open: Vec<_> = points.windows(2).map(|pair| (pair[0], pair[1])).collect();
    for _ in 0..HALVINGS {
        open.retain(|(left, right)| left.1 - right.1 >= 2.0 * STRAIGHT);
        let rooms: Vec<f64> = open.iter().map(|(left, right)| 0.5 * (left.0 + right.0)).collect();
        let middles = rooms.iter().copied().zip(solve(&rooms));
        let mut halves = vec![];
        for ((left, right), middle) in open.into_iter().zip(middles) {
            points.push(middle);
            if (middle.1 - 0.5 * (left.1 + right.1)).abs() > STRAIGHT {
                halves.extend([(left, middle), (middle, right)]);
            }
        }
        open = halves;
    }
    points
}
