//! The four tenants with three quarters, half and a quarter of their working set.

use super::load::Load;
use super::mixes::{fly_all, four};
use super::{Experiment, Findings, Setting};
use anyhow::Result;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "kredis-memory",
    about: "four tenants with 75, 50 and 25 % of the working set",
    run,
};

const PENALTIES: [u64; 4] = [200, 2_000, 2_000, 200];

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let sizes = [("75 %", 0.75, "21 %"), ("50 %", 0.5, "27 %"), ("25 %", 0.25, "49 %")];
    for &seed in &setting.seeds {
        let load = Load::open(&four(setting, seed)?, &PENALTIES)?;
        for (name, share, _) in sizes {
            let recipes = [("static", "static"), ("kredis", "kredis"), ("auto", "auto")];
            fly_all(findings, &recipes, (&load, name), share, seed)?;
        }
    }
    for (name, _, paper) in sizes {
        let mean = |subject| findings.mean(subject, Some(name), "mean_us");
        let less = 100.0 * (1.0 - mean("kredis") / mean("static"));
        let what = format!("kredis waits less than static, {name} of the working set");
        findings.claim(&what, format!("{less:.1} %"), paper);
    }
    Ok(())
}
