//! YCSB over two backends, a near one and a far one that becomes slower [1].
//!
//! Half of the records come from a backend that answers in 120 µs, half from one that takes
//! 1 000 µs and, from two fifths of the run on, 2 000 µs. Told which backend a record is of
//! (`predis-hint`) only the mean of a class changes then; where penalties are measured
//! (`predis-auto`) every record changes its class when it is next fetched.
//!
//! [1] Pan, Luo, Li, Wang, Hu. pRedis: Penalty and Locality Aware Memory Allocation in Redis.
//!     SoCC '19.

use super::load::Load;
use super::{Experiment, Findings, Setting};
use crate::flight::Flight;
use crate::plant::{Bounds, Counts};
use anyhow::{Result, anyhow};
use base::penalty::class_of;
use base::{Access, Bytes, Micros, hash};
use policy::{Cache, Outcome};
use tune::recipe;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "predis-ycsb",
    about: "YCSB A to F over backends of 120 and 1 000 µs, the far one slowing to 2 000",
    run,
};

const NEAR: Micros = Micros(120);
const FAR: [Micros; 2] = [Micros(1_000), Micros(2_000)];
/// When the far backend becomes slow.
const SLOWER: f64 = 0.4;

/// Memory by the records there are at the start.
const SHARE: f64 = 0.3;

const WORKLOADS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// Shared caches that know only recency, or also what a miss costs.
const POLICIES: [(&str, &str); 4] = [
    ("lru", "lru"),
    ("hyperbolic", "hyperbolic:cost=1"),
    ("gdsf", "gdsf:cost=1"),
    ("adaptsize", "lru+adaptsize"),
];

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let requests = setting.pick(2_000_000, 400_000);
    let keys = setting.pick(200_000, 40_000);
    for name in WORKLOADS {
        for &seed in &setting.seeds {
            let text = format!(
                "synth:ycsb:workload={name}:keys={keys}:requests={requests}:seed={seed}:rate=5000"
            );
            let mut load = Load::open(&[text], &[])?;
            let told = slow_down(&mut load.requests);
            let memory = Bytes((f64::from(keys) * 1_000.0 * SHARE) as u64);
            for (row, policy) in POLICIES {
                let (all, late) = play(&load, policy, memory, seed)?;
                note(findings, row, name, seed, all, late);
            }
            for (row, told) in [("predis-auto", None), ("predis-hint", Some(&told))] {
                let (all, late) = fly(&load, told, memory, seed)?;
                note(findings, row, name, seed, all, late);
            }
        }
    }
    for than in ["lru", "hyperbolic"] {
        let less: Vec<_> = WORKLOADS
            .iter()
            .map(|name| {
                let mean = |row| findings.mean(row, Some(name), "mean_us");
                100.0 * (1.0 - mean("predis-hint") / mean(than))
            })
            .collect();
        let least = less.iter().copied().fold(f64::INFINITY, f64::min);
        let most = less.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let paper = if than == "lru" { "below on all six" } else { "12 to 52 %" };
        let what = format!("predis-hint waits less than {than}");
        findings.claim(&what, format!("{least:.1} to {most:.1} %"), paper);
        let mean = findings.less("predis-hint", than, "mean_us");
        findings.claim(&format!("{what}, on average"), format!("{mean:.1} %"), "");
    }
    let less = findings.less("predis-hint", "predis-auto", "late_us");
    let what = "predis-hint waits less than predis-auto, after the slow-down";
    findings.claim(what, format!("{less:.1} %"), "less");
    Ok(())
}

/// Gives every record its backend and every read what a miss would cost then. Returns the classes
/// that records are told to be of: what their backend takes at first.
fn slow_down(requests: &mut [Access]) -> Vec<u8> {
    let slower = (requests.len() as f64 * SLOWER) as usize;
    let mut told = Vec::with_capacity(requests.len());
    for (at, access) in requests.iter_mut().enumerate() {
        let is_far = hash::mix(access.key).is_multiple_of(2);
        access.penalty = if is_far { FAR[usize::from(at >= slower)] } else { NEAR };
        told.push(class_of(if is_far { FAR[0] } else { NEAR }));
    }
    told
}

fn note(findings: &mut Findings, row: &str, name: &str, seed: u64, all: Counts, late: Counts) {
    let figures = [
        ("miss_ratio", all.miss_ratio()),
        ("mean_us", all.mean_us()),
        ("late_us", late.mean_us()),
    ];
    findings.cell(row, name, seed, &figures);
}

/// All of a run, and what follows the slow-down.
fn play(load: &Load, policy: &str, memory: Bytes, seed: u64) -> Result<(Counts, Counts)> {
    let choice = policy::parse(policy).map_err(|error| anyhow!(error))?;
    let mut cache = Cache::new(&choice, memory, seed);
    Ok(count(load, |access, _| cache.access(access)))
}

fn fly(
    load: &Load,
    told: Option<&Vec<u8>>,
    memory: Bytes,
    seed: u64,
) -> Result<(Counts, Counts)> {
    let recipe = recipe::parse("predis").map_err(|error| anyhow!(error))?;
    let mut flight = Flight::new(recipe, memory, &[Bounds::none("ycsb")], seed);
    Ok(count(load, |access, at| flight.access_told(access, told.map(|told| told[at]))))
}

fn count(
    load: &Load,
    mut access: impl FnMut(&Access, usize) -> Outcome,
) -> (Counts, Counts) {
    let slower = (load.requests.len() as f64 * SLOWER) as usize;
    let (mut all, mut late) = (Counts::default(), Counts::default());
    for (at, request) in load.requests.iter().enumerate() {
        let outcome = access(request, at);
        if outcome == Outcome::Done {
            continue;
        }
        for counts in std::iter::once(&mut all).chain((at >= slower).then_some(&mut late)) {
            counts.gets += 1;
            if outcome == Outcome::Miss {
                counts.misses += 1;
                counts.waited += request.penalty;
            }
        }
    }
    (all, late)
}
