//! How sure a sampled curve is: the spread of the curves of independent parts of the sample.
//!
//! The watched keys are dealt out to eight parts by other bits of their hash, and each part has a
//! model of its own. Were the sample drawn anew, the curve of all would vary by the standard
//! deviation of the parts' curves divided by √8, and by √(1-R) less than that, for a sample that is
//! the whole has no error.
//!
//! It shows the error of sampling only: not that of the model.

use base::hash::mix;
use base::{Access, Bytes, Filter, Op};

use crate::{Counts, MissRatio, MissRatioCurve, Model, Params, Spec};

/// Sets the parts apart from whatever else splits keys by their hash.
const SALT: u64 = 0x5bd1_e995_7a3c_01f7;
const PARTS: usize = 8;

#[derive(Debug)]
struct Part {
    model: Box<dyn Model>,
    /// All reads that this part has been told of.
    told: u64,
}

/// A model, and one of the same kind for each eighth of its keys.
#[derive(Debug)]
pub struct Bands {
    whole: Box<dyn Model>,
    parts: Vec<Part>,
    filter: Filter,
    reads: u64,
}

impl Bands {
    /// Costs about twice what the model alone does.
    pub fn new(spec: &Spec, params: &Params) -> Self {
        let keys_max = match params.keys_max {
            usize::MAX => usize::MAX,
            keys => keys / PARTS,
        };
        let share = params.share / PARTS as f64;
        let part = Params { share, keys_max, ..params.clone() };
        let parts = (0..PARTS).map(|_| Part { model: (spec.build)(&part), told: 0 }).collect();
        Self { parts, ..Self::alone(spec, params) }
    }

    /// The model alone: no band.
    pub fn alone(spec: &Spec, params: &Params) -> Self {
        let filter = Filter::with_rate(params.rate);
        Self { whole: (spec.build)(params), parts: vec![], filter, reads: 0 }
    }

    /// The lowest and the highest miss ratio that are likely at each size: two standard errors to
    /// either side. Nothing for a model alone.
    pub fn at(&mut self, sizes: &[Bytes]) -> Vec<(Bytes, MissRatio, MissRatio)> {
        let reads = self.reads;
        let curves: Vec<MissRatioCurve> = self
            .parts
            .iter_mut()
            .map(|part| {
                part.model.skip(reads - part.told);
                part.told = reads;
                part.model.curve()
            })
            .collect();
        if curves.is_empty() {
            return vec![];
        }
        let (whole, unseen) = (self.whole.curve(), (1.0 - self.whole.rate()).max(0.0));
        let band = |&size: &Bytes| {
            let n = curves.len() as f64;
            let mean = curves.iter().map(|curve| curve.at(size).0).sum::<f64>() / n;
            let squares: f64 = curves.iter().map(|curve| (curve.at(size).0 - mean).powi(2)).sum();
            let error = (squares / (n - 1.0) / n * unseen).sqrt();
            let middle = whole.at(size).0;
            let edge = |by: f64| MissRatio((middle + by * error).clamp(0.0, 1.0));
            (size, edge(-2.0), edge(2.0))
        };
        sizes.iter().map(band).collect()
    }

    fn deal(&mut self, access: &Access) {
        let read = u64::from(access.op == Op::Get);
        self.reads += read;
        if self.parts.is_empty() || !self.filter.keeps(access.key) {
            return;
        }
        let part = &mut self.parts[(mix(access.key ^ SALT) >> 61) as usize];
        // What went to others since, before it sees its own.
        part.model.skip(self.reads - read - part.told);
        part.model.access(access);
        part.told = self.reads;
    }
}

impl Model for Bands {
    fn access(&mut self, access: &Access) {
        self.whole.access(access);
        self.deal(access);
    }

    fn accesses(&mut self, accesses: &[Access]) {
        self.whole.accesses(accesses);
        if !self.parts.is_empty() {
            for access in accesses {
                self.deal(access);
            }
        }
    }

    fn skip(&mut self, gets: u64) {
        self.whole.skip(gets);
        self.reads += gets;
    }

    fn curve(&self) -> MissRatioCurve {
        self.whole.curve()
    }

    fn bytes(&self) -> Bytes {
        self.whole.bytes() + self.parts.iter().map(|part| part.model.bytes()).sum()
    }

    fn forget(&mut self, factor: f64) {
        self.whole.forget(factor);
        let reads = self.reads;
        for part in &mut self.parts {
            part.model.skip(reads - part.told);
            part.told = reads;
            part.model.forget(factor);
        }
    }

    fn rate(&self) -> f64 {
        self.whole.rate()
    }

    fn counted(&self) -> Option<Counts> {
        self.whole.counted()
    }

    fn bands(&mut self, sizes: &[Bytes]) -> Vec<(Bytes, MissRatio, MissRatio)> {
        self.at(sizes)
    }
}
