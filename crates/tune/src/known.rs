//! What a pilot knows, as a value that outlives it: after a restart a pilot that is told goes on
//! with the division, the curves and the rates it had, and need not learn them again.
//!
//! Kept are the curves, and what the models have seen, of those that can say it
//! ([`curve::Model::remembered`]): these go on as if nothing had been. Others begin empty, and
//! their curves replace the old ones once they rest on half as many reads, or after
//! [`RECALL_EPOCHS`] epochs with requests.

use crate::Evictor;
use crate::snapshot::Candidate;
use base::{Bytes, MissRatio};
use curve::{GROUPS, MissRatioCurve, Remembered};
use serde::{Deserialize, Serialize};

/// Epochs with requests after which the curves of an earlier run are no longer preferred.
pub(crate) const RECALL_EPOCHS: u32 = 60;

/// All that a pilot takes with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// The recipe it followed. Another recipe has no use for it.
    pub recipe: String,
    /// The memory that was divided, in bytes.
    pub memory: u64,
    /// Epochs so far.
    pub epoch: u64,
    /// Reads in the epoch that is not over.
    pub reads: u64,
    /// Requests that the models saw.
    pub samples: u64,
    /// What a plan must promise.
    pub threshold: f64,
    /// The pools, found again by their names.
    pub pools: Vec<KnownPool>,
}

/// What is known of one pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KnownPool {
    /// The tenant's name, or whatever the recipe calls the pool.
    pub name: String,
    /// Its memory, in bytes.
    pub budget: u64,
    /// Its policy.
    pub evictor: String,
    /// The memory and the policy it was to have, where a plan is in force.
    pub goal: Option<(u64, String)>,
    /// Reads a second.
    pub reads_per_s: f64,
    /// Requests a second.
    pub ops_per_s: f64,
    /// The same in the busiest epoch, fading.
    pub peak_ops_per_s: f64,
    /// What a miss costs, in microseconds.
    pub penalty_us: f64,
    /// Share of the keys that were watched.
    pub rate: f64,
    /// Reads that the curves rest on.
    pub reads: f64,
    /// A curve for each policy.
    pub curves: Vec<KnownCurve>,
    /// The name of the models, and what they have seen, one for each policy of the recipe.
    pub models: Option<(String, Vec<Remembered>)>,
}

/// A curve.
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

/// The policy of that name.
pub(crate) fn find(evictors: &[Evictor], name: &str) -> Option<Evictor> {
    evictors.iter().copied().find(|evictor| evictor.to_string() == name)
}
