//! The rank in the live store: the same indices, by the fields that an item stores anyway.
//!
//! Candidates are drawn by their [tags](Tag), which have three bits for a class. In these bits the
//! store keeps the interval between hits relative to the number of items
//! ([`hit_class`](crate::rank::lhd::hit_class)), two octaves a class. So a tag ranks by the mean of
//! two octaves. Without a hit it ranks by the item's size too. The candidates whose tags rank
//! lowest are then ranked by their stamps.
//!
//! A penalty is known by its class. The price is the expected cost of the next fetch of such a key
//! ([`Learner::expected`](super::Learner::expected)). An item without a timed fetch has the
//! tenant's mean price.

use super::class::{BORN_STEP, PARTS, bucket, class_of, interval_class, size_class};
use super::fetches::PENALTIES;
use super::indices::{Indices, KEPT, ROWS};
use super::newcomer::LARGE;
use super::table::{IndexTable, app};
use crate::rank::{Learnt, Lessons, Meta, Rank, Tag};
use base::{TenantId, Tick, penalty};
use std::sync::Arc;

/// Price times index per byte, as of one moment.
#[derive(Clone, Debug)]
pub struct LiveRank {
    indices: Arc<Indices>,
    has_price: bool,
}

impl LiveRank {
    /// The rank before anything is learnt. `has_price` ranks by waiting, else by hits.
    pub fn unlearnt(has_price: bool) -> Self {
        let indices = Indices::new(IndexTable::default(), &[1 << 12], 0.0, &[]);
        Self { indices: Arc::new(indices), has_price }
    }
}

impl Rank for LiveRank {
    fn rank(&self, item: &Meta, now: Tick) -> f32 {
        self.rank_in(0, 0, item, now)
    }

    #[inline]
    fn rank_in(&self, tenant: TenantId, _: u8, item: &Meta, _: Tick) -> f32 {
        let age = item.age.min(u64::from(u32::MAX)) as u32;
        let in_use = (item.life - item.age.min(item.life)).min(u64::from(u32::MAX)) as u32;
        // In whole steps, as in a past: the time of birth within a step is unknown.
        let in_use = in_use >> BORN_STEP << BORN_STEP;
        let hits = item.hits.min(u32::from(u8::MAX)) as u8;
        let of_size = size_class(item.size as f32, self.indices.mean_size);
        let class = class_of(interval_class(in_use, hits), hits, of_size);
        let of_penalty = if item.penalty.0 > 0 { penalty::class_of(item.penalty) } else { 0 };
        let price =
            if self.has_price { self.indices.prices(tenant)[usize::from(of_penalty)] } else { 1.0 };
        price * self.indices.table.index(tenant, class, age) / item.size.max(1) as f32
    }

    fn rank_tags(
        &self,
        tenant: TenantId,
        tags: &[Tag],
        sizes: &[u32],
        now: Tick,
        into: &mut [f32],
    ) -> bool {
        let Indices { table, by_tag, mean_size, .. } = &*self.indices;
        let (ages, oldest) = (table.ages(), table.ages() - 1);
        let by_tag = &by_tag[app(tenant).min(table.len() - 1) * ROWS * ages..][..ROWS * ages];
        let prices = self.indices.prices(tenant);
        let one = if let [size] = sizes { 1.0 / (*size).max(1) as f32 } else { 1.0 };
        let size_of = |at: usize| sizes.get(at).or(sizes.first()).copied().unwrap_or_default();
        for (at, (score, &tag)) in into.iter_mut().zip(tags).enumerate() {
            let class = tag.penalty_class() as usize % PENALTIES;
            let price = if self.has_price { prices[class] } else { 1.0 };
            let row = match tag.hit_class() as usize % KEPT {
                0 => usize::from(size_class(size_of(at) as f32, *mean_size)),
                class => PARTS - 1 + class,
            };
            let index = by_tag[row * ages + bucket(tag.age(now.0)).min(oldest)];
            *score = if tag.is_item() { price * index * one } else { f32::INFINITY };
        }
        if sizes.len() > 1 {
            for (score, &size) in into.iter_mut().zip(sizes) {
                *score /= size.max(1) as f32;
            }
        }
        true
    }

    fn learns(&self) -> Option<Lessons> {
        Some(Lessons::Watched)
    }

    fn renewed(&self, learnt: &Learnt) -> Option<Arc<dyn Rank>> {
        let indices = learnt.watched.clone()?;
        Some(Arc::new(Self { indices, has_price: self.has_price }))
    }

    fn competes_from(&self) -> Option<f32> {
        let mean = self.indices.mean_size;
        // The mean size is unknown before the first look.
        (mean > 0.0).then_some(LARGE as f32 * mean)
    }

    fn is_priced(&self) -> bool {
        self.has_price
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::Stamps;
    use crate::rank::gittins::{Cost, Past};
    use crate::rank::lhd::hit_class;

    /// Stamps give the same class as a watched key with the same past.
    #[test]
    fn an_item_is_of_the_class_of_its_past() {
        for interval in [700u64, 5_000, 40_000] {
            let begun = (1 << 30) + 77;
            let (mut stamps, mut past) = (Stamps::new(begun, 2), Past::new(begun));
            for hit in 1..400 {
                let now = begun + hit * interval;
                stamps.hit(now);
                past.hit(now);
                let meta = stamps.meta(100, now + 50);
                let in_use = (meta.life - meta.age) as u32 >> BORN_STEP << BORN_STEP;
                let class = interval_class(in_use, stamps.hits);
                assert!(class.abs_diff(past.octave(now as u32)) <= 1, "{interval} {hit}");
            }
        }
    }

    /// A tag ranks about like its stamps, with the same effect of price and size.
    #[test]
    fn a_tag_ranks_as_its_item() {
        let table = IndexTable::default();
        let costs = [210.0, 70.0, 0.0].map(|mean| Cost { mean, ..Cost::default() });
        let indices = Arc::new(Indices::new(table, &[1 << 12; 3], 500.0, &costs));
        let rank = LiveRank { indices, has_price: true };
        let tick = 1 << 28;
        for (interval, idle) in [(0u32, 9_000u32), (4_000, 300), (60_000, 20_000)] {
            for class in [0, 3, 12] {
                let mut stamps = Stamps::new(tick - u64::from(idle + 4 * interval), class);
                for _ in 0..if interval > 0 { 4 } else { 0 } {
                    stamps.hit(u64::from(stamps.last) + u64::from(interval));
                }
                stamps.set_hit_class(if interval > 0 { hit_class(interval, 1 << 12) } else { 0 });
                for tenant in [0, 1] {
                    let meta = stamps.meta(500, tick);
                    let item = rank.rank_in(tenant, 0, &meta, Tick(tick));
                    let mut by_tag = [0.0];
                    rank.rank_tags(tenant, &[Tag::of(stamps)], &[500], Tick(tick), &mut by_tag);
                    let off = by_tag[0] / item;
                    assert!((0.5..2.0).contains(&off), "{interval} {idle} {class}: {off}");
                }
            }
        }
        let meta = Stamps::aged(tick, 5_000, 0, 0).meta(500, tick);
        let [dear, cheap, untimed] =
            [0, 1, 2].map(|tenant| rank.rank_in(tenant, 0, &meta, Tick(tick)));
        assert!((dear / cheap - 3.0).abs() < 1e-3, "each has its own mean");
        assert!((untimed / cheap - 2.0).abs() < 1e-3, "or that of all");
        let mut costs = costs;
        (costs[1].factor, costs[1].by_class[3]) = (3.0, 50.0);
        let again = LiveRank { indices: Arc::new(rank.indices.with_costs(&costs)), ..rank };
        assert!((again.rank_in(1, 0, &meta, Tick(tick)) / dear - 1.0).abs() < 1e-3);
        let meta = Stamps::aged(tick, 5_000, 3, 0).meta(500, tick);
        let of_class = again.rank_in(1, 0, &meta, Tick(tick));
        assert!((of_class / cheap - 150.0 / 70.0).abs() < 1e-3, "the measured mean of a class");
    }
}
