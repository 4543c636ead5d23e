//! Curves from one histogram of ages, for one K or for several.

use super::law::Law;
use super::past::Past;
use super::search::SolvedCaches;
use super::{bend, caches};
use crate::track::{AgeModel, Ages};
use crate::{MissRatioCurve, Params, Spec};
use base::{Access, Bytes, MissRatio};

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
    pub fn access(&mut self, access: &Access) {
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
    others: SolvedCaches,
}

impl<'a> Solver<'a> {
    fn of(ages: &'a Ages) -> Self {
        Self { ages, past: Past::of(ages), others: SolvedCaches::default() }
    }

    fn curve(&mut self, k: u32, pool: bool) -> MissRatioCurve {
        let law = Law::new(k, pool);
        let (rate, reads) = (self.ages.bytes_drawn(), self.ages.reads());
        let mut known = SolvedCaches::default();
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
