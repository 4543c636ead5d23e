//! Policies that need only an item's metadata: draw candidates, score them, the lowest rank goes.
//!
//! The same [`Rank`] runs in the simulator, through [`Sampled`], and in the live store, which
//! keeps the fields of [`Meta`] in each item's header whatever policy is active. So a live store
//! changes policy without touching an item.
//!
//! Some need more than a rank of the metadata and say why in their head comments: `gdsf` and `lfu`
//! age by a priority that is fixed when an object is used, `lhd` and `gittins` learn.

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

/// What is known of a resident item under every policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Meta {
    /// Requests since the last one to this item (or since it was written).
    pub age: u64,
    /// Requests since it became resident.
    pub life: u64,
    /// Reads since it became resident; saturates where the store has few bits for it.
    pub hits: u32,
    /// Bytes charged.
    pub size: u32,
    /// What a miss of it costs; zero where it is unknown.
    pub penalty: Micros,
}

impl Meta {
    /// What a miss costs, relative: one where it is unknown.
    pub fn cost(&self) -> f32 {
        self.penalty.0.max(1) as f32
    }
}

/// What a rank of the live store learns from, and what an item's class means under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lessons {
    /// Lifetimes of all residents, by the [class](lhd::hit_class) of the age at the last hit.
    Lifetimes,
    /// Requests to watched keys, resident or not; the class is that of the mean interval.
    Watched,
}

/// What was learnt in a store: none of what no rank learns from.
#[derive(Clone, Debug, Default)]
pub struct Learnt {
    /// From lifetimes.
    pub lifetimes: Option<Arc<lhd::Ranks>>,
    /// From watched keys.
    pub watched: Option<Arc<gittins::Indices>>,
}

/// Scores a resident item: of the candidates drawn, the one with the lowest rank goes.
pub trait Rank: Debug + Send + Sync {
    /// The score of `item` at `now`. Never NaN.
    fn rank(&self, item: &Meta, now: Tick) -> f32;

    /// The score where it is also known whose item it is, and of which [class](lhd::hit_class) the
    /// age at its last hit was.
    #[inline]
    fn rank_in(&self, _tenant: TenantId, _class: u8, item: &Meta, now: Tick) -> f32 {
        self.rank(item, now)
    }

    /// The scores of several items of one tenant by their tags and the bytes charged for each, or
    /// for all of them alike, without end where there is no item: the call is paid once. Who is to
    /// leave for it is looked at and scored by [`Rank::rank_in`] before it goes. False if tags do
    /// not tell enough; then nothing is written.
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

    /// Whether it goes by nothing but the age.
    fn is_of_age(&self) -> bool {
        false
    }

    /// Whether it goes by the last write of an item: then the store renews its birth at each.
    fn is_of_writes(&self) -> bool {
        false
    }

    /// Whether it is one table of a rank that learns, and from what: then the store keeps the
    /// classes, notes what is to be learnt from, and puts newer tables in its place.
    fn learns(&self) -> Option<Lessons> {
        None
    }

    /// The rank with what was learnt since in place of what it went by; none if it learns nothing.
    fn renewed(&self, _learnt: &Learnt) -> Option<Arc<dyn Rank>> {
        None
    }

    /// Whether a rank is what a byte of the item is worth: then classes of sizes are compared by
    /// it, and not by the ages of their victims.
    fn is_worth(&self) -> bool {
        self.learns().is_some()
    }

    /// The size from which a newcomer competes with what would leave for it; none where all enter.
    fn competes_from(&self) -> Option<f32> {
        None
    }

    /// Whether it goes by what a miss costs: then fetches are timed.
    fn is_priced(&self) -> bool {
        false
    }
}
