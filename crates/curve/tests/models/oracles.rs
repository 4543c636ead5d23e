//! The oracle of the models: the simulator, and traces to run both on.

use base::hash::mix;
use base::{Access, Bytes, Micros, Op, Prng, Size};
use curve::{Model, Params};
use policy::{Cache, Choice};
use std::collections::{BTreeSet, HashMap};

/// The miss ratio of the simulator, if objects are removed at the instant they expire.
pub(crate) fn simulate(policy: &str, capacity: u64, trace: &[Access]) -> f64 {
    let choice: Choice = policy::parse(policy).unwrap();
    let mut cache = Cache::new(&choice, Bytes(capacity), 7);
    let mut ends: BTreeSet<(Micros, u64)> = BTreeSet::new();
    let mut end_of: HashMap<u64, Micros> = HashMap::new();
    for access in trace {
        while let Some(&(when, key)) = ends.first() {
            if when > access.time {
                break;
            }
            ends.pop_first();
            if end_of.get(&key) == Some(&when) {
                end_of.remove(&key);
                cache.access(&Access { time: access.time, ..Access::delete(key) });
            }
        }
        match access.op {
            Op::Delete => {
                end_of.remove(&access.key);
            }
            op => {
                if op == Op::Set || !end_of.contains_key(&access.key) {
                    let when = match access.ttl {
                        Micros(0) => Micros(u64::MAX),
                        ttl => access.time + ttl,
                    };
                    end_of.insert(access.key, when);
                    ends.insert((when, access.key));
                }
            }
        }
        cache.access(&Access { ttl: Micros(0), ..*access });
    }
    cache.stats().miss_ratio()
}

/// The parameters of a random trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mix {
    pub(crate) requests: u64,
    pub(crate) keys: u64,
    /// Exponent of the popularity.
    pub(crate) alpha: f64,
    /// Shares of the requests that write and that delete.
    pub(crate) sets: f64,
    pub(crate) deletes: f64,
    /// Share of the requests that walk a loop over separate keys.
    pub(crate) looped: f64,
    /// Share of the keys that have a time to live.
    pub(crate) ttls: f64,
    /// Whether a set may change the size.
    pub(crate) resize: bool,
    /// Largest size; 1 for objects of size one.
    pub(crate) size_max: u64,
}

pub(crate) const PLAIN: Mix = Mix {
    requests: 200_000,
    keys: 5_000,
    alpha: 0.8,
    sets: 0.0,
    deletes: 0.0,
    looped: 0.0,
    ttls: 0.0,
    resize: false,
    size_max: 1,
};

impl Mix {
    pub(crate) fn trace(&self, seed: u64) -> Vec<Access> {
        let mut prng = Prng::new(seed);
        let mut at = 0;
        let weights: Vec<f64> = (1..=self.keys)
            .scan(0.0, |sum, rank| {
                *sum += (rank as f64).powf(-self.alpha);
                Some(*sum)
            })
            .collect();
        let total = weights[weights.len() - 1];
        (0..self.requests)
            .map(|tick| {
                let rank = if prng.chance(self.looped) {
                    at = (at + 1) % (self.keys / 4);
                    self.keys + at
                } else {
                    let goal = prng.unit() * total;
                    weights.partition_point(|&sum| sum < goal) as u64
                };
                let key = mix(rank ^ seed << 32);
                let version =
                    if self.resize && prng.chance(self.sets) { prng.next_u64() } else { 0 };
                let skewed = (mix(key ^ version) % 1_000) as f64 / 1_000.0;
                let size = 1 + (skewed * skewed * skewed * (self.size_max - 1) as f64) as u32;
                let op = if version != 0 || prng.chance(self.sets) {
                    Op::Set
                } else if prng.chance(self.deletes) {
                    Op::Delete
                } else {
                    Op::Get
                };
                let mortal = (mix(key ^ 1) % 1_000) as f64 / 1_000.0 < self.ttls;
                let ttl = if mortal { Micros(1 + mix(key) % (self.keys * 4)) } else { Micros(0) };
                // Only writes change the size. A read has the size of the last write.
                Access { time: Micros(tick), op, ttl, ..Access::get(key, size) }
            })
            .collect()
    }
}

/// Gives each read the size of the last write, as in a store.
pub(crate) fn set_sizes(trace: &mut [Access]) {
    let mut sizes = HashMap::new();
    for access in trace {
        match access.op {
            Op::Get => access.size = *sizes.entry(access.key).or_insert(access.size),
            Op::Set => {
                sizes.insert(access.key, access.size);
            }
            Op::Delete => {}
        }
    }
}

pub(crate) fn run(name: &str, params: &Params, trace: &[Access]) -> Box<dyn Model> {
    let mut model = (curve::find(name).unwrap().build)(params);
    model.accesses(trace);
    model
}

/// The bytes of all objects, each at its largest size.
pub(crate) fn footprint(trace: &[Access]) -> u64 {
    let mut sizes: HashMap<u64, Size> = HashMap::new();
    for access in trace {
        let size = sizes.entry(access.key).or_default();
        *size = access.size.max(*size);
    }
    sizes.values().map(|&size| u64::from(size)).sum()
}

/// Mean absolute error of the model at `sizes` sizes spread evenly over the footprint.
pub(crate) fn error(model: &dyn Model, policy: &str, sizes: u64, trace: &[Access]) -> f64 {
    let (curve, all) = (model.curve(), footprint(trace));
    let sum: f64 = (1..=sizes)
        .map(|step| {
            let size = all * step / sizes;
            (curve.at(Bytes(size)).0 - simulate(policy, size, trace)).abs()
        })
        .sum();
    sum / sizes as f64
}
