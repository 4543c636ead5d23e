//! K-AET: K-LRU for every K, with and without Redis's eviction pool, from histograms of ages.
//!
//! An eviction takes one of n residents, of recency rank φ (0 the most recent, 1 the oldest), with
//! density w(φ): K·φ^(K-1) for the oldest of K draws. A pool keeps 16 candidates between evictions,
//! and K new ones arrive for each victim. So victims have only ranks above 1 - 1/K, all equally
//! likely: w = K there and 0 below. (K = 5 with the pool is about 9-LRU, but its law is that of no
//! K-LRU.)
//!
//! Let S(u) be the probability that a live object of age u is still in the cache. If each resident
//! is evicted at the mean rate x, an object survives the ages from a to b with probability
//! exp(-x·∫w(φ(u)) du). φ(u) is the share of the residents that are younger than u: live objects of
//! that age times S. The histograms give the number of live objects of each age.
//!
//! The cache begins empty. S is carried on from window to window. The rate x is the number that
//! keeps the residents within the capacity at the window's end: zero while the cache fills, and
//! different in each phase. Hits are reads by age times S. In a steady state this is S' =
//! -x·w(φ)·S; K = 1 gives e^(-xu), random replacement; K → ∞ gives `eaet`.
//!
//! The same histograms give the curves for every K, with and without the pool: [`Kaet::curves`].
//!
//! Each age depends on the one before, and this chain limits the speed of solving. So several sizes
//! are solved side by side, in lanes that the compiler turns into vectors. The solution for one
//! cache is the starting point of the search for its neighbours, in size and from one K to the
//! next.

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

/// A cache of fewer sampled objects than this gets little work, because the sample is too small.
const FEW: f64 = 32.0;

/// The histograms, from which the curve of any K follows.
#[derive(Debug)]
pub struct Kaet(Ages);

impl Kaet {
    /// Creates empty histograms. K and the pool of the parameters do not matter.
    pub fn new(params: &Params) -> Self {
        Self(Ages::new(params))
    }

    /// Counts one access.
    #[inline]
    pub fn access(&mut self, access: &crate::Access) {
        self.0.access(access);
    }

    /// The curves for pairs of K and whether there is a pool. One call is faster than a call for
    /// each pair.
    pub fn curves(&self, laws: &[(u32, bool)]) -> Vec<MissRatioCurve> {
        let mut solver = Solver::of(&self.0);
        // Similar laws follow each other: a pool with K is close to twice K without a pool.
        let mut order: Vec<usize> = (0..laws.len()).collect();
        order.sort_by_key(|&at| laws[at].0 * if laws[at].1 { 2 } else { 1 });
        let mut curves = vec![MissRatioCurve::new([]); laws.len()];
        for at in order {
            curves[at] = solver.curve(laws[at].0, laws[at].1);
        }
        curves
    }
}

/// Computes curves from one histogram.
struct Solver<'a> {
    ages: &'a Ages,
    past: Past,
    /// Solved caches of the previous curve.
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
        MissRatioCurve::new(
            points.into_iter().map(|(room, ratio)| {
                (Bytes((room / rate).ceil().max(1.0) as u64), MissRatio(ratio))
            }),
        )
    }
}
