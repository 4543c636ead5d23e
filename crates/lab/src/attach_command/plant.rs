//! A stock memcached as the pilot's plant: its statistics, the requests watched in bursts, and the
//! pages that its classes should hold.
//!
//! ```text
//!   the server   ──burst──────────pause──────────────burst──────────pause────────▶
//!   the plant    ──burst──burst──▶        its clock and its counts stand still in a pause
//! ```
//!
//! A model measures time in requests. If the plant counted the requests of a pause, reuses within a
//! burst and reuses across a pause could not both look as far apart as they are. So the plant shows
//! bursts as if one followed the other: a load of independent requests looks the same with parts
//! cut out of it. Pages, free chunks and evictions are shown as they are.
//!
//! memcached does not count misses by class: a key has no class before its item is written. A
//! watched miss belongs to the class of the write that fills it. Without watching, the misses are
//! divided like the writes.

use super::counts::Transfer;
use super::told::{ClassStats, MemcachedStats, PAGE};
use base::{Bytes, Filter, Micros, Sample};
use policy::rank::Victims;
use std::collections::{BTreeMap, HashMap, HashSet};
use tune::{Part, Plant, Reading, Step, TenantReading};

/// Weight of the latest look in the mean worth of victims.
const WORTH_WEIGHT: f64 = 0.3;

/// Samples and counts of one burst.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Requests of the sampled keys, on the plant's clock.
    pub(super) samples: Vec<Sample>,
    /// Misses that were filled, by the class of the write that filled them.
    pub(super) filled: HashMap<u8, u64>,
    /// Lines that arrived.
    pub(super) lines: u64,
    /// Lines that the server reports as left out.
    pub(super) skipped: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    gets: u64,
    misses: u64,
    sets: u64,
}

/// The server, as the pilot sees and sets it.
#[derive(Debug)]
pub(super) struct ClassPlant {
    told: MemcachedStats,
    now: Micros,
    counts: BTreeMap<u8, Counts>,
    victims: HashMap<u8, Victims>,
    samples: Vec<Sample>,
    dropped: u64,
    filter: Filter,
    /// Pages that each class should hold.
    wanted: Vec<(u8, f64)>,
    /// Classes that evicted items lately.
    pub(super) hungry: HashSet<u8>,
}

impl ClassPlant {
    pub(super) fn new(told: MemcachedStats) -> Self {
        Self {
            told,
            now: Micros(0),
            counts: BTreeMap::new(),
            victims: HashMap::new(),
            samples: vec![],
            dropped: 0,
            filter: Filter::NONE,
            wanted: vec![],
            hungry: HashSet::new(),
        }
    }

    pub(super) const fn now(&self) -> Micros {
        self.now
    }

    pub(super) const fn told(&self) -> &MemcachedStats {
        &self.told
    }

    /// The keys to sample.
    pub(super) const fn filter(&self) -> Filter {
        self.filter
    }

    /// Pages that each class should hold. Empty until memory is full: a class can then take a new
    /// page.
    pub(super) fn wanted(&self) -> &[(u8, f64)] {
        if self.told.is_full() { &self.wanted } else { &[] }
    }

    /// Orders a transfer outside the plan: the wanted pages become the present ones, changed by the
    /// transfer.
    pub(super) fn shift(&mut self, transfer: &Transfer) {
        let pages = transfer.pages as f64;
        let change = |class: &ClassStats| match class.number {
            number if number == transfer.from => -pages,
            number if number == transfer.to => pages,
            _ => 0.0,
        };
        let wanted = |class: &ClassStats| (class.number, class.pages as f64 + change(class));
        self.wanted = self.told.classes.iter().map(wanted).collect();
    }

    /// Bytes that an item takes of its page, by class.
    pub(super) fn shares(&self) -> HashMap<u8, u32> {
        self.told.classes.iter().map(|class| (class.number, class.share as u32)).collect()
    }

    /// Takes in a stretch of time: the server's figures at its start and its end, and the burst if
    /// there was one.
    pub(super) fn take(
        &mut self,
        length: Micros,
        from: &MemcachedStats,
        to: MemcachedStats,
        heard: Option<Heard>,
    ) {
        let none = ClassStats::default();
        let missed = to.misses.saturating_sub(from.misses);
        let change = |class: &ClassStats| {
            let before = from.class(class.number).unwrap_or(&none);
            (class.hits.saturating_sub(before.hits), class.sets.saturating_sub(before.sets))
        };
        let sets: u64 = to.classes.iter().map(|class| change(class).1).sum();
        let requests = to.hits + to.misses - (from.hits + from.misses).min(to.hits + to.misses);
        for class in &to.classes {
            let (hits, written) = change(class);
            let misses = match &heard {
                Some(heard) => heard.filled.get(&class.number).copied().unwrap_or_default(),
                None => written * missed.min(sets) / sets.max(1),
            };
            let counts = self.counts.entry(class.number).or_default();
            counts.gets += hits + misses;
            counts.misses += misses;
            counts.sets += written;
            let before = from.class(class.number).unwrap_or(&none);
            let worth = self.victims.entry(class.number).or_default();
            worth.count = class.evicted + class.cold;
            let hits = class.cold_hits.saturating_sub(before.cold_hits) as f64;
            let time = (class.cold.max(1) * class.share.max(1)) as f64 * requests.max(1) as f64;
            worth.density += WORTH_WEIGHT * (hits / time - worth.density);
        }
        self.now += length;
        self.dropped += to.dropped.saturating_sub(from.dropped);
        self.told = to;
        self.samples.extend(heard.into_iter().flat_map(|heard| heard.samples));
    }

    /// Keeps the server's latest figures between bursts.
    pub(super) fn note(&mut self, told: MemcachedStats) {
        self.told = told;
    }
}

impl Plant for ClassPlant {
    fn read(&mut self) -> Reading {
        let told = &self.told;
        let counts =
            |class: &ClassStats| self.counts.get(&class.number).copied().unwrap_or_default();
        let part = |class: &ClassStats| {
            let Counts { gets, misses, sets } = counts(class);
            let used = Bytes(class.pages * PAGE);
            Part { class: class.number, used, gets, misses, sets, penalty: None }
        };
        let classes: Vec<_> = told.classes.iter().map(part).collect();
        let requests_per_s = (told.hits + told.misses) / told.uptime_s.max(1);
        let slab = |class: &ClassStats| tune::SlabClass {
            tail_age: class.age_s * requests_per_s.max(1),
            victims: self.victims.get(&class.number).copied().unwrap_or_default(),
            ..class.shown()
        };
        let held = told.held();
        // A class may hold a first page beyond the limit.
        let pages = if told.is_full() { held } else { (told.limit / PAGE).max(held) };
        Reading {
            now: self.now,
            limit: Bytes(pages * PAGE),
            slabs: told.classes.iter().map(slab).collect(),
            tenants: vec![TenantReading {
                name: "class".to_owned(),
                used: Bytes(held * PAGE),
                items: told.items,
                gets: classes.iter().map(|part| part.gets).sum(),
                misses: classes.iter().map(|part| part.misses).sum(),
                sets: classes.iter().map(|part| part.sets).sum(),
                weight: 1.0,
                classes,
                ..TenantReading::default()
            }],
            samples: std::mem::take(&mut self.samples),
            dropped: self.dropped,
            ..Reading::default()
        }
    }

    fn apply(&mut self, step: &Step) {
        let pages = |pool: &tune::PoolStep| Some((pool.class?, pool.budget.as_f64() / PAGE as f64));
        self.wanted = step.pools.iter().filter_map(pages).collect();
        // The class of a key is unknown before it is sampled, so the widest filter applies to all
        // keys.
        let filters = step.pools.iter().map(|pool| pool.filter);
        self.filter = filters.max_by_key(|filter| filter.threshold()).unwrap_or(Filter::NONE);
    }
}
