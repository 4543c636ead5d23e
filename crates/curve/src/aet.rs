//! Average eviction time: LRU from a histogram of reuse times, without sizes [1].
//!
//! Let P(t) be the share of accesses whose reuse time is longer than t. An object that has not been
//! used for x accesses moves down by P(x) with each access. So it falls out of a cache of c objects
//! at the age T where P adds up to c, and the miss ratio is P(T).
//!
//! The model counts objects. It converts a size in bytes into a number of objects of mean size,
//! which is right only where size and reuse are independent; `eaet` does not need that. Deleted and
//! expired objects end their time without a hit.
//!
//! [1] Hu, Wang, Zhou, Luo, Wang, Jiang, Li. Kinetic Modeling of Data Eviction in Cache. ATC '16.

use crate::eaet::lru_curve;
use crate::track::AgeModel;
use crate::{Params, Spec};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "aet",
    predicts: Params::lru,
    build: |params| {
        Box::new(AgeModel::new(params, |ages, _| {
            let mean = ages.size_mean();
            lru_curve(ages, |live| live.objects * mean)
        }))
    },
};
