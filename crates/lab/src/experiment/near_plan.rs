//! How near a recipe in flight comes to its own plan.
//!
//! The plan is made with hindsight: from curves of all requests, for all requests. The pilot learns
//! while the requests arrive. Each mix has one large slow scan, one small hot set and one middling
//! load, over one span. After a third of the run, the waiting of the recipe is compared with that
//! of its plan. The misses that were forecast for pools, an epoch ahead, are compared with the
//! actual misses. Plans that came into force are counted.

use super::load::Load;
use super::mixes::recorded;
use super::{Experiment, Findings, Setting};
use crate::plan_command::{Learned, Replayed};
use crate::plant::{Bounds, Counts, SimulatedPlant};
use crate::product::Steered;
use crate::simulation::{Simulation, Store};
use crate::slab_plant::{SlabPlant, Slabs};
use anyhow::{Result, anyhow};
use base::{Bytes, Micros, TenantId};
use std::collections::HashMap;
use std::path::Path;
use tune::pilot::Epoch;
use tune::recipe::Pools;
use tune::{Recipe, planner, recipe};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "near-plan",
    about: "recipes in flight beside their own plan: waiting, forecasts, time to a division",
    run,
};

const RECIPES: [&str; 3] = ["kredis", "predis", "lama"];

/// Name of a mix, its traces with the cost of a miss, and the memory as a share of the bytes. The
/// traces are one large slow scan, one hot small set and one middling load.
type Mix = (&'static str, [(&'static str, u64); 3], f64);

const MIXES: [Mix; 6] = [
    (
        "blocks, db, web",
        [("tencent_blk_2706", 200), ("arc_oltp", 1_000), ("c2k_web07", 5_000)],
        0.1,
    ),
    (
        "blocks, pools, web",
        [("tencent_blk_1326", 200), ("lirs_2_pools", 800), ("c2k_web07", 3_000)],
        0.2,
    ),
    ("disk, dns, web", [("arc_p3", 300), ("dns_domains", 5_000), ("c2k_web07", 2_000)], 0.1),
    (
        "blocks, kv, cdn",
        [("tencent_blk_3300", 500), ("twitter_c52_a", 1_000), ("adaptsize_req", 2_000)],
        0.05,
    ),
    (
        "llm, bikes, blocks",
        [("mooncake_synth", 2_000), ("citibike", 500), ("tencent_blk_2706", 200)],
        0.2,
    ),
    (
        "loop, kv, pools",
        [("lirs_loop", 200), ("twitter_c52_a", 1_000), ("lirs_2_pools", 2_000)],
        0.3,
    ),
];

/// Runs last ten minutes of virtual time: epochs are a second, as in the server.
const EXTENT: Extent = Extent { requests: 400_000, span: Micros::from_secs(600) };

/// Share of a run that is not counted.
const LEARNING: f64 = 1.0 / 3.0;

/// Requests of a trace, and the time over which they are spread.
#[derive(Clone, Copy)]
struct Extent {
    requests: u64,
    span: Micros,
}

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    for &seed in &setting.seeds {
        for (name, load) in loads(setting, seed)? {
            for text in RECIPES {
                hold(findings, &load, (&name, text), seed)?;
            }
        }
    }
    Ok(())
}

/// The mixes with their memory: recorded ones where there is a folder, or else a synthetic one.
fn loads(setting: &Setting, seed: u64) -> Result<Vec<(String, (Load, f64))>> {
    let Some(folder) = &setting.traces else {
        let requests = setting.pick(EXTENT.requests, EXTENT.requests / 4);
        let made = |pattern: &str, share: f64| {
            let requests = (requests as f64 * share) as u64;
            format!("synth:{pattern}:requests={requests}:rate=1000:seed={seed}")
        };
        let traces = [
            made("scan:keys=2000000:size=const/4000", 0.2),
            made("zipf:keys=4000:skew=0.9:size=const/300", 1.0),
            made("zipf:keys=60000:skew=0.8:size=const/1000", 0.5),
        ];
        let load = spread(&traces, &[200, 1_000, 3_000], EXTENT)?;
        return Ok(vec![("made".to_owned(), (load, 0.1))]);
    };
    let mixes = setting.pick(&MIXES[..], &MIXES[..3]);
    let one = |mix: &Mix| Ok((mix.0.to_owned(), (mixed(folder, mix, EXTENT)?, mix.2)));
    mixes.iter().map(one).collect()
}

/// The load of a mix of recorded traces.
fn mixed(folder: &Path, (_, tenants, _): &Mix, extent: Extent) -> Result<Load> {
    let traces = recorded(folder, &tenants.map(|(trace, _)| trace))?;
    spread(&traces, &tenants.map(|(_, penalty)| penalty), extent)
}

/// A load of traces that all end with the span of `extent`.
fn spread(traces: &[String], penalties: &[u64], extent: Extent) -> Result<Load> {
    let mut load = Load::first(Some(extent.requests), traces, penalties)?;
    let end = load.requests.last().map_or(Micros(1), |access| access.time);
    for access in &mut load.requests {
        let time = access.time.as_f64() * extent.span.as_f64() / end.as_f64().max(1.0);
        access.time = Micros(time as u64);
    }
    Ok(load)
}

/// Adds cells of a recipe's plan, of equal shares, and of the recipe in flight, on the simulated
/// store and on the live one.
fn hold(
    findings: &mut Findings,
    (load, share): &(Load, f64),
    (workload, text): (&str, &str),
    seed: u64,
) -> Result<()> {
    let recipe = recipe::parse(text).map_err(|error| anyhow!(error))?;
    let memory = load.share(*share);
    let tenants: Vec<_> = (0..3).map(|at| Bounds::none(&at.to_string())).collect();
    let (planned, equal) = plan(&recipe, load, memory, &tenants, seed)?;
    findings.cell(&format!("{text}: its plan"), workload, seed, &figures(planned, planned));
    findings.cell(&format!("{text}: equal shares"), workload, seed, &figures(equal, planned));
    let flown = if recipe.pools == Pools::Slab {
        let plant = SlabPlant::new(memory, Slabs::within(memory), &tenants);
        fly(plant.evicting(recipe.evictors[0], seed), recipe, load, seed)
    } else {
        fly(SimulatedPlant::new(memory, &tenants, seed), recipe, load, seed)
    };
    let live = fly(Steered::new(&recipe, memory, &tenants, seed), recipe, load, seed);
    for (row, flown) in [("flown", flown), ("on the store", live)] {
        let mut all = figures(flown.counts, planned).to_vec();
        all.extend([("off", flown.off), ("worst_off", flown.worst), ("plans", flown.plans)]);
        findings.cell(&format!("{text}: {row}"), workload, seed, &all);
    }
    Ok(())
}

fn figures(counts: Counts, planned: Counts) -> [(&'static str, f64); 3] {
    let by_plan = counts.mean_us() / planned.mean_us().max(f64::MIN_POSITIVE);
    [("miss_ratio", counts.miss_ratio()), ("mean_us", counts.mean_us()), ("by_plan", by_plan)]
}

/// Index of the first request that is counted.
fn counted(load: &Load) -> usize {
    (load.requests.len() as f64 * LEARNING) as usize
}

/// Counts of the plan and of equal shares, over the counted part of the run.
fn plan(
    recipe: &Recipe,
    load: &Load,
    memory: Bytes,
    tenants: &[Bounds],
    seed: u64,
) -> Result<(Counts, Counts)> {
    let names: Vec<_> = tenants.iter().map(|tenant| tenant.name.clone()).collect();
    let mut learned = Learned::new(recipe, memory, tenants.len(), seed);
    for access in &load.requests {
        learned.see(access)?;
    }
    let end = load.requests.last().map_or(Micros(1), |access| access.time);
    let snapshot = learned.snapshot(&names, end);
    let planner = planner::find(recipe.planner).map_err(|error| anyhow!(error))?;
    let division = (planner.plan)(&snapshot).division();
    let equal: Vec<_> = snapshot.pools.iter().map(|pool| (pool.budget, pool.evictor)).collect();
    let mut stores = [division, equal].map(|division| {
        let memory = (memory, Some(&division[..]));
        Replayed::new(recipe, &learned.partition, memory, tenants, seed)
    });
    let mut before = [Counts::default(); 2];
    for (at, access) in load.requests.iter().enumerate() {
        if at == counted(load) {
            before = [stores[0].all(), stores[1].all()];
        }
        let pool = learned.partition.place(access).pool;
        for store in &mut stores {
            store.access(pool, access);
        }
    }
    Ok((stores[0].all().since(before[0]), stores[1].all().since(before[1])))
}

/// Results of a recipe in flight.
struct Flown {
    /// Counts over the counted part of the run.
    counts: Counts,
    /// Error of the forecasts over half a minute, as a share of the reads: in the mean of all
    /// reads, and of the worst pool.
    off: f64,
    worst: f64,
    /// Number of plans that came into force.
    plans: f64,
}

/// Epochs over which forecasts are compared with actual misses. In a single epoch, a pool with ten
/// reads may have any miss ratio.
const WINDOW: usize = 30;

/// Forecasts and outcomes of each epoch, by pool: reads, and forecast misses less actual misses.
#[derive(Debug, Default)]
struct Forecasts(HashMap<String, Vec<(f64, f64)>>);

impl Forecasts {
    /// Adds an epoch whose outcome is known.
    fn note(&mut self, epoch: &Epoch) {
        for pool in &epoch.pools {
            let (Some(forecast), Some(outcome)) = (pool.forecast, pool.outcome) else { continue };
            let known = self.0.entry(pool.name.clone()).or_default();
            known.push((pool.reads_per_s, pool.reads_per_s * (forecast - outcome)));
        }
    }

    /// Mean error of the forecasts: over all reads, and over the reads of the worst pool that has a
    /// fiftieth of them.
    fn errors(&self) -> (f64, f64) {
        let pool = |epochs: &Vec<(f64, f64)>| {
            let reads: f64 = epochs.iter().map(|(reads, _)| reads).sum();
            let window = |epochs: &[(f64, f64)]| epochs.iter().map(|(_, off)| off).sum::<f64>();
            (reads, epochs.chunks(WINDOW).map(|epochs| window(epochs).abs()).sum::<f64>())
        };
        let pools: Vec<_> = self.0.values().map(pool).collect();
        let reads: f64 = pools.iter().map(|(reads, _)| reads).sum();
        let off: f64 = pools.iter().map(|(_, off)| off).sum();
        let worst = pools.iter().filter(|(own, _)| own * 50.0 >= reads).map(|(own, off)| off / own);
        (off / reads.max(f64::MIN_POSITIVE), worst.fold(0.0, f64::max))
    }
}

fn fly<S: Store>(plant: S, recipe: Recipe, load: &Load, seed: u64) -> Flown {
    let mut simulation = Simulation::over(plant, recipe, seed);
    let mut before = Counts::default();
    let mut forecasts = Forecasts::default();
    let tenants = 0..3 as TenantId;
    let (mut plans, mut ended) = (0, 0);
    for (at, access) in load.requests.iter().enumerate() {
        if at == counted(load) {
            before = simulation.counts(tenants.clone());
        }
        simulation.access(access);
        let epoch = simulation.pilot.history().back().map_or(0, |epoch| epoch.epoch);
        if std::mem::replace(&mut ended, epoch) != epoch {
            let mut history = simulation.pilot.history().iter().rev();
            plans += u64::from(history.next().is_some_and(|epoch| epoch.moved > Bytes(0)));
            if let Some(epoch) = history.next().filter(|_| at >= counted(load)) {
                forecasts.note(epoch);
            }
        }
    }
    let (off, worst) = forecasts.errors();
    let counts = simulation.counts(tenants).since(before);
    Flown { counts, off, worst, plans: plans as f64 }
}
