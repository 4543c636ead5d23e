//! Plays the load through simulated caches.

use super::division::{Curves, step};
use super::load::Load;
use crate::plant::{Bounds, Counts, SampledPlant, SimulatedStore, Simulation};
use anyhow::anyhow;
use base::{Bytes, TenantId};
use serde::Serialize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use tune::{Plan, Plant, recipe};

/// Sizes that are played, as multiples of the present memory.
pub(super) const SIZES: [f64; 7] = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0];
/// Eighths of the keys, for bands.
pub(super) const PARTS: u64 = 8;

/// A kind of cache that is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Cache {
    /// One cache for all tenants, which evicts like Redis.
    Shared,
    /// A fixed share for each tenant.
    Divided,
    /// Larder's default.
    Larder,
}

impl Cache {
    pub(super) const ALL: [Self; 3] = [Self::Shared, Self::Divided, Self::Larder];

    /// The name of the cache in reports.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Shared => "one shared cache, as now",
            Self::Divided => "fixed shares",
            Self::Larder => "Larder",
        }
    }
}

/// The result of one cache at one size, counted in the second half of the requests.
#[derive(Clone, Debug)]
pub(super) struct Played {
    pub(super) cache: Cache,
    /// Size as a multiple of the present memory.
    pub(super) times: f64,
    /// Counts by tenant.
    pub(super) counts: Vec<Counts>,
    /// Bytes of each tenant at the end.
    pub(super) used: Vec<Bytes>,
    /// Microseconds waited with each eighth of the keys alone; empty if they were not played.
    pub(super) parts: Vec<f64>,
    /// Miss ratios with each eighth of the keys alone; empty if they were not played.
    pub(super) ratios: Vec<f64>,
}

impl Played {
    pub(super) fn waited(&self) -> f64 {
        self.counts.iter().map(|counts| counts.waited.as_f64()).sum()
    }

    pub(super) fn miss_ratio(&self) -> f64 {
        self.counts.iter().copied().sum::<Counts>().miss_ratio()
    }
}

/// One thing to play: a cache at a size, with all keys or an eighth of them.
struct Job<'a> {
    cache: Cache,
    times: f64,
    part: Option<u64>,
    plan: Option<&'a Plan>,
}

/// Plays every cache at every size. It also plays the eighths where the advice needs a band: for
/// the three caches at the present size, and for the present cache at three quarters and at twice.
pub(super) fn all(load: &Load, seed: u64) -> anyhow::Result<Vec<Played>> {
    let curves = Curves::of(load, seed)?;
    let memory = |times: f64| Bytes((load.memory.as_f64() * times) as u64);
    let plans: Vec<Plan> = SIZES.iter().map(|times| curves.plan(load, memory(*times))).collect();
    let mut jobs = vec![];
    for cache in Cache::ALL {
        for (times, plan) in SIZES.into_iter().zip(&plans) {
            let plan = Some(plan).filter(|_| cache == Cache::Divided);
            jobs.push(Job { cache, times, part: None, plan });
            if times == 1.0 || (cache == Cache::Shared && (times == 0.75 || times == 2.0)) {
                jobs.extend((0..PARTS).map(|part| Job { cache, times, part: Some(part), plan }));
            }
        }
    }
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<Outcome>>> = Mutex::new(jobs.iter().map(|_| None).collect());
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(jobs.len()) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(at) else { break };
                    let outcome = one(load, job, seed);
                    done.lock().unwrap_or_else(PoisonError::into_inner)[at] = Some(outcome);
                }
            });
        }
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut played: Vec<Played> = vec![];
    for (job, outcome) in jobs.iter().zip(done) {
        let (counts, used) = outcome.ok_or_else(|| anyhow!("a simulation ended early"))??;
        match (job.part, played.last_mut()) {
            (Some(_), Some(whole)) => {
                whole.parts.push(counts.iter().map(|counts| counts.waited.as_f64()).sum());
                whole.ratios.push(counts.iter().copied().sum::<Counts>().miss_ratio());
            }
            _ => played.push(Played {
                cache: job.cache,
                times: job.times,
                counts,
                used,
                parts: vec![],
                ratios: vec![],
            }),
        }
    }
    Ok(played)
}

type Outcome = anyhow::Result<(Vec<Counts>, Vec<Bytes>)>;

fn one(load: &Load, job: &Job<'_>, seed: u64) -> Outcome {
    let share = load.share / if job.part.is_some() { PARTS as f64 } else { 1.0 };
    // Items take more memory in a server other than Larder.
    let dearness = if job.cache == Cache::Larder { 1.0 } else { load.dearness };
    let memory = Bytes((load.memory.as_f64() * job.times * share / dearness) as u64);
    let bounds: Vec<_> = load.names.iter().map(|name| Bounds::none(name)).collect();
    let tenants = 0..load.names.len() as TenantId;
    let mut plant = SampledPlant::new(memory, &bounds, seed);
    if let Some(plan) = job.plan {
        plant.apply(&step(plan, share / dearness));
    }
    let recipe = if job.cache == Cache::Larder { "auto" } else { "static" };
    let recipe = recipe::parse(recipe).map_err(|error| anyhow!(error))?;
    let mut flight = Simulation::over(plant, recipe, seed);
    let middle = load.accesses.len() / 2;
    let mut before = vec![];
    for (at, access) in load.accesses.iter().enumerate() {
        if at == middle {
            before = tenants.clone().map(|tenant| flight.plant.counts(tenant)).collect();
        }
        if job.part.is_some_and(|part| Load::eighth(access.key) != part) {
            continue;
        }
        if job.cache == Cache::Larder {
            flight.access(access);
        } else {
            // No pilot steers this cache.
            flight.plant.access(access);
        }
    }
    let counts = tenants.clone().zip(before).map(|(tenant, before): (_, Counts)| {
        let after = flight.plant.counts(tenant);
        Counts {
            gets: after.gets - before.gets,
            misses: after.misses - before.misses,
            sets: after.sets - before.sets,
            waited: after.waited.saturating_sub(before.waited),
        }
    });
    Ok((counts.collect(), tenants.map(|tenant| flight.plant.used_by(tenant)).collect()))
}
