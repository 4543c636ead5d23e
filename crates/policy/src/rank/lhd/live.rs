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

use super::model::{AGES, APP_CLASSES, Class, HIT_CLASSES, Model, bucket};
use super::{
    DECAY, EXPLORE_AGE, EXPLORE_ONE_IN, EXPLORE_SHARE, FIRST_LOOK, LOOK_MAX, LOOK_SHARE, PATIENCE,
};
use crate::rank::{Learnt, Lessons, Meta, Rank, Tag};
use base::Tick;
use base::hash::mix;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The largest number of newcomers and hits for one explorer.
const EXPLORE_MOST: f64 = 1e6;

/// Classes by the age at the last hit; their number fits three bits.
const KEPT: usize = 8;

/// The class of an item hit at this age, in a store of `objects` items; 0 stands for items never
/// hit.
#[inline]
pub const fn hit_class(age: u32, objects: usize) -> u8 {
    hit_class_of((age | 1).ilog2(), objects)
}

/// The class for an age in this octave.
#[inline]
pub const fn hit_class_of(octave: u32, objects: usize) -> u8 {
    let reach = (objects | 1).ilog2() + 5;
    let halvings = reach.saturating_sub(octave);
    let class = 1 + halvings / 2;
    if class < KEPT as u32 { class as u8 } else { KEPT as u8 - 1 }
}

/// The octaves of ages of a [`hit_class`] other than 0, the older octave first.
pub(crate) const fn octaves(class: u8, objects: usize) -> [u8; 2] {
    let reach = (objects | 1).ilog2() as u8 + 5;
    let older = reach.saturating_sub(2 * (class - 1));
    [older, older.saturating_sub(1)]
}

/// The number, below `apps`, of the classes that a tenant uses.
#[inline]
const fn app(apps: usize, tenant: u16) -> usize {
    let tenant = tenant as usize;
    // A division would take as long as everything else.
    if tenant < apps { tenant } else { tenant % apps }
}

/// The tenant and the class of the last hit, as one number.
#[inline]
const fn row(apps: usize, tenant: u16, class: u8) -> usize {
    app(apps, tenant) * KEPT + class as usize % KEPT
}

/// Lifetimes that ended since the last take: by class and age, separately for hits and other ends.
#[derive(Debug)]
pub struct Lived {
    apps: usize,
    /// Separate from `ends`: hits come many at a time, and then a cache line with other counts is
    /// no use.
    hits: Box<[AtomicU32]>,
    ends: Box<[AtomicU32]>,
}

impl Lived {
    /// Zero counts; tenants beyond sixteen share classes.
    pub fn new(tenants: usize) -> Self {
        let apps = tenants.clamp(1, APP_CLASSES);
        let none = || (0..apps * KEPT * AGES).map(|_| AtomicU32::new(0)).collect();
        Self { apps, hits: none(), ends: none() }
    }

    /// Bytes that it takes for this number of tenants.
    pub const fn bytes(tenants: usize) -> u64 {
        let apps = if tenants > APP_CLASSES { APP_CLASSES } else { tenants };
        (apps * KEPT * AGES * 2 * size_of::<AtomicU32>()) as u64
    }

    /// Counts a lifetime that ended at this age, in a hit or otherwise.
    #[inline]
    pub fn count(&self, tenant: u16, class: u8, age: u32, hit: bool) {
        let at = row(self.apps, tenant, class) * AGES + bucket(age);
        let count = if hit { &self.hits[at] } else { &self.ends[at] };
        // A thread that counts alone loses no count, and does not pay for an atomic addition.
        count.store(count.load(Relaxed).saturating_add(1), Relaxed);
    }
}

/// Bits of an age's binary fraction that are part of its step, as in the buckets of the model.
const FRACTION: u32 = 5;
/// Steps of a row: all octaves of ages, rounded up to a power of two.
const STEPS: usize = 32 << FRACTION;
/// Ages outside these limits count as the nearest limit.
const AGE_MIN: u32 = 8;
const AGE_MAX: u32 = i32::MAX as u32;
/// Tags ranked side by side.
const SIDE: usize = 16;

/// The step of an age between the two limits: its exponent and the first bits of its fraction, as
/// in a float. A processor computes several at once.
#[inline]
const fn step(age: u32) -> u32 {
    const fn top(age: f32) -> u32 {
        age.to_bits() >> (f32::MANTISSA_DIGITS - 1 - FRACTION)
    }
    top(age as i32 as f32) - top(AGE_MIN as f32)
}

const _: () = assert!(step(AGE_MAX) < STEPS as u32 && step(16) == 1 << FRACTION);

/// The youngest age in a step.
const fn age_of(step: usize) -> u32 {
    let (octave, fraction) = (step >> FRACTION, step as u64 % (1 << FRACTION));
    let age = ((1 << FRACTION) + fraction) * AGE_MIN as u64;
    let age = (age << octave) >> FRACTION;
    if age < AGE_MAX as u64 { age as u32 } else { AGE_MAX }
}

/// The hit densities of a tenant, by class and step.
#[derive(Debug)]
struct Table(Box<[f32; KEPT * STEPS]>);

/// Hit densities as of one moment.
#[derive(Debug)]
pub struct Ranks {
    /// By number of a tenant's classes.
    tables: Box<[Table]>,
    /// An explorer's last use has a hash below this.
    explore_below: u64,
    explorer_age_max: u64,
}

impl Ranks {
    /// Whether an item idle for `age` is an explorer, which is spared whatever its rank.
    #[inline]
    pub fn explores(&self, age: u64, now: Tick) -> bool {
        let last_use = now.0 - age.min(now.0);
        age < self.explorer_age_max && mix(last_use) < self.explore_below
    }

    fn table(&self, tenant: u16) -> &Table {
        &self.tables[app(self.tables.len(), tenant)]
    }
}

/// The place of the density for a class and an age.
#[inline]
const fn place(class: u8, age: u32) -> u32 {
    class as u32 * STEPS as u32 + step(age)
}

impl Table {
    #[inline]
    fn at(&self, place: u32) -> f32 {
        self.0[place as usize % (KEPT * STEPS)]
    }
}

impl Default for Ranks {
    /// The ranks before anything is learnt.
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
        let age = (age as u32).clamp(AGE_MIN, AGE_MAX);
        self.table(tenant).at(place(class, age)) / item.size.max(1) as f32
    }

    fn rank_tags(
        &self,
        tenant: u16,
        tags: &[Tag],
        sizes: &[u32],
        now: Tick,
        into: &mut [f32],
    ) -> bool {
        let table = self.table(tenant);
        let place = |tag: Tag| place(tag.hit_class(), tag.age(now.0));
        let score = |tag: Tag, place: u32| {
            if tag.is_item() { table.at(place) } else { f32::INFINITY }
        };
        let (lines, rest) = tags.as_chunks::<SIDE>();
        let (mut line_by_line, scored) = (into.iter_mut(), tags.len());
        for line in lines {
            // All places first: a processor computes several at once.
            let places = line.map(place);
            for ((&tag, place), into) in line.iter().zip(places).zip(&mut line_by_line) {
                *into = score(tag, place);
            }
        }
        for (&tag, into) in rest.iter().zip(line_by_line) {
            *into = score(tag, place(tag));
        }
        let into = &mut into[..scored];
        if let [size] = sizes {
            let by_byte = 1.0 / (*size).max(1) as f32;
            for score in into {
                *score *= by_byte;
            }
        } else {
            for (score, &size) in into.iter_mut().zip(sizes) {
                *score /= size.max(1) as f32;
            }
        }
        true
    }

    fn learns(&self) -> Option<Lessons> {
        Some(Lessons::Lifetimes)
    }

    fn renewed(&self, learnt: &Learnt) -> Option<Arc<dyn Rank>> {
        learnt.lifetimes.clone().map(|ranks| ranks as _)
    }
}

/// The model learnt from all shards, and the time of the next look.
#[derive(Debug)]
pub struct Learner {
    model: Model,
    apps: usize,
    look_at: u64,
    explore_one_in: f64,
}

impl Learner {
    /// A learner without knowledge.
    pub fn new(tenants: usize) -> Self {
        let apps = tenants.clamp(1, APP_CLASSES);
        Self {
            model: Model::new(apps),
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
            Table(all.try_into().expect("all places"))
        };
        let explorer_age_max = u64::from(EXPLORE_AGE).saturating_mul(objects as u64);
        let explore_below = (u64::MAX as f64 / self.explore_one_in) as u64;
        let tables = (0..self.apps).map(table).collect();
        Ranks { tables, explore_below, explorer_age_max }
    }
}

/// The model's class for a row.
const fn class_of(row: usize) -> Class {
    (row / KEPT * HIT_CLASSES + row % KEPT) as Class
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Micros;

    #[test]
    fn steps_are_the_buckets_of_the_model() {
        for age in (8..5_000).chain([1 << 20, (1 << 28) - 1, 1 << 30, AGE_MAX]) {
            let first = age_of(step(age) as usize);
            // A float of many bits may round up.
            assert!(first <= age.saturating_add(age >> 24), "{age} {first}");
            assert!(age.saturating_sub(first) <= age >> FRACTION, "{age} {first}");
            let is_exact = (64..1 << 24).contains(&age);
            assert!(!is_exact || bucket(first) == bucket(age), "{age} {first}");
        }
    }

    /// Quick hits give high classes, for any number of items.
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
