//! A stock memcached as the pilot's plant: what was told of it and what was watched in bursts; and
//! the pages that its classes are to have.
//!
//! ```text
//!   the server   ──burst──────────pause──────────────burst──────────pause────────▶
//!   the plant    ──burst──burst──▶        its clock and its counts stand still in a pause
//! ```
//!
//! A model tells the time by requests. Were those of a pause counted, each reuse within a burst
//! would look as far apart as it is and each across a pause as if nothing had come between, or the
//! other way round. So the plant shows bursts as if one followed the other: a load in which
//! requests do not depend on each other looks the same with parts cut out of it. Pages, free chunks
//! and evictions are as they are.
//!
//! memcached does not say of which class a miss is: it has none before the item is written. A
//! watched miss is of the class of the write that fills it; where nobody watches, the misses are
//! divided as the writes are.

use super::counts::Transfer;
use super::told::{Class, PAGE, Told};
use base::{Bytes, Filter, Micros, Sample};
use policy::rank::Victims;
use std::collections::{BTreeMap, HashMap, HashSet};
use tune::{Part, Plant, Reading, Step, TenantReading};

/// Weight of a look at what victims are worth against those before.
const WORTH_WEIGHT: f64 = 0.3;

/// What was heard in a burst.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Of the sampled keys, on the plant's clock.
    pub(super) samples: Vec<Sample>,
    /// Misses that were filled, by the class of what filled them.
    pub(super) filled: HashMap<u8, u64>,
    /// Lines that came.
    pub(super) lines: u64,
    /// Lines that the server says it left out.
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
    told: Told,
    now: Micros,
    counts: BTreeMap<u8, Counts>,
    victims: HashMap<u8, Victims>,
    samples: Vec<Sample>,
    dropped: u64,
    filter: Filter,
    /// Pages that classes are to have.
    wanted: Vec<(u8, f64)>,
    /// Classes that needed more room lately.
    pub(super) hungry: HashSet<u8>,
}

impl ClassPlant {
    pub(super) fn new(told: Told) -> Self {
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

    pub(super) const fn told(&self) -> &Told {
        &self.told
    }

    /// The keys to sample.
    pub(super) const fn filter(&self) -> Filter {
        self.filter
    }

    /// Pages that classes are to have; nothing while a class that wants one can just take it.
    pub(super) fn wanted(&self) -> &[(u8, f64)] {
        if self.told.is_full() { &self.wanted } else { &[] }
    }

    /// Pages are to go from class to class, beside the plan: it is what they have, but for those.
    pub(super) fn shift(&mut self, transfer: &Transfer) {
        let pages = transfer.pages as f64;
        let change = |class: &Class| match class.number {
            number if number == transfer.from => -pages,
            number if number == transfer.to => pages,
            _ => 0.0,
        };
        let wanted = |class: &Class| (class.number, class.pages as f64 + change(class));
        self.wanted = self.told.classes.iter().map(wanted).collect();
    }

    /// What an item of each class takes.
    pub(super) fn shares(&self) -> HashMap<u8, u32> {
        self.told.classes.iter().map(|class| (class.number, class.share as u32)).collect()
    }

    /// Takes in a stretch of time: what was told when it began and when it ended, and what was
    /// heard if anybody listened.
    pub(super) fn take(&mut self, length: Micros, from: &Told, to: Told, heard: Option<Heard>) {
        let none = Class::default();
        let missed = to.misses.saturating_sub(from.misses);
        let change = |class: &Class| {
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

    /// Takes note of what is told between bursts.
    pub(super) fn note(&mut self, told: Told) {
        self.told = told;
    }
}

impl Plant for ClassPlant {
    fn read(&mut self) -> Reading {
        let told = &self.told;
        let counts = |class: &Class| self.counts.get(&class.number).copied().unwrap_or_default();
        let part = |class: &Class| {
            let Counts { gets, misses, sets } = counts(class);
            let used = Bytes(class.pages * PAGE);
            Part { class: class.number, used, gets, misses, sets, penalty: None }
        };
        let classes: Vec<_> = told.classes.iter().map(part).collect();
        let requests_per_s = (told.hits + told.misses) / told.uptime_s.max(1);
        let slab = |class: &Class| tune::SlabClass {
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
        // The class of a key is not known before it is sampled: the widest filter is for all.
        let filters = step.pools.iter().map(|pool| pool.filter);
        self.filter = filters.max_by_key(|filter| filter.threshold()).unwrap_or(Filter::NONE);
    }
}
