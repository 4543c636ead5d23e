//! The two runs, side by side.

use super::cache::Cache;
use super::result::DemoRun;
use super::screen::Screen;
use super::workload::Workload;
use anyhow::bail;
use base::Bytes;
use load::{Pace, Values, run_replay};
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Requests a second of each run. Clients and servers together keep less than half of two cores
/// busy, so the measured time is waiting and not work.
pub(super) const RATE: f64 = 8_000.0;
/// Share of a run that warms up. The memory is full after half of it, and the pilot has finished
/// its moves.
pub(super) const WARMUP: f64 = 0.4;
/// The two recipes, a plain cache and the default, under the names that the answer uses too.
pub(super) const RECIPES: [&str; 2] = ["static", "auto"];
/// Requests of a tenant that are sent at once, over one connection. Single requests would cost
/// several times the work, most of it for waking threads up.
const BURST: usize = 8;
/// Connections of each tenant.
const CONNECTIONS: usize = 4;

/// Makes the store of object files, in a folder.
pub(super) fn values(folder: &Path) -> Values {
    Values::new(&folder.join("objects").to_string_lossy())
}

/// Serves all requests with both recipes at the same time.
pub(super) fn serve_both(
    workload: &Workload,
    objects: &Arc<Values>,
    memory: Bytes,
    seed: u64,
    screen: Screen,
) -> anyhow::Result<[DemoRun; 2]> {
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
) -> anyhow::Result<DemoRun> {
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
    Ok(DemoRun::new(&report, &workload.tenants, &cache.holdings()?))
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
