//! LHD against LRU, hyperbolic caching, GDSF, Gittins and AdaptSize: miss ratios at one size, and
//! the memory that each of the others needs to miss as little as LHD [1].
//!
//! Bisection on a logarithmic scale finds the size, between LHD's size and the working set. A
//! policy that misses less than LHD gets less memory instead. Between the last two sizes, at most
//! an eighth of an octave apart, the size is interpolated.
//!
//! [1] Beckmann, Chen, Cidon. LHD: Improving Cache Hit Rate by Maximizing Hit Density. NSDI '18.

use super::dlru_fixed_k::PENALTY;
use super::load::{Load, traces};
use super::{Experiment, Findings, Setting};
use anyhow::Result;
use base::Bytes;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "lhd-policies",
    about: "LHD compared with six other policies: misses, and memory for equally few misses",
    run,
};

/// Rows and their policies: LHD first, the recipe last.
const POLICIES: [(&str, &str); 7] = [
    ("lhd", "lhd:k=64"),
    ("lru", "lru"),
    ("hyperbolic", "hyperbolic"),
    ("gdsf", "gdsf"),
    ("gittins", "gittins"),
    ("adaptsize", "lru+adaptsize"),
    (AUTO, AUTO),
];

/// The row that is a recipe.
const AUTO: &str = "auto";

/// Least memory that a better policy is tried with, relative to LHD's.
const LESS_MAX: f64 = 0.125;

/// Number of sizes tried between the ends.
const STEPS: u32 = 6;

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let shares: &[f64] = setting.pick(&[0.03, 0.1], &[0.1]);
    for (name, trace) in workloads(setting)? {
        let load = Load::paced(&trace, setting.pick(None, Some(60_000)), PENALTY)?;
        for &share in shares {
            let workload = format!("{name} {:.0} %", 100.0 * share);
            for &seed in &setting.seeds {
                compare(&load, share, findings, &workload, seed)?;
            }
        }
    }
    let papers = [("lru", "8"), ("gdsf", "2.4"), ("hyperbolic", "2.5"), ("adaptsize", "2.9")];
    for (row, paper) in papers {
        let logs: Vec<_> = findings
            .workloads()
            .iter()
            .map(|workload| findings.mean(row, Some(workload), "size_by_lhd").ln())
            .collect();
        let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max).exp();
        let least = logs.iter().copied().fold(f64::INFINITY, f64::min).exp();
        let ours = format!("{mean:.2} ({least:.2} to {most:.1})");
        let what =
            format!("memory of {row} relative to LHD, for equally few misses (geometric mean)");
        findings.claim(&what, ours, paper);
    }
    Ok(())
}

fn compare(
    load: &Load,
    share: f64,
    findings: &mut Findings,
    workload: &str,
    seed: u64,
) -> Result<()> {
    let size = load.share(share);
    let [(_, lhd), ..] = POLICIES;
    let goal = load.play(lhd, size, seed)?.miss_ratio();
    for (row, policy) in POLICIES {
        let misses = |by: f64| -> Result<f64> {
            let size = Bytes((size.as_f64() * by).round() as u64);
            if row == AUTO {
                return Ok(load.counts(&load.simulate(AUTO, size, seed)?).miss_ratio());
            }
            Ok(load.play(policy, size, seed)?.miss_ratio())
        };
        let (miss_ratio, by) = if row == "lhd" {
            (goal, 1.0)
        } else {
            let here = misses(1.0)?;
            let ends = if here > goal { (1.0, 1.0 / share) } else { (LESS_MAX, 1.0) };
            (here, factor(misses, goal, ends)?)
        };
        let figures = [("miss_ratio", miss_ratio), ("size_by_lhd", by)];
        findings.cell(row, workload, seed, &figures);
    }
    Ok(())
}

/// The factor between `low` and `high` at which the miss ratio falls to `goal`. It is one of the
/// ends where the miss ratio does not cross the goal between them.
fn factor(
    misses: impl Fn(f64) -> Result<f64>,
    goal: f64,
    (mut low, mut high): (f64, f64),
) -> Result<f64> {
    let (mut above, mut below) = (misses(low)?, misses(high)?);
    if above <= goal {
        return Ok(low);
    }
    if below >= goal {
        return Ok(high);
    }
    for _ in 0..STEPS {
        let middle = (low * high).sqrt();
        let ratio = misses(middle)?;
        if ratio > goal {
            (low, above) = (middle, ratio);
        } else {
            (high, below) = (middle, ratio);
        }
    }
    let part = (above - goal) / (above - below);
    Ok(low * (high / low).powf(part))
}

/// Recorded traces; without them synthetic ones with objects of all sizes: popular objects, a loop,
/// and phases of both.
pub(super) fn workloads(setting: &Setting) -> Result<Vec<(String, String)>> {
    if let Some(folder) = &setting.traces {
        let mut found = traces(folder)?;
        found.truncate(setting.pick(usize::MAX, 4));
        return Ok(found);
    }
    let requests = setting.pick(2_000_000, 60_000);
    let keys = setting.pick(200_000, 10_000);
    let made = |name: &str, text: &str| {
        (name.to_owned(), format!("synth:{text}:requests={requests}:size=pareto/100/300/0.5"))
    };
    Ok(vec![
        made("zipf", &format!("zipf:keys={keys}:skew=0.9")),
        made("loop", &format!("loop:keys={}", keys / 4)),
        made("phases", &format!("two-phase:keys={keys}:skew=0.8:loop={}:cycles=4", keys / 4)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Misses fall as 1 / size, so half the misses need twice the memory.
    #[test]
    fn the_size_is_found() {
        let misses = |by: f64| Ok(0.8 / by);
        let found = factor(misses, 0.4, (1.0, 10.0)).unwrap();
        assert!((found - 2.0).abs() < 0.01, "{found}");
        assert_eq!(factor(misses, 0.01, (1.0, 10.0)).unwrap(), 10.0);
        assert_eq!(factor(misses, 0.9, (1.0, 10.0)).unwrap(), 1.0);
    }

    /// On popular objects of all sizes, LRU needs much more memory than LHD, and more than GDSF.
    #[test]
    fn lhd_needs_the_least() {
        let text = "synth:zipf:keys=3000:skew=0.9:requests=40000:size=pareto/100/300/0.5";
        let load = Load::paced(text, None, PENALTY).unwrap();
        let mut findings = Findings::default();
        compare(&load, 0.1, &mut findings, "zipf", 1).unwrap();
        let by = |row| findings.mean(row, None, "size_by_lhd");
        assert_eq!(by("lhd"), 1.0);
        assert!(by("lru") > 1.3 && by("lru") > by("gdsf"), "{} {}", by("lru"), by("gdsf"));
    }
}
