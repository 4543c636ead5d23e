//! Waiting after a change of the load: a recipe that ran through the change, relative to the same
//! recipe started after it.
//!
//! Tenants swap their workloads, turn to other keys, come and go, and a backend takes ten times as
//! long for a minute. Counting begins once as many bytes were written after the change as the cache
//! holds (a turnover). A cache that ran before the change is compared with one that did not. A
//! recipe that adapts too slowly waits longer than a fresh start.

use super::load::Load;
use super::mixes::recorded;
use super::{Experiment, Findings, Setting};
use crate::plant::{Bounds, Counts, Simulation};
use anyhow::{Result, anyhow};
use base::{Access, Bytes, Micros, Op};
use policy::Outcome;
use tune::recipe;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "changes",
    about: "after a change of tenants, keys or a backend: waiting relative to a fresh start",
    run,
};

const RECIPES: [&str; 4] = ["static", "kredis", "predis", "auto"];

/// Memory, as a share of the bytes that are requested after the change.
const SHARE: f64 = 0.2;

/// Cost of a miss of each tenant, in microseconds.
const PENALTIES: [u64; 3] = [5_000, 500, 1_500];

/// Length of a backend's slow period, and how many times as long a miss takes in it.
const SLOW: Micros = Micros::from_secs(60);
const SLOWER: u64 = 10;

/// Requests before a change, and the load that follows it.
struct Change {
    before: Vec<Access>,
    after: Load,
}

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    for &seed in &setting.seeds {
        for (name, change) in changes(setting, seed)? {
            for row in RECIPES {
                let memory = change.after.share(SHARE);
                let (went, from) = fly(row, &change.before, &change.after, memory, None, seed)?;
                let (fresh, _) = fly(row, &[], &change.after, memory, Some(from), seed)?;
                let figures = [
                    ("mean_us", went.mean_us()),
                    ("fresh_us", fresh.mean_us()),
                    ("by_fresh", went.mean_us() / fresh.mean_us().max(f64::MIN_POSITIVE)),
                ];
                findings.cell(row, name, seed, &figures);
            }
        }
    }
    for row in RECIPES {
        let worst = findings
            .workloads()
            .into_iter()
            .map(|workload| (findings.mean(row, Some(&workload), "by_fresh"), workload));
        let (most, at) = worst.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default();
        let ours = format!("{:.3}; {most:.3} ({at})", findings.mean(row, None, "by_fresh"));
        findings.claim(
            &format!("{row}: waiting relative to a fresh start, mean and worst"),
            ours,
            "",
        );
    }
    Ok(())
}

/// Plays both parts, and counts the reads of `after` from request `from` on. Without it, counting
/// begins after a turnover, or at half of the requests. Returns where it began.
fn fly(
    recipe: &str,
    before: &[Access],
    after: &Load,
    memory: Bytes,
    from: Option<usize>,
    seed: u64,
) -> Result<(Counts, usize)> {
    let recipe = recipe::parse(recipe).map_err(|error| anyhow!(error))?;
    let bounds = [0, 1, 2].map(|at| Bounds::none(&format!("{at}")));
    let mut simulation = Simulation::new(recipe, memory, &bounds, seed);
    for access in before {
        simulation.access(access);
    }
    let (mut written, mut begun) = (0, from);
    let mut counts = Counts::default();
    for (at, access) in after.requests.iter().enumerate() {
        let outcome = simulation.access(access);
        let missed = outcome == Outcome::Miss;
        written += if missed || access.op == Op::Set { access.size.get() } else { 0 };
        if begun.is_none() && (written >= memory.0 || at >= after.requests.len() / 2) {
            begun = Some(at + 1);
        }
        if begun.is_some_and(|begun| at >= begun) {
            counts.record(access, outcome);
        }
    }
    Ok((counts, begun.unwrap_or_default()))
}

/// A load of three tenants with the requests of `traces`, shifted to begin at `start`.
fn load(traces: &[String], start: Micros, limit: Option<u64>) -> Result<Load> {
    let mut load = Load::first(limit, traces, &PENALTIES)?;
    for access in &mut load.requests {
        access.time += start;
    }
    Ok(load)
}

fn changes(setting: &Setting, seed: u64) -> Result<Vec<(&'static str, Change)>> {
    let requests = setting.pick(600_000, 150_000);
    let made = |pattern: &str, seed: u64| {
        format!(
            "synth:{pattern}:requests={requests}:rate=1000:size=const/300:arrivals=poisson:\
             seed={seed}"
        )
    };
    let zipf = |seed| made("zipf:keys=40000:skew=0.9", seed);
    let looped = |seed| made("loop:keys=12000", seed);
    let wide = |seed| made("zipf:keys=90000:skew=0.6", seed);
    let first = [zipf(seed), looped(seed + 100), wide(seed + 200)];
    let end = |requests: &[Access]| requests.last().map_or(Micros(0), |access| access.time);
    let whole = load(&first, Micros(0), None)?.requests;
    let follow = |before: &[Access], traces: &[String]| -> Result<Change> {
        Ok(Change { before: before.to_vec(), after: load(traces, end(before), None)? })
    };
    let two = load(&first[..2], Micros(0), None)?.requests;
    let mut all = vec![
        ("swap", follow(&whole, &[looped(seed), wide(seed + 1), zipf(seed + 2)])?),
        ("other keys", follow(&whole, &first.clone().map(|text| text + ":prefix=o"))?),
        ("a tenant comes", follow(&two, &first)?),
        ("a tenant goes", follow(&whole, &first[..2])?),
        ("a slow minute", slow_minute(&first)?),
    ];
    if let Some(folder) = &setting.traces {
        let names = ["c2k_web07", "dns_domains", "tencent_blk_1326"];
        let limit = setting.pick(None, Some(40_000));
        let traces = recorded(folder, &names)?;
        let turned = [2, 0, 1].map(|at: usize| traces[at].clone());
        let mut before = load(&traces, Micros(0), limit)?;
        before.pace(Micros::from_millis(1));
        let before = before.requests;
        let mut after = load(&turned, Micros(0), limit)?;
        after.pace(Micros::from_millis(1));
        let start = end(&before);
        after.requests.iter_mut().for_each(|access| access.time += start);
        all.push(("recorded swap", Change { before, after }));
    }
    Ok(all)
}

/// The backend of the second tenant takes ten times as long, in the first minute of the part after
/// the change.
fn slow_minute(traces: &[String]) -> Result<Change> {
    let mut all = load(traces, Micros(0), None)?;
    let after = all.requests.split_off(all.requests.len() / 2);
    let start = after.first().map_or(Micros(0), |access| access.time);
    let slow = |access: Access| {
        let is_slow = access.tenant == 1 && access.time < start + SLOW;
        let penalty = Micros(access.penalty.0 * if is_slow { SLOWER } else { 1 });
        Access { penalty, ..access }
    };
    let before = std::mem::take(&mut all.requests);
    all.requests = after.into_iter().map(slow).collect();
    Ok(Change { before, after: all })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two fresh starts on the same load count the same part and give the same result.
    #[test]
    fn a_fresh_start_is_no_change() {
        let text = "synth:zipf:keys=3000:skew=0.8:requests=30000:rate=1000:size=const/100";
        let after = load(&[text.to_owned()], Micros(0), None).unwrap();
        let memory = after.share(0.2);
        let (first, from) = fly("static", &[], &after, memory, None, 1).unwrap();
        let (second, again) = fly("static", &[], &after, memory, Some(from), 1).unwrap();
        assert_eq!((first, from), (second, again));
        assert!(from > 300 && first.gets < 30_000 && first.misses > 1_000);
    }
}
