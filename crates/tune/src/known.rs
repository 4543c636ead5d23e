//! A pilot's knowledge, as a value that outlives it. A pilot that receives it after a restart
//! continues with the same division, curves and rates, and need not learn them again.
//!
//! It contains the curves, and the memory of the models that can export one
//! ([`curve::Model::remembered`]): these models continue without a gap. Other models begin empty.
//! Their curves replace the old ones once they rest on half as many reads, or after
//! [`RECALL_EPOCHS`] epochs with requests.

use crate::Evictor;
use crate::snapshot::Candidate;
use base::{Bytes, MissRatio};
use curve::{GROUPS, MissRatioCurve, Remembered};
use serde::{Deserialize, Serialize};

/// Epochs with requests after which the curves of an earlier run are no longer preferred.
pub(crate) const RECALL_EPOCHS: u32 = 60;

/// The state that a pilot passes on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// The recipe it followed. Another recipe cannot use the state.
    pub recipe: String,
    /// The divided memory, in bytes.
    pub memory: u64,
    /// Number of epochs so far.
    pub epoch: u64,
    /// Reads in the present epoch.
    pub reads: u64,
    /// Requests that the models saw.
    pub samples: u64,
    /// The least saving that a plan must promise.
    pub threshold: f64,
    /// The pools, identified by their names.
    pub pools: Vec<KnownPool>,
}

/// The state of one pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KnownPool {
    /// The tenant's name, or the recipe's name for the pool.
    pub name: String,
    /// Its memory, in bytes.
    pub budget: u64,
    /// Its policy.
    pub evictor: String,
    /// The memory and the policy that the plan in force assigns to it.
    pub goal: Option<(u64, String)>,
    /// Reads a second.
    pub reads_per_s: f64,
    /// Requests a second.
    pub ops_per_s: f64,
    /// Requests a second in the busiest epoch, fading.
    pub peak_ops_per_s: f64,
    /// The cost of a miss, in microseconds.
    pub penalty_us: f64,
    /// Share of the keys that were sampled.
    pub rate: f64,
    /// Reads behind the curves.
    pub reads: f64,
    /// A curve for each policy.
    pub curves: Vec<KnownCurve>,
    /// The name of the models and their memory, one for each policy of the recipe.
    pub models: Option<(String, Vec<Remembered>)>,
}

/// A miss ratio curve for one policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KnownCurve {
    /// The policy.
    pub evictor: String,
    /// Bytes and miss ratios.
    pub points: Vec<(u64, f64)>,
    /// Misses by group of keys, where the model counted them.
    pub groups: Option<[f64; GROUPS]>,
}

impl KnownCurve {
    pub(crate) fn of(candidate: &Candidate) -> Self {
        let points = candidate.curve.points().iter();
        Self {
            evictor: candidate.evictor.to_string(),
            points: points.map(|(size, ratio)| (size.0, ratio.0)).collect(),
            groups: candidate.groups,
        }
    }

    /// The curve, if the recipe still knows the policy.
    pub(crate) fn candidate(&self, evictors: &[Evictor]) -> Option<Candidate> {
        let point = |&(size, ratio): &(u64, f64)| (Bytes(size), MissRatio(ratio.clamp(0.0, 1.0)));
        let curve = MissRatioCurve::new(self.points.iter().map(point));
        let evictor = find(evictors, &self.evictor)?;
        Some(Candidate { groups: self.groups, ..Candidate::new(evictor, curve) })
    }
}

/// The policy with this name.
pub(crate) fn find(evictors: &[Evictor], name: &str) -> Option<Evictor> {
    evictors.iter().copied().find(|evictor| evictor.to_string() == name)
}
