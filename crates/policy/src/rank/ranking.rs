//! The trait that every rank implements, and the learnt state that the live store hands to it.

use super::{Meta, Tag, gittins, lhd};
use base::{TenantId, Tick};
use std::fmt::Debug;
use std::sync::Arc;

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
