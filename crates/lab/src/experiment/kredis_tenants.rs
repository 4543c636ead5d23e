//! Four tenants whose misses cost 200 or 2 000 µs share half of their working set [1].
//!
//! [1] Yang, Wang, Wang. kRedis, IEEE TCC '23, section 6.

use super::load::Load;
use super::mixes::{ablation, baselines, fly_all, four};
use super::{Experiment, Findings, Setting};
use anyhow::Result;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "kredis-tenants",
    about: "four tenants, misses of 200 and 2 000 µs, half of the working set",
    run,
};

pub(super) const PENALTIES: [u64; 4] = [200, 2_000, 2_000, 200];

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    for &seed in &setting.seeds {
        let load = Load::open(&four(setting, seed)?, &PENALTIES)?;
        fly_all(findings, ablation(setting), (&load, "four tenants"), 0.5, seed)?;
        baselines(findings, (&load, "four tenants"), 0.5, seed)?;
    }
    for (row, than, paper) in [
        ("kredis", "static", "17.3 %"),
        ("kredis", "predis", "14.3 %"),
        ("best division in hindsight", "predis", ""),
    ] {
        let less = findings.less(row, than, "mean_us");
        findings.claim(&format!("{row} waits less than {than}"), format!("{less:.1} %"), paper);
    }
    Ok(())
}
