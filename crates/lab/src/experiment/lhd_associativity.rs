//! Number of candidates that a rank needs: LHD and hyperbolic caching by the size of the sample,
//! against LHD over all residents [1].
//!
//! LHD over all residents looks at every resident for each victim. So the workloads are cut to a
//! length for which that takes seconds.
//!
//! [1] Beckmann, Chen, Cidon. LHD: Improving Cache Hit Rate by Maximizing Hit Density. NSDI '18.

use super::dlru_fixed_k::PENALTY;
use super::lhd_policies::workloads;
use super::load::Load;
use super::{Experiment, Findings, Setting};
use anyhow::Result;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "lhd-associativity",
    about: "LHD by the number of candidates, against LHD over all residents",
    run,
};

const CANDIDATES: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// Memory, as a share of the working set.
const SHARE: f64 = 0.1;

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let limit = setting.pick(300_000, 60_000);
    for (name, trace) in workloads(setting)? {
        let load = Load::paced(&trace, Some(limit), PENALTY)?;
        for &seed in &setting.seeds {
            let mut note = |row: &str, policy: &str| -> Result<()> {
                let counts = load.play(policy, load.share(SHARE), seed)?;
                findings.cell(row, &name, seed, &[("miss_ratio", counts.miss_ratio())]);
                Ok(())
            };
            note("lhd", "lhd:global=1")?;
            for k in CANDIDATES {
                note(&format!("lhd k={k}"), &format!("lhd:k={k}"))?;
                note(&format!("hyperbolic k={k}"), &format!("hyperbolic:k={k}"))?;
            }
        }
    }
    let all = findings.mean("lhd", None, "miss_ratio");
    let papers = [(32, "nearly as good"), (64, "as good as all")];
    for (k, paper) in papers {
        let row = format!("lhd k={k}");
        let mean = 100.0 * (findings.mean(&row, None, "miss_ratio") - all);
        let worst = findings.workloads().into_iter().map(|workload| {
            let of = |row: &str| findings.mean(row, Some(&workload), "miss_ratio");
            100.0 * (of(&row) - of("lhd"))
        });
        let worst = worst.fold(f64::NEG_INFINITY, f64::max);
        let ours = format!("{mean:+.2} percentage points, {worst:+.2} at worst");
        findings.claim(&format!("LHD with {k} candidates, against all"), ours, paper);
    }
    Ok(())
}
