//! Divide a memory among the tenants of a trace.
//!
//! The traces are read twice. First for the curves of each tenant, from which the planner
//! of the recipe makes its division. Then for the truth: the same requests to a shared cache that
//! nobody divides, to equal shares, and to the planned division, each simulated with evictions. So
//! a forecast stands beside what would have happened.
//!
//! Several traces run side by side: each is stretched to the span of the longest, for their clocks
//! have nothing to do with each other, and tenants that do not meet do not compete.

use crate::open::Options;
use crate::plant::{Bounds, SimulatedPlant};
use crate::report::Table;
use crate::requests::{Footprint, Requests, duration};
use anyhow::{Context, anyhow, bail, ensure};
use base::{Access, Bytes, Filter, Micros, Op, TenantId};
use curve::{Model, Params};
use serde::Serialize;
use std::collections::BTreeMap;
use tune::recipe::Pools;
use tune::snapshot::{Candidate, Pool};
use tune::{Evictor, Objective, Plan, Plant, PoolStep, Recipe, Snapshot, Step, planner, recipe};

/// Keys of a tenant that its models watch at most: twice what a mean error below half a percent
/// takes.
const KEYS_MAX: usize = 1 << 14;

/// Accesses shown to the models at a time, so that what one of them touches stays near.
const BLOCK: usize = 1 << 14;

/// The cost of a miss where neither the trace nor the command line tells.
const PENALTY_DEFAULT: Micros = Micros::from_millis(1);

/// Divide a memory among the tenants of a trace.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  larder plan web.csv.zst cart.csv.zst --memory 512mb --penalty web=0.2ms --penalty cart=2ms
  larder plan mixed.csv.zst --memory 10% --objective hits --json
  larder plan 'synth:mix:zipf:keys=100k+loop:keys=20k' --memory 16mb")]
pub struct Args {
    /// Traces: each is a tenant, named after its file; a single one is divided by its clients
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<String>,
    /// Memory to divide: a size, or a share of all bytes that the traces touch, such as 10%
    #[arg(long, value_name = "SIZE|%")]
    memory: String,
    /// How to divide it, as `recipe` in the configuration
    #[arg(long, default_value = "kredis")]
    recipe: String,
    /// Cost of a miss: of one tenant (web=2ms) or of all (0.5ms); us, ms and s are known
    #[arg(long, value_name = "[TENANT=]TIME")]
    penalty: Vec<String>,
    /// How much the misses of a tenant count, 1 where nothing is said
    #[arg(long, value_name = "TENANT=WEIGHT")]
    weight: Vec<String>,
    /// Memory a tenant must have
    #[arg(long, value_name = "TENANT=SIZE")]
    min: Vec<String>,
    /// Memory a tenant may have at most
    #[arg(long, value_name = "TENANT=SIZE")]
    max: Vec<String>,
    /// What to minimise: latency (time waited for misses) or hits (hits lost)
    #[arg(long, value_parser = Objective::parse)]
    objective: Option<Objective>,
    /// Reproduces the run
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    read: Options,
}

/// What the command answers.
#[derive(Debug, Serialize)]
struct Answer {
    memory: u64,
    recipe: String,
    objective: Objective,
    requests: u64,
    seconds: f64,
    tenants: Vec<TenantAnswer>,
    /// Over all tenants.
    overall: Overall,
    plan: Plan,
}

#[derive(Debug, Serialize)]
struct TenantAnswer {
    name: String,
    reads: u64,
    /// Bytes of all objects, estimated from a sample of the keys.
    footprint: u64,
    penalty_us: f64,
    budget: u64,
    evictor: Evictor,
    /// What the plan expects.
    forecast: Option<f64>,
    /// What a simulation of the plan gives.
    planned: Outcome,
    /// What equal shares give, simulated.
    equal: Outcome,
    /// What one shared cache without any division gives, simulated.
    shared: Outcome,
}

/// A tenant, or all, in a simulated cache.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Outcome {
    miss_ratio: f64,
    /// Mean time waited for a miss, over all reads.
    mean_us: f64,
    /// Memory in use at the end.
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct Overall {
    forecast_mean_us: f64,
    planned: Outcome,
    equal: Outcome,
    shared: Outcome,
}

/// What is learned of a tenant in the first pass.
#[derive(Debug)]
struct Learned {
    name: String,
    reads: u64,
    waited: u64,
    footprint: Footprint,
    /// When its last request came.
    end: Micros,
    models: Vec<Box<dyn Model>>,
    block: Vec<Access>,
}

/// How much there is of the traces.
#[derive(Debug)]
struct Extent {
    requests: u64,
    seconds: f64,
    /// How much slower each trace must run to span as much time as the longest.
    stretch: Vec<f64>,
}

/// Runs the command.
///
/// # Errors
/// What went wrong, and what would mend it.
#[allow(clippy::needless_pass_by_value, reason = "every subcommand runs so")]
pub fn run(args: Args) -> anyhow::Result<()> {
    let mut recipe = recipe::parse(&args.recipe).map_err(|error| anyhow!(error))?;
    recipe.objective = args.objective.unwrap_or(recipe.objective);
    ensure!(
        !args.traces.iter().any(|trace| trace == "-"),
        "a plan reads its traces twice, and standard input only once: name a file"
    );
    ensure!(
        recipe.pools != Pools::Class,
        "recipe {} divides the memory among penalties, not tenants: \
         larder simulate --recipe {recipe} shows what it does",
        recipe.name
    );
    ensure!(
        recipe.model != Some(curve::miniature::SPEC.name),
        "recipe {} runs caches of the size there is, and answers for no other: \
         larder simulate --recipe {recipe} shows what it does",
        recipe.name
    );
    let memory = MemoryGoal::parse(&args.memory)?;
    let mut wishes = Wishes::parse(&args)?;
    let (learned, extent) = learn(&args, &recipe)?;
    let names: Vec<_> = learned.iter().map(|tenant| tenant.name.as_str()).collect();
    wishes.check(&names)?;
    let memory = memory.bytes(learned.iter().map(|tenant| tenant.footprint.bytes()).sum());
    wishes.fit(memory, &learned)?;
    let snapshot = snapshot(&recipe, &learned, &mut wishes, memory, extent.seconds);
    let planner = planner::find(recipe.planner).map_err(|error| anyhow!(error))?;
    let plan = (planner.plan)(&snapshot);
    let caches = simulate(&args, &extent, &snapshot, &plan)?;
    let answer = answer(&recipe, &learned, &snapshot, plan, &caches, &extent);
    if args.json {
        println!("{}", serde_json::to_string_pretty(&answer)?);
    } else {
        show(&answer);
    }
    Ok(())
}

/// `--memory`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum MemoryGoal {
    Size(Bytes),
    Share(f64),
}

impl MemoryGoal {
    fn parse(text: &str) -> anyhow::Result<Self> {
        let Some(percent) = text.trim().strip_suffix('%') else {
            return Ok(Self::Size(
                Bytes::parse(text).map_err(|error| anyhow!("--memory: {error}"))?,
            ));
        };
        let share = percent.trim().parse::<f64>().ok().filter(|share| *share > 0.0);
        let share = share.filter(|share| share.is_finite());
        Ok(Self::Share(
            share.with_context(|| format!("--memory: '{text}' is not a share"))? / 100.0,
        ))
    }

    fn bytes(self, footprint: Bytes) -> Bytes {
        match self {
            Self::Size(size) => size,
            Self::Share(share) => Bytes((footprint.as_f64() * share) as u64),
        }
    }
}

/// What the command line says of tenants.
#[derive(Debug, Default)]
struct Wishes {
    /// The one for all has no name.
    penalties: BTreeMap<String, Micros>,
    weights: BTreeMap<String, f64>,
    mins: BTreeMap<String, Bytes>,
    maxs: BTreeMap<String, Bytes>,
}

impl Wishes {
    fn parse(args: &Args) -> anyhow::Result<Self> {
        let mut wishes = Self::default();
        for text in &args.penalty {
            let (name, value) = text.rsplit_once('=').unwrap_or(("", text));
            wishes.penalties.insert(name.to_owned(), duration(value)?);
        }
        for text in &args.weight {
            let (name, value) = named("--weight", text)?;
            let weight = value.parse::<f64>().ok().filter(|w| *w > 0.0 && w.is_finite());
            let weight = weight.with_context(|| format!("--weight: '{value}' is not above 0"))?;
            wishes.weights.insert(name, weight);
        }
        for (option, texts, into) in
            [("--min", &args.min, &mut wishes.mins), ("--max", &args.max, &mut wishes.maxs)]
        {
            for text in texts {
                let (name, value) = named(option, text)?;
                let size = Bytes::parse(value).map_err(|error| anyhow!("{option}: {error}"))?;
                into.insert(name, size);
            }
        }
        Ok(wishes)
    }

    /// Refuses what is said of tenants that are not there.
    fn check(&self, names: &[&str]) -> anyhow::Result<()> {
        let said = self.penalties.keys().chain(self.weights.keys());
        for name in said.chain(self.mins.keys()).chain(self.maxs.keys()) {
            ensure!(
                name.is_empty() || names.contains(&name.as_str()),
                "there is no tenant '{name}': the traces have {}",
                names.join(", ")
            );
        }
        Ok(())
    }

    /// Refuses a memory that is too small for what is said, or to hold anything.
    fn fit(&self, memory: Bytes, learned: &[Learned]) -> anyhow::Result<()> {
        let footprint: Bytes = learned.iter().map(|tenant| tenant.footprint.bytes()).sum();
        let least: Bytes = learned.iter().map(|tenant| tenant.footprint.object()).sum();
        ensure!(
            memory >= least.max(Bytes(1)),
            "--memory {memory} holds not even one object of each tenant: name at least {least}, or \
             a share such as 10% of the {footprint} that the traces touch"
        );
        let mins: Bytes = self.mins.values().copied().sum();
        ensure!(
            mins <= memory,
            "--min asks for {mins} in all, which is more than the memory of {memory}: ask for less"
        );
        for (name, min) in &self.mins {
            let max = self.maxs.get(name).copied().unwrap_or(memory);
            ensure!(*min <= max, "--min {name}={min} is above its --max of {max}: swap them");
        }
        Ok(())
    }
}

fn named<'a>(option: &str, text: &'a str) -> anyhow::Result<(String, &'a str)> {
    let (name, value) = text
        .rsplit_once('=')
        .with_context(|| format!("{option}: write TENANT=VALUE instead of '{text}'"))?;
    Ok((name.to_owned(), value))
}

/// The first pass: curves, reads, sizes.
fn learn(args: &Args, recipe: &Recipe) -> anyhow::Result<(Vec<Learned>, Extent)> {
    let model = recipe.model.map(curve::find).transpose().map_err(|error| anyhow!(error))?;
    let mut requests = Requests::open(&args.traces, &args.read, &[])?;
    let mut tenants: Vec<Learned> = vec![];
    let mut count = 0;
    while let Some(access) = requests.next()? {
        let at = usize::from(access.tenant);
        while tenants.len() <= at {
            let build = |evictor: &Evictor| {
                let params = Params {
                    k: u32::from(evictor.k),
                    pool: evictor.pool,
                    keys_max: KEYS_MAX,
                    seed: args.seed,
                    ..Params::default()
                };
                model.map(|model| (model.build)(&params))
            };
            tenants.push(Learned {
                name: String::new(),
                reads: 0,
                waited: 0,
                footprint: Footprint::default(),
                end: Micros(0),
                models: recipe.evictors.iter().filter_map(build).collect(),
                block: vec![],
            });
        }
        let tenant = &mut tenants[at];
        tenant.reads += u64::from(access.op == Op::Get);
        tenant.waited += if access.op == Op::Get { access.penalty.0 } else { 0 };
        tenant.footprint.see(&access);
        tenant.block.push(access);
        if tenant.block.len() == BLOCK {
            tenant.models.iter_mut().for_each(|model| model.accesses(&tenant.block));
            tenant.block.clear();
        }
        tenant.end = tenant.end.max(access.time);
        count += 1;
    }
    if count == 0 {
        bail!("the traces hold no request");
    }
    for (tenant, name) in tenants.iter_mut().zip(requests.names) {
        tenant.name = name;
        tenant.models.iter_mut().for_each(|model| model.accesses(&tenant.block));
        tenant.block = vec![];
    }
    let end = tenants.iter().map(|tenant| tenant.end).max().unwrap_or_default().max(Micros(1));
    let stretch = |tenant: &Learned| end.as_f64() / tenant.end.max(Micros(1)).as_f64();
    let several = args.traces.len() > 1;
    let stretch = if several { tenants.iter().map(stretch).collect() } else { vec![] };
    Ok((tenants, Extent { requests: count, seconds: end.as_f64() / 1e6, stretch }))
}

fn snapshot(
    recipe: &Recipe,
    learned: &[Learned],
    wishes: &mut Wishes,
    memory: Bytes,
    seconds: f64,
) -> Snapshot {
    let equal = Bytes(memory.0 / learned.len() as u64);
    let for_all = wishes.penalties.remove("");
    let pools = learned.iter().map(|tenant| {
        let name = tenant.name.as_str();
        let traced = tenant.waited / tenant.reads.max(1);
        let traced = if traced > 0 { Micros(traced) } else { PENALTY_DEFAULT };
        let said = wishes.penalties.get(name).copied().or(for_all);
        let curves = recipe.evictors.iter().zip(&tenant.models);
        Pool {
            name: tenant.name.clone(),
            candidates: curves
                .map(|(&evictor, model)| Candidate::new(evictor, model.curve()))
                .collect(),
            reads_per_s: tenant.reads as f64 / seconds,
            penalty_us: said.unwrap_or(traced).as_f64(),
            weight: wishes.weights.get(name).copied().unwrap_or(1.0),
            floor: wishes.mins.get(name).copied().unwrap_or_default(),
            cap: wishes.maxs.get(name).copied(),
            budget: equal,
            evictor: recipe.evictors[0],
            dearness: 1.0,
            asked: None,
            slab: None,
        }
    });
    Snapshot {
        memory,
        units_max: planner::dp::units_for(learned.len()),
        band: None,
        objective: recipe.objective,
        switch_margin: 0.0,
        pools: pools.collect(),
        goals: vec![],
    }
}

/// The second pass: the plan, equal shares and a shared cache, all fed with the same requests.
fn simulate(
    args: &Args,
    extent: &Extent,
    snapshot: &Snapshot,
    plan: &Plan,
) -> anyhow::Result<[SimulatedPlant; 3]> {
    let bounds = |bounded: bool| -> Vec<Bounds> {
        let one = |pool: &Pool| {
            if !bounded {
                return Bounds::none(&pool.name);
            }
            let (min, max) = (pool.floor, pool.cap);
            Bounds { name: pool.name.clone(), min, max, weight: pool.weight }
        };
        snapshot.pools.iter().map(one).collect()
    };
    let divided = |division: &[(Bytes, Evictor)], bounded| {
        let mut plant = SimulatedPlant::new(snapshot.memory, &bounds(bounded), args.seed);
        let pools = division.iter().enumerate().map(|(at, &(budget, evictor))| PoolStep {
            tenants: vec![at as TenantId],
            class: None,
            budget,
            evictor,
            filter: Filter::NONE,
        });
        plant.apply(&Step { pools: pools.collect(), prices: vec![] });
        plant
    };
    let equal: Vec<_> = snapshot.pools.iter().map(|pool| (pool.budget, pool.evictor)).collect();
    let mut plants = [
        divided(&plan.division(), true),
        divided(&equal, false),
        SimulatedPlant::new(snapshot.memory, &bounds(false), args.seed),
    ];
    let mut requests = Requests::open(&args.traces, &args.read, &extent.stretch)?;
    while let Some(access) = requests.next()? {
        let pool = &snapshot.pools[usize::from(access.tenant)];
        let access = Access { penalty: Micros(pool.penalty_us as u64), ..access };
        for plant in &mut plants {
            plant.access(&access);
        }
    }
    Ok(plants)
}

fn answer(
    recipe: &Recipe,
    learned: &[Learned],
    snapshot: &Snapshot,
    plan: Plan,
    caches: &[SimulatedPlant; 3],
    extent: &Extent,
) -> Answer {
    let everybody: Vec<_> = (0..learned.len() as TenantId).collect();
    let outcome = |cache: usize, tenants: &[TenantId]| {
        let cache = &caches[cache];
        let counts = || tenants.iter().map(|&tenant| cache.counts(tenant));
        let reads = counts().map(|counts| counts.gets).sum::<u64>().max(1) as f64;
        Outcome {
            miss_ratio: counts().map(|counts| counts.misses).sum::<u64>() as f64 / reads,
            mean_us: counts().map(|counts| counts.waited.0).sum::<u64>() as f64 / reads,
            bytes: tenants.iter().map(|&tenant| cache.used_by(tenant).0).sum(),
        }
    };
    let tenants = learned.iter().zip(&plan.pools).zip(&everybody).map(|((tenant, share), at)| {
        let at = std::slice::from_ref(at);
        TenantAnswer {
            name: tenant.name.clone(),
            reads: tenant.reads,
            footprint: tenant.footprint.bytes().0,
            penalty_us: share.penalty_us,
            budget: share.budget.0,
            evictor: share.evictor,
            forecast: share.miss_ratio,
            planned: outcome(0, at),
            equal: outcome(1, at),
            shared: outcome(2, at),
        }
    });
    Answer {
        memory: snapshot.memory.0,
        recipe: recipe.to_string(),
        objective: recipe.objective,
        requests: extent.requests,
        seconds: extent.seconds,
        tenants: tenants.collect(),
        overall: Overall {
            forecast_mean_us: plan.mean_penalty_us(),
            planned: outcome(0, &everybody),
            equal: outcome(1, &everybody),
            shared: outcome(2, &everybody),
        },
        plan,
    }
}

fn show(answer: &Answer) {
    println!(
        "{} for {} tenants, recipe {}, least {}; {} requests\n",
        Bytes(answer.memory),
        answer.tenants.len(),
        answer.recipe,
        answer.objective,
        answer.requests
    );
    let mut table = Table::new([
        "tenant",
        "reads",
        "touches",
        "penalty",
        "planned",
        "policy",
        "forecast",
        "simulated",
        "equal shares",
        "shared",
        "uses",
    ]);
    let ratio = |ratio: f64| format!("{ratio:.4}");
    for tenant in &answer.tenants {
        table.row([
            tenant.name.clone(),
            tenant.reads.to_string(),
            Bytes(tenant.footprint).to_string(),
            Micros(tenant.penalty_us as u64).to_string(),
            Bytes(tenant.budget).to_string(),
            tenant.evictor.to_string(),
            tenant.forecast.map_or("-".to_owned(), ratio),
            ratio(tenant.planned.miss_ratio),
            ratio(tenant.equal.miss_ratio),
            ratio(tenant.shared.miss_ratio),
            Bytes(tenant.shared.bytes).to_string(),
        ]);
    }
    println!("{table}\n");
    let overall = &answer.overall;
    let mut table = Table::new(["", "miss ratio", "mean wait for misses"]);
    let mut row = |name: &str, outcome: Outcome| {
        let wait = format!("{:.1} µs", outcome.mean_us);
        table.row([name.to_owned(), ratio(outcome.miss_ratio), wait]);
    };
    row("shared, no division", overall.shared);
    row("equal shares", overall.equal);
    row("planned", overall.planned);
    println!("{table}");
    println!("the plan's own forecast: {:.1} µs", overall.forecast_mean_us);
    for note in &answer.plan.notes {
        println!("{note}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open::open;
    use clap::Parser;
    use std::collections::HashMap;
    use trace::Source;

    #[derive(clap::Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    fn args(words: &[&str]) -> Args {
        let words = ["plan"].iter().chain(words);
        Cli::try_parse_from(words).unwrap().args
    }

    const MIX: &str = "synth:mix:requests=100000:zipf:keys=20000:size=const/200+loop:keys=4000:\
                       size=const/500";

    fn plan(words: &[&str]) -> anyhow::Result<Answer> {
        let args = args(words);
        let recipe = recipe::parse(&args.recipe).unwrap();
        let mut wishes = Wishes::parse(&args)?;
        let (learned, extent) = learn(&args, &recipe)?;
        let names: Vec<_> = learned.iter().map(|tenant| tenant.name.as_str()).collect();
        wishes.check(&names)?;
        let footprint = learned.iter().map(|tenant| tenant.footprint.bytes()).sum();
        let memory = MemoryGoal::parse(&args.memory)?.bytes(footprint);
        let snapshot = snapshot(&recipe, &learned, &mut wishes, memory, extent.seconds);
        let plan = (planner::find(recipe.planner).unwrap().plan)(&snapshot);
        let caches = simulate(&args, &extent, &snapshot, &plan)?;
        Ok(answer(&recipe, &learned, &snapshot, plan, &caches, &extent))
    }

    /// The plan must beat both a shared cache and equal shares, and its forecast must be true.
    #[test]
    fn a_division_that_pays() {
        let answer = plan(&[MIX, "--memory", "2mb", "--penalty", "2=3ms"]).unwrap();
        assert_eq!(answer.tenants.len(), 2);
        let sum: u64 = answer.tenants.iter().map(|tenant| tenant.budget).sum();
        assert!(sum <= answer.memory && answer.memory == 2 << 20);
        let overall = &answer.overall;
        assert!(overall.planned.mean_us < 0.9 * overall.shared.mean_us, "{answer:?}");
        assert!(overall.planned.mean_us < 0.9 * overall.equal.mean_us, "{answer:?}");
        for tenant in &answer.tenants {
            let error = (tenant.forecast.unwrap() - tenant.planned.miss_ratio).abs();
            assert!(error < 0.03, "{tenant:?}");
        }
        let json = serde_json::to_value(&answer).unwrap();
        assert_eq!(json["tenants"][1]["name"], "2");
        assert!(json["overall"]["planned"]["mean_us"].is_number());
    }

    #[test]
    fn a_share_is_of_all_bytes_touched() {
        let whole = plan(&[MIX, "--memory", "100%"]).unwrap();
        let footprint: u64 = whole.tenants.iter().map(|tenant| tenant.footprint).sum();
        assert_eq!(whole.memory, footprint);
        let mut source = open(MIX, &Options::default()).unwrap();
        let mut sizes = HashMap::new();
        while let Some(access) = source.next() {
            let access = access.unwrap();
            sizes.insert((access.tenant, access.key), u64::from(access.size));
        }
        // So few keys are all in the sample.
        assert_eq!(footprint, sizes.values().sum::<u64>());
        assert!(whole.tenants[1].planned.miss_ratio < 0.1);
    }

    #[test]
    fn bounds_are_kept_and_errors_name_the_fix() {
        let words = [MIX, "--memory", "2mb", "--min", "1=1mb", "--max", "2=512kb"];
        let answer = plan(&words).unwrap();
        assert!(answer.tenants[0].budget >= 1 << 20 && answer.tenants[1].budget <= 512 << 10);
        for (words, fix) in [
            (vec![MIX, "--memory", "2mb", "--min", "web=1mb"], "the traces have 1, 2"),
            (vec![MIX, "--memory", "2mb", "--min", "1mb"], "TENANT=VALUE"),
            (vec![MIX, "--memory", "lots"], "512mb"),
            (vec![MIX, "--memory", "0%"], "not a share"),
            (vec![MIX, "--memory", "1mb", "--penalty", "1=soon"], "0.5ms"),
        ] {
            let error = plan(&words).err().map(|error| error.to_string());
            assert!(error.as_ref().is_some_and(|text| text.contains(fix)), "{words:?}: {error:?}");
        }
    }
}
