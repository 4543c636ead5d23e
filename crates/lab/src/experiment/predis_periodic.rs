//! A tenant whose load comes and goes beside a tenant whose load stays: with dumping and loading,
//! and without [1].
//!
//! In the valley of the first tenant, the other takes its memory, as it should. At the next peak,
//! every item of the first is fetched again, one miss after the other. With a dump in the valley
//! and a load before the peak, its items are resident when they are requested. `mean_us` is over
//! all reads, `start_us` and `start_p99_us` over the first tenant's reads in the first tenth of
//! each peak. No figure counts the periods in which the pilot does not know the period yet.
//!
//! [1] Pan, Luo, Wang, Wang. pRedis: Penalty and Locality Aware Memory Allocation in Redis.
//!     SoCC '19.

use super::load::Load;
use super::{Experiment, Findings, Setting};
use crate::plant::{Bounds, Simulation};
use anyhow::{Result, anyhow};
use base::{Micros, Op};
use policy::Outcome;
use tune::recipe;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "predis-periodic",
    about: "dumping a tenant in its valley and loading it before its peak",
    run,
};

/// Time from one peak to the next, and the share of it that is peak.
const PERIOD: Micros = Micros::from_secs(120);
const PEAK: f64 = 0.4;
/// Length of the buckets in which reads are counted, and the time in which items are loaded before
/// a peak.
const BUCKET: Micros = Micros::from_secs(4);
const LEAD: Micros = Micros::from_secs(6);
/// Periods before anything is counted: three to find the period, and one for the valley.
const UNSEEN: u64 = 4;

/// Row names, recipes, and whether items are dumped and loaded.
const ROWS: [(&str, &str, bool); 6] = [
    ("lru", "static", false),
    ("lru+dump", "static", true),
    ("predis", "predis", false),
    ("predis+dump", "predis", true),
    ("auto", "auto", false),
    ("auto+dump", "auto", true),
];

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let periods = setting.pick(16, 8);
    for &seed in &setting.seeds {
        let seconds = periods * PERIOD.0 / 1_000_000;
        // The highest rate is 2 000 a second; the share of the valley is a fiftieth.
        let mean = PEAK + (1.0 - PEAK) * 0.02;
        let periodic = format!(
            "synth:periodic:keys=30000:skew=0.8:period={}:peak={PEAK}:valley=0.02:rate=2000:\
             requests={}:size=const/500:penalty=lognormal/2000/1:arrivals=poisson:seed={seed}",
            PERIOD.0 / 1_000_000,
            (2_000.0 * mean * seconds as f64) as u64,
        );
        let steady = format!(
            "synth:zipf:keys=60000:skew=0.7:rate=1000:requests={}:size=const/500:\
             penalty=lognormal/300/1:arrivals=poisson:seed={}",
            1_000 * seconds,
            seed + 100,
        );
        let load = Load::open(&[periodic, steady], &[])?;
        for (row, recipe, dumps) in ROWS {
            note(findings, row, recipe, dumps, &load, seed)?;
        }
    }
    for row in ["lru", "predis", "auto"] {
        let with = format!("{row}+dump");
        for (figure, what, paper) in [
            ("mean_us", "mean wait", "8.4 %"),
            ("start_us", "wait in the first tenth of a peak", ""),
            ("start_p99_us", "p99 in the first tenth of a peak", "less"),
            ("start_miss_ratio", "misses in the first tenth of a peak", ""),
        ] {
            let less = findings.less(&with, row, figure);
            findings.claim(&format!("{with} below {row}, {what}"), format!("{less:.1} %"), paper);
        }
    }
    Ok(())
}

fn note(
    findings: &mut Findings,
    row: &str,
    recipe: &str,
    dumps: bool,
    load: &Load,
    seed: u64,
) -> Result<()> {
    let recipe = recipe::parse(recipe).map_err(|error| anyhow!(error))?;
    let bounds = [Bounds::none("tides"), Bounds::none("steady")];
    let mut simulation = Simulation::new(recipe, load.share(0.35), &bounds, seed);
    if dumps {
        simulation = simulation.with_offload(BUCKET, LEAD, bounds.len());
    }
    let (mut gets, mut misses, mut waited) = (0u64, 0u64, 0.0);
    let (mut start, mut start_misses) = (vec![], 0u64);
    for access in &load.requests {
        let outcome = simulation.access(access);
        if access.op != Op::Get || access.time.0 < UNSEEN * PERIOD.0 {
            continue;
        }
        let missed = outcome == Outcome::Miss;
        let wait = if missed { access.penalty.as_f64() } else { 0.0 };
        gets += 1;
        misses += u64::from(missed);
        waited += wait;
        let phase = (access.time.0 % PERIOD.0) as f64 / PERIOD.as_f64();
        if access.tenant == 0 && phase < 0.1 * PEAK {
            start.push(wait);
            start_misses += u64::from(missed);
        }
    }
    start.sort_by(f64::total_cmp);
    let count = start.len().max(1);
    let figures = [
        ("miss_ratio", misses as f64 / gets.max(1) as f64),
        ("mean_us", waited / gets.max(1) as f64),
        ("start_miss_ratio", start_misses as f64 / count as f64),
        ("start_us", start.iter().sum::<f64>() / count as f64),
        ("start_p99_us", start.get(count * 99 / 100).copied().unwrap_or_default()),
        ("dumps", simulation.dumps() as f64),
    ];
    findings.cell(row, "periodic", seed, &figures);
    Ok(())
}
