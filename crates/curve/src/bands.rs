//! Confidence bands of a sampled curve: the spread of the curves of independent parts of the
//! sample.
//!
//! Other bits of their hash divide the watched keys into eight parts, and each part has a model of
//! its own. If the sample were drawn again, the curve of all parts would vary by the standard
//! deviation of the parts' curves divided by √8. It varies less by a factor of √(1-R), for a sample
//! of all keys has no error.
//!
//! The bands show only the error of sampling, not that of the model.

use base::hash::mix;
use base::{Access, Bytes, Filter, MissRatio, Op};

use crate::{MissRatioCurve, Model, ModelCounts, Params, Spec};

/// Makes the parts independent of every other split by the hash of keys.
const SALT: u64 = 0x5bd1_e995_7a3c_01f7;
const PARTS: usize = 8;

#[derive(Debug)]
struct BandPart {
    model: Box<dyn Model>,
    /// All reads that this part's model knows of.
    told: u64,
}

/// A model of all watched keys, and one of the same kind for each eighth of them.
#[derive(Debug)]
pub struct Bands {
    whole: Box<dyn Model>,
    parts: Vec<BandPart>,
    filter: Filter,
    reads: u64,
}

impl Bands {
    /// Creates the models. They cost about twice as much as one model alone.
    pub fn new(spec: &Spec, params: &Params) -> Self {
        let keys_max = match params.keys_max {
            usize::MAX => usize::MAX,
            keys => keys / PARTS,
        };
        let share = params.share / PARTS as f64;
        let part = Params { share, keys_max, ..params.clone() };
        let parts = (0..PARTS).map(|_| BandPart { model: (spec.build)(&part), told: 0 }).collect();
        Self { parts, ..Self::alone(spec, params) }
    }

    /// Creates the model without parts, so that there is no band.
    pub fn alone(spec: &Spec, params: &Params) -> Self {
        let filter = Filter::with_rate(params.rate);
        Self { whole: (spec.build)(params), parts: vec![], filter, reads: 0 }
    }

    /// The lowest and the highest likely miss ratio at each size: two standard errors to either
    /// side. Empty for a model without parts.
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
        // First counts the reads of other parts since this part's last access.
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

    fn counted(&self) -> Option<ModelCounts> {
        self.whole.counted()
    }

    fn bands(&mut self, sizes: &[Bytes]) -> Vec<(Bytes, MissRatio, MissRatio)> {
        self.at(sizes)
    }
}
