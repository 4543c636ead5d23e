//! The first seconds of a server: the default recipe beside a plain cache, from empty stores.
//!
//! What `auto` needs to know it learns from requests, so at first it knows nothing. The live store,
//! not its simulation, plays the first ten seconds of each load under `auto` and under two plain
//! caches: LRU, by so many candidates that the oldest is nearly always among them, and `static`,
//! by five as in Redis. Memory is equal. The waiting of `auto` is compared with that of LRU, in all
//! and in the worst window since LRU first evicted. A window has few misses, so its ratio is noisy
//! where hardly anything misses.

use super::everything::mixes;
use super::load::{Load, traces};
use super::{Experiment, Findings, Setting};
use crate::plant::{Bounds, Counts, LivePlant, Simulation};
use anyhow::{Result, anyhow};
use base::{Bytes, Micros};
use load::median;
use tune::{Evictor, Recipe, recipe};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "cold-start",
    about: "the first ten seconds of an empty live store: auto beside LRU",
    run,
};

/// Requests of the first ten seconds, and of a window.
const REQUESTS: u64 = 200_000;
const WINDOW: usize = 10_000;
/// Time between two requests.
const PACE: Micros = Micros(50);
/// Cost of a miss where a trace is alone.
const PENALTY: Micros = Micros(1_000);
/// Requests of each tenant of a mix.
const EACH: u64 = 70_000;

/// Shares of the working set, and the memory below which tables take too large a part of a store.
const SHARES: [f64; 2] = [0.1, 0.3];
const MEMORY_MIN: Bytes = Bytes(4 << 20);

/// Windows in which LRU misses fewer reads are not compared.
const MISSES_MIN: u64 = 400;

/// LRU by 32 candidates.
static LRU: [Evictor; 1] = [Evictor::klru_pool(16)];

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    for &seed in &setting.seeds {
        for (name, load) in loads(setting, seed)? {
            for share in SHARES {
                let memory = load.share(share);
                if memory >= MEMORY_MIN {
                    let workload = format!("{name} {:.0} %", 100.0 * share);
                    compare(findings, &workload, &load, memory, seed)?;
                }
            }
        }
    }
    for (figure, what) in [("by_lru", "in all"), ("worst_by_lru", "in the worst window")] {
        let cells = findings.workloads().into_iter().map(|workload| {
            let ratio = findings.mean("auto", Some(&workload), figure);
            (if ratio.is_finite() { ratio } else { 0.0 }, workload)
        });
        let mut cells: Vec<_> = cells.collect();
        cells.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ratios: Vec<f64> = cells.iter().map(|(ratio, _)| *ratio).collect();
        let (most, at) = cells.pop().unwrap_or_default();
        let ours = format!("{:.4}; {most:.4} ({at})", median(&ratios));
        findings.claim(&format!("auto waits relative to LRU {what}, median and worst"), ours, "");
    }
    Ok(())
}

/// Counts of each window, and the first window after which something was evicted.
struct Played {
    windows: Vec<Counts>,
    full: usize,
}

/// Plays the load to an empty live store.
fn play(recipe: Recipe, load: &Load, memory: Bytes, seed: u64) -> Played {
    let bounds: Vec<_> = (0..load.tenants()).map(|at| Bounds::none(&at.to_string())).collect();
    let mut store = Simulation::over(LivePlant::new(&recipe, memory, &bounds, seed), recipe, seed);
    let (mut windows, mut full) = (vec![], None);
    for window in load.requests.chunks(WINDOW) {
        let mut counts = Counts::default();
        for access in window {
            let outcome = store.access(access);
            counts.record(access, outcome);
        }
        windows.push(counts);
        if store.plant.has_evicted() {
            full.get_or_insert(windows.len());
        }
    }
    let full = full.unwrap_or(windows.len());
    Played { windows, full }
}

fn compare(
    findings: &mut Findings,
    workload: &str,
    load: &Load,
    memory: Bytes,
    seed: u64,
) -> Result<()> {
    let parse = |text| recipe::parse(text).map_err(|error| anyhow!("{error}"));
    let plain = parse("static")?;
    let rows = [("lru", Recipe { evictors: &LRU, ..plain }), ("static", plain)];
    let [lru, fixed] = rows.map(|(name, recipe)| (name, play(recipe, load, memory, seed)));
    let auto = ("auto", play(parse("auto")?, load, memory, seed));
    let full = lru.1.full;
    let by_lru = |played: &Played, window: usize| {
        let of = |played: &Played| played.windows[window].waited.as_f64();
        of(played) / of(&lru.1).max(f64::MIN_POSITIVE)
    };
    for (name, played) in [&lru, &fixed, &auto] {
        let sum = |played: &Played| played.windows.iter().copied().sum::<Counts>();
        let (own, other) = (sum(played), sum(&lru.1));
        let windows = (full..lru.1.windows.len())
            .filter(|&at| lru.1.windows[at].misses >= MISSES_MIN)
            .map(|at| by_lru(played, at));
        let figures = [
            ("miss_ratio", own.miss_ratio()),
            ("mean_us", own.mean_us()),
            ("by_lru", own.mean_us() / other.mean_us().max(f64::MIN_POSITIVE)),
            ("worst_by_lru", windows.fold(0.0, f64::max)),
            ("full_at", full as f64 / (REQUESTS / WINDOW as u64) as f64),
        ];
        findings.cell(name, workload, seed, &figures);
    }
    Ok(())
}

/// The loads, at twenty thousand requests a second: each trace alone, and mixes of tenants whose
/// misses have unequal costs.
fn loads(setting: &Setting, seed: u64) -> Result<Vec<(String, Load)>> {
    let limit = Some(setting.pick(REQUESTS, REQUESTS / 4));
    let mut loads = vec![];
    let alone = match &setting.traces {
        Some(folder) => traces(folder)?,
        None => made(seed),
    };
    for (name, trace) in alone {
        loads.push((name, Load::paced(&trace, limit, PENALTY)?));
    }
    for (name, load) in mixes(setting, seed, Some(setting.pick(EACH, EACH / 4)))? {
        loads.push((name.to_owned(), load));
    }
    for (_, load) in &mut loads {
        load.requests.truncate(REQUESTS as usize);
        load.pace(PACE);
    }
    Ok(loads)
}

/// Popular objects, a loop, and phases of both.
fn made(seed: u64) -> Vec<(String, String)> {
    let made = |name: &str, text: &str| {
        let rest = format!("requests={REQUESTS}:size=pareto/100/3000/0.5:seed={seed}");
        (name.to_owned(), format!("synth:{text}:{rest}"))
    };
    vec![
        made("zipf", "zipf:keys=40000:skew=0.9"),
        made("loop", "loop:keys=20000"),
        made("phases", "two-phase:keys=40000:skew=0.8:loop=20000:cycles=4"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_where_lru_is_worst() {
        let text = "synth:loop:keys=3000:requests=40000:size=const/8000";
        let mut load = Load::paced(text, None, PENALTY).unwrap();
        load.pace(PACE);
        let mut findings = Findings::default();
        compare(&mut findings, "loop", &load, load.share(0.5), 1).unwrap();
        let of = |row: &str, figure: &str| findings.mean(row, None, figure);
        assert!(of("lru", "miss_ratio") > 0.9, "LRU keeps nothing of a loop");
        assert!(of("auto", "by_lru") < 0.9, "auto learns to");
        assert_eq!((of("lru", "by_lru"), of("lru", "worst_by_lru")), (1.0, 1.0));
        assert!(of("static", "worst_by_lru") >= of("static", "by_lru"));
        assert!(of("lru", "full_at") < 0.5, "it was full after half a loop");
    }
}
