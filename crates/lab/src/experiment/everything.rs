//! Every policy and every recipe on every trace and mix, relative to the best of the others.
//!
//! All policies play each trace alone, at a hundredth and a tenth of its working set; misses are
//! compared. All policies and all recipes play mixes of tenants with different miss costs; waiting
//! is compared. The best differs from cell to cell. A default that nobody tunes should be near the
//! best in the mean, and nowhere far from it, so the mean and the worst ratio are reported. A row
//! is compared with the other rows. Larder's own rank, alone or as the default recipe, is compared
//! with all rows that do not use it: below 1 it is better than every other policy of its cell.

use super::dlru_fixed_k::PENALTY;
use super::lhd_policies::workloads;
use super::load::Load;
use super::mixes::{four, recorded};
use super::{Experiment, Findings, Setting};
use crate::plant::{Counts, Slabs};
use anyhow::Result;
use base::Micros;
use tune::recipe::{self, Recipe};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "everything",
    about: "all policies and recipes on all traces and mixes, relative to the best of the others",
    run,
};

/// Shares of the working set: of a trace alone, of a mix.
const ALONE: [f64; 2] = [0.01, 0.1];
const TOGETHER: [f64; 2] = [0.03, 0.2];

/// Virtual time between two looks of the pilot where memory is in pages, and the number of pages
/// that the page size aims at.
const LOOK: Micros = Micros::from_millis(500);
const PAGES: u64 = 128;

/// Policies that know the future, or have unlimited memory.
const BOUNDS: [&str; 3] = ["belady", "belady-size", "unbounded"];

/// Recorded tenants that share a cache, with the cost of their misses in microseconds.
const MIXES: [(&str, [(&str, u64); 3]); 4] = [
    ("web, dns, blocks", [("c2k_web07", 5_000), ("dns_domains", 1_000), (BLOCKS, 200)]),
    ("kv, cdn, pools", [(KV, 1_000), ("adaptsize_req", 5_000), ("lirs_2_pools", 2_000)]),
    ("db, llm, blocks", [("arc_oltp", 500), ("mooncake_synth", 5_000), (DISK, 1_000)]),
    ("dns, disk, bikes", [("dns_domains", 1_000), ("hp_ajw", 3_000), ("citibike", 300)]),
];
const KV: &str = "twitter_c52_a";
const BLOCKS: &str = "tencent_blk_1326";
const DISK: &str = "tencent_blk_2706";

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    for (name, trace) in workloads(setting)? {
        let load = Load::paced(&trace, setting.pick(None, Some(60_000)), PENALTY)?;
        for share in ALONE {
            let workload = format!("{name} {:.0} %", 100.0 * share);
            for &seed in &setting.seeds {
                let played = play(&load, share, seed, false)?;
                note(findings, (&workload, seed), &played, ("misses_by_best", Counts::miss_ratio));
            }
        }
    }
    for &seed in &setting.seeds {
        for (name, load) in mixes(setting, seed, setting.pick(None, Some(40_000)))? {
            for share in TOGETHER {
                let workload = format!("{name} {:.0} %", 100.0 * share);
                let mut played = play(&load, share, seed, true)?;
                for recipe in recipe::ALL {
                    let counts = fly(&load, recipe, share, seed)?;
                    played.push((format!("recipe {}", recipe.name), counts));
                }
                note(findings, (&workload, seed), &played, ("waits_by_best", Counts::mean_us));
            }
        }
    }
    worst(findings, "gittins", "misses_by_best");
    worst(findings, "recipe auto", "waits_by_best");
    Ok(())
}

/// Counts of every policy on a load. If `told`, policies that can use the cost of a miss get it.
fn play(load: &Load, share: f64, seed: u64, told: bool) -> Result<Vec<(String, Counts)>> {
    let specs = policy::ALL.iter().filter(|spec| !BOUNDS.contains(&spec.name));
    let names = specs.map(|spec| {
        let costs = told && spec.params.iter().any(|param| param.name == "cost");
        format!("{}{}", spec.name, if costs { ":cost=1" } else { "" })
    });
    names.map(|name| Ok((name.clone(), load.play(&name, load.share(share), seed)?))).collect()
}

/// Counts of a recipe on a load. A recipe that divides pages gets a store with pages, few enough to
/// plan quickly.
fn fly(load: &Load, recipe: &Recipe, share: f64, seed: u64) -> Result<Counts> {
    let memory = load.share(share);
    if recipe.pools.needs_pages() {
        let page = (memory.0 / PAGES).next_power_of_two().clamp(1 << 12, 1 << 20) as u32;
        let slabs = Slabs { page, factor: 2.0, ..Slabs::default() };
        return Ok(load.counts(&load.fly_slabs((*recipe, LOOK), slabs, memory, seed)));
    }
    Ok(load.counts(&load.simulate(recipe.name, memory, seed)?))
}

/// Whether a row uses Larder's own rank.
fn is_own(name: &str) -> bool {
    name.starts_with("gittins") || name == "recipe auto"
}

/// Adds a cell for every policy and recipe, with its figure relative to the best of the others.
fn note(
    findings: &mut Findings,
    (workload, seed): (&str, u64),
    played: &[(String, Counts)],
    (figure, of): (&'static str, fn(&Counts) -> f64),
) {
    for (name, counts) in played {
        let others = played.iter().filter(|(other, _)| other != name);
        let others = others.filter(|(other, _)| !is_own(name) || !is_own(other));
        let best = others.map(|(_, counts)| of(counts)).fold(f64::INFINITY, f64::min);
        let figures = [
            ("miss_ratio", counts.miss_ratio()),
            ("mean_us", counts.mean_us()),
            (figure, of(counts) / best.max(f64::MIN_POSITIVE)),
        ];
        findings.cell(name, workload, seed, &figures);
    }
}

/// Claims how far a row is from the best of the others, in the mean and at its worst workload.
fn worst(findings: &mut Findings, row: &str, figure: &str) {
    let cells = findings.workloads().into_iter().map(|workload| {
        let ratio = findings.mean(row, Some(&workload), figure);
        (if ratio.is_finite() { ratio } else { 0.0 }, workload)
    });
    let (most, at) = cells.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default();
    let ours = format!("{:.4}; {most:.4} at {at}", findings.mean(row, None, figure));
    findings.claim(&format!("{row}: {figure}, mean and worst"), ours, "");
}

/// Tenants that share a cache, with costs of misses that differ. Of a recorded tenant the first
/// `limit` requests are played.
pub(super) fn mixes(
    setting: &Setting,
    seed: u64,
    limit: Option<u64>,
) -> Result<Vec<(&'static str, Load)>> {
    let Some(folder) = &setting.traces else {
        return Ok(vec![("four", Load::open(&four(setting, seed)?, &[200, 1_000, 5_000, 500])?)]);
    };
    let open = |(name, tenants): (&'static str, [(&str, u64); 3])| {
        let traces = recorded(folder, &tenants.map(|(trace, _)| trace))?;
        let mut load = Load::first(limit, &traces, &tenants.map(|(_, penalty)| penalty))?;
        load.pace(Micros::from_millis(1));
        Ok((name, load))
    };
    MIXES.into_iter().map(open).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_measured_by_the_best() {
        let text = "synth:zipf:keys=2000:skew=0.9:requests=20000:size=const/100";
        let load = Load::paced(text, None, PENALTY).unwrap();
        let mut findings = Findings::default();
        let played = play(&load, 0.1, 1, true).unwrap();
        note(&mut findings, ("zipf", 1), &played, ("misses_by_best", Counts::miss_ratio));
        let ratio = |row: &str| findings.mean(row, None, "misses_by_best");
        let least = played.iter().map(|(row, _)| ratio(row)).fold(f64::INFINITY, f64::min);
        assert!(least <= 1.0, "one of them is at least as good as all others");
        assert!(ratio("random") > ratio("gittins:cost=1"));
        assert!(ratio("gdsf:cost=1").is_finite() && ratio("belady").is_nan());
        worst(&mut findings, "random", "misses_by_best");
    }
}
