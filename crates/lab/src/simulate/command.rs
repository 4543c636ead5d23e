//! The command: plays policies, or flies recipes, and prints the outcomes.

use super::args::{Args, LIVE};
use super::outcome::CacheOutput;
use super::{annotator, play, recipe, show};
use crate::report::json;
use crate::whole_file;
use anyhow::{Context, Result, anyhow, ensure};
use policy::Choice;

/// Runs the command.
///
/// # Errors
/// A message that states the cause and the fix.
#[expect(clippy::needless_pass_by_value, reason = "all subcommands have the same signature")]
pub fn run(args: Args) -> Result<()> {
    if args.policy.iter().any(|name| name == "list") {
        print!("{}", show::policies());
        return Ok(());
    }
    ensure!(
        !args.traces.is_empty(),
        "name a trace to simulate: a file, or a generator such as synth:zipf"
    );
    if !args.recipe.is_empty() {
        return recipe::run(&args);
    }
    let choices = choices(&args.policy)?;
    let threads = args.threads.map_or_else(cores, |threads| Ok(threads.into()))?;
    let foresight = choices.iter().any(|(_, choice)| choice.spec.name.starts_with("belady"));
    if let Some(path) = &args.html {
        whole_file::check(path, &args.traces)?;
    }
    let mut outcomes: Vec<CacheOutput> = vec![];
    for trace in &args.traces {
        let plan = play::Plan {
            choices: &choices,
            sizes: &args.size,
            seed: args.seed,
            read_size: args.read_size,
            compress: args.compress,
            interval: args.interval,
            tenants: args.tenant,
            threads,
        };
        let (whole, played) = play::trace(trace, &args.read, foresight, &plan)?;
        if whole.lost > 0 {
            eprintln!("larder: trace '{trace}': {} requests are missing", whole.lost);
        }
        if whole.is_estimate {
            eprintln!(
                "larder: trace '{trace}' has more than {} keys: the footprint and the causes of \
                 misses are estimates from a sample; sizes in bytes are exact",
                annotator::KEYS_MAX
            );
        }
        outcomes.extend(played);
    }
    if args.csv
        && let Some(line) = args.compress.sentence()
    {
        eprintln!("larder: {line}");
    }
    if args.json {
        json::print(&outcomes)?;
    } else {
        print!("{}", if args.csv { show::csv(&outcomes) } else { show::text(&outcomes, &args) });
    }
    if let Some(path) = &args.html {
        whole_file::write(path, &args.traces, &show::page(&outcomes, &args).to_string())?;
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}

/// Parses the policies. Each keeps the name that the user typed.
fn choices(names: &[String]) -> Result<Vec<(String, Choice)>> {
    if names.iter().any(|name| name == "all") {
        let named = |spec: &&'static policy::Spec| (spec.name.to_owned(), Choice::of(spec));
        return Ok(policy::ALL.iter().map(named).collect());
    }
    let named = |name: &String| {
        let live = name.trim().strip_prefix(LIVE);
        let choice = policy::parse(live.unwrap_or(name)).map_err(|error| anyhow!(error))?;
        if live.is_some() {
            choice.evictor().map_err(|error| anyhow!(error))?;
        }
        Ok((name.trim().to_owned(), choice))
    };
    names.iter().map(named).collect()
}

fn cores() -> Result<usize> {
    Ok(std::thread::available_parallelism()
        .context("the system does not report the number of cores: write a number with --threads")?
        .get())
}
