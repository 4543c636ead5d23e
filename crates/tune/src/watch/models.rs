//! The models of a pool: their building, and what they are shown.

use super::allowance::KEYS_MIN;
use crate::calibration::Calibration;
use crate::snapshot::Candidate;
use crate::{Evictor, Recipe};
use base::{Access, Filter, Op};
use curve::{Bands, Bytes, Model, Params};
use std::collections::HashSet;

/// Epochs before new models replace the curves of old ones.
pub(super) const WARM_EPOCHS: u32 = 2;

/// The first rate, before the pool's load is known.
const FIRST_RATE: f64 = 1.0 / 64.0;

/// The models of one pool, with the curves that they drew last.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(super) spec: &'static curve::Spec,
    pub(super) evictors: &'static [Evictor],
    pub(super) seed: u64,
    pub(super) keys_max: usize,
    /// Memory of the pool.
    pub(super) budget: Bytes,
    /// The rate of the recipe, raised if it samples too few keys.
    pub(super) asked: Option<f64>,
    /// Epochs before the curves of the models are used.
    pub(super) warm: u32,
    /// The rate at which the models were built. They may have lowered it since.
    pub(super) rate: f64,
    /// One model for each policy; empty before the first sample.
    pub(super) models: Vec<Box<dyn Model>>,
    /// Reads of the pool before the models were built.
    pub(super) unseen: u64,
    /// Watched keys, counted up to the number needed.
    pub(super) keys: HashSet<u64>,
    /// Watched reads, with the same weights as in the models.
    pub(super) reads: f64,
    /// Reads shown to the models before the pool's counter showed them.
    pub(super) ahead: u64,
    /// Epochs with requests since the models began.
    pub(super) age: u32,
    pub(super) rate_is_known: bool,
    /// Requests a second in the busiest epoch, fading.
    pub(super) peak_ops_per_s: f64,
    pub(super) curves: Vec<Candidate>,
    pub(super) calibration: Calibration,
    /// Whether the models have drawn no curve yet.
    pub(super) is_new: bool,
    /// Policy and memory of the pool in the last epoch.
    pub(super) place: Option<(Evictor, Bytes)>,
    /// The calibration that shifted `curves`.
    pub(super) applied: Calibration,
    /// Reads that new curves must rest on before they replace the curves of an earlier run.
    pub(super) recalled: Option<f64>,
    /// Whether curves come with bands of chance.
    pub(super) has_bands: bool,
}

impl Watch {
    /// The models of `recipe` for one pool, with `keys_max` keys each.
    pub(crate) fn new(
        spec: &'static curve::Spec,
        recipe: &Recipe,
        keys_max: usize,
        budget: Bytes,
        seed: u64,
    ) -> Self {
        let mut watch = Self {
            spec,
            evictors: recipe.evictors,
            seed,
            keys_max,
            budget,
            asked: recipe.rate,
            warm: if recipe.rate.is_some() { 1 } else { WARM_EPOCHS },
            rate: 0.0,
            models: vec![],
            unseen: 0,
            keys: HashSet::new(),
            reads: 0.0,
            ahead: 0,
            age: 0,
            rate_is_known: false,
            peak_ops_per_s: 0.0,
            curves: vec![],
            calibration: Calibration::default(),
            is_new: true,
            place: None,
            applied: Calibration::default(),
            recalled: None,
            has_bands: false,
        };
        watch.begin(recipe.rate.unwrap_or(FIRST_RATE));
        watch
    }

    /// Lets curves come with bands of chance, for twice the work.
    pub(crate) fn with_bands(mut self) -> Self {
        self.has_bands = true;
        self.begin(self.rate);
        self
    }

    /// Changes the size of the pool.
    pub(crate) fn resize(&mut self, budget: Bytes) {
        if self.budget != budget {
            self.budget = budget;
            self.models.iter_mut().for_each(|model| model.resize(budget));
        }
    }

    /// Lets the models watch `keys_max` keys. They begin anew if that is less than half the present
    /// number, or more than twice.
    pub(crate) fn allow(&mut self, keys_max: usize) {
        if keys_max < self.keys_max / 2 || keys_max / 2 > self.keys_max {
            self.keys_max = keys_max;
            self.begin(self.rate);
        }
    }

    /// Begins anew. The models are built at the first sample: a pool without requests costs no more
    /// than this struct.
    pub(super) fn begin(&mut self, rate: f64) {
        self.rate = rate;
        self.models = vec![];
        self.keys = HashSet::new();
        (self.reads, self.age, self.ahead, self.unseen) = (0.0, 0, 0, 0);
        self.is_new = true;
    }

    /// Builds the models.
    pub(super) fn build(&mut self) {
        let build = |evictor: &Evictor| {
            let params = Params {
                k: u32::from(evictor.k),
                pool: evictor.pool,
                policy: policy::parse(&evictor.to_string()).ok(),
                rate: self.rate,
                keys_max: self.keys_max,
                seed: self.seed,
                sizes: vec![self.budget],
                ..Params::default()
            };
            if self.has_bands {
                return Box::new(Bands::new(self.spec, &params)) as Box<dyn Model>;
            }
            (self.spec.build)(&params)
        };
        self.models = self.evictors.iter().map(build).collect();
        let unseen = std::mem::take(&mut self.unseen);
        self.skip(unseen);
    }

    /// Shows the models the samples among the `gets` reads of the pool since the last call. The
    /// other reads are passed between the samples, evenly spread. Models tell the time by reads:
    /// for them the samples alone would be too short a time, and the other reads at the end a time
    /// without events.
    pub(crate) fn learn(&mut self, accesses: &[Access], gets: u64) {
        let shown = accesses.iter().filter(|access| access.op == Op::Get).count() as u64;
        let seen = shown + std::mem::take(&mut self.ahead);
        let unseen = gets.saturating_sub(seen);
        self.ahead = seen.saturating_sub(gets);
        let mut told = 0;
        for (place, access) in (1..).zip(accesses) {
            let before = unseen * place / (accesses.len() as u64 + 1);
            self.skip(before - told);
            told = before;
            self.access(access);
        }
        self.skip(unseen - told);
    }

    fn skip(&mut self, gets: u64) {
        if self.models.is_empty() {
            self.unseen += gets;
        } else if gets > 0 {
            self.models.iter_mut().for_each(|model| model.skip(gets));
        }
    }

    fn access(&mut self, access: &Access) {
        if self.models.is_empty() {
            self.build();
        }
        let read = access.op == Op::Get;
        if self.filter().keeps(access.key) {
            self.reads += f64::from(u8::from(read));
            if self.keys.len() < KEYS_MIN {
                self.keys.insert(access.key);
            }
        }
        self.models.iter_mut().for_each(|model| model.access(access));
    }

    /// The present curves, one for each policy; empty before the first.
    pub(crate) fn curves(&self) -> &[Candidate] {
        &self.curves
    }

    /// The filter of the keys watched now.
    pub(crate) fn filter(&self) -> Filter {
        Filter::with_rate(self.models.first().map_or(self.rate, |model| model.rate()))
    }

    pub(crate) fn bytes(&self) -> Bytes {
        self.models.iter().map(|model| model.bytes()).sum()
    }
}
