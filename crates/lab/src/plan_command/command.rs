//! The command: learns, plans, and replays the plan beside other divisions.

use super::answer::PlanOutput;
use super::args::Args;
use super::learned::Learned;
use super::replayed::Replayed;
use super::wishes::Wishes;
use crate::plant::Bounds;
use crate::requests::Requests;
use crate::survey::Survey;
use crate::whole_file;
use anyhow::{anyhow, ensure};
use tune::{Recipe, planner, recipe};

/// Runs the command.
///
/// # Errors
/// A message that states the cause and the fix.
#[allow(clippy::needless_pass_by_value, reason = "all subcommands have the same signature")]
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
        "recipe {} simulates caches of the present size only and cannot forecast others: larder \
         simulate --recipe {recipe} shows what it does",
        recipe.name
    );
    ensure!(
        recipe.model.is_some(),
        "recipe {} uses no curves, so there is nothing to plan: larder simulate --recipe {recipe} \
         shows what it does",
        recipe.name
    );
    Ok(recipe)
}

pub(super) fn answer(args: &Args) -> anyhow::Result<PlanOutput> {
    let recipe = recipe_of(args)?;
    ensure!(
        !args.traces.iter().any(|trace| trace == "-"),
        "a plan reads its traces three times, and standard input can be read only once: name a file"
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
        divided(Some(&plan.division()[..]), &bounds)?,
        divided(Some(&equal[..]), &free)?,
        divided(None, &free)?,
    ];
    let mut requests = Requests::open(&args.traces, &args.read, &survey.stretch)?;
    while let Some(access) = requests.next()? {
        let access = penalties.of(&access);
        let pool = learned.partition.place(&access).pool;
        for store in &mut stores {
            store.access(pool, &access);
        }
    }
    Ok(PlanOutput::new(&recipe, &survey, &learned.partition, (&snapshot, plan), &stores))
}
