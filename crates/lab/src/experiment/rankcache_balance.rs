//! Rank balance: LHD in slab classes, with and without moving pages, against LHD that divides
//! nothing [1].
//!
//! `lhd` is the ideal: no chunks, no classes. `lhd in chunks` charges every item its chunk, which
//! tells what is lost to the chunks alone. Of the classes of each workload the means of what their
//! victims were worth are shown, without balance and with it (the paper's figure 8); the miss
//! ratios are its figure 9.
//!
//! [1] Beckmann, Chen, Cidon. LHD: Improving Cache Hit Rate by Maximizing Hit Density. NSDI '18.

use super::dlru_fixed_k::PENALTY;
use super::load::{Load, traces};
use super::rank_slabs::{RankSlabs, Shown, chunk_of};
use super::{Experiment, Findings, Setting};
use anyhow::{Result, anyhow};
use base::{Access, Bytes};
use policy::Cache;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "rankcache-balance",
    about: "LHD in slab classes, with and without moving pages, against LHD undivided",
    run,
};

/// Share of the working set.
const SHARE: f64 = 0.1;

/// Recorded traces of objects of many sizes.
const RECORDED: [&str; 7] = [
    "adaptsize_req", "tencent_blk_2706", "tencent_blk_1326", "hp_ajw", "tencent_blk_3300",
    "twitter_c52_a", "mix_tenants_dev",
];

const LHD: &str = "lhd:k=64";

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let mut undone = (0, 0);
    for (name, load) in loads(setting)? {
        let limit = load.share(SHARE);
        for &seed in &setting.seeds {
            let mut note = |row: &str, misses: f64| {
                findings.cell(row, &name, seed, &[("miss_ratio", misses)]);
            };
            note("lru", load.play("lru", limit, seed)?.miss_ratio());
            note("lhd", load.play(LHD, limit, seed)?.miss_ratio());
            note("lhd in chunks", in_chunks(&load, limit, seed)?);
            let [without, with] = [false, true].map(|balanced| {
                let mut cache = RankSlabs::new(limit, balanced, seed);
                for access in &load.requests {
                    cache.access(access);
                }
                cache
            });
            let ratio = |cache: &RankSlabs| cache.misses as f64 / cache.gets.max(1) as f64;
            note("without balance", ratio(&without));
            note("rankcache", ratio(&with));
            undone = (undone.0 + with.undone, undone.1 + with.moves);
            for (without, with) in without.shown().zip(with.shown()) {
                show_class(findings, &name, seed, without, with);
            }
        }
    }
    conclude(findings);
    let share = 100.0 * undone.0 as f64 / undone.1.max(1) as f64;
    findings.claim("moves undone within five balances", format!("{share:.1} %"), "");
    Ok(())
}

/// A class that evicted in both runs, in units of a billionth.
fn show_class(findings: &mut Findings, name: &str, seed: u64, without: Shown, with: Shown) {
    if without.victims.count < 32 || with.victims.count < 32 {
        return;
    }
    let figures = [
        ("victims", 1e9 * without.victims.density),
        ("victims_balanced", 1e9 * with.victims.density),
        ("pages", without.pages as f64),
        ("pages_balanced", with.pages as f64),
    ];
    findings.cell(&format!("chunks of {}", without.chunk), name, seed, &figures);
}

/// LHD that charges every item its chunk.
fn in_chunks(load: &Load, limit: Bytes, seed: u64) -> Result<f64> {
    let choice = policy::parse(LHD).map_err(|error| anyhow!(error))?;
    let mut cache = Cache::new(&choice, limit, seed);
    for access in &load.requests {
        let size = chunk_of(limit, access.size).unwrap_or(u32::MAX);
        cache.access(&Access { size, ..*access });
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
        format!("{mean:+.2} points, {most:+.2} at worst")
    };
    let claims = [
        ("rankcache, against idealised LHD", points("rankcache", "lhd"), "alike (figure 9)"),
        ("rankcache, against LHD in chunks", points("rankcache", "lhd in chunks"), ""),
        ("without balance, against LHD in chunks", points("without balance", "lhd in chunks"), ""),
        ("rankcache, against no balance", points("rankcache", "without balance"), "below"),
    ];
    for (what, ours, paper) in claims {
        findings.claim(what, ours, paper);
    }
}

/// Recorded traces; without them small objects, and large ones that come when the small have taken
/// all pages.
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
    small.requests.extend(large.requests);
    Ok(vec![("all sizes".to_owned(), even), ("small, then large".to_owned(), small)])
}
