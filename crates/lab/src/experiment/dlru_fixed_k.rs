//! DLRU against every K it can choose, at three sizes [1].
//!
//! Each workload is played to K-LRU with K = 1, 2, 5, 10 and 16, and to the recipe, which begins
//! with K = 5. The recipe decides 250 times, because the paper's interval of five million reads is
//! longer than most recorded traces. Enough keys are watched to give a miniature thousands of them.
//!
//! [1] Wang, Yang, Wang. Dynamically configuring LRU replacement policy in Redis. MEMSYS '20.

use super::load::{Load, traces};
use super::{Experiment, Findings, Setting};
use anyhow::Result;
use base::Micros;
use std::collections::HashSet;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "dlru-fixed-k",
    about: "DLRU against K = 1, 2, 5, 10, 16 at 25, 50 and 75 % of the working set",
    run,
};

/// The values of K: name of the row, and policy.
pub(super) const KS: [(&str, &str); 5] = [
    ("k=1", "klru:k=1"),
    ("k=2", "klru:k=2"),
    ("k=5", "klru:k=5"),
    ("k=10", "klru:k=10"),
    ("k=16", "klru:k=16"),
];

/// Number of keys that are watched, where the load has more.
const KEYS: f64 = 50_000.0;

/// Cost of a miss: a database in the same room.
pub(super) const PENALTY: Micros = Micros(1_000);

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    for (name, trace) in workloads(setting)? {
        let load = Load::paced(&trace, setting.pick(None, Some(300_000)), PENALTY)?;
        let recipe = recipe(&load);
        for share in [0.25, 0.5, 0.75] {
            let workload = format!("{name} {:.0} %", 100.0 * share);
            for &seed in &setting.seeds {
                for (row, policy) in KS {
                    let counts = load.play(policy, load.share(share), seed)?;
                    note(findings, row, &workload, seed, &counts);
                }
                let simulation = load.simulate(&recipe, load.share(share), seed)?;
                note(findings, "dlru", &workload, seed, &load.counts(&simulation));
                let simulation = load.simulate("auto", load.share(share), seed)?;
                note(findings, "auto", &workload, seed, &load.counts(&simulation));
            }
        }
    }
    let ratio = |workload: &String| {
        let of = |name| findings.mean(name, Some(workload), "miss_ratio");
        of("dlru") / KS.iter().map(|(row, _)| of(row)).fold(f64::INFINITY, f64::min)
    };
    let ratios: Vec<_> = findings.workloads().iter().map(ratio).collect();
    let worst = ratios.iter().copied().fold(0.0, f64::max);
    let within = ratios.iter().filter(|&&ratio| ratio <= 1.01).count();
    let all = ratios.len();
    findings.claim("misses relative to the best K, worst case", format!("{worst:.4}"), "1");
    findings.claim("within 1.01 of the best K", format!("{within} of {all}"), "all");
    Ok(())
}

pub(super) fn note(
    findings: &mut Findings,
    row: &str,
    workload: &str,
    seed: u64,
    counts: &crate::plant::Counts,
) {
    let figures = [("miss_ratio", counts.miss_ratio()), ("mean_us", counts.mean_us())];
    findings.cell(row, workload, seed, &figures);
}

/// The recipe with an interval and a sampling rate that fit the load.
pub(super) fn recipe(load: &Load) -> String {
    let keys = load.requests.iter().map(|access| access.key).collect::<HashSet<_>>().len();
    let rate = (KEYS / keys as f64).clamp(0.005, 1.0);
    format!("dlru:interval={}:rate={rate}", (load.requests.len() / 250).max(1))
}

/// Recorded traces; without them synthetic ones: popular keys, a loop, phases of both, and uniform
/// keys.
pub(super) fn workloads(setting: &Setting) -> Result<Vec<(String, String)>> {
    if let Some(folder) = &setting.traces {
        let mut found = traces(folder)?;
        found.truncate(setting.pick(usize::MAX, 4));
        return Ok(found);
    }
    let requests = setting.pick(2_000_000, 300_000);
    let made = |name: &str, text: &str| {
        (name.to_owned(), format!("synth:{text}:requests={requests}:size=const/200"))
    };
    Ok(vec![
        made("zipf", "zipf:keys=60000:skew=0.8"),
        made("loop", "loop:keys=30000"),
        made("phases", "two-phase:keys=50000:skew=0.8:loop=25000:cycles=2"),
        made("uniform", "uniform:keys=40000"),
    ])
}
