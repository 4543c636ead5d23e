//! The demo: the same requests to a plain cache and to a tuned one, side by side.
//!
//! Both runs use the same server in the same process, started empty on loopback, with the same
//! memory. One follows recipe `static`, which does what Redis does: one shared pool, five
//! candidates per eviction and sixteen kept. The other follows `auto`. It has one pool too, and
//! evicts the item whose bytes save the least waiting, from learnt reuse and measured costs of
//! misses. The load is a cache-aside application: a miss reads the object from a file, waits as
//! long as the tenant's penalty says, as for a database that far away, and writes the answer to the
//! cache.
//!
//! **Both run at the same time**, each with clients of its own. One after the other they would meet
//! two different machines. If another program took a core for some seconds of one run, its requests
//! would wait for the core and not for misses, and the comparison would measure the neighbours.
//! Side by side, every disturbance hits both runs.
//!
//! Requests come in small bursts, because a page of a tenant asks for several things at once. They
//! come at a fixed rate well below the limit of two cores, and connections work in a closed loop.
//! In an open loop a machine that is busy with other work for a fifth of a second would make
//! thousands of requests late. So the figures show the cost of a request, not the behaviour of the
//! server at its limit; `larder replay --open-loop` measures that. Other processes still influence
//! the times, so the verdict uses counts: misses, multiplied by the stated cost of each.
//!
//! The first part of each run warms up cache and pilot and is not counted, in both runs alike.

mod cache;
mod result;
mod screen;
mod workload;

use anyhow::{Context, bail};
use base::Bytes;
use cache::Cache;
use load::{Pace, Values, json, run_replay};
use result::{Answer, Run, wrapped};
use screen::Screen;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use workload::Workload;

/// Requests a second of each run. Clients and servers together keep less than half of two cores
/// busy, so the measured time is waiting and not work.
const RATE: f64 = 8_000.0;
/// Requests of a tenant that are sent at once, over one connection. Single requests would cost
/// several times the work, most of it for waking threads up.
const BURST: usize = 8;
/// Connections of each tenant.
const CONNECTIONS: usize = 4;
/// Share of a run that warms up. The memory is full after half of it, and the pilot has finished
/// its moves.
const WARMUP: f64 = 0.4;
/// The two recipes, a plain cache and the default, under the names that the answer uses too.
const RECIPES: [&str; 2] = ["static", "auto"];

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
    /// Another seed makes other requests of the same kind
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Serve this trace instead of the built-in tenants; given several times, each is a tenant,
    /// with penalties of 0.2, 0.4, 1 and 2 ms in order and from the first again
    #[arg(long = "trace", value_name = "TRACE")]
    traces: Vec<String>,
    /// How long it takes
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, conflicts_with = "requests")]
    seconds: f64,
    /// Requests in each of the two runs, instead of a time
    #[arg(long, value_name = "N")]
    requests: Option<u64>,
    /// Memory of the cache [default: four tenths of what is ever asked for; of traces a third]
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse)]
    memory: Option<Bytes>,
}

/// Runs the demo.
///
/// # Errors
/// An error that says what went wrong and names the fix.
#[expect(clippy::needless_pass_by_value, reason = "all subcommands are run alike")]
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let requests = args.requests()?;
    let mut screen = Screen::new(args.json);
    let folder = tempfile::tempdir().context("the demo needs a folder for its objects")?;
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
        bail!("a memory of {memory} holds next to nothing: give it at least {least}");
    }
    screen.say(&introduction(&workload, memory));
    let [plain, tuned] = serve_both(&workload, &objects, memory, args.seed, screen)?;
    let answer = Answer { seed: args.seed, r#static: plain, auto: tuned };
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
            bail!("{requests} requests say nothing: choose at least 1000, or a second");
        }
        Ok(requests)
    }
}

/// Makes the store of object files, in a folder.
fn values(folder: &Path) -> Values {
    Values::new(&folder.join("objects").to_string_lossy())
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
        "{} requests of {} tenants, who wait for a miss as long as it says: {}. \
         A cache of {memory} for {} of objects, over a file: plain (recipe {plain}), and tuned \
         beside it (recipe {tuned}). The first {:.0} % of each run warm up and are not counted.",
        workload.requests,
        workload.tenants.len(),
        tenants.join(", "),
        workload.footprint,
        WARMUP * 100.0
    );
    wrapped(&text) + "\n"
}

/// Serves all requests with both recipes at the same time.
fn serve_both(
    workload: &Workload,
    objects: &Arc<Values>,
    memory: Bytes,
    seed: u64,
    screen: Screen,
) -> anyhow::Result<[Run; 2]> {
    let screen = Mutex::new(screen);
    let serve = |at| serve(at, workload, objects, memory, seed, &screen);
    thread::scope(|scope| {
        let plain = scope.spawn(|| serve(0));
        let tuned = serve(1);
        let plain = plain.join().unwrap_or_else(|panic| resume_unwind(panic));
        Ok([plain?, tuned?])
    })
}

/// Serves all requests with the recipe at `at` of [`RECIPES`], from an empty cache.
fn serve(
    at: usize,
    workload: &Workload,
    objects: &Arc<Values>,
    memory: Bytes,
    seed: u64,
    screen: &Mutex<Screen>,
) -> anyhow::Result<Run> {
    let recipe = RECIPES[at];
    let mut cache = Cache::start(recipe, memory, &workload.tenants)?;
    let names: Vec<String> = workload.tenants.iter().map(|tenant| tenant.name.clone()).collect();
    let tenants = workload.tenants.iter().map(|tenant| load::ReplayTenant {
        name: tenant.name.clone(),
        prefix: tenant.prefix(),
        db: 0,
        backend: tenant.backend(objects),
    });
    let shown = || screen.lock().unwrap_or_else(PoisonError::into_inner);
    let options = load::Options {
        to: load::Place::Redis(cache.address()),
        tenants: tenants.collect(),
        order: workload.order(BURST as u64)?,
        requests: Some(workload.requests),
        connections: CONNECTIONS,
        depth: BURST,
        pace: Pace::ClosedAtMost { rate: RATE, burst: BURST as u64 },
        tells_costs: false,
        warmup: WARMUP,
        seed,
        interval: shown().interval(),
    };
    let mut holdings = vec![];
    let report = run_replay(options, &mut |progress| {
        // If the server does not answer, the load fails too, and its error says why.
        if let Ok(now) = cache.holdings() {
            holdings = now;
        }
        shown().show(at, recipe, &names, progress, &holdings);
    })?;
    if report.errors > 0 {
        let first = report.first_error.unwrap_or_default();
        bail!("{} requests of recipe {recipe} failed, the first with: {first}", report.errors);
    }
    Ok(Run::new(&report, &workload.tenants, &cache.holdings()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tuned_cache_is_what_everybody_gets() {
        assert_eq!(server::config::Settings::default().recipe.name, RECIPES[1]);
    }

    /// A small demo: both recipes get the same requests, none fails, and the memory holds.
    #[test]
    fn both_recipes_serve_the_same_requests() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Arc::new(values(folder.path()));
        let mut workload = Workload::built_in(6_000, 1);
        workload.prepare(&objects).unwrap();
        let memory = Bytes(workload.footprint.0 / 2);
        let runs = serve_both(&workload, &objects, memory, 1, Screen::new(true)).unwrap();
        let [plain, tuned] = runs.map(|run| serde_json::to_value(run).unwrap());
        for run in [&plain, &tuned] {
            assert_eq!(run["requests"], 3_600);
            let tenants = run["tenants"].as_array().unwrap();
            let bytes: u64 = tenants.iter().map(|tenant| tenant["bytes"].as_u64().unwrap()).sum();
            assert!(bytes <= memory.0 && bytes > memory.0 / 4, "{bytes} of {memory}");
        }
        for (plain, tuned) in
            plain["tenants"].as_array().unwrap().iter().zip(tuned["tenants"].as_array().unwrap())
        {
            assert_eq!((&plain["name"], &plain["requests"]), (&tuned["name"], &tuned["requests"]));
        }
    }
}
