//! The command: its arguments, and what it prints.

use super::result::{DemoOutput, wrapped};
use super::screen::Screen;
use super::serve::{RATE, RECIPES, WARMUP, serve_both, values};
use super::workload::Workload;
use anyhow::{Context, bail};
use base::Bytes;
use load::json;
use std::sync::Arc;

/// Compare a plain cache with a tuned one on this machine, in half a minute.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  larder demo
  larder demo --seed 7 --json
  larder demo --trace web.csv.zst --trace jobs.csv.zst --memory 64mb")]
pub(crate) struct Args {
    /// Print one JSON document at the end; progress goes to standard error
    #[arg(long)]
    json: bool,
    /// Seed of the generated requests
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Trace to play instead of the built-in tenants. Each of several traces is a tenant; their
    /// misses cost 0.2, 0.4, 1 and 2 ms in turn
    #[arg(long = "trace", value_name = "TRACE")]
    traces: Vec<String>,
    /// Duration in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, conflicts_with = "requests")]
    seconds: f64,
    /// Requests in each of the two runs, instead of a duration
    #[arg(long, value_name = "N")]
    requests: Option<u64>,
    /// Memory of the cache [default: 40 % of all bytes requested; a third for traces]
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse)]
    memory: Option<Bytes>,
}

/// Runs the demo.
///
/// # Errors
/// An error that says what went wrong and names the fix.
#[expect(clippy::needless_pass_by_value, reason = "all subcommands have the same signature")]
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let requests = args.requests()?;
    let mut screen = Screen::new(args.json);
    let folder = tempfile::tempdir().context("could not create a folder for the demo's objects")?;
    let objects = Arc::new(values(folder.path()));
    let mut workload = if args.traces.is_empty() {
        Workload::built_in(requests, args.seed)
    } else {
        Workload::traces(&args.traces, requests)
    };
    if args.traces.iter().any(|trace| trace == "-") {
        bail!("the demo reads its traces several times: name a file instead of -");
    }
    workload.prepare(&objects)?;
    let least = Bytes::MIB;
    let share = Bytes((workload.footprint.as_f64() * workload.memory_share) as u64);
    let memory = args.memory.unwrap_or_else(|| share.max(least));
    if memory < least {
        bail!("--memory {memory} is too small for the demo: give it at least {least}");
    }
    screen.say(&introduction(&workload, memory));
    let [plain, tuned] = serve_both(&workload, &objects, memory, args.seed, screen)?;
    let answer = DemoOutput { seed: args.seed, r#static: plain, auto: tuned };
    if args.json {
        return json::print(&answer);
    }
    println!("\n{answer}");
    Ok(())
}

impl Args {
    fn requests(&self) -> anyhow::Result<u64> {
        let requests = self.requests.unwrap_or((self.seconds * RATE) as u64);
        if requests < 1_000 {
            bail!("{requests} requests are too few: choose at least 1000, or a run of a second");
        }
        Ok(requests)
    }
}

/// The introduction: what the demo is going to do, in a few lines.
fn introduction(workload: &Workload, memory: Bytes) -> String {
    let tenants: Vec<String> = workload
        .tenants
        .iter()
        .map(|tenant| format!("{} ({} ms)", tenant.name, tenant.penalty.as_secs_f64() * 1e3))
        .collect();
    let [plain, tuned] = RECIPES;
    let text = format!(
        "{} requests of {} tenants, each with its miss cost: {}. Two caches of {memory} each, for \
         {} of objects in files: a plain one (recipe {plain}) and a tuned one (recipe {tuned}). \
         The first {:.0} % of each run warm the caches up and are not counted.",
        workload.requests,
        workload.tenants.len(),
        tenants.join(", "),
        workload.footprint,
        WARMUP * 100.0
    );
    wrapped(&text) + "\n"
}
