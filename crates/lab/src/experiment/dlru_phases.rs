//! DLRU where the best K changes: popular keys and a loop take turns [1]. Also DLRU where K does
//! not matter: uniform keys, for which the smallest K is the cheapest.
//!
//! [1] Wang, Yang, Wang. Dynamically configuring LRU replacement policy in Redis. MEMSYS '20.

use super::dlru_fixed_k::{KS, PENALTY, note, recipe};
use super::load::Load;
use super::{Experiment, Findings, Setting};
use anyhow::Result;
use tune::Evictor;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "dlru-phases",
    about: "DLRU on two phases that want different K, with 30 % of the working set",
    run,
};

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let requests = setting.pick(3_000_000, 600_000);
    let mut smallest = vec![];
    for &seed in &setting.seeds {
        let rest = format!("requests={requests}:seed={seed}:size=const/200");
        let two = format!("synth:two-phase:keys=60000:skew=0.9:loop=30000:cycles=2:{rest}");
        let load = Load::paced(&two, None, PENALTY)?;
        for (row, policy) in KS {
            let counts = load.play(policy, load.share(0.3), seed)?;
            note(findings, row, "two phases", seed, &counts);
        }
        let simulation = load.simulate(&recipe(&load), load.share(0.3), seed)?;
        note(findings, "dlru", "two phases", seed, &load.counts(&simulation));
        let simulation = load.simulate("auto", load.share(0.3), seed)?;
        note(findings, "auto", "two phases", seed, &load.counts(&simulation));

        let alike = Load::paced(&format!("synth:uniform:keys=40000:{rest}"), None, PENALTY)?;
        let simulation = alike.simulate(&recipe(&alike), alike.share(0.3), seed)?;
        let history = simulation.pilot.history();
        let random = |pool: &tune::pilot::PoolEpoch| pool.evictor == Evictor::klru(1);
        let epochs = history.iter().filter(|epoch| epoch.pools.iter().all(random)).count();
        smallest.push(100.0 * epochs as f64 / history.len().max(1) as f64);
    }
    let of = |name| findings.mean(name, None, "miss_ratio");
    let best = KS.iter().map(|(row, _)| of(row)).fold(f64::INFINITY, f64::min);
    let less = 100.0 * (1.0 - of("dlru") / best);
    findings.claim("fewer misses than the best fixed K", format!("{less:.1} %"), "below all");
    let share = smallest.iter().sum::<f64>() / smallest.len() as f64;
    findings.claim(
        "intervals with K = 1 where all K miss the same",
        format!("{share:.0} %"),
        "all",
    );
    Ok(())
}
