//! Fifteen tenants whose misses cost 1, 2, 4 … 16 384 µs [1]. For latency, memory goes to the
//! tenants with slow misses; for hits, it goes to the tenants with the most requests.
//!
//! [1] Yang, Wang, Wang. kRedis, IEEE TCC '23, section 6.

use super::load::Load;
use super::mixes::{baselines, fly_all};
use super::{Experiment, Findings, Setting};
use anyhow::Result;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "kredis-many",
    about: "fifteen tenants, misses of 1 to 16 384 µs, half of the working set",
    run,
};

const TENANTS: u64 = 15;

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let recipes = [
        ("static", "static"),
        ("predis", "predis"),
        ("predis+dictionaries", "kredis:model=eaet:k=5"),
        ("kredis", "kredis"),
        ("kredis hits", "kredis:objective=hits"),
        ("auto", "auto"),
    ];
    for &seed in &setting.seeds {
        let load = Load::open(&tenants(setting, seed), &penalties())?;
        fly_all(findings, &recipes, (&load, "fifteen tenants"), 0.5, seed)?;
        baselines(findings, (&load, "fifteen tenants"), 0.5, seed)?;
    }
    let less = findings.less("kredis", "static", "mean_us");
    findings.claim("kredis waits less than static", format!("{less:.1} %"), "up to 50.2 %");
    Ok(())
}

/// Miss costs of the tenants, in microseconds. Neighbours in the order of tenants are not
/// neighbours in cost: 7 and 15 have no common divisor.
pub(super) fn penalties() -> Vec<u64> {
    (0..TENANTS).map(|tenant| 1 << (tenant * 7 % TENANTS)).collect()
}

/// Workloads of the tenants: popular keys of several skews, loops, and phases of both.
pub(super) fn tenants(setting: &Setting, seed: u64) -> Vec<String> {
    made(setting.pick(400_000, 60_000), seed)
}

/// Workloads for a live experiment, whose requests are sent as fast as they are answered.
pub(super) fn live_tenants(requests: u64) -> Vec<String> {
    made(requests, 1)
}

fn made(requests: u64, seed: u64) -> Vec<String> {
    let one = |tenant: u64| {
        let seed = seed + 100 * tenant;
        let pattern = match tenant % 3 {
            0 => format!("zipf:keys={}:skew=0.{}", 10_000 + 1_000 * tenant, 6 + tenant / 5),
            1 => format!("loop:keys={}", 4_000 + 400 * tenant),
            _ => format!("two-phase:keys={}:skew=0.8:loop=4000:cycles=3", 8_000 + 600 * tenant),
        };
        let rate = 200 + 100 * (tenant % 4);
        format!(
            "synth:{pattern}:rate={rate}:requests={requests}:seed={seed}:size=const/200:\
             arrivals=poisson"
        )
    };
    (0..TENANTS).map(one).collect()
}
