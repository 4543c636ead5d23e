//! Miss ratio curves: what another size, or another policy, would give.
//!
//! A [`Model`] watches accesses and answers with a [`MissRatioCurve`]. Every model sees the same
//! events: a `Get` is one access; a `Set` refreshes and resizes but is neither hit nor miss; a
//! `Delete` ends the object's life, and so does the end of its time to live; evictions are never
//! shown, for a model describes the requests and not the cache that answers them. A read of what
//! was never written, was deleted or has expired misses at every size.
//!
//! A model that samples keeps the keys whose hash falls below a threshold. It may be shown every
//! access, and then drops those it does not watch; or only those of watched keys, and then
//! whoever dropped the others says how many reads they were ([`Model::skip`]).
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

/// What a model is built from.
#[derive(Clone, Debug)]
pub struct Params {
    /// Candidates an eviction draws, for models of K-LRU.
    pub k: u32,
    /// Whether evictions keep a pool of 16 candidates, as Redis does, for models of K-LRU.
    pub pool: bool,
    /// Share of the keys to watch, from 0 to 1.
    pub rate: f64,
    /// Share of the keys that are shown to the model at all, where others were dealt elsewhere by
    /// bits that have nothing to do with sampling; 1 if that is all of them.
    pub share: f64,
    /// The part of the keys that is watched, of several that other models watch.
    pub part: Part,
    /// Keys to watch at most: as more come the rate falls. No limit where it is `usize::MAX`.
    pub keys_max: usize,
    /// Reproduces the run.
    pub seed: u64,
    /// The sizes to simulate, for models that run caches instead of reckoning.
    pub sizes: Vec<Bytes>,
    /// The policy to simulate, for the same models; K-LRU with `k` and `pool` where none is given.
    pub policy: Option<Choice>,
}

impl Params {
    /// K-LRU as `k` and `pool` say.
    pub fn klru(&self) -> Choice {
        let pool = if self.pool { POOL } else { 0 };
        let text = format!("klru:k={}:pool={pool}", self.k.max(1));
        policy::parse(&text).unwrap_or_else(|error| unreachable!("{error}"))
    }

    fn lru(&self) -> Choice {
        policy::parse("lru").unwrap_or_else(|error| unreachable!("{error} ({self:?})"))
    }
}

/// Groups of keys whose misses are counted apart.
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

/// Watches accesses, answers with a curve.
pub trait Model: Debug + Send {
    /// Sees one access. A model that samples filters for itself.
    fn access(&mut self, access: &Access);
    /// Sees several accesses, in order. A model of many parts may show all of them to one part
    /// after the other.
    fn accesses(&mut self, accesses: &[Access]) {
        for access in accesses {
            self.access(access);
        }
    }
    /// Learns that `gets` reads passed which it was not shown, because their keys fall outside
    /// its rate. Where nobody says so, and every access shown was of a watched key, the watched
    /// keys stand for all: on skewed traffic that costs accuracy (SHARDS, section 3.4).
    fn skip(&mut self, _gets: u64) {}
    /// The curve of what was seen so far.
    fn curve(&self) -> MissRatioCurve;
    /// Memory the model holds.
    fn bytes(&self) -> Bytes;
    /// Gives what was seen so far the weight `factor`, from 0 to 1, against what will be seen.
    fn forget(&mut self, factor: f64);
    /// The cache it stands for has another size now: for models that run caches, where they run
    /// one. The others answer for every size anyway.
    fn resize(&mut self, _size: Bytes) {}
    /// Misses of the smallest size by group of keys, for models that count them: how much two
    /// models of the same requests differ from group to group tells difference from noise.
    fn groups(&self) -> Option<[f64; GROUPS]> {
        None
    }
    /// The lowest and the highest miss ratio that are likely at each size, of models that can say.
    fn bands(&mut self, _sizes: &[Bytes]) -> Vec<(Bytes, MissRatio, MissRatio)> {
        vec![]
    }
    /// What the same misses cost, in microseconds, where the requests say it.
    fn waits(&self) -> Option<[f64; GROUPS]> {
        None
    }
    /// The share of the keys it watches now.
    fn rate(&self) -> f64 {
        1.0
    }
    /// Watches at a lower rate from here on, and keeps what it knows of the keys that it goes on to
    /// watch. Whether it could.
    fn lower(&mut self, _rate: f64) -> bool {
        false
    }
    /// What it counted of its part of the keys, to be added to the counts of other parts; of models
    /// whose counts add up.
    fn counted(&self) -> Option<Counts> {
        None
    }
    /// Takes counts for its own, if it has seen nothing itself and they are of its kind; then it
    /// draws their curve. Whether it could.
    fn take(&mut self, _counts: &Counts) -> bool {
        false
    }
    /// What it has seen, for a model after it; of models that can say it.
    fn remembered(&self) -> Option<Remembered> {
        None
    }
    /// Goes on from what another model of the same kind has seen, if it has seen nothing itself.
    /// Time begins anew. Whether it could.
    fn remember(&mut self, _remembered: &Remembered) -> bool {
        false
    }
}

/// A model's entry in the registry.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The name used in configuration, reports and file names.
    pub name: &'static str,
    /// The policy whose curve it draws: what it is to be held against.
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
/// A sentence that names the known ones.
pub fn find(name: &str) -> Result<&'static Spec, String> {
    ALL.iter().copied().find(|spec| spec.name == name).ok_or_else(|| {
        let known: Vec<_> = ALL.iter().map(|spec| spec.name).collect();
        format!("unknown model '{name}': choose one of {}", known.join(", "))
    })
}
