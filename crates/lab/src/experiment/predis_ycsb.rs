//! YCSB over two backends, a near one and a far one that becomes slower [1].
//!
//! Half of the records come from a backend that answers in 120 µs. The other half come from one
//! that takes 1 000 µs and, from two fifths of the run on, 2 000 µs. With a hint of the record's
//! backend (`predis-hint`), only the mean cost of a class changes then. With measured penalties
//! (`predis-auto`), every record changes its class when it is next fetched. A cache that weighs
//! costs (hyperbolic, GDSF) knows the cost of each record. `hyperbolic-told` knows as much as
//! predis with the hint: the mean cost of the record's class so far.
//!
//! The curves by which predis divides, one for each class, are compared with exact ones. Errors are
//! absolute differences of the miss ratio, averaged over sizes spread evenly over the records of
//! the class. A sample of the keys is used alone, as on a server, and beside a count of all keys,
//! as from a trace.
//!
//! [1] Pan, Luo, Wang, Wang. pRedis: Penalty and Locality Aware Memory Allocation in Redis.
//!     SoCC '19.

use super::load::{Load, draw};
use super::{Experiment, Findings, Setting};
use crate::plant::{Bounds, Counts, Simulation};
use anyhow::{Result, anyhow};
use base::penalty::class_of;
use base::{Access, Bytes, Micros, hash};
use curve::{Params, eaet, olken};
use policy::{Cache, Outcome};
use tune::recipe;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "predis-ycsb",
    about: "YCSB A to F over backends of 120 and 1 000 µs, the far one slowing to 2 000",
    run,
};

const NEAR: Micros = Micros(120);
const FAR: [Micros; 2] = [Micros(1_000), Micros(2_000)];
/// Share of the run after which the far backend is slow.
const SLOWER: f64 = 0.4;

/// Memory, as a share of the bytes of the records at the start.
const SHARE: f64 = 0.3;

/// Number of sizes at which curves are compared.
const SIZES: u32 = 20;
/// How curves are drawn: figure, words for it, share of the keys that is watched, and whether all
/// keys are counted.
const CURVES: [(&str, &str, f64, bool); 3] = [
    ("error", "all keys", 1.0, true),
    ("error_of_sample", "a tenth of the keys", 0.1, false),
    ("error_counted", "a tenth of the keys, all counted", 0.1, true),
];

const WORKLOADS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// Shared caches that know only recency, or also the cost of a miss.
const POLICIES: [(&str, &str); 6] = [
    ("lru", "lru"),
    ("hyperbolic", "hyperbolic:cost=1"),
    ("gdsf", "gdsf:cost=1"),
    ("cost-lhd", "cost-lhd"),
    ("gittins", "gittins"),
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
            let hint = slow_down(&mut load.requests);
            let memory = Bytes((f64::from(keys) * 1_000.0 * SHARE) as u64);
            for (row, policy) in POLICIES {
                let (all, late) = play(&load, policy, memory, seed)?;
                note(findings, row, name, seed, all, late);
            }
            let (all, late) = play_hinted(&load, &hint, memory, seed)?;
            note(findings, "hyperbolic-told", name, seed, all, late);
            let recipes = [
                ("predis-auto", "predis", None),
                ("predis-hint", "predis", Some(&hint)),
                ("auto", "auto", None),
            ];
            for (row, recipe, hint) in recipes {
                let (all, late) = simulate(&load, recipe, hint, memory, seed)?;
                note(findings, row, name, seed, all, late);
            }
            let figures = CURVES.map(|(figure, _, rate, counts)| {
                (figure, curve_error(&load, &hint, (rate, counts), seed))
            });
            findings.cell("curves", name, seed, &figures);
        }
    }
    for than in ["lru", "hyperbolic", "hyperbolic-told"] {
        let less: Vec<_> = WORKLOADS
            .iter()
            .map(|name| {
                let mean = |row| findings.mean(row, Some(name), "mean_us");
                100.0 * (1.0 - mean("predis-hint") / mean(than))
            })
            .collect();
        let least = less.iter().copied().fold(f64::INFINITY, f64::min);
        let most = less.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let paper = match than {
            "lru" => "lower on all six",
            "hyperbolic" => "12 to 52 %",
            _ => "",
        };
        let what = format!("predis-hint waits less than {than}");
        findings.claim(&what, format!("{least:.1} to {most:.1} %"), paper);
        let mean = findings.less("predis-hint", than, "mean_us");
        findings.claim(&format!("{what}, on average"), format!("{mean:.1} %"), "");
    }
    let less = findings.less("predis-hint", "predis-auto", "late_us");
    let what = "predis-hint waits less than predis-auto, after the slow-down";
    findings.claim(what, format!("{less:.1} %"), "less");
    for (figure, what, ..) in CURVES {
        let error = 100.0 * findings.mean("curves", None, figure);
        let what = format!("error of the curves of classes, {what}");
        findings.claim(&what, format!("{error:.2} percentage points"), "1.2 %");
    }
    Ok(())
}

/// Gives every record its backend, and every request the cost of a miss at its time. Returns a hint
/// for each request: the class of its backend's latency at first.
fn slow_down(requests: &mut [Access]) -> Vec<u8> {
    let slower = (requests.len() as f64 * SLOWER) as usize;
    let mut hint = Vec::with_capacity(requests.len());
    for (at, access) in requests.iter_mut().enumerate() {
        let is_far = hash::mix(access.key).is_multiple_of(2);
        access.penalty = if is_far { FAR[usize::from(at >= slower)] } else { NEAR };
        hint.push(class_of(if is_far { FAR[0] } else { NEAR }));
    }
    hint
}

fn note(findings: &mut Findings, row: &str, name: &str, seed: u64, all: Counts, late: Counts) {
    let figures =
        [("miss_ratio", all.miss_ratio()), ("mean_us", all.mean_us()), ("late_us", late.mean_us())];
    findings.cell(row, name, seed, &figures);
}

/// Counts of a policy over the whole run, and after the slow-down.
fn play(load: &Load, policy: &str, memory: Bytes, seed: u64) -> Result<(Counts, Counts)> {
    let choice = policy::parse(policy).map_err(|error| anyhow!(error))?;
    let mut cache = Cache::new(&choice, memory, seed);
    Ok(count(load, |access, _| cache.access(access)))
}

/// Hyperbolic caching that knows only the mean cost of the misses in a record's class.
fn play_hinted(load: &Load, hint: &[u8], memory: Bytes, seed: u64) -> Result<(Counts, Counts)> {
    let choice = policy::parse("hyperbolic:cost=1").map_err(|error| anyhow!(error))?;
    let mut cache = Cache::new(&choice, memory, seed);
    let mut missed = [(0_u64, 0_u64); u8::MAX as usize + 1];
    Ok(count(load, |access, at| {
        let (misses, waited) = &mut missed[usize::from(hint[at])];
        let mean = waited.checked_div(*misses).unwrap_or(access.penalty.0);
        let outcome = cache.access(&Access { penalty: Micros(mean), ..*access });
        if outcome == Outcome::Miss {
            *misses += 1;
            *waited += access.penalty.0;
        }
        outcome
    }))
}

/// Error of the curves of the classes against exact ones, averaged over sizes and classes.
fn curve_error(load: &Load, hint: &[u8], (rate, counts): (f64, bool), seed: u64) -> f64 {
    let classes = [NEAR, FAR[0]].map(class_of);
    let errors = classes.map(|class| {
        let of_class = || load.requests.iter().zip(hint).filter(move |at| *at.1 == class);
        let full = draw(&olken::SPEC, of_class().map(|at| at.0), &Params::default());
        let sampled = Params { rate, seed, ..Params::default() };
        let drawn = if counts {
            let mut model = (eaet::SPEC.build)(&sampled);
            of_class().for_each(|at| model.access(at.0));
            model.curve()
        } else {
            draw(&eaet::SPEC, of_class().map(|at| at.0), &sampled)
        };
        let all = load.footprint.as_f64() / classes.len() as f64;
        let sizes = (1..=SIZES).map(|at| all * f64::from(at) / f64::from(SIZES + 1));
        let sizes = sizes.map(|size| Bytes(size as u64));
        let off = sizes.map(|size| full.at(size).0 - drawn.at(size).0);
        off.map(f64::abs).sum::<f64>() / f64::from(SIZES)
    });
    errors.iter().sum::<f64>() / errors.len() as f64
}

fn simulate(
    load: &Load,
    recipe: &str,
    hint: Option<&Vec<u8>>,
    memory: Bytes,
    seed: u64,
) -> Result<(Counts, Counts)> {
    let recipe = recipe::parse(recipe).map_err(|error| anyhow!(error))?;
    let mut simulation = Simulation::new(recipe, memory, &[Bounds::none("ycsb")], seed);
    Ok(count(load, |access, at| simulation.access_with_hint(access, hint.map(|hint| hint[at]))))
}

fn count(load: &Load, mut access: impl FnMut(&Access, usize) -> Outcome) -> (Counts, Counts) {
    let slower = (load.requests.len() as f64 * SLOWER) as usize;
    let (mut all, mut late) = (Counts::default(), Counts::default());
    for (at, request) in load.requests.iter().enumerate() {
        let outcome = access(request, at);
        if outcome == Outcome::Done {
            continue;
        }
        for counts in std::iter::once(&mut all).chain((at >= slower).then_some(&mut late)) {
            counts.record(request, outcome);
        }
    }
    (all, late)
}
