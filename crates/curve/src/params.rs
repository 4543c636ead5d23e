//! The parameters from which a model is built.

use crate::Part;
use base::Bytes;
use policy::Choice;

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

    pub(crate) fn lru(&self) -> Choice {
        policy::parse("lru").unwrap_or_else(|error| unreachable!("{error} ({self:?})"))
    }
}

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
