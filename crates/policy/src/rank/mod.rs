//! Policies that need only an item's metadata: draw candidates, score them, evict the lowest rank.
//!
//! One [`Rank`] runs in the simulator, through [`Sampled`], and in the live store. The store keeps
//! the fields of [`Meta`] in each item's header, whatever policy is active. So a live store changes
//! policy without touching an item.
//!
//! Some policies need more than a rank of the metadata, for reasons in their module docs: `gdsf`
//! and `lfu` age by a priority that is fixed when an object is used, `lhd` and `gittins` learn.

pub mod balance;
pub mod cost_lhd;
mod dense;
pub mod gdsf;
pub mod gittins;
pub mod hyperbolic;
pub mod klru;
pub mod lfu;
pub mod lhd;
pub mod lrm;
pub mod random;
mod sampled;
mod stamps;
mod tag;
mod victims;

pub(crate) use dense::Dense;
pub use sampled::Sampled;
pub use stamps::Stamps;
pub use tag::Tag;
pub use victims::Victims;

use base::{Micros, TenantId, Tick};
use std::fmt::Debug;
use std::sync::Arc;

/// The metadata of a resident item, the same under every policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Meta {
    /// Requests since the last one to this item (or since its write).
    pub age: u64,
    /// Requests since it became resident.
    pub life: u64,
    /// Reads since it became resident; saturates where the store has few bits for the count.
    pub hits: u32,
    /// Bytes charged.
    pub size: u32,
    /// The cost of a miss of it; zero where it is unknown.
    pub penalty: Micros,
}

impl Meta {
    /// The relative cost of a miss: one where it is unknown.
    pub fn cost(&self) -> f32 {
        self.penalty.0.max(1) as f32
    }
}

/// The input that a rank of the live store learns from, and so the meaning of an item's class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lessons {
    /// Lifetimes of all residents, by the [class](lhd::hit_class) of the age at the last hit.
    Lifetimes,
    /// Requests to watched keys, resident or not; the class is that of the mean interval.
    Watched,
}

/// The learnt state of a store; `None` for input that no active rank learns from.
#[derive(Clone, Debug, Default)]
pub struct Learnt {
    /// Hit densities learnt from lifetimes.
    pub lifetimes: Option<Arc<lhd::Ranks>>,
    /// Indices learnt from watched keys.
    pub watched: Option<Arc<gittins::Indices>>,
}

/// Scores a resident item: among the candidates drawn, the one with the lowest rank is evicted.
pub trait Rank: Debug + Send + Sync {
    /// The score of `item` at `now`. Never NaN.
    fn rank(&self, item: &Meta, now: Tick) -> f32;

    /// The score with the item's tenant and the [class](lhd::hit_class) of the age at its last hit.
    #[inline]
    fn rank_in(&self, _tenant: TenantId, _class: u8, item: &Meta, now: Tick) -> f32 {
        self.rank(item, now)
    }

    /// Scores several items of one tenant in one call, by their tags. `sizes` has the bytes charged
    /// for each item, or one size for all. A tag of no item scores infinity. The store looks up the
    /// candidates of lowest score and scores them by [`Rank::rank_in`] before it evicts one. False
    /// if tags carry too little for this rank; then nothing is written.
    fn rank_tags(
        &self,
        _tenant: TenantId,
        _tags: &[Tag],
        _sizes: &[u32],
        _now: Tick,
        _into: &mut [f32],
    ) -> bool {
        false
    }

    /// Whether only the age matters.
    fn is_of_age(&self) -> bool {
        false
    }

    /// Whether the age since an item's last write matters: then the store renews its birth at each
    /// write.
    fn is_of_writes(&self) -> bool {
        false
    }

    /// Whether the rank is a table that is learnt, and from which input. Then the store keeps the
    /// classes, collects that input, and replaces the table by newer ones.
    fn learns(&self) -> Option<Lessons> {
        None
    }

    /// The rank with newer learnt state in place of its own; `None` if it learns nothing.
    fn renewed(&self, _learnt: &Learnt) -> Option<Arc<dyn Rank>> {
        None
    }

    /// Whether a rank is the worth of a byte of the item. Then classes of sizes are compared by it,
    /// and not by the ages of their victims.
    fn is_worth(&self) -> bool {
        self.learns().is_some()
    }

    /// The size from which on a newcomer competes with the items to evict for it; `None` where all
    /// enter.
    fn competes_from(&self) -> Option<f32> {
        None
    }

    /// Whether the penalty matters: then fetches are timed.
    fn is_priced(&self) -> bool {
        false
    }
}
