//! Everything a planner may look at.
//!
//! A snapshot is a value: the same planner runs on one taken from a live server, from a trace, or
//! written down in a test.

use crate::plant::Target;
use crate::slab::Slab;
use crate::{Evictor, Objective};
use curve::{Bytes, GROUPS, MissRatio, MissRatioCurve};

/// The memory, the goal and the pools, at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// What may be divided.
    pub memory: Bytes,
    /// In how many equal parts at most.
    pub units_max: usize,
    /// How many units a pool may gain or lose at most; no bound if `None`.
    pub band: Option<usize>,
    /// What to minimise.
    pub objective: Objective,
    /// By how much a policy must be better than the present one to be named, as a share of the
    /// cost, and by what chance makes of its curve at least: of several noisy curves the lowest
    /// looks better than it is.
    pub switch_margin: f64,
    /// The pools that compete.
    pub pools: Vec<Pool>,
    /// What was promised to whom.
    pub goals: Vec<Promise>,
}

/// A promise to the owner of some of the pools.
#[derive(Clone, Debug, PartialEq)]
pub struct Promise {
    /// The owner, as reports call them.
    pub name: String,
    /// Their pools, by place.
    pub pools: Vec<usize>,
    /// What was promised.
    pub target: Target,
    /// Where memory cannot meet all, higher ones are met first.
    pub priority: u32,
}

/// Items that compete only among themselves, for one budget, under one policy.
#[derive(Clone, Debug)]
pub struct Pool {
    /// What reports call it.
    pub name: String,
    /// What each policy would give at each size. Empty where nothing is known: then the pool
    /// keeps what it has.
    pub candidates: Vec<Candidate>,
    /// Reads a second.
    pub reads_per_s: f64,
    /// Mean cost of a miss, in microseconds.
    pub penalty_us: f64,
    /// How much a miss here counts against a miss elsewhere.
    pub weight: f64,
    /// What it must have.
    pub floor: Bytes,
    /// What it may have at most.
    pub cap: Option<Bytes>,
    /// What it has.
    pub budget: Bytes,
    /// How it evicts.
    pub evictor: Evictor,
    /// What an eviction takes here, by what [`Evictor::overhead_us`] says: the same for every K.
    pub dearness: f64,
    /// What an operator asked for, for the planner `manual`.
    pub asked: Option<Bytes>,
    /// Its pages, where it is a slab class.
    pub slab: Option<Slab>,
}

impl Default for Pool {
    /// A pool of which nothing is known.
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

/// A policy, and the curve it would have.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The policy.
    pub evictor: Evictor,
    /// Miss ratio against size.
    pub curve: MissRatioCurve,
    /// Misses of the sample by group of keys, where the model counts them so.
    pub groups: Option<[f64; GROUPS]>,
    /// What those misses cost, in microseconds, where the model counts it.
    pub waits: Option<[f64; GROUPS]>,
    /// Reads the curve rests on; infinite where no chance is in it.
    pub reads: f64,
    /// The lowest and the highest miss ratio that are likely at some sizes, where the model says.
    pub bands: Vec<(Bytes, MissRatio, MissRatio)>,
}

impl Candidate {
    /// A policy of which only the curve is known.
    pub const fn new(evictor: Evictor, curve: MissRatioCurve) -> Self {
        let reads = f64::INFINITY;
        Self { evictor, curve, groups: None, waits: None, reads, bands: Vec::new() }
    }

    /// How much of its misses at a size may be chance: of `n` misses the standard error is `√n`.
    pub fn chance_at(&self, size: Bytes) -> f64 {
        let misses = self.reads * self.curve.at(size).0;
        misses.max(1.0).sqrt().recip()
    }
}

/// The least miss ratio at a size, and whose it is, of several policies.
pub fn best(candidates: &[Candidate], size: Bytes) -> Option<(f64, &Candidate)> {
    let at = candidates.iter().map(|candidate| (candidate.curve.at(size).0, candidate));
    at.min_by(|a, b| a.0.total_cmp(&b.0))
}

impl Pool {
    /// The miss ratio to expect with `budget` under `evictor`, if that policy was modelled.
    pub fn miss_ratio(&self, budget: Bytes, evictor: Evictor) -> Option<MissRatio> {
        let candidate = self.candidates.iter().find(|known| known.evictor == evictor)?;
        Some(candidate.curve.at(budget))
    }
}

impl Snapshot {
    /// The cost to expect of one pool; zero where nothing is known of it.
    pub fn cost(&self, pool: &Pool, budget: Bytes, evictor: Evictor) -> f64 {
        pool.miss_ratio(budget, evictor).map_or(0.0, |ratio| self.cost_at(pool, ratio))
    }

    /// The cost of one pool at a miss ratio.
    pub fn cost_at(&self, pool: &Pool, ratio: MissRatio) -> f64 {
        self.objective.cost(pool.reads_per_s, pool.penalty_us, pool.weight, ratio.0)
    }

    /// The cost to expect of a whole division: a budget and a policy for each pool, in order.
    pub fn total(&self, division: impl IntoIterator<Item = (Bytes, Evictor)>) -> f64 {
        self.pools
            .iter()
            .zip(division)
            .map(|(pool, (budget, evictor))| self.cost(pool, budget, evictor))
            .sum()
    }

    /// The cost to expect if nothing changes.
    pub fn total_now(&self) -> f64 {
        self.total(self.pools.iter().map(|pool| (pool.budget, pool.evictor)))
    }

    /// The size of a unit: at least one byte.
    pub fn unit(&self) -> Bytes {
        Bytes(self.memory.0.div_ceil(self.units_max.max(1) as u64).max(1))
    }

    /// Whole units in the memory.
    pub fn units(&self) -> usize {
        (self.memory.0 / self.unit().0) as usize
    }
}
