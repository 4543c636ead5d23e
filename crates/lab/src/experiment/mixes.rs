//! Tenants that want different numbers of candidates and wait differently for a miss: the mixes of
//! the kRedis experiments.
//!
//! Without recorded traces the tenants are made: popular keys want many candidates an eviction,
//! loops few, and phases of both now these and now those.

use super::load::{Load, traces};
use super::{Findings, Setting};
use anyhow::{Result, ensure};
use std::path::Path;

/// What the ablation switches on one after the other, as recipes: classes of penalties by EAET and
/// K = 5, tenants instead of classes, curves of K-LRU instead of LRU, and K for each tenant.
const ABLATION: &[(&str, &str)] = &[
    ("static", "static"),
    ("predis", "predis"),
    ("predis+dictionaries", "kredis:model=eaet:k=5"),
    ("predis+krr", "kredis:k=5"),
    ("kredis", "kredis"),
    ("kredis:model=kaet", "kredis:model=kaet"),
];

/// Recorded traces of four tenants, all of which are sensitive to K.
const RECORDED: [&str; 4] = ["arc_oltp", "mooncake_synth", "lirs_2_pools", "tencent_blk_2706"];

/// Four tenants.
pub(super) fn four(setting: &Setting, seed: u64) -> Result<Vec<String>> {
    if let Some(folder) = &setting.traces {
        return recorded(folder, &RECORDED);
    }
    let requests = setting.pick(1_500_000, 300_000);
    let rest = format!("requests={requests}:size=const/200:arrivals=poisson");
    Ok(vec![
        format!("synth:zipf:keys=60000:skew=0.9:rate=2000:seed={seed}:{rest}"),
        format!("synth:loop:keys=20000:rate=1000:seed={}:{rest}", seed + 100),
        format!("synth:zipf:keys=40000:skew=0.7:rate=2000:seed={}:{rest}", seed + 200),
        format!(
            "synth:two-phase:keys=30000:skew=0.8:loop=15000:cycles=4:rate=1500:seed={}:{rest}",
            seed + 300
        ),
    ])
}

/// The named traces in a folder, in this order.
fn recorded(folder: &Path, names: &[&str]) -> Result<Vec<String>> {
    let known = traces(folder)?;
    let mut found = vec![];
    for name in names {
        let path = known.iter().find(|(known, _)| known == name).map(|(_, path)| path.clone());
        ensure!(path.is_some(), "there is no trace {name}.csv.zst in {}", folder.display());
        found.extend(path);
    }
    Ok(found)
}

/// The ablation, as far as there is time: solving K-AET takes ten times as long as all others.
pub(super) fn ablation(setting: &Setting) -> &'static [(&'static str, &'static str)] {
    setting.pick(ABLATION, &ABLATION[..ABLATION.len() - 1])
}

/// Runs `recipes` on a load with a share of its working set, and notes each under its name.
pub(super) fn fly_all(
    findings: &mut Findings,
    recipes: &[(&str, &str)],
    (load, workload): (&Load, &str),
    share: f64,
    seed: u64,
) -> Result<()> {
    for (name, recipe) in recipes {
        let flight = load.fly(recipe, load.share(share), seed)?;
        let counts = load.counts(&flight);
        let figures = [("miss_ratio", counts.miss_ratio()), ("mean_us", counts.mean_us())];
        findings.cell(name, workload, seed, &figures);
    }
    Ok(())
}
