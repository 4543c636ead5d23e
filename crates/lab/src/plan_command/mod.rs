//! Divide a memory among the tenants of a trace, or among classes of penalties or of sizes, as a
//! recipe does.
//!
//! The traces are read three times. The first reading finds the tenants and the bytes that they
//! touch. The second gives the curves of each pool, from which the recipe's planner makes its
//! division. The third simulates the requests, with evictions: in a shared cache without a
//! division, with equal shares, and with the planned division. So a forecast stands beside a
//! simulated result.

mod answer;
mod learned;
mod partition;
mod replayed;
mod show;
mod wishes;

use crate::plant::Bounds;
use crate::requests::Requests;
use crate::survey::Survey;
use crate::whole_file;
use answer::Answer;
use anyhow::{anyhow, ensure};
use learned::Learned;
use load::open::Options;
use replayed::Replayed;
use std::path::PathBuf;
use tune::{Objective, Recipe, planner, recipe};
use wishes::Wishes;

/// Divide a memory among the tenants of a trace.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  larder plan web.csv.zst cart.csv.zst --memory 512mb --penalty web=0.2ms --penalty cart=2ms
  larder plan mixed.csv.zst --memory 10% --objective hits --json
  larder plan web.csv.zst cart.csv.zst --memory 512mb --recipe predis
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
    /// Figure to minimise: latency (time waited for misses) or hits (hits lost)
    #[arg(long, value_parser = Objective::parse)]
    objective: Option<Objective>,
    /// Reproduces the run
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Write a page with charts and tables
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    read: Options,
}

/// Runs the command.
///
/// # Errors
/// A message that states the cause and the fix.
#[allow(clippy::needless_pass_by_value, reason = "every subcommand runs so")]
pub fn run(args: Args) -> anyhow::Result<()> {
    if let Some(path) = &args.html {
        whole_file::check(path, &args.traces)?;
    }
    let answer = answer(&args)?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&answer)?);
    } else {
        print!("{answer}");
    }
    if let Some(path) = &args.html {
        whole_file::write(path, &args.traces, &answer.page().to_string())?;
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}

fn recipe_of(args: &Args) -> anyhow::Result<Recipe> {
    let mut recipe = recipe::parse(&args.recipe).map_err(|error| anyhow!(error))?;
    recipe.objective = args.objective.unwrap_or(recipe.objective);
    ensure!(
        recipe.model != Some(curve::miniature::SPEC.name),
        "recipe {} runs caches of the size there is, and answers for no other: \
         larder simulate --recipe {recipe} shows what it does",
        recipe.name
    );
    ensure!(
        recipe.model.is_some(),
        "recipe {} divides by no curves, so there is nothing to plan: \
         larder simulate --recipe {recipe} shows what it does",
        recipe.name
    );
    Ok(recipe)
}

fn answer(args: &Args) -> anyhow::Result<Answer> {
    let recipe = recipe_of(args)?;
    ensure!(
        !args.traces.iter().any(|trace| trace == "-"),
        "a plan reads its traces three times, and standard input only once: name a file"
    );
    let survey = Survey::of(&args.traces, &args.read)?;
    let penalties = survey.penalties(&args.penalty)?;
    let wishes = Wishes::parse(args, &survey)?;
    let tenants = survey.names.len();
    let mut learned = Learned::new(&recipe, wishes.memory, tenants, args.seed);
    let mut requests = Requests::open(&args.traces, &args.read, &survey.stretch)?;
    while let Some(access) = requests.next()? {
        learned.see(&penalties.of(&access))?;
    }
    let mut snapshot = learned.snapshot(&survey.names, survey.end);
    for (at, pool) in snapshot.pools.iter_mut().enumerate() {
        let Some(tenant) = learned.partition.tenant(at) else { continue };
        let wish = wishes.of(&survey.names[usize::from(tenant)]);
        pool.weight = wish.weight;
        if learned.partition.is_whole() {
            (pool.floor, pool.cap) = (wish.min, wish.max);
        }
    }
    let planner = planner::find(recipe.planner).map_err(|error| anyhow!(error))?;
    let plan = (planner.plan)(&snapshot);
    let equal: Vec<_> = snapshot.pools.iter().map(|pool| (pool.budget, pool.evictor)).collect();
    let bounds: Vec<_> = survey.names.iter().map(|name| wishes.of(name)).collect();
    let free: Vec<_> = survey.names.iter().map(|name| Bounds::none(name)).collect();
    let divided = |division, bounds: &[Bounds]| {
        let memory = (wishes.memory, division);
        Replayed::new(&recipe, &learned.partition, memory, bounds, args.seed)
    };
    let mut stores = [
        divided(Some(&plan.division()[..]), &bounds),
        divided(Some(&equal[..]), &free),
        divided(None, &free),
    ];
    let mut requests = Requests::open(&args.traces, &args.read, &survey.stretch)?;
    while let Some(access) = requests.next()? {
        let access = penalties.of(&access);
        let pool = learned.partition.place(&access).pool;
        for store in &mut stores {
            store.access(pool, &access);
        }
    }
    Ok(Answer::new(&recipe, &survey, &learned.partition, (&snapshot, plan), &stores))
}

#[cfg(test)]
mod tests;
