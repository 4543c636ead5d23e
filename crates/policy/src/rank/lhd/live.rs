//! LHD over a store that many threads use: counting, learning and ranking taken apart.
//!
//! ```text
//!   shard: Lived ──┐ taken, now and then             swapped whole
//!   shard: Lived ──┼────────────────▶ Learner ─▶ Ranks ───────────▶ every eviction
//!   shard: Lived ──┘                  (Model)
//! ```
//!
//! A shard counts under the lock it holds anyway; somebody in the background takes the counts,
//! learns, and hands out a table that nobody changes any more. The store keeps three bits an item:
//! the class of the age at its last hit, relative to the number of items, each class a factor of
//! four (the paper's class; its code, and the simulator here, add the age at the hit before).
//!
//! Whether an item is an explorer is not kept at all: it follows from the time of its last use, of
//! which one in so many makes one. How many is set at each look, so that explorers hold the share
//! of the bytes that they may: where most items are never hit, those that are spared pile up. With
//! fewer explorers some of those there are cease to be, and none of the others becomes one.

use super::model::{AGES, APP_CLASSES, Class, HIT_CLASSES, Model, bucket};
use super::{
    DECAY, EXPLORE_AGE, EXPLORE_ONE_IN, EXPLORE_SHARE, FIRST_LOOK, LOOK_MAX, LOOK_SHARE, PATIENCE,
};
use crate::rank::{Meta, Rank, Stamps};
use base::Tick;
use base::hash::mix;

/// One explorer in so many newcomers and hits at least.
const EXPLORE_MOST: f64 = 1e6;

/// Classes by the age of the last hit: what fits three bits.
const KEPT: usize = 8;

/// The class of an item that was hit at this age among so many; 0 is for those never hit.
#[inline]
pub const fn hit_class(age: u32, objects: usize) -> u8 {
    let reach = (objects | 1).ilog2() + 5;
    let halvings = reach.saturating_sub((age | 1).ilog2());
    let class = 1 + halvings / 2;
    if class < KEPT as u32 { class as u8 } else { KEPT as u8 - 1 }
}

/// Who asks, and the class of the last hit, as one number.
const fn row(apps: usize, tenant: u16, class: u8) -> usize {
    tenant as usize % apps * KEPT + class as usize % KEPT
}

/// Lifetimes that ended in one shard since they were last taken: by class and age, those that ended
/// in a hit and the others.
#[derive(Debug)]
pub struct Lived {
    apps: usize,
    counts: Box<[[u32; 2]]>,
}

impl Lived {
    /// Nothing counted yet; tenants beyond sixteen share classes.
    pub fn new(tenants: usize) -> Self {
        let apps = tenants.clamp(1, APP_CLASSES);
        Self { apps, counts: vec![[0; 2]; apps * KEPT * AGES].into() }
    }

    /// Bytes that it takes, for so many tenants.
    pub const fn bytes(tenants: usize) -> u64 {
        let apps = if tenants > APP_CLASSES { APP_CLASSES } else { tenants };
        (apps * KEPT * AGES * size_of::<[u32; 2]>()) as u64
    }

    /// A lifetime ended at this age, in a hit or otherwise.
    #[inline]
    pub fn count(&mut self, tenant: u16, class: u8, age: u32, hit: bool) {
        let at = row(self.apps, tenant, class) * AGES + bucket(age);
        let [hits, ends] = &mut self.counts[at];
        let count = if hit { hits } else { ends };
        *count = count.saturating_add(1);
    }
}

/// Hit densities as of one moment.
#[derive(Debug)]
pub struct Ranks {
    apps: usize,
    densities: Box<[f32]>,
    /// What the hash of an explorer's last use is below.
    explore_below: u64,
    explorer_age_max: u64,
}

impl Ranks {
    /// Whether an item that has been idle for so long is spared whatever its rank.
    #[inline]
    pub fn explores(&self, age: u64, now: Tick) -> bool {
        let last_use = now.0 - age.min(now.0);
        age < self.explorer_age_max && mix(last_use) < self.explore_below
    }

    /// The density of a class of a tenant.
    #[inline]
    fn density(&self, row: usize, age: u32, size: u32) -> f32 {
        self.densities[row * AGES + bucket(age)] / size.max(1) as f32
    }
}

impl Default for Ranks {
    /// Before anything is known.
    fn default() -> Self {
        Learner::new(1).ranks(usize::MAX)
    }
}

impl Rank for Ranks {
    fn rank(&self, item: &Meta, now: Tick) -> f32 {
        self.rank_in(0, 0, item, now)
    }

    #[inline]
    fn rank_in(&self, tenant: u16, class: u8, item: &Meta, now: Tick) -> f32 {
        let age = item.age.min(u64::from(u32::MAX));
        if self.explores(age, now) {
            return f32::INFINITY;
        }
        self.density(row(self.apps, tenant, class), age as u32, item.size)
    }

    fn rank_all(
        &self,
        tenant: u16,
        items: &[Stamps],
        size: u32,
        now: Tick,
        into: &mut [f32],
    ) {
        let first = row(self.apps, tenant, 0);
        for (score, stamps) in into.iter_mut().zip(items) {
            let row = first + usize::from(stamps.hit_class()) % KEPT;
            let rank = self.density(row, stamps.age(now.0), size);
            *score = if stamps.is_item() { rank } else { f32::INFINITY };
        }
    }

    fn spares(&self, item: Stamps, now: Tick) -> bool {
        self.explores(item.age(now.0).into(), now)
    }

    fn learns(&self) -> bool {
        true
    }
}

/// What was learnt of all shards, and when to look next.
#[derive(Debug)]
pub struct Learner {
    model: Model,
    apps: usize,
    look_at: u64,
    explore_one_in: f64,
}

impl Learner {
    /// Knows nothing yet.
    pub fn new(tenants: usize) -> Self {
        Self {
            model: Model::new(),
            apps: tenants.clamp(1, APP_CLASSES),
            look_at: FIRST_LOOK,
            explore_one_in: EXPLORE_SHARE as f64,
        }
    }

    /// Whether it is time to look: after so many requests and evictions, among so many items.
    pub const fn is_due(&self, requests: u64, evictions: u64, objects: u64) -> bool {
        let turned_over = 4 * evictions >= 3 * objects || requests >= PATIENCE * objects;
        requests >= self.look_at && turned_over
    }

    /// Takes the counts of a shard, which begins anew.
    pub fn take(&mut self, lived: &mut Lived) {
        for (at, count) in lived.counts.iter_mut().enumerate() {
            if *count != [0; 2] {
                let [hits, ends] = std::mem::take(count);
                self.model.add(class_of(at / AGES), at % AGES, hits as f32, ends as f32);
            }
        }
    }

    /// Computes the ranks anew at this number of requests. `lasting` are lifetimes that still last,
    /// by tenant, class and age, each standing for so many; a shard holds so many items, and
    /// explorers this share of the bytes.
    pub fn learn(
        &mut self,
        requests: u64,
        lasting: &[(u16, u8, u32, f32)],
        objects: usize,
        explorers: f64,
    ) -> Ranks {
        // A half at most when there are too few: they take long to come.
        let off = (explorers * EXPLORE_SHARE as f64).max(0.5);
        let most = self.explore_one_in * off;
        self.explore_one_in = most.clamp(EXPLORE_ONE_IN as f64, EXPLORE_MOST);
        let apps = self.apps;
        let lasting = lasting.iter().map(|&(tenant, class, age, weight)| {
            (class_of(row(apps, tenant, class)), age, weight)
        });
        self.model.learn(DECAY, objects, lasting);
        self.look_at = requests + (requests / LOOK_SHARE).clamp(FIRST_LOOK / 4, LOOK_MAX);
        self.ranks(objects)
    }

    fn ranks(&self, objects: usize) -> Ranks {
        let of_row = |row| (0..AGES).map(move |age| self.model.density(class_of(row), age));
        let densities = (0..self.apps * KEPT).flat_map(of_row).collect();
        let explorer_age_max = u64::from(EXPLORE_AGE).saturating_mul(objects as u64);
        let explore_below = (u64::MAX as f64 / self.explore_one_in) as u64;
        Ranks { apps: self.apps, densities, explore_below, explorer_age_max }
    }
}

/// The model's class of a row.
const fn class_of(row: usize) -> Class {
    (row / KEPT * HIT_CLASSES + row % KEPT) as Class
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Micros;

    /// Quick hits make high classes, whatever the number of items.
    #[test]
    fn classes_are_relative_to_the_number_of_items() {
        for objects in [1_000, 16_000, 256_000] {
            let classes: Vec<_> = [64, 8, 1].map(|n| hit_class(n * objects as u32, objects)).into();
            assert_eq!(classes, [1, 2, 3]);
            assert_eq!(hit_class(1, objects), 7);
            assert!(hit_class(u32::MAX, objects) == 1);
        }
        assert_eq!(hit_class(0, 0), 3);
    }

    /// Tenant 1 is hit at age 100 every time, tenant 0 never: what is learnt is told apart, by who
    /// asks and by age, and counted once.
    #[test]
    fn what_is_counted_is_learnt() {
        let mut lived = Lived::new(2);
        for _ in 0..1_000 {
            lived.count(1, 0, 100, true);
            lived.count(0, 0, 100, false);
        }
        let mut learner = Learner::new(2);
        assert!(!learner.is_due(FIRST_LOOK, 0, 1 << 20) && learner.is_due(FIRST_LOOK, 10, 10));
        learner.take(&mut lived);
        assert!(lived.counts.iter().all(|count| *count == [0; 2]), "it begins anew");
        let ranks = learner.learn(FIRST_LOOK, &[], 10, 0.01);
        assert!(!learner.is_due(FIRST_LOOK, 10, 10));
        let meta = |age| Meta { age, life: age, hits: 0, size: 10, penalty: Micros(0) };
        // No tick is an explorer's here: the age is beyond what explorers are kept for.
        let rank = |tenant, age| ranks.rank_in(tenant, 0, &meta(age), Tick(1 << 20));
        assert!(rank(1, 99) > 5.0 * rank(0, 99), "{} {}", rank(1, 99), rank(0, 99));
        assert!(rank(1, 99) > rank(1, 5), "near its hit it is worth more");
        let explorers = (0..10_000).filter(|&now| {
            ranks.rank_in(0, 0, &Meta { age: 3, ..meta(3) }, Tick(1000 + now)) == f32::INFINITY
        });
        assert!((50..200).contains(&explorers.count()), "one in a hundred");
    }

    /// In a scan nothing is hit, and explorers stay longest: kept to their share they are few.
    #[test]
    fn explorers_hold_their_share_of_the_bytes() {
        let held = |bounded: bool| {
            let (mut learner, mut ranks) = (Learner::new(1), Ranks::default());
            let mut items: Vec<u64> = vec![];
            let share = |items: &[u64], ranks: &Ranks, now: u64| {
                let explorers =
                    items.iter().filter(|&&item| ranks.explores(now - item, Tick(now)));
                explorers.count() as f64 / items.len() as f64
            };
            for now in 1..200_000u64 {
                items.push(now);
                if items.len() > 2_000 {
                    // The oldest that is no explorer goes.
                    let stays = |item: u64| ranks.explores(now - item, Tick(now));
                    let goes = items.iter().position(|&item| !stays(item));
                    items.remove(goes.unwrap_or(0));
                }
                if now % 5_000 == 0 {
                    let explorers = if bounded { share(&items, &ranks, now) } else { 0.01 };
                    ranks = learner.learn(now, &[], items.len(), explorers);
                }
            }
            share(&items, &ranks, 200_000)
        };
        let (bounded, free) = (held(true), held(false));
        assert!(free > 0.3, "unbounded they pile up: {free}");
        assert!((0.003..0.02).contains(&bounded), "{bounded}");
    }
}
