//! Predictions by the miniatures of DLRU, against caches of full size [1].
//!
//! [1] Wang, Yang, Wang. Dynamically configuring LRU replacement policy in Redis. MEMSYS '20.

use super::dlru_fixed_k::{KS, PENALTY, workloads};
use super::load::Load;
use super::{Experiment, Findings, Setting};
use anyhow::Result;
use base::Op;
use curve::{Params, miniature};
use std::collections::HashSet;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "dlru-accuracy",
    about: "miniature caches against full ones, for every K, at three sizes",
    run,
};

/// Number of keys watched. With fewer, the error of the sample dominates.
const KEYS: f64 = 8_000.0;

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    for (name, trace) in workloads(setting)? {
        let load = Load::paced(&trace, setting.pick(None, Some(300_000)), PENALTY)?;
        let keys = load.requests.iter().map(|access| access.key).collect::<HashSet<_>>().len();
        let rate = (KEYS / keys as f64).clamp(0.005, 1.0);
        for share in [0.25, 0.5, 0.75] {
            let workload = format!("{name} {:.0} %", 100.0 * share);
            let size = load.share(share);
            for &seed in &setting.seeds {
                for (row, policy) in KS {
                    let counts = load.play(policy, size, seed)?;
                    let k = row.trim_start_matches("k=").parse()?;
                    let params = Params { k, rate, seed, sizes: vec![size], ..Params::default() };
                    let mut model = (miniature::SPEC.build)(&params);
                    let watched = base::Filter::with_rate(rate);
                    let mut unseen = 0;
                    for access in &load.requests {
                        if watched.keeps(access.key) {
                            model.access(access);
                        } else {
                            unseen += u64::from(access.op == Op::Get);
                        }
                    }
                    model.skip(unseen);
                    let predicted = model.curve().at(size).0;
                    let figures = [
                        ("miss_ratio", counts.miss_ratio()),
                        ("predicted", predicted),
                        ("error", (predicted - counts.miss_ratio()).abs()),
                    ];
                    findings.cell(row, &workload, seed, &figures);
                }
            }
        }
    }
    let errors: Vec<_> = KS.iter().map(|(row, _)| findings.mean(row, None, "error")).collect();
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let paper = "the curves coincide (figure 5)";
    findings.claim("mean error of a miss ratio", format!("{mean:.4}"), paper);
    Ok(())
}
