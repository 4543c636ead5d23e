//! Miss ratio curves: the miss ratio that another size or another policy would have.
//!
//! A [`Model`] watches accesses and computes a [`MissRatioCurve`]. Every model has the same rules
//! for events. A `Get` is one access. A `Set` refreshes and resizes, but is neither a hit nor a
//! miss. A `Delete` ends the object's life, and so does the end of its time to live. Evictions are
//! never shown, because a model describes the requests and not the cache that answers them. A read
//! of an object that was never written, was deleted or has expired misses at every size.
//!
//! A model that samples keeps the keys whose hash falls below a threshold. Its caller may show it
//! every access, and the model drops the ones it does not watch. Or the caller shows only the
//! accesses to watched keys, and reports the number of dropped reads ([`Model::skip`]).
#![forbid(unsafe_code)]

mod bands;
mod counted;
mod envelope;
mod miss_ratio_curve;
mod remembered;
mod track;

pub use bands::Bands;
pub use base::{Access, Bytes, MissRatio, Op};
pub use counted::{AgeCounts, Counts, Distances, PARTS_MAX, Part};
pub use envelope::Envelope;
pub use miss_ratio_curve::MissRatioCurve;
pub use policy::Choice;
pub use remembered::{Remembered, RememberedAges, RememberedObject};

use std::fmt::Debug;

/// The parameters from which a model is built.
#[derive(Clone, Debug)]
pub struct Params {
    /// Candidates an eviction draws, for models of K-LRU.
    pub k: u32,
    /// Whether evictions keep a pool of 16 candidates, as Redis does, for models of K-LRU.
    pub pool: bool,
    /// Share of the keys to watch, from 0 to 1.
    pub rate: f64,
    /// Share of the keys that is shown to the model at all. It is below 1 if bits that are
    /// independent of sampling assign other keys elsewhere.
    pub share: f64,
    /// The part of the keys that this model watches, if other models watch other parts.
    pub part: Part,
    /// Most keys to watch: with more keys the rate falls. No limit if it is `usize::MAX`.
    pub keys_max: usize,
    /// Seed of the random numbers: the same seed reproduces the run.
    pub seed: u64,
    /// The sizes to simulate, for models that simulate caches.
    pub sizes: Vec<Bytes>,
    /// The policy to simulate, for the same models; K-LRU with `k` and `pool` if `None`.
    pub policy: Option<Choice>,
}

impl Params {
    /// K-LRU with the parameters `k` and `pool`.
    pub fn klru(&self) -> Choice {
        let pool = if self.pool { POOL } else { 0 };
        let text = format!("klru:k={}:pool={pool}", self.k.max(1));
        policy::parse(&text).unwrap_or_else(|error| unreachable!("{error}"))
    }

    fn lru(&self) -> Choice {
        policy::parse("lru").unwrap_or_else(|error| unreachable!("{error} ({self:?})"))
    }
}

/// Number of groups of keys whose misses are counted separately.
pub const GROUPS: usize = 8;

/// Candidates that Redis keeps between evictions.
const POOL: u32 = 16;

impl Default for Params {
    fn default() -> Self {
        Self {
            k: 5,
            pool: false,
            rate: 1.0,
            share: 1.0,
            part: Part::WHOLE,
            keys_max: usize::MAX,
            seed: 1,
            sizes: vec![],
            policy: None,
        }
    }
}

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
    fn counted(&self) -> Option<Counts> {
        None
    }
    /// Takes over counts of the model's own kind, from which it then draws the curve. Returns false
    /// if the model has seen accesses, or if the counts are of another kind.
    fn take(&mut self, _counts: &Counts) -> bool {
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

macro_rules! models {
    ($($name:ident),* $(,)?) => {
        $(pub mod $name;)*
        /// Every model, in the order reports list them.
        pub const ALL: &[&Spec] = &[$(&$name::SPEC,)*];
    };
}

models! { olken, shards, aet, eaet, footprint, krr, kaet, miniature, exact }

/// The model of that name.
///
/// # Errors
/// If no model has the name; the message lists the known ones.
pub fn find(name: &str) -> Result<&'static Spec, String> {
    ALL.iter().copied().find(|spec| spec.name == name).ok_or_else(|| {
        let known: Vec<_> = ALL.iter().map(|spec| spec.name).collect();
        format!("unknown model '{name}': choose one of {}", known.join(", "))
    })
}
