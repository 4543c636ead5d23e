//! LAMA's promise of a miss ratio, kept while the workload changes [1].
//!
//! One tenant has a promise of 80 or 85 % hits and goes through three phases, from small items to
//! large ones. Another tenant takes the rest of the memory, and could use all of it. The hits of
//! the first tenant are counted in windows of a fortieth of the run, after a time to settle and
//! through the change.
//!
//! [1] Hu, Wang, Zhou, Luo, Ding, Jiang, Wang. Optimizing Locality-Aware Memory Management of
//!     Key-Value Caches. IEEE TC '17, section 4.7.

use super::lama_phases::phases;
use super::slabs::{Load, lama, open};
use super::{Experiment, Findings, Setting};
use crate::plant::{Counts, SimulatedStore, Simulation};
use anyhow::Result;
use tune::{Goal, Target};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "lama-qos",
    about: "a promise of 80 and 85 % hits, kept through a change of sizes",
    run,
};

/// Windows of a run, and the first one that counts.
const WINDOWS: usize = 40;
const SETTLED: usize = 8;

/// Memory, in megabytes before scaling.
const MEMORY: u64 = 512;

/// Keys of each set, before scaling. They are few, so that first requests of a key are rare: no
/// memory helps there.
const KEYS: u64 = 700_000;

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let scale = setting.pick(8, 64);
    let marks: Vec<f64> = (1..=WINDOWS).map(|at| at as f64 / WINDOWS as f64).collect();
    let targets = [("80 %", 0.20), ("85 %", 0.15)];
    for &seed in &setting.seeds {
        let mut load = Load::new(scale);
        let keys = 7_000_000 / scale;
        let mut others =
            open(&format!("etc:keys={keys}:requests=1000000000:skew=0.7:seed={}", seed + 7))?;
        phases(&mut load, KEYS, seed, 0, |load| {
            if let Some(access) = others.next() {
                load.push(1, &access?);
            }
            Ok(())
        })?;
        for (name, misses) in targets {
            let goal = Goal { tenant: 0, target: Target::MissRatio(misses), priority: 1 };
            let recipe = lama(":interval=400000:move=0.125:keep=0.8:rate=1", scale)?;
            let memory = load.memory(MEMORY);
            let (counts, flown) = load.simulate(recipe, memory, (&marks, vec![goal]), seed);
            note(findings, ("lama", name, seed), &counts, misses, share(&flown));
            let (counts, flown) = load.fly_auto(memory, (&marks, vec![goal]), seed)?;
            note(findings, ("auto", name, seed), &counts, misses, share(&flown));
        }
    }
    for (name, _) in targets {
        for (row, figure, what, paper) in [
            ("lama", "off_mean_points", "mean distance from the promise", ""),
            ("lama", "off_most_points", "greatest distance in a window", "1.3 percentage points"),
            ("lama", "broken_most_points", "most misses beyond the promise in a window", ""),
            ("auto", "broken_most_points", "most misses beyond the promise in a window", ""),
        ] {
            let points = findings.mean(row, Some(name), figure);
            let what = format!("{row}, {name} hits: {what}");
            findings.claim(&what, format!("{points:.2} percentage points"), paper);
        }
    }
    Ok(())
}

/// The share of the memory that the tenant with the promise holds.
fn share(flown: &Simulation<impl SimulatedStore>) -> f64 {
    flown.plant.used_by(0).as_f64() / flown.plant.used().as_f64()
}

/// Adds a cell: how far the counted windows are from the promise, and how far above it.
fn note(
    findings: &mut Findings,
    (row, name, seed): (&str, &str, u64),
    counts: &[Counts],
    misses: f64,
    memory_share: f64,
) {
    let ratio = |window: usize| counts[window].since(counts[window - 1]).miss_ratio();
    let off: Vec<_> = (SETTLED..WINDOWS).map(|at| 100.0 * (ratio(at) - misses)).collect();
    let all = counts[WINDOWS - 1].since(counts[SETTLED - 1]);
    let figures = [
        ("miss_ratio", all.miss_ratio()),
        ("off_mean_points", off.iter().map(|off| off.abs()).sum::<f64>() / off.len() as f64),
        ("off_most_points", off.iter().fold(0.0, |most: f64, off| most.max(off.abs()))),
        ("broken_most_points", off.iter().copied().fold(0.0, f64::max)),
        ("memory_share", memory_share),
    ];
    findings.cell(row, name, seed, &figures);
}
