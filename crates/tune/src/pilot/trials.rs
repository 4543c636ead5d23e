//! Every policy that the store can follow, tried in a miniature cache on the same sampled keys: for
//! people who ask which is best for their traffic. Nothing is planned by them.
//!
//! They are shown so many samples a second and no more, at the rate of a power of two below the
//! pool's: all of them together take a fifth of a percent of a core.

use super::views::SLOWER;
use crate::planner::adapt_k::chance_of;
use crate::snapshot::Candidate;
use crate::watch::{Watch, octave};
use crate::{Evictor, Reading, Recipe};
use base::{Access, Bytes, Filter, Micros};
use curve::GROUPS;
use std::sync::LazyLock;

/// Keys in the miniatures: as many as a quarter of the memory of the models has room for.
const KEYS: (u64, u64) = (768, 1_536);
const KEY_BYTES: u64 = 100;

/// Sampled requests a second that are shown to each.
const SAMPLES_PER_S: f64 = 400.0;

/// Weight of a look's requests a second against those before.
const RATE_WEIGHT: f64 = 0.05;

/// Memory of models below which nothing is tried.
const MEMORY_MIN: Bytes = Bytes(1 << 20);

/// Candidates of the ranks that take a number.
const CANDIDATES: u8 = 64;

/// The policies tried. Plain LRU is K-LRU with Redis' five and its kept candidates.
static TRIED: LazyLock<Vec<Evictor>> = LazyLock::new(|| {
    let name = |name: &'static str| match name {
        "klru" => Some(Evictor::klru_pool(5)),
        "lru" => None,
        "lfu" => Some(Evictor::LFU),
        "random" => Some(Evictor { policy: name, k: 0, pool: false }),
        policy => Some(Evictor { policy, k: CANDIDATES, pool: false }),
    };
    let known = policy::live_names().into_iter().filter_map(name);
    known.filter(|evictor| policy::parse(&evictor.to_string()).is_ok()).collect()
});

/// A policy, as it did on the sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The policy.
    pub evictor: Evictor,
    /// Its waiting for misses by that of the policy in force.
    pub waits: f64,
    /// How far chance may have moved that to either side: two standard errors.
    pub band: f64,
    /// Its miss ratio.
    pub miss_ratio: f64,
}

#[derive(Debug, Default)]
pub(super) struct Trials {
    watch: Option<Watch>,
    /// Reads so far, as of the last look and of the last epoch.
    seen: Option<u64>,
    ended: u64,
    budget: Bytes,
    looked: Micros,
    ops_per_s: f64,
}

impl Trials {
    /// Shows what was sampled since the last look at the rate of the pool.
    pub(super) fn learn(
        &mut self,
        recipe: &Recipe,
        budget: Bytes,
        memory: Option<Bytes>,
        reading: &Reading,
        accesses: &[Access],
        filter: Filter,
    ) {
        if recipe.curves.is_none() || memory.is_some_and(|memory| memory < MEMORY_MIN) {
            self.watch = None;
            return;
        }
        self.budget = budget;
        let gets: u64 = reading.tenants.iter().map(|tenant| tenant.gets).sum();
        let before = self.seen.replace(gets).unwrap_or(gets);
        let length = reading.now.saturating_sub(self.looked).as_f64() / 1e6;
        if length > 0.0 {
            let ops_per_s = gets.saturating_sub(before) as f64 / length;
            self.ops_per_s += RATE_WEIGHT * (ops_per_s - self.ops_per_s);
            self.looked = reading.now;
        }
        let watch = self.watch.get_or_insert_with(|| {
            let spec = curve::find("miniature").unwrap_or_else(|error| unreachable!("{error}"));
            let recipe = Recipe { evictors: &TRIED, rate: None, ..*recipe };
            let key = 4 * KEY_BYTES * TRIED.len() as u64;
            let keys = memory.map_or(KEYS.1, |memory| (memory.0 / key).clamp(KEYS.0, KEYS.1));
            Watch::new(spec, &recipe, keys as usize, budget, 1)
        });
        watch.follow(octave(filter.rate()).min(octave(SAMPLES_PER_S / self.ops_per_s.max(1.0))));
        watch.resize(budget);
        watch.learn(accesses, gets.saturating_sub(before));
    }

    /// Takes what came, and forgets a little, if there were requests.
    pub(super) fn epoch(&mut self, keep: f64) {
        let gets = self.seen.unwrap_or_default();
        if let Some(watch) = &mut self.watch
            && gets > std::mem::replace(&mut self.ended, gets)
        {
            watch.take_curves(keep.powf(SLOWER));
        }
    }

    /// All policies beside the one in force, where enough was seen.
    pub(super) fn all(&self, present: Evictor) -> Vec<Trial> {
        let known = self.watch.as_ref().map_or(&[][..], Watch::curves);
        let Some(waited) =
            known.iter().find(|one| one.evictor == present).and_then(|one| one.waits)
        else {
            return vec![];
        };
        known.iter().filter_map(|one| Some(trial(one, &one.waits?, &waited, self.budget))).collect()
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.watch.as_ref().map_or(Bytes(0), Watch::bytes)
    }
}

/// A policy's waiting beside that of the one in force, both by groups of the same keys.
fn trial(one: &Candidate, waits: &[f64; GROUPS], present: &[f64; GROUPS], budget: Bytes) -> Trial {
    let all = present.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    Trial {
        evictor: one.evictor,
        waits: waits.iter().sum::<f64>() / all,
        band: chance_of(waits, present),
        miss_ratio: one.curve.at(budget).0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loop over more than fits: LRU misses all of it, a rank that learns keeps a part.
    #[test]
    fn every_live_policy_is_tried_on_the_same_requests() {
        let recipe = crate::recipe::parse("auto").unwrap();
        let mut trials = Trials::default();
        let budget = Bytes(2_000_000);
        let mut reading = Reading::default();
        reading.tenants.push(crate::TenantReading::default());
        let keys: Vec<_> = (0..4_000).map(base::hash::mix).collect();
        for _ in 0..40 {
            let read = |&key: &u64| Access { penalty: Micros(1_000), ..Access::get(key, 1_000) };
            let accesses: Vec<_> = keys.iter().map(read).collect();
            reading.tenants[0].gets += accesses.len() as u64;
            trials.learn(&recipe, budget, None, &reading, &accesses, Filter::ALL);
            trials.epoch(0.97);
        }
        let all = trials.all(Evictor::klru_pool(5));
        let names: Vec<_> = all.iter().map(|trial| trial.evictor.policy).collect();
        for name in ["klru", "lfu", "lhd", "cost-lhd", "gittins", "hyperbolic", "random"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        let of = |name| all.iter().find(|trial| trial.evictor.policy == name).unwrap();
        assert!((of("klru").waits - 1.0).abs() < 1e-9 && of("klru").band < 1e-9);
        let learned = of("gittins");
        assert!(learned.waits < 0.8 && learned.band < 0.2, "{learned:?}");
        assert!(trials.all(Evictor::klru(3)).is_empty(), "it is not one of those tried");
    }
}
