//! Tenants with different best numbers of candidates and different miss costs: the mixes of the
//! kRedis experiments.
//!
//! Without recorded traces the tenants are synthetic: popular keys want many candidates for an
//! eviction, loops want few, and phases of both want many and few in turn.

use super::hindsight::{self, Tenant};
use super::load::{Load, traces};
use super::{Findings, Setting};
use crate::plant::Counts;
use anyhow::{Result, ensure};
use std::path::Path;

/// Steps of the ablation, as recipes: classes of penalties by EAET and K = 5, tenants instead of
/// classes, curves of K-LRU instead of LRU, and K for each tenant. Other recipes follow.
const ABLATION: &[(&str, &str)] = &[
    ("static", "static"),
    ("predis", "predis"),
    ("predis+dictionaries", "kredis:model=eaet:k=5"),
    ("predis+krr", "kredis:k=5"),
    ("kredis", "kredis"),
    ("auto", "auto"),
    ("kredis:model=kaet", "kredis:model=kaet"),
];

/// Shared caches, most of which know the cost of a miss.
const POLICIES: [(&str, &str); 5] = [
    ("hyperbolic", "hyperbolic:cost=1"),
    ("gdsf", "gdsf:cost=1"),
    ("cost-lhd", "cost-lhd"),
    ("gittins", "gittins"),
    ("adaptsize", "lru+adaptsize"),
];

/// Recorded traces of four tenants, all of which are sensitive to K.
const RECORDED: [&str; 4] = ["arc_oltp", "mooncake_synth", "lirs_2_pools", "tencent_blk_2706"];

/// Traces of the four tenants: recorded ones where there is a folder, or else generators.
pub(super) fn four(setting: &Setting, seed: u64) -> Result<Vec<String>> {
    if let Some(folder) = &setting.traces {
        return recorded(folder, &RECORDED);
    }
    Ok(made(setting.pick(1_500_000, 300_000), seed))
}

fn made(requests: u64, seed: u64) -> Vec<String> {
    let rest = format!("requests={requests}:size=const/200:arrivals=poisson");
    vec![
        format!("synth:zipf:keys=60000:skew=0.9:rate=2000:seed={seed}:{rest}"),
        format!("synth:loop:keys=20000:rate=1000:seed={}:{rest}", seed + 100),
        format!("synth:zipf:keys=40000:skew=0.7:rate=2000:seed={}:{rest}", seed + 200),
        format!(
            "synth:two-phase:keys=30000:skew=0.8:loop=15000:cycles=4:rate=1500:seed={}:{rest}",
            seed + 300
        ),
    ]
}

/// Four tenants for a live experiment, whose requests are sent as fast as they are answered.
pub(super) fn live_four(folder: Option<&Path>, requests: u64) -> Result<Vec<String>> {
    match folder {
        Some(folder) => recorded(folder, &RECORDED),
        None => Ok(made(requests, 1)),
    }
}

/// The named traces in a folder, in this order.
pub(super) fn recorded(folder: &Path, names: &[&str]) -> Result<Vec<String>> {
    let known = traces(folder)?;
    let mut found = vec![];
    for name in names {
        let path = known.iter().find(|(known, _)| known == name).map(|(_, path)| path.clone());
        ensure!(path.is_some(), "there is no trace {name}.csv.zst in {}", folder.display());
        found.extend(path);
    }
    Ok(found)
}

/// The ablation; a quick run leaves out K-AET, whose solution takes ten times as long as all
/// others.
pub(super) fn ablation(setting: &Setting) -> &'static [(&'static str, &'static str)] {
    setting.pick(ABLATION, &ABLATION[..ABLATION.len() - 1])
}

/// Runs `recipes` on a load with a share of its working set, and adds a cell for each.
pub(super) fn fly_all(
    findings: &mut Findings,
    recipes: &[(&str, &str)],
    (load, workload): (&Load, &str),
    share: f64,
    seed: u64,
) -> Result<()> {
    for (name, recipe) in recipes {
        let simulation = load.simulate(recipe, load.share(share), seed)?;
        let counts = load.counts(&simulation);
        let figures = [("miss_ratio", counts.miss_ratio()), ("mean_us", counts.mean_us())];
        findings.cell(name, workload, seed, &figures);
    }
    Ok(())
}

/// Adds cells of caches without a pilot: an equal share for each tenant, and one cache for all
/// under policies that know no tenants. (`static` is free competition: shared K-LRU as in Redis.)
pub(super) fn baselines(
    findings: &mut Findings,
    (load, workload): (&Load, &str),
    share: f64,
    seed: u64,
) -> Result<()> {
    let memory = load.share(share);
    let tenants = hindsight::tenants(load, memory, seed);
    let reads: f64 = tenants.iter().map(|tenant| tenant.reads).sum();
    let waited = |tenant: &Tenant, misses: f64| -tenant.reads * misses * tenant.penalty_us;
    let mean_us = -hindsight::best(&tenants, waited) / reads;
    findings.cell("best division in hindsight", workload, seed, &[("mean_us", mean_us)]);
    let mut note = |name: &str, counts: Counts| {
        let figures = [("miss_ratio", counts.miss_ratio()), ("mean_us", counts.mean_us())];
        findings.cell(name, workload, seed, &figures);
    };
    note("equal split", load.counts(&load.split(memory, seed)?));
    for (name, policy) in POLICIES {
        note(name, load.play(policy, memory, seed)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plant::SimulatedStore;

    /// A loop needs all the memory, beside keys that are hardly read. With equal shares the loop
    /// misses; free competition gives it nearly all the memory.
    #[test]
    fn every_baseline_is_there() {
        let tenants = [
            "synth:loop:keys=900:size=const/100:requests=40000:rate=1000",
            "synth:uniform:keys=20000:size=const/100:requests=2000:rate=50",
        ];
        let load = Load::open(&tenants.map(str::to_owned), &[1_000, 1_000]).unwrap();
        let share = 110_000.0 / load.footprint.as_f64();
        let mut findings = Findings::default();
        fly_all(&mut findings, &[("static", "static")], (&load, "two"), share, 1).unwrap();
        baselines(&mut findings, (&load, "two"), share, 1).unwrap();
        let misses = |row| findings.mean(row, None, "miss_ratio");
        let (split, free) = (misses("equal split"), misses("static"));
        assert!(split > free + 0.1, "{split} {free}");
        for (row, _) in POLICIES {
            assert!((0.0..=1.0).contains(&misses(row)), "{row}");
        }
        let simulation = load.split(load.share(share), 1).unwrap();
        assert!((0..2).all(|at| simulation.plant.used_by(at).0 <= 55_000));
    }
}
