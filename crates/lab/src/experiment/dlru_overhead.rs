//! Costs of K: the time of an eviction in the live store by the number of candidates, and the space
//! and time of DLRU's miniatures [1].
//!
//! A full store takes writes of new keys, so every write evicts. Times are CPU times of this
//! thread, medians of some rounds. Space and time of the miniatures come from a simulation at their
//! published rate, one key in two hundred, over values of 200 bytes.
//!
//! [1] Wang, Yang, Wang. Dynamically configuring LRU replacement policy in Redis. MEMSYS '20.

use super::dlru_fixed_k::{KS, PENALTY};
use super::load::Load;
use super::{Experiment, Findings, Setting};
use anyhow::{Context, Result};
use base::{Bytes, Micros};
use policy::rank::klru::Klru;
use std::sync::Arc;
use store::{Config, Evictor, Now, Pool, Store};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "dlru-overhead",
    about: "time of an eviction by K in the live store; space and time of the miniatures",
    run,
};

const NOW: Now = Now { unix_ms: 1, micros: Micros(1) };
const ROUNDS: usize = 7;

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let keys = setting.pick(500_000_u64, 100_000);
    for &seed in &setting.seeds {
        let mut times: Vec<(&str, Vec<f64>)> = KS.iter().map(|(row, _)| (*row, vec![])).collect();
        let store = filled(keys, seed);
        let mut next = keys;
        // Rows take turns, so that other work of the machine slows all of them alike.
        for _ in 0..ROUNDS {
            for (row, times) in &mut times {
                choose(&store, row.trim_start_matches("k=").parse()?);
                let before = cpu_ns()?;
                for key in next..next + keys / 5 {
                    set(&store, key);
                }
                next += keys / 5;
                times.push((cpu_ns()? - before) / (keys / 5) as f64 / 1e3);
            }
        }
        let median = |times: &mut Vec<f64>| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        };
        let medians: Vec<_> = times.iter_mut().map(|(row, times)| (*row, median(times))).collect();
        for (row, time) in &medians {
            let figures = [("insert_us", *time), ("by_k1", time / medians[0].1)];
            findings.cell(row, "store", seed, &figures);
        }
        miniatures(setting, findings, seed)?;
    }
    let ratios: Vec<_> =
        KS.iter().map(|(row, _)| format!("{:.2}", findings.mean(row, None, "by_k1"))).collect();
    let paper = "1, 1.64, 2.37, 3.18, 4.31 (evictions alone)";
    findings.claim("time of an insert that evicts, relative to K = 1", ratios.join(", "), paper);
    let space = findings.mean("dlru", None, "space_percent");
    let time = findings.mean("dlru", None, "request_ns");
    let space = format!("{space:.4} %");
    findings.claim("memory of the miniatures, share of the cache's", space, "0.005 %");
    let time = format!("{time:.1} ns");
    findings.claim("time of the miniatures per request", time, "0.027 % of the run");
    Ok(())
}

fn filled(keys: u64, seed: u64) -> Store {
    let maxmemory = Bytes(keys * 200);
    let store = Store::new(Config { maxmemory, shards: 16, seed, ..Config::default() });
    choose(&store, 5);
    (0..keys).for_each(|key| set(&store, key));
    store
}

fn choose(store: &Store, k: u8) {
    let evictor = Evictor { rank: Arc::new(Klru), k, pool: false };
    store.set_pools(&[Pool { tenants: vec![0], class: None, budget: store.limit(), evictor }]);
}

fn set(store: &Store, key: u64) {
    let key = format!("key:{key:020}");
    // A store without room returns an error, which only costs the measurement one write.
    let _ = store.set(&store.key(0, 0, key.as_bytes()), &[b'.'; 100], None, NOW);
}

/// CPU time of this thread so far, in nanoseconds.
pub(super) fn cpu_ns() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat")
        .context("could not read the CPU time of a thread, which only Linux reports")?;
    let ns = stat.split(' ').next().and_then(|ns| ns.parse().ok());
    ns.context("the kernel does not report the CPU time of threads")
}

fn miniatures(setting: &Setting, findings: &mut Findings, seed: u64) -> Result<()> {
    let (requests, keys) = setting.pick((4_000_000, 1_000_000), (400_000, 100_000));
    let text =
        format!("synth:zipf:keys={keys}:skew=0.8:requests={requests}:size=const/200:seed={seed}");
    let load = Load::paced(&text, None, PENALTY)?;
    let memory = load.share(0.5);
    let interval = requests / 10;
    let time = |recipe: &str| -> Result<(f64, f64)> {
        let before = cpu_ns()?;
        let simulation = load.simulate(recipe, memory, seed)?;
        Ok((cpu_ns()? - before, simulation.pilot.status().model_bytes.as_f64()))
    };
    let (plain, _) = time("static:k=5")?;
    // This planner chooses nothing, so that both caches evict alike.
    let (steered, bytes) = time(&format!("dlru:interval={interval}:planner=nothing"))?;
    let figures = [
        ("space_percent", 100.0 * bytes / memory.as_f64()),
        ("request_ns", (steered - plain) / f64::from(requests)),
    ];
    findings.cell("dlru", "miniatures", seed, &figures);
    Ok(())
}
