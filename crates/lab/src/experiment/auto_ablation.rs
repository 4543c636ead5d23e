//! Gain by each part of the Gittins rank: the whole rank, and the rank without one part at a time.
//!
//! The loads are those of `kredis-tenants` and `kredis-many`, and the mixes of `everything`. A
//! part that gives nothing on any of them is not worth its code.

use super::everything::mixes;
use super::load::Load;
use super::mixes::four;
use super::{Experiment, Findings, Setting};
use super::{kredis_many, kredis_tenants};
use anyhow::Result;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "auto-ablation",
    about: "the rank of auto, each time without one of its parts",
    run,
};

const WHOLE: &str = "whole";

const PARTS: [(&str, &str); 18] = [
    (WHOLE, "gittins"),
    ("only residents watched", "gittins:watch=0"),
    ("2 % of the keys watched", "gittins:watch=0.02"),
    ("no tail", "gittins:tail=0"),
    ("never giving up", "gittins:stop=0"),
    ("one table for all tenants", "gittins:tenants=0"),
    ("no draws by bytes", "gittins:bytes=0"),
    ("not the newest", "gittins:newest=0"),
    ("no memory of the evicted", "gittins:memory=0"),
    ("half the memory", "gittins:memory=0.5"),
    ("32 candidates", "gittins:k=32"),
    ("16 candidates", "gittins:k=16"),
    ("new items do not compete", "gittins:compete=0"),
    ("octaves without parts", "gittins:parts=0"),
    ("no profile", "gittins:profile=0"),
    ("one rate", "gittins:fast=0"),
    ("no recency at the start", "gittins:recency=0"),
    ("all items age alike", "gittins:steady=0"),
];

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    for &seed in &setting.seeds {
        let tenants = Load::open(&four(setting, seed)?, &kredis_tenants::PENALTIES)?;
        compare(findings, ("four tenants", &tenants), 0.5, seed)?;
        let penalties = kredis_many::penalties();
        let many = Load::open(&kredis_many::tenants(setting, seed), &penalties)?;
        compare(findings, ("fifteen tenants", &many), 0.5, seed)?;
        if setting.traces.is_some() {
            for (name, load) in mixes(setting, seed, setting.pick(None, Some(40_000)))? {
                compare(findings, (name, &load), 0.1, seed)?;
            }
        }
    }
    Ok(())
}

fn compare(
    findings: &mut Findings,
    (workload, load): (&str, &Load),
    share: f64,
    seed: u64,
) -> Result<()> {
    let mut whole = f64::NAN;
    for (row, policy) in PARTS {
        let wait = load.play(policy, load.share(share), seed)?.mean_us();
        if row == WHOLE {
            whole = wait;
        }
        findings.cell(row, workload, seed, &[("mean_us", wait), ("by_whole", wait / whole)]);
    }
    Ok(())
}
