//! The rank in the live store: the same indices, looked up by what an item keeps anyway.
//!
//! Candidates are drawn by their [tags](Tag), which have three bits for a class. In these the store
//! keeps how far the hits lie apart relative to the number of items
//! ([`hit_class`](crate::rank::lhd::hit_class)), two octaves a class. So tags rank by the mean of
//! two octaves, those never hit by their size too, and those that come out lowest are looked at and
//! ranked by their stamps.
//!
//! A penalty is known by its class, and the price is what the next fetch of such a key is to cost
//! ([`Learner::expected`](super::Learner::expected)). Of an item of which no fetch was timed it is
//! the tenant's mean.

use super::class::{BORN_STEP, OCTAVES, PARTS, bucket, class_of, interval_class, size_class};
use super::learner::PENALTIES;
use super::newcomer::LARGE;
use super::table::{Table, app};
use crate::rank::lhd::octaves;
use crate::rank::{Learnt, Lessons, Meta, Rank, Tag};
use base::{TenantId, Tick, penalty};
use std::sync::Arc;

/// Classes that fit into a tag.
const KEPT: usize = 8;
/// Rows by tag: what was never hit by its size, then the other classes.
const ROWS: usize = PARTS + KEPT - 1;
/// The part of an octave of hits that no item is of, whose row is that of the octave.
const WHOLE: u8 = ((PARTS - 1) * OCTAVES) as u8;

/// What a miss of a tenant costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// In the mean, in microseconds; 0 where no fetch was timed.
    pub mean: f32,
    /// By class of the last fetch, in microseconds; 0 where there was none of it.
    pub by_class: [f32; PENALTIES],
    /// How much its waiting counts.
    pub factor: f32,
}

impl Default for Cost {
    /// Of a tenant of which nothing is known.
    fn default() -> Self {
        Self { mean: 0.0, by_class: [0.0; PENALTIES], factor: 1.0 }
    }
}

/// What is known of one moment: indices, and prices.
#[derive(Debug)]
pub struct Indices {
    table: Table,
    /// By tenant, row of a tag and bucket of ages.
    by_tag: Box<[f32]>,
    /// The mean size of an item.
    mean_size: f32,
    /// By tenant and class of penalties, in microseconds.
    prices: Box<[[f32; PENALTIES]]>,
}

impl Indices {
    /// A table with the classes of tags, where a shard holds so many items of each tenant, of such
    /// a mean size, and with what a miss costs by tenant.
    pub fn new(table: Table, objects: &[usize], mean_size: f32, costs: &[Cost]) -> Self {
        let all: usize = objects.iter().sum();
        let mut by_tag = Vec::with_capacity(table.len() * ROWS * table.ages());
        for tenant in 0..table.len() {
            // Hits of a tag lie apart relative to the items of its tenant.
            let own = objects.get(tenant).copied().unwrap_or(all);
            for row in 0..ROWS {
                let [one, other] = classes_of_row(row, own);
                let index = |class, age| table.at(tenant, class, age);
                let mean = |age| f32::midpoint(index(one, age), index(other, age));
                by_tag.extend((0..table.ages()).map(mean));
            }
        }
        Self { by_tag: by_tag.into(), prices: prices(costs), mean_size, table }
    }

    /// The same indices, where misses cost something else.
    #[must_use]
    pub fn with_costs(&self, costs: &[Cost]) -> Self {
        let (table, by_tag) = (self.table.clone(), self.by_tag.clone());
        Self { table, by_tag, prices: prices(costs), mean_size: self.mean_size }
    }

    /// The mean size of an item.
    pub const fn mean_size(&self) -> f32 {
        self.mean_size
    }

    /// Bytes that it takes.
    pub const fn bytes(&self) -> usize {
        self.table.bytes() + size_of_val(&*self.by_tag) + size_of_val(&*self.prices)
    }

    /// By class of penalties, of a tenant.
    #[inline]
    fn prices(&self, tenant: TenantId) -> &[f32; PENALTIES] {
        &self.prices[(tenant as usize).min(self.prices.len() - 1)]
    }
}

/// By tenant and class of penalties. A tenant of which no fetch was timed has the mean of the
/// others.
fn prices(costs: &[Cost]) -> Box<[[f32; PENALTIES]]> {
    let timed = || costs.iter().map(|cost| cost.mean).filter(|mean| *mean > 0.0);
    let usual = timed().sum::<f32>().max(1.0) / timed().count().max(1) as f32;
    let known = |known: f32, otherwise: f32| if known > 0.0 { known } else { otherwise };
    let of = |cost: &Cost| {
        let of_class = |class: usize| match class {
            0 => known(cost.mean, usual),
            _ => known(cost.by_class[class], penalty::of_class(class as u8).as_f64() as f32),
        };
        std::array::from_fn(|class| cost.factor * of_class(class))
    };
    if costs.is_empty() { [of(&Cost::default())].into() } else { costs.iter().map(of).collect() }
}

/// The classes of a row of tags.
fn classes_of_row(row: usize, objects: usize) -> [u8; 2] {
    match row.checked_sub(PARTS - 1) {
        Some(class @ 1..) => {
            octaves(class as u8, objects).map(|octave| WHOLE + (1 + octave).min(31))
        }
        _ => [class_of(0, 0, row as u8); 2],
    }
}

/// Price times index by byte, of one moment.
#[derive(Clone, Debug)]
pub struct Gittins {
    indices: Arc<Indices>,
    has_price: bool,
}

impl Gittins {
    /// Before anything is known; whether waiting counts, or hits.
    pub fn unlearnt(has_price: bool) -> Self {
        let indices = Indices::new(Table::default(), &[1 << 12], 0.0, &[]);
        Self { indices: Arc::new(indices), has_price }
    }
}

impl Rank for Gittins {
    fn rank(&self, item: &Meta, now: Tick) -> f32 {
        self.rank_in(0, 0, item, now)
    }

    #[inline]
    fn rank_in(&self, tenant: TenantId, _: u8, item: &Meta, _: Tick) -> f32 {
        let age = item.age.min(u64::from(u32::MAX)) as u32;
        let in_use = (item.life - item.age.min(item.life)).min(u64::from(u32::MAX)) as u32;
        // In whole steps, as a past has it: within one nobody knows when an item was made.
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
        // Before anything is learnt nobody knows.
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
    use crate::rank::gittins::Past;
    use crate::rank::lhd::hit_class;

    /// Stamps tell the class that a watched key of the same past has.
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

    /// Tags rank about as the stamps they are of, and by price and size alike.
    #[test]
    fn a_tag_ranks_as_its_item() {
        let table = Table::default();
        let costs = [210.0, 70.0, 0.0].map(|mean| Cost { mean, ..Cost::default() });
        let indices = Arc::new(Indices::new(table, &[1 << 12; 3], 500.0, &costs));
        let rank = Gittins { indices, has_price: true };
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
        let again = Gittins { indices: Arc::new(rank.indices.with_costs(&costs)), ..rank };
        assert!((again.rank_in(1, 0, &meta, Tick(tick)) / dear - 1.0).abs() < 1e-3);
        let meta = Stamps::aged(tick, 5_000, 3, 0).meta(500, tick);
        let of_class = again.rank_in(1, 0, &meta, Tick(tick));
        assert!((of_class / cheap - 150.0 / 70.0).abs() < 1e-3, "the measured mean of a class");
    }
}
