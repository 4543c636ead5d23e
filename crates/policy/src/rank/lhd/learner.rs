//! LHD over a store with many threads: separate counting, learning and ranking.
//!
//! ```text
//!   threads: Lived ──┐ taken, now and then             swapped whole
//!   threads: Lived ──┼────────────────▶ Learner ─▶ Ranks ───────────▶ every eviction
//!   threads: Lived ──┘                  (Model)
//! ```
//!
//! Few threads share one set of counters, mostly one thread. A background thread takes the counts,
//! learns, and publishes a table that never changes. The counters are approximate: when two threads
//! count at once, one count may be lost. The store keeps three bits an item: the class of the age
//! at its last hit, relative to the number of items. Each class spans a factor of four. (This is
//! the paper's class; its code, and the simulator here, add the age at the hit before.)
//!
//! Whether an item is an explorer is not stored. It follows from the time of its last use: one time
//! in N makes an explorer. Each look sets N so that explorers hold their share of the bytes: where
//! most items are never hit, explorers pile up, as nothing evicts them. A larger N turns some
//! explorers back into ordinary items, and makes no item an explorer.

use super::hit_class::{KEPT, class_of, row};
use super::lived::Lived;
use super::model::{AGES, APP_CLASSES, DensityModel, HIT_CLASSES, bucket};
use super::pace::{
    DECAY, EXPLORE_AGE, EXPLORE_ONE_IN, EXPLORE_SHARE, FIRST_LOOK, LOOK_MAX, LOOK_SHARE, PATIENCE,
};
use super::ranks::{DensityTable, Ranks, STEPS, age_of};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The largest number of newcomers and hits for one explorer.
const EXPLORE_MOST: f64 = 1e6;

/// The model learnt from all shards, and the time of the next look.
#[derive(Debug)]
pub struct Learner {
    model: DensityModel,
    apps: usize,
    look_at: u64,
    explore_one_in: f64,
}

impl Learner {
    /// A learner without knowledge.
    pub fn new(tenants: usize) -> Self {
        let apps = tenants.clamp(1, APP_CLASSES);
        Self {
            model: DensityModel::new(apps),
            apps,
            look_at: FIRST_LOOK,
            explore_one_in: EXPLORE_SHARE as f64,
        }
    }

    /// Whether a look may be due after `requests` requests.
    pub const fn is_time(&self, requests: u64) -> bool {
        requests >= self.look_at
    }

    /// Whether a look is due, after these requests and evictions, with `objects` items in the
    /// store.
    pub const fn is_due(&self, requests: u64, evictions: u64, objects: u64) -> bool {
        let turned_over = 4 * evictions >= 3 * objects || requests >= PATIENCE * objects;
        self.is_time(requests) && turned_over
    }

    /// Bytes that it and its ranks take for this number of tenants.
    pub const fn bytes(tenants: usize) -> u64 {
        let apps = if tenants > APP_CLASSES { APP_CLASSES } else { tenants };
        // Counts and densities, and two tables of ranks while one replaces the other.
        let table = size_of::<[f32; KEPT * STEPS]>();
        (apps * (3 * HIT_CLASSES * AGES * size_of::<f32>() + 2 * table)) as u64
    }

    /// Takes the counts and sets them to zero.
    pub fn take(&mut self, lived: &Lived) {
        for (at, (hits, ends)) in lived.hits.iter().zip(&lived.ends).enumerate() {
            let take = |count: &AtomicU32| match count.load(Relaxed) {
                0 => 0,
                _ => count.swap(0, Relaxed),
            };
            let (hits, ends) = (take(hits), take(ends));
            if hits > 0 || ends > 0 {
                self.model.add(class_of(at / AGES), at % AGES, hits as f32, ends as f32);
            }
        }
    }

    /// Computes the ranks anew at this number of requests. `lasting` are lifetimes that still last:
    /// tenant, class, age, and the number of items that each stands for. `objects` are the items of
    /// a shard, and `explorers` is their share of the bytes.
    pub fn learn(
        &mut self,
        requests: u64,
        lasting: &[(u16, u8, u32, f32)],
        objects: usize,
        explorers: f64,
    ) -> Ranks {
        // At most halves the interval when explorers are too few: new ones take long to appear.
        let off = (explorers * EXPLORE_SHARE as f64).max(0.5);
        let most = self.explore_one_in * off;
        self.explore_one_in = most.clamp(EXPLORE_ONE_IN as f64, EXPLORE_MOST);
        let apps = self.apps;
        let lasting = lasting
            .iter()
            .map(|&(tenant, class, age, weight)| (class_of(row(apps, tenant, class)), age, weight));
        self.model.learn(DECAY, objects, lasting);
        self.look_at = requests + (requests / LOOK_SHARE).clamp(FIRST_LOOK / 4, LOOK_MAX);
        self.ranks(objects)
    }

    fn ranks(&self, objects: usize) -> Ranks {
        let table = |app: usize| {
            let of_place = |at| {
                let class = class_of(app * KEPT + at / STEPS);
                self.model.density(class, bucket(age_of(at % STEPS)))
            };
            let all: Box<[f32]> = (0..KEPT * STEPS).map(of_place).collect();
            DensityTable(all.try_into().expect("all places"))
        };
        let explorer_age_max = u64::from(EXPLORE_AGE).saturating_mul(objects as u64);
        let explore_below = (u64::MAX as f64 / self.explore_one_in) as u64;
        let tables = (0..self.apps).map(table).collect();
        Ranks { tables, explore_below, explorer_age_max }
    }
}

impl Default for Ranks {
    /// The ranks before anything is learnt.
    fn default() -> Self {
        Learner::new(1).ranks(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rank;
    use crate::rank::Meta;
    use base::{Micros, Tick};

    /// Tenant 1 is hit at age 100 every time, tenant 0 never. The learner distinguishes tenants and
    /// ages, and counts each lifetime once.
    #[test]
    fn what_is_counted_is_learnt() {
        let lived = Lived::new(2);
        for _ in 0..1_000 {
            lived.count(1, 0, 100, true);
            lived.count(0, 0, 100, false);
        }
        let mut learner = Learner::new(2);
        assert!(!learner.is_due(FIRST_LOOK, 0, 1 << 20) && learner.is_due(FIRST_LOOK, 10, 10));
        learner.take(&lived);
        let mut all = lived.hits.iter().chain(&lived.ends);
        assert!(all.all(|count| count.load(Relaxed) == 0), "it begins anew");
        let ranks = learner.learn(FIRST_LOOK, &[], 10, 0.01);
        assert!(!learner.is_due(FIRST_LOOK, 10, 10));
        let meta = |age| Meta { age, life: age, hits: 0, size: 10, penalty: Micros(0) };
        // No tick makes an explorer here: the age is beyond the limit for explorers.
        let rank = |tenant, age| ranks.rank_in(tenant, 0, &meta(age), Tick(1 << 20));
        assert!(rank(1, 99) > 5.0 * rank(0, 99), "{} {}", rank(1, 99), rank(0, 99));
        assert!(rank(1, 99) > rank(1, 5), "near its hit it is worth more");
        let explorers = (0..10_000).filter(|&now| {
            ranks.rank_in(0, 0, &Meta { age: 3, ..meta(3) }, Tick(1000 + now)) == f32::INFINITY
        });
        assert!((50..200).contains(&explorers.count()), "one in a hundred");
    }

    /// In a scan nothing is hit, and explorers stay longest. Limited to their share they are few.
    #[test]
    fn explorers_hold_their_share_of_the_bytes() {
        let held = |bounded: bool| {
            let (mut learner, mut ranks) = (Learner::new(1), Ranks::default());
            let mut items: Vec<u64> = vec![];
            let share = |items: &[u64], ranks: &Ranks, now: u64| {
                let explorers = items.iter().filter(|&&item| ranks.explores(now - item, Tick(now)));
                explorers.count() as f64 / items.len() as f64
            };
            for now in 1..200_000u64 {
                items.push(now);
                if items.len() > 2_000 {
                    // The oldest item that is no explorer is evicted.
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
