//! LHD with the cost of a miss: keeps the items that save the most waiting for their bytes and
//! time.
//!
//! ```text
//! rank = penalty · hit density(class, age) / size
//! ```
//!
//! The penalty multiplies. Classes of its own would leave each class fewer lifetimes to learn from.
//! The live store knows a penalty by its class. An item without a timed fetch counts as one
//! millisecond. That is more than most penalties, so that an unmeasured item is not evicted first.

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

/// The assumed penalty of an item without a timed fetch.
const UNKNOWN: Micros = Micros(1_000);

/// Hit densities multiplied by penalties.
#[derive(Debug)]
pub struct Priced {
    ranks: Arc<Ranks>,
    /// By penalty class, the unknown class first, in microseconds.
    prices: [f32; 1 + penalty::CLASSES as usize],
}

impl Default for Priced {
    /// A rank without learnt densities.
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

    /// The rank grows in proportion to the penalty, both from the item and from its tag.
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
