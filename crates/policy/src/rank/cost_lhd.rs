//! LHD that counts what a miss costs: keep what will save the most waiting for its bytes and time.
//!
//! ```text
//! rank = penalty · hit density(class, age) / size
//! ```
//!
//! The penalty multiplies; it does not make classes of its own, which would leave each class fewer
//! lifetimes to learn from. In the live store a penalty is known by its class, and an item of which
//! no fetch was timed is taken for one of a millisecond: dearer than most, so that what nobody
//! measured does not leave first.

use super::lhd::{Lhd, Ranks};
use super::{Learnt, Lessons, Meta, Rank, Tag};
use crate::{Evictor, Param, Spec};
use base::{Micros, TenantId, Tick, penalty};
use std::sync::Arc;

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "cost-lhd",
    params: &[Param::k(32), Param::switch("global", 0)],
    build: |params| Box::new(Lhd::new(params, true)),
    live: Some(|params| Evictor::sampled(Arc::new(Priced::default()), params)),
};

/// What a miss costs of which nobody knows.
const UNKNOWN: Micros = Micros(1_000);

/// Hit densities, times what a miss costs.
#[derive(Debug)]
pub struct Priced {
    ranks: Arc<Ranks>,
    /// By class of penalties, the unknown first, in microseconds.
    prices: [f32; 1 + penalty::CLASSES as usize],
}

impl Default for Priced {
    /// Before anything is known.
    fn default() -> Self {
        Self::of(Arc::default())
    }
}

impl Priced {
    fn of(ranks: Arc<Ranks>) -> Self {
        let price = |class| match penalty::of_class(class as u8) {
            Micros(0) => UNKNOWN.as_f64() as f32,
            known => known.as_f64() as f32,
        };
        Self { ranks, prices: std::array::from_fn(price) }
    }
}

impl Rank for Priced {
    fn rank(&self, item: &Meta, now: Tick) -> f32 {
        self.rank_in(0, 0, item, now)
    }

    #[inline]
    fn rank_in(&self, tenant: TenantId, class: u8, item: &Meta, now: Tick) -> f32 {
        let price = if item.penalty == Micros(0) { UNKNOWN } else { item.penalty };
        price.as_f64() as f32 * self.ranks.rank_in(tenant, class, item, now)
    }

    fn rank_tags(
        &self,
        tenant: TenantId,
        tags: &[Tag],
        sizes: &[u32],
        now: Tick,
        into: &mut [f32],
    ) -> bool {
        self.ranks.rank_tags(tenant, tags, sizes, now, into);
        for (rank, tag) in into.iter_mut().zip(tags) {
            *rank *= self.prices[usize::from(tag.penalty_class()) % self.prices.len()];
        }
        true
    }

    fn learns(&self) -> Option<Lessons> {
        Some(Lessons::Lifetimes)
    }

    fn renewed(&self, learnt: &Learnt) -> Option<Arc<dyn Rank>> {
        Some(Arc::new(Self::of(learnt.lifetimes.clone()?)))
    }

    fn is_priced(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::Stamps;

    /// Twice the penalty, half the size: the same rank by the item and by its tag.
    #[test]
    fn the_price_multiplies() {
        let priced = Priced::default();
        let item = |penalty: u64, size| Meta {
            age: 1_000,
            life: 1_000,
            hits: 0,
            size,
            penalty: penalty::of_class(penalty::class_of(Micros(penalty))),
        };
        let rank = |item: &Meta| priced.rank_in(0, 0, item, Tick(1 << 20));
        let (dear, cheap) = (item(100_000, 100), item(100, 100));
        let want = dear.penalty.as_f64() / cheap.penalty.as_f64();
        assert!((f64::from(rank(&dear) / rank(&cheap)) / want - 1.0).abs() < 1e-4);
        let unknown = Meta { penalty: Micros(0), ..cheap };
        assert!(rank(&unknown) > rank(&cheap) && rank(&unknown) < rank(&dear));
        let tag = |micros| Tag::of(Stamps::aged(1 << 20, 1_000, penalty::class_of(micros), 0));
        let mut ranks = [0.0; 3];
        let tags = [tag(Micros(100_000)), tag(Micros(100)), Tag::default()];
        assert!(priced.rank_tags(0, &tags, &[100], Tick(1 << 20), &mut ranks));
        assert!((f64::from(ranks[0] / ranks[1]) / want - 1.0).abs() < 1e-4, "{ranks:?}");
        assert!(ranks[2].is_infinite());
    }
}
