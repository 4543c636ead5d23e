//! Rank balance: LHD in slab classes, with and without moving pages, against undivided LHD [1].
//!
//! `lhd` is the ideal: no chunks, no classes. `lhd in chunks` charges every item its chunk, which
//! shows the loss by the chunks alone. For the classes of each workload, the mean worth of their
//! victims is shown, without balance and with it (the paper's figure 8). The miss ratios are its
//! figure 9.
//!
//! [1] Beckmann, Chen, Cidon. LHD: Improving Cache Hit Rate by Maximizing Hit Density. NSDI '18.

use super::dlru_fixed_k::PENALTY;
use super::load::{Load, traces};
use super::{Experiment, Findings, Setting};
use crate::plant::{SimulatedStore, Simulation, SlabPlant, Slabs};
use anyhow::{Result, anyhow};
use base::{Access, Bytes, Micros};
use policy::Cache;
use tune::pilot::Decision;
use tune::recipe;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "rankcache-balance",
    about: "LHD in slab classes, with and without moving pages, against undivided LHD",
    run,
};

/// Memory, as a share of the working set.
const SHARE: f64 = 0.1;

/// Recorded traces of objects of many sizes.
const RECORDED: [&str; 7] = [
    "adaptsize_req",
    "tencent_blk_2706",
    "tencent_blk_1326",
    "hp_ajw",
    "tencent_blk_3300",
    "twitter_c52_a",
    "mix_tenants_dev",
];

const LHD: &str = "lhd:k=64";

/// Number of looks at the worth of victims, within as many reads as the cache holds items. The
/// traces are short: with a hundredth of the looks, pages would reach their places when the trace
/// ends.
const BALANCES: u64 = 128;

/// Minimum number of reads between two looks, and virtual time between two looks of the pilot.
const BALANCE_MIN: u64 = 20;
const LOOK: Micros = Micros::from_millis(10);

/// Factor from one chunk size to the next. It is finer than memcached's, because the unused rest of
/// a chunk is lost.
const FACTOR: f64 = 1.08;

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let (mut reversed, mut adopted) = (0, 0);
    for (name, load) in loads(setting)? {
        let limit = load.share(SHARE);
        let slabs = Slabs { factor: FACTOR, ..Slabs::within(limit) };
        for &seed in &setting.seeds {
            let mut note = |row: &str, misses: f64| {
                findings.cell(row, &name, seed, &[("miss_ratio", misses)]);
            };
            note("lru", load.play("lru", limit, seed)?.miss_ratio());
            note("lhd", load.play(LHD, limit, seed)?.miss_ratio());
            note("lhd in chunks", in_chunks(&load, &slabs, limit, seed)?);
            note("auto", load.counts(&load.simulate("auto", limit, seed)?).miss_ratio());
            let held = (SHARE * load.objects as f64) as u64;
            let interval = (held / BALANCES).max(BALANCE_MIN);
            let [without, with] = ["memcached", "rank_balance"].map(|planner| {
                let text = format!("rankcache:planner={planner}:interval={interval}");
                let recipe = recipe::parse(&text).map_err(|error| anyhow!(error))?;
                anyhow::Ok(load.fly_slabs((recipe, LOOK), slabs, limit, seed))
            });
            let (without, with) = (without?, with?);
            note("without balance", without.plant.counts(0).miss_ratio());
            note("rankcache", with.plant.counts(0).miss_ratio());
            for epoch in with.pilot.history() {
                reversed += u64::from(epoch.decision == Decision::Reversed);
                adopted += u64::from(epoch.decision != Decision::Kept);
            }
            show_classes(findings, &name, seed, [&without, &with]);
        }
    }
    conclude(findings);
    let share = 100.0 * reversed as f64 / adopted.max(1) as f64;
    findings.claim("final moves that undo the move before", format!("{share:.1} %"), "");
    Ok(())
}

/// Adds cells of the classes that evicted in both runs, with the worth of their victims in
/// billionths.
fn show_classes(
    findings: &mut Findings,
    name: &str,
    seed: u64,
    [without, with]: [&Simulation<SlabPlant>; 2],
) {
    for class in without.plant.shown() {
        let all = with.plant.shown();
        let Some(same) = all.iter().find(|other| other.class == class.class) else { continue };
        if class.victims.count < 32 || same.victims.count < 32 {
            continue;
        }
        let figures = [
            ("victims", 1e9 * class.victims.density),
            ("victims_balanced", 1e9 * same.victims.density),
            ("pages", class.pages as f64),
            ("pages_balanced", same.pages as f64),
        ];
        findings.cell(&format!("chunks of {}", class.chunk), name, seed, &figures);
    }
}

/// Miss ratio of LHD that charges every item the bytes that it takes of its page.
fn in_chunks(load: &Load, slabs: &Slabs, limit: Bytes, seed: u64) -> Result<f64> {
    let choice = policy::parse(LHD).map_err(|error| anyhow!(error))?;
    let charge = slabs.charge();
    let mut cache = Cache::new(&choice, limit, seed);
    for access in &load.requests {
        cache.access(&Access { size: charge(access.size), ..*access });
    }
    Ok(cache.stats().miss_ratio())
}

fn conclude(findings: &mut Findings) {
    let points = |row: &str, than: &str| {
        let of = |row: &str, workload: &str| findings.mean(row, Some(workload), "miss_ratio");
        let each = findings.workloads();
        let each: Vec<_> = each.iter().map(|w| 100.0 * (of(row, w) - of(than, w))).collect();
        let mean = each.iter().sum::<f64>() / each.len() as f64;
        let most = each.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        format!("{mean:+.2} percentage points, {most:+.2} at worst")
    };
    let claims = [
        ("rankcache, against idealised LHD", points("rankcache", "lhd"), "equal (figure 9)"),
        ("rankcache, against LHD in chunks", points("rankcache", "lhd in chunks"), ""),
        ("without balance, against LHD in chunks", points("without balance", "lhd in chunks"), ""),
        ("rankcache, against no balance", points("rankcache", "without balance"), "below"),
    ];
    for (what, ours, paper) in claims {
        findings.claim(what, ours, paper);
    }
}

/// Recorded traces. Without them, synthetic ones: objects of all sizes, and small objects followed
/// by large ones, which come when the small ones have taken all pages.
fn loads(setting: &Setting) -> Result<Vec<(String, Load)>> {
    if let Some(folder) = &setting.traces {
        let known = traces(folder)?;
        let wanted = known.into_iter().filter(|(name, _)| RECORDED.contains(&name.as_str()));
        let limit = setting.pick(None, Some(60_000));
        let open = |(name, path): (String, String)| Ok((name, Load::paced(&path, limit, PENALTY)?));
        return wanted.take(setting.pick(usize::MAX, 3)).map(open).collect();
    }
    let requests = setting.pick(1_500_000, 100_000);
    let keys = setting.pick(100_000, 10_000);
    let made = |sizes: &str, prefix: &str, seed: u64| {
        let text = format!(
            "synth:zipf:keys={keys}:skew=0.9:requests={requests}:size={sizes}:prefix={prefix}-\
             :seed={seed}"
        );
        Load::paced(&text, None, PENALTY)
    };
    let even = made("lognormal/400/1.5", "a", 1)?;
    let mut small = made("lognormal/200/0.5", "s", 1)?;
    let large = made("lognormal/2000/0.5", "l", 2)?;
    small.footprint += large.footprint;
    small.objects += large.objects;
    small.requests.extend(large.requests);
    Ok(vec![("all sizes".to_owned(), even), ("small, then large".to_owned(), small)])
}
