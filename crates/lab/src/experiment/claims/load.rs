//! Generated loads for claims: tenants with their keys, rates and changes over time.
//!
//! A load is a function of its seed and the time, so it can be run again to any moment. Each
//! request is drawn when it is due, and none is stored.

use crate::plant::{Bounds, Reported};
use base::{Access, Bytes, Micros, Op, Prng, TenantId};
use tune::Recipe;

/// How a tenant chooses its keys.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pattern {
    /// Independent draws, with popularity by Zipf's law of this exponent.
    Zipf(f64),
    /// All keys, one after the other, and again.
    Loop,
}

/// A tenant's requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asks {
    pub(super) name: &'static str,
    pub(super) reads_per_s: f64,
    pub(super) keys: u64,
    pub(super) pattern: Pattern,
    /// Range of the bytes of an item.
    pub(super) size: (u64, u64),
    pub(super) penalty_us: u64,
    /// Time to live in seconds; 0 for no limit.
    pub(super) ttl_s: u64,
    /// Share of the reads that request a key that is never written.
    pub(super) never: f64,
    /// Share of the other reads that are followed by a removal of a random key.
    pub(super) removes: f64,
}

/// A plain tenant, from which the others are derived.
pub(super) const PLAIN: Asks = Asks {
    name: "web",
    reads_per_s: 500.0,
    keys: 10_000,
    pattern: Pattern::Zipf(0.9),
    size: (200, 1_500),
    penalty_us: 2_000,
    ttl_s: 0,
    never: 0.0,
    removes: 0.0,
};

/// A load, with the memory that it runs in.
#[derive(Clone, Debug)]
pub(super) struct Traffic {
    pub(super) name: &'static str,
    /// The recipe in force.
    pub(super) recipe: &'static str,
    pub(super) memory: Bytes,
    /// The share of the bytes of values that does not shrink; `None` where nobody samples them.
    pub(super) dense: Option<f64>,
    /// Requests of tenants, each with the second at which they begin. Later requests of a tenant
    /// replace its earlier ones.
    pub(super) asks: Vec<(u64, Asks)>,
}

/// One request, and whether its key is never written.
pub(super) type Request = (Access, bool);

impl Traffic {
    /// An empty store for this load.
    pub(super) fn store(&self, recipe: Recipe, seed: u64) -> Reported {
        let store = Reported::new(recipe, self.memory, &self.tenants(), seed);
        match self.dense {
            Some(dense) => store.with_values(dense),
            None => store,
        }
    }

    /// The tenants, in the order of their numbers.
    pub(super) fn tenants(&self) -> Vec<Bounds> {
        let mut names: Vec<&str> = vec![];
        for (_, asks) in &self.asks {
            if !names.contains(&asks.name) {
                names.push(asks.name);
            }
        }
        names.into_iter().map(Bounds::none).collect()
    }

    /// Whether no tenant changes its requests from this second on.
    pub(super) fn is_steady_from(&self, second: u64) -> bool {
        self.asks.iter().all(|(from, _)| *from <= second)
    }

    /// All requests of the first `seconds` seconds.
    pub(super) fn requests(&self, seconds: u64, seed: u64) -> impl Iterator<Item = Request> + '_ {
        let tenants = self.tenants();
        let mut prng = Prng::new(seed);
        let mut drawn: Vec<Drawn> = vec![];
        (0..seconds).flat_map(move |second| {
            for (from, asks) in &self.asks {
                if *from == second {
                    let at = tenants.iter().position(|tenant| tenant.name == asks.name);
                    let at = at.unwrap_or_default();
                    drawn.retain(|one| one.tenant != at as TenantId);
                    drawn.push(Drawn::new(at as TenantId, *asks));
                }
            }
            second_of(&mut drawn, second, &mut prng)
        })
    }
}

/// A tenant whose requests are being drawn.
#[derive(Debug)]
struct Drawn {
    tenant: TenantId,
    asks: Asks,
    /// Cumulative popularity of the keys.
    sums: Vec<f64>,
    next: u64,
}

impl Drawn {
    fn new(tenant: TenantId, asks: Asks) -> Self {
        let mut sum = 0.0;
        let weight = |key: u64| match asks.pattern {
            Pattern::Zipf(skew) => ((key + 1) as f64).powf(-skew),
            Pattern::Loop => 1.0,
        };
        let sums = (0..asks.keys).map(|key| {
            sum += weight(key);
            sum
        });
        Self { tenant, asks, sums: sums.collect(), next: 0 }
    }

    fn key(&mut self, prng: &mut Prng) -> u64 {
        if matches!(self.asks.pattern, Pattern::Loop) {
            self.next = (self.next + 1) % self.asks.keys;
            return self.next;
        }
        let at = prng.unit() * self.sums.last().copied().unwrap_or_default();
        self.sums.partition_point(|sum| *sum < at) as u64
    }

    fn request(&mut self, time: Micros, prng: &mut Prng) -> Vec<Request> {
        let Asks { size: (least, most), penalty_us, ttl_s, never, removes, .. } = self.asks;
        let tenant = u64::from(self.tenant) << 40;
        let number = |key: u64| base::hash::mix(key ^ tenant);
        let mut access = Access { time, tenant: self.tenant, ..Access::get(0, 0) };
        access.penalty = Micros(penalty_us);
        access.ttl = Micros::from_secs(ttl_s);
        let mut all = vec![];
        if prng.unit() < never {
            let key = base::hash::mix(prng.next_u64());
            return vec![(Access { key, ..access }, true)];
        }
        let key = self.key(prng);
        let hash = number(key);
        let bytes = least + base::hash::mix(hash) % (most - least).max(1);
        all.push((Access { key: hash, size: base::Size::of(bytes), ..access }, false));
        if prng.unit() < removes {
            let key = number(prng.below(self.asks.keys));
            all.push((Access { key, op: Op::Delete, ..access }, false));
        }
        all
    }
}

/// The requests of a second, of all tenants in the order of time.
fn second_of(drawn: &mut [Drawn], second: u64, prng: &mut Prng) -> Vec<Request> {
    let mut due: Vec<(u64, usize)> = vec![];
    for (at, one) in drawn.iter().enumerate() {
        let count = one.asks.reads_per_s;
        let whole = count.floor() as u64 + u64::from(prng.unit() < count.fract());
        due.extend((0..whole).map(|_| (prng.below(1_000_000), at)));
    }
    due.sort_unstable();
    let start = Micros::from_secs(second);
    due.into_iter().flat_map(|(us, at)| drawn[at].request(start + Micros(us), prng)).collect()
}
