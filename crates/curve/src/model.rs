//! The trait that every model implements, and its entry in the list of all.

use crate::track::GROUPS;
use crate::{MissRatioCurve, ModelCounts, Params, Part, Remembered};
use base::{Access, Bytes, MissRatio};
use policy::Choice;
use std::fmt::Debug;

/// Watches accesses, and computes a miss ratio curve.
pub trait Model: Debug + Send {
    /// Shows the model one access. A model that samples filters it itself.
    fn access(&mut self, access: &Access);
    /// Shows the model several accesses, in order. A model of many parts may show all of them to
    /// one part after the other.
    fn accesses(&mut self, accesses: &[Access]) {
        for access in accesses {
            self.access(access);
        }
    }
    /// Reports `gets` reads that the model was not shown, because their keys are not in its sample.
    /// If no caller reports them, and every access shown was of a watched key, the watched keys
    /// stand for all keys. On skewed traffic that costs accuracy (SHARDS, section 3.4).
    fn skip(&mut self, _gets: u64) {}
    /// The curve of the accesses so far.
    fn curve(&self) -> MissRatioCurve;
    /// Memory that the model holds.
    fn bytes(&self) -> Bytes;
    /// Gives the accesses so far the weight `factor`, from 0 to 1, against later ones.
    fn forget(&mut self, factor: f64);
    /// Reports a new size of the modelled cache, for models that simulate a single cache. Other
    /// models ignore it: their curve has every size.
    fn resize(&mut self, _size: Bytes) {}
    /// Misses of the smallest size by group of keys, for models that count them. For two models of
    /// the same requests, the spread of their difference over groups separates it from noise.
    fn groups(&self) -> Option<[f64; GROUPS]> {
        None
    }
    /// The lowest and the highest likely miss ratio at each size; empty for models without bands.
    fn bands(&mut self, _sizes: &[Bytes]) -> Vec<(Bytes, MissRatio, MissRatio)> {
        vec![]
    }
    /// The total cost of the misses by group in microseconds, for models that count them.
    fn waits(&self) -> Option<[f64; GROUPS]> {
        None
    }
    /// The share of the keys that the model watches now.
    fn rate(&self) -> f64 {
        1.0
    }
    /// Lowers the rate from here on, and keeps the state of the keys that are still watched.
    /// Returns whether the model can do that.
    fn lower(&mut self, _rate: f64) -> bool {
        false
    }
    /// The model's counts of its part of the keys, to be added to those of other parts. `None` for
    /// models whose counts do not add up.
    fn counted(&self) -> Option<ModelCounts> {
        None
    }
    /// Takes over counts of the model's own kind, from which it then draws the curve. Returns false
    /// if the model has seen accesses, or if the counts are of another kind.
    fn take(&mut self, _counts: &ModelCounts) -> bool {
        false
    }
    /// The state of the model, for a later model that continues from it. `None` for models without
    /// such a form.
    fn remembered(&self) -> Option<Remembered> {
        None
    }
    /// Continues from the state of another model of the same kind. Time begins anew. Returns false
    /// if this model has seen accesses, or the kinds differ.
    fn remember(&mut self, _remembered: &Remembered) -> bool {
        false
    }
}

/// A model's entry in the registry.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The name used in configuration, reports and file names.
    pub name: &'static str,
    /// The policy whose curve the model predicts, to which it is compared.
    pub predicts: fn(&Params) -> Choice,
    /// Builds the model.
    pub build: fn(&Params) -> Box<dyn Model>,
}

impl ModelCounts {
    /// The curve of these counts: that of all keys, or of a sample if parts are missing.
    ///
    /// # Errors
    /// If a model of this kind has other counts.
    pub fn curve(&self, spec: &Spec, params: &Params) -> Result<MissRatioCurve, String> {
        let whole = Params { rate: 1.0, share: 1.0, part: Part::WHOLE, ..params.clone() };
        let mut model = (spec.build)(&whole);
        if model.take(self) {
            Ok(model.curve())
        } else {
            Err(format!("these are not counts of {}", spec.name))
        }
    }
}
