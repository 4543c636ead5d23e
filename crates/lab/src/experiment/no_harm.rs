//! A tuner that does harm is worse than none: recipes where there is little or nothing to gain.
//!
//! Some loads are single recorded traces alone in the cache. The others are tenants with uniform
//! keys, tenants whose misses all cost the same, and penalties that do not depend on the popularity
//! of a key. Beside the waiting, the experiment counts plans, and plans that took back most of the
//! one before.

use super::dlru_fixed_k::{PENALTY, recipe};
use super::load::{Load, traces};
use super::{Experiment, Findings, Setting};
use anyhow::Result;
use base::{Micros, hash};
use tune::pilot::Decision;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "no-harm",
    about: "recipes against static where there is little to gain",
    run,
};

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    for &seed in &setting.seeds {
        for (name, load) in made(setting, seed)? {
            compare(findings, name, &load, seed)?;
        }
        let Some(folder) = &setting.traces else { continue };
        for (name, trace) in traces(folder)? {
            let load = Load::paced(&trace, setting.pick(None, Some(100_000)), PENALTY)?;
            compare(findings, &name, &load, seed)?;
        }
    }
    for name in ["dlru", "kredis", "predis", "auto"] {
        let worse = findings.workloads().into_iter().map(|workload| {
            let mean = |row| findings.mean(row, Some(&workload), "mean_us");
            (100.0 * (mean(name) / mean("static") - 1.0), workload)
        });
        let worst = worse.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default();
        let ours = format!("{:+.2} % ({})", worst.0, worst.1);
        findings.claim(&format!("{name} waits longer than static, at worst"), ours, "");
        let undone = 100.0 * findings.mean(name, None, "undone")
            / findings.mean(name, None, "plans").max(f64::MIN_POSITIVE);
        findings.claim(&format!("plans of {name} undone"), format!("{undone:.1} %"), "");
    }
    Ok(())
}

fn compare(findings: &mut Findings, workload: &str, load: &Load, seed: u64) -> Result<()> {
    let dlru = recipe(load);
    let recipes = [
        ("static", "static"),
        ("dlru", dlru.as_str()),
        ("kredis", "kredis"),
        ("predis", "predis"),
        ("auto", "auto"),
    ];
    for (name, recipe) in recipes {
        let simulation = load.simulate(recipe, load.share(0.25), seed)?;
        let counts = load.counts(&simulation);
        let decided = |decisions: &[Decision]| {
            let history = simulation.pilot.history().iter();
            history.filter(|epoch| decisions.contains(&epoch.decision)).count() as f64
        };
        let figures = [
            ("miss_ratio", counts.miss_ratio()),
            ("mean_us", counts.mean_us()),
            ("plans", decided(&[Decision::Adopted, Decision::Reversed])),
            ("undone", decided(&[Decision::Reversed, Decision::FellBack])),
        ];
        findings.cell(name, workload, seed, &figures);
    }
    Ok(())
}

fn made(setting: &Setting, seed: u64) -> Result<Vec<(&'static str, Load)>> {
    let requests = setting.pick(500_000, 100_000);
    let four = |pattern: &str| {
        let one = |tenant: u64| {
            let seed = seed + 100 * tenant;
            format!("synth:{pattern}:requests={requests}:size=const/200:rate=2000:seed={seed}")
        };
        (0..4).map(one).collect::<Vec<_>>()
    };
    let noise = Load::open(&four("uniform:keys=20000"), &[1_000; 4])?;
    let even = Load::open(&four("zipf:keys=20000:skew=0.8"), &[1_000; 4])?;
    let mut random = Load::open(&four("zipf:keys=20000:skew=0.8"), &[])?;
    for access in &mut random.requests {
        access.penalty = Micros(if hash::mix(access.key).is_multiple_of(2) { 200 } else { 2_000 });
    }
    Ok(vec![("white noise", noise), ("even penalties", even), ("random penalties", random)])
}
