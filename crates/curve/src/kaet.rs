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
//! All K, with and without the pool, come from the same histograms: [`Kaet::curves`].
//!
//! Solving is bound by the chain from one age to the next, so several sizes go down the ages side
//! by side, in lanes that the compiler turns into vectors. What one cache needed is where the
//! search for its neighbour begins, in size and from one K to the next.

mod bend;
mod caches;
mod lanes;
mod law;
mod past;
mod search;

use crate::track::{AgeModel, Ages};
use crate::{Bytes, MissRatio, MissRatioCurve, Params, Spec};
use law::Law;
use past::Past;
use search::Known;

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "kaet",
    predicts: Params::klru,
    build: |params| {
        let draw = |ages: &Ages, params: &Params| Solver::of(ages).curve(params.k, params.pool);
        Box::new(AgeModel::new(params, draw))
    },
};

/// Sampled objects below which a cache is not worth much work: the sample cannot tell.
const FEW: f64 = 32.0;

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

    /// The curves for evictions of so many candidates, with the pool or without. It takes less
    /// time than to ask for one after the other.
    pub fn curves(&self, laws: &[(u32, bool)]) -> Vec<MissRatioCurve> {
        let mut solver = Solver::of(&self.0);
        // Like follows on like: the pool of K is not far from twice K without.
        let mut order: Vec<usize> = (0..laws.len()).collect();
        order.sort_by_key(|&at| laws[at].0 * if laws[at].1 { 2 } else { 1 });
        let mut curves = vec![MissRatioCurve::new([]); laws.len()];
        for at in order {
            curves[at] = solver.curve(laws[at].0, laws[at].1);
        }
        curves
    }
}

/// Draws curves from one histogram.
struct Solver<'a> {
    ages: &'a Ages,
    past: Past,
    /// The caches of the curve before.
    others: Known,
}

impl<'a> Solver<'a> {
    fn of(ages: &'a Ages) -> Self {
        Self { ages, past: Past::of(ages), others: Known::default() }
    }

    fn curve(&mut self, k: u32, pool: bool) -> MissRatioCurve {
        let law = Law::new(k, pool);
        let (rate, reads) = (self.ages.bytes_drawn(), self.ages.reads());
        let mut known = Known::default();
        let solve = |rooms: &[f64]| {
            let outcomes = caches::solve(&self.past, law, rooms, &mut known, &self.others);
            let misses = |hits: f64| (self.ages.sampled() - hits).max(0.0);
            let ratio = |hits: f64| MissRatio::of(misses(hits), reads).0;
            outcomes.into_iter().map(|outcome| (outcome.room, ratio(outcome.hits))).collect()
        };
        let points = bend::draw(self.past.most(), FEW * self.past.size_mean(), solve);
        self.others = known;
        MissRatioCurve::new(points.into_iter().map(|(room, ratio)| {
            (Bytes((room / rate).ceil().max(1.0) as u64), MissRatio(ratio))
        }))
    }
}
