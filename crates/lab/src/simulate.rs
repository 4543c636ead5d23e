//! Every policy at every size, over one reading of each trace, on all cores.
//!
//! Each trace is read once. That reading also finds the facts that need the whole trace: the
//! footprint (sizes in per cent refer to it), the next request of each key (the bounds need it),
//! and the answer of an unbounded cache (it tells the causes of misses apart). The trace is
//! spooled, in memory while it is short and in a file beyond. Each core takes one cache after the
//! other and plays the whole trace to it, so that the simulated cache stays in the processor's
//! cache. Where no fact about the whole trace is needed and each simulated cache has a core, the
//! caches play while the trace is read. So memory is bounded by the resident items, not by the
//! trace.

mod annotator;
#[cfg(test)]
mod causes;
#[cfg(test)]
mod chains;
#[cfg(test)]
mod conformance;
mod feed;
mod outcome;
mod packed;
#[cfg(test)]
mod peers;
mod play;
mod player;
mod recipe;
mod show;
mod size;
mod spool;

use crate::report::json;
use crate::whole_file;
use anyhow::{Context, Result, anyhow, ensure};
use load::open::Options;
use outcome::Outcome;
use policy::Choice;
use size::Size;
use std::path::PathBuf;

/// Every policy at every size, in one pass over a trace
#[derive(clap::Args, Debug)]
#[command(
    override_usage = "larder simulate [OPTIONS] <TRACE>...",
    after_help = "\
Examples:
  larder simulate trace.csv.zst
  larder simulate trace.csv.zst --policy lru,klru:5,sieve --size 0.1%,1%,10%,1GiB
  larder simulate a.csv.zst b.csv.zst --ignore-size --size 1%,10% --json
  larder simulate synth:zipf:keys=100000:skew=0.9 --policy lru,lhd+tinylfu --html report.html
  larder simulate web.csv.zst cart.csv.zst --recipe static,kredis --size 10% --penalty cart=2ms

A size in per cent is of the footprint: the sum over all keys of the largest size each had.
`--policy list` names the policies and their parameters; `--policy all` takes every one.
`store:lhd` is the live store itself under that policy, with all that it takes beside its items;
`store:kredis` as a recipe has the pilot steer it."
)]
pub struct Args {
    /// Traces: files in any known format, or generators
    #[arg(value_name = "TRACE")]
    traces: Vec<String>,
    /// Policies, comma separated; parameters follow with colons: klru:k=16:pool=16
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "lru,klru:5,sieve,s3fifo,gdsf,lhd",
        value_name = "POLICY"
    )]
    policy: Vec<String>,
    /// Sizes of the cache, comma separated: bytes, or per cent of the footprint
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "0.1%,0.3%,1%,3%,10%,25%",
        value_parser = Size::parse,
        value_name = "SIZE"
    )]
    size: Vec<Size>,
    /// Recipes instead of policies, comma separated: the server's pilot in virtual time. The traces
    /// are its tenants; of a single one the clients are
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "RECIPE",
        conflicts_with_all = ["policy", "tenant", "interval", "csv"]
    )]
    recipe: Vec<String>,
    /// Cost of a miss, with --recipe: of one tenant (web=2ms) or of all (0.5ms)
    #[arg(long, value_name = "[TENANT=]TIME", requires = "recipe")]
    penalty: Vec<String>,
    /// Size of an object after a read that shows another size than the stored one
    #[arg(long, value_enum, default_value_t, value_name = "WHICH", conflicts_with = "recipe")]
    read_size: ReadSize,
    /// Tell the tenants of the trace apart: they share the cache, and are counted each
    #[arg(long)]
    tenant: bool,
    /// Reproduces the run
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// The miss ratio over time as well: one figure for every N requests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    interval: Option<u64>,
    /// Simulate on this many cores; without it on all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Print one JSON document: an array of results
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print comma-separated values
    #[arg(long)]
    csv: bool,
    /// Write a page with charts and tables
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    read: Options,
}

/// Which size an object has after a read that shows another than is stored.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ReadSize {
    /// The new one: the trace does not show the write between
    #[default]
    New,
    /// The one it came with, until it is written or leaves: libCacheSim's way
    First,
}

/// Runs the command.
///
/// # Errors
/// A message that states the cause and the fix.
#[expect(clippy::needless_pass_by_value, reason = "every command is called alike")]
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
    let mut outcomes: Vec<Outcome> = vec![];
    for trace in &args.traces {
        let plan = play::Plan {
            choices: &choices,
            sizes: &args.size,
            seed: args.seed,
            read_size: args.read_size,
            interval: args.interval,
            tenants: args.tenant,
            threads,
        };
        let (whole, played) = play::trace(trace, &args.read, foresight, &plan)?;
        if whole.lost > 0 {
            eprintln!("larder: trace '{trace}': {} requests are missing from it", whole.lost);
        }
        if whole.is_estimate {
            eprintln!(
                "larder: trace '{trace}' has more than {} keys: the footprint and what misses are \
                 due to are estimated from a sample of them; sizes in bytes are exact",
                annotator::KEYS_MAX
            );
        }
        outcomes.extend(played);
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

/// Prefix of a name that stands for the live store under a policy or a recipe.
const LIVE: &str = "store:";

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
        .context("cannot tell how many cores there are: name a number with --threads")?
        .get())
}
