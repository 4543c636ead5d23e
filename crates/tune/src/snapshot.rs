//! The complete input of a planner.
//!
//! A snapshot is a value: the same planner runs on one from a live server, from a trace, or from a
//! test.

use crate::plant::Target;
use crate::slab::Slab;
use crate::{Evictor, Objective};
use curve::{Bytes, GROUPS, MissRatio, MissRatioCurve};

/// The memory, the goal and the pools, at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The memory to divide.
    pub memory: Bytes,
    /// The most equal parts that it is divided in.
    pub units_max: usize,
    /// The most units that a pool may gain or lose; `None` for no bound.
    pub band: Option<usize>,
    /// The quantity to minimise.
    pub objective: Objective,
    /// The share of the cost by which a policy must be better than the present one. At least the
    /// chance error of its curve counts too: the lowest of several noisy curves looks better than
    /// it is.
    pub switch_margin: f64,
    /// The pools that compete.
    pub pools: Vec<Pool>,
    /// The promises to owners of pools.
    pub goals: Vec<Promise>,
}

/// A promise to the owner of some of the pools.
#[derive(Clone, Debug, PartialEq)]
pub struct Promise {
    /// The owner's name in reports.
    pub name: String,
    /// The owner's pools, by position.
    pub pools: Vec<usize>,
    /// The promised miss ratio or wait.
    pub target: Target,
    /// Higher priorities come first where memory cannot keep all promises.
    pub priority: u32,
}

/// Items that compete only among themselves, with one budget and one policy.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Its name in reports.
    pub name: String,
    /// The curve of each policy. Without any, the pool keeps its memory.
    pub candidates: Vec<Candidate>,
    /// Reads a second.
    pub reads_per_s: f64,
    /// Mean cost of a miss, in microseconds.
    pub penalty_us: f64,
    /// Weight of a miss here against a miss in other pools.
    pub weight: f64,
    /// The least memory that it must have.
    pub floor: Bytes,
    /// The most memory that it may have.
    pub cap: Option<Bytes>,
    /// Its present memory.
    pub budget: Bytes,
    /// Its present policy.
    pub evictor: Evictor,
    /// Measured time of an eviction divided by [`Evictor::overhead_us`]: one factor for every K.
    pub dearness: f64,
    /// The memory that an operator asked for, for the planner `manual`.
    pub asked: Option<Bytes>,
    /// Its pages, if it is a slab class.
    pub slab: Option<Slab>,
}

impl Default for Pool {
    /// A pool without curves and requests.
    fn default() -> Self {
        Self {
            name: String::new(),
            candidates: vec![],
            reads_per_s: 0.0,
            penalty_us: 0.0,
            weight: 1.0,
            floor: Bytes(0),
            cap: None,
            budget: Bytes(0),
            evictor: Evictor::klru(5),
            dearness: 1.0,
            asked: None,
            slab: None,
        }
    }
}

/// A policy with its curve.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The policy.
    pub evictor: Evictor,
    /// Miss ratio by size.
    pub curve: MissRatioCurve,
    /// Misses of the sample by group of keys, if the model counts groups.
    pub groups: Option<[f64; GROUPS]>,
    /// Cost of those misses in microseconds, if the model counts it.
    pub waits: Option<[f64; GROUPS]>,
    /// Reads behind the curve; infinite for a curve without chance.
    pub reads: f64,
    /// The lowest and the highest likely miss ratio at some sizes, if the model gives them.
    pub bands: Vec<(Bytes, MissRatio, MissRatio)>,
}

impl Candidate {
    /// A candidate with only a curve.
    pub const fn new(evictor: Evictor, curve: MissRatioCurve) -> Self {
        let reads = f64::INFINITY;
        Self { evictor, curve, groups: None, waits: None, reads, bands: Vec::new() }
    }

    /// The share of its misses at a size that may be chance: the standard error of `n` misses is
    /// `√n`.
    pub fn chance_at(&self, size: Bytes) -> f64 {
        let misses = self.reads * self.curve.at(size).0;
        misses.max(1.0).sqrt().recip()
    }
}

/// The least miss ratio at a size, with the policy that has it.
pub fn best(candidates: &[Candidate], size: Bytes) -> Option<(f64, &Candidate)> {
    let at = candidates.iter().map(|candidate| (candidate.curve.at(size).0, candidate));
    at.min_by(|a, b| a.0.total_cmp(&b.0))
}

impl Pool {
    /// The expected miss ratio with `budget` under `evictor`, if that policy was modelled.
    pub fn miss_ratio(&self, budget: Bytes, evictor: Evictor) -> Option<MissRatio> {
        let candidate = self.candidates.iter().find(|known| known.evictor == evictor)?;
        Some(candidate.curve.at(budget))
    }
}

impl Snapshot {
    /// The expected cost of one pool; zero for a policy without a curve.
    pub fn cost(&self, pool: &Pool, budget: Bytes, evictor: Evictor) -> f64 {
        pool.miss_ratio(budget, evictor).map_or(0.0, |ratio| self.cost_at(pool, ratio))
    }

    /// The cost of one pool at a miss ratio.
    pub fn cost_at(&self, pool: &Pool, ratio: MissRatio) -> f64 {
        self.objective.cost(pool.reads_per_s, pool.penalty_us, pool.weight, ratio.0)
    }

    /// The expected cost of a whole division: a budget and a policy for each pool, in order.
    pub fn total(&self, division: impl IntoIterator<Item = (Bytes, Evictor)>) -> f64 {
        self.pools
            .iter()
            .zip(division)
            .map(|(pool, (budget, evictor))| self.cost(pool, budget, evictor))
            .sum()
    }

    /// The expected cost without a change.
    pub fn total_now(&self) -> f64 {
        self.total(self.pools.iter().map(|pool| (pool.budget, pool.evictor)))
    }

    /// The size of a unit: at least one byte.
    pub fn unit(&self) -> Bytes {
        Bytes(self.memory.0.div_ceil(self.units_max.max(1) as u64).max(1))
    }

    /// Number of whole units in the memory.
    pub fn units(&self) -> usize {
        (self.memory.0 / self.unit().0) as usize
    }
}
