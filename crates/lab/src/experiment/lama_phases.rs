//! LAMA's stress test: small items, a passage, large items [1]. A server that cannot move pages
//! serves the third phase with the pages that the first one left (slab calcification).
//!
//! Each set of items has its own keys and its own sizes, and popularity as in the generator
//! `phases`. Only the third phase is counted, from its first request on.
//!
//! [1] Hu et al. LAMA: Optimized Locality-aware Memory Allocation for Key-value Cache. ATC '15;
//!     the workload is after Carra and Michiardi, ICC '14.

use super::slabs::{Load, RIVALS, lama, note, open, rival, size_name};
use super::{Experiment, Findings, Setting};
use anyhow::Result;
use base::{Prng, TenantId};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "lama-phases",
    about: "LAMA and others where another set of sizes replaces the first",
    run,
};

/// Shares of the requests at which the passage begins and ends.
const PASSAGE: [f64; 2] = [1.0 / 3.0, 2.0 / 3.0];

/// Keys of each set and requests of all, before scaling.
const KEYS: u64 = 3_500_000;
const REQUESTS: u64 = 60_000_000;

/// Sizes of the values of each set.
const SIZES: [&str; 2] = ["lognormal/100/0.6", "lognormal/500/0.6"];

/// Adds the three phases as requests of a tenant. After each of them, `between` may add requests of
/// others.
pub(super) fn phases(
    load: &mut Load,
    keys: u64,
    seed: u64,
    tenant: TenantId,
    mut between: impl FnMut(&mut Load) -> Result<()>,
) -> Result<()> {
    let (keys, requests) = (keys / load.scale, REQUESTS / load.scale);
    let set = |at: usize| {
        let seed = seed + 1_000 * at as u64;
        open(&format!(
            "zipf:keys={keys}:skew=0.9:size={}:key-size=const/30:prefix={at}-:set=0.03:\
             requests={requests}:seed={seed}",
            SIZES[at]
        ))
    };
    let mut sets = [set(0)?, set(1)?];
    let mut prng = Prng::new(seed);
    for at in 0..requests {
        let share = at as f64 / requests as f64;
        let second = (share - PASSAGE[0]) / (PASSAGE[1] - PASSAGE[0]);
        let from = usize::from(prng.unit() <= second);
        if let Some(access) = sets[from].next() {
            load.push(tenant, &access?);
        }
        between(load)?;
    }
    Ok(())
}

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let scale = setting.pick(8, 64);
    let marks = [PASSAGE[1], 1.0];
    for &seed in &setting.seeds {
        let mut load = Load::new(scale);
        phases(&mut load, KEYS, seed, 0, |_| Ok(()))?;
        let bound = load.bound(marks)?;
        for size in setting.pick(vec![256, 512, 1_024], vec![512]) {
            let (memory, name) = (load.memory(size), size_name(size));
            for subject in RIVALS {
                let counts = load.between(rival(subject, scale)?, memory, marks, seed);
                note(findings, subject.0, &name, seed, counts.miss_ratio());
            }
            for (row, settings) in [("lama", ""), ("lama:model=footprint", ":model=footprint")] {
                let counts = load.between(lama(settings, scale)?, memory, marks, seed);
                note(findings, row, &name, seed, counts.miss_ratio());
            }
            let counts = load.auto_between(memory, marks, seed)?;
            note(findings, "auto", &name, seed, counts.miss_ratio());
            note(findings, "bound", &name, seed, bound.miss_ratio(memory)?);
        }
    }
    let sizes = findings.workloads();
    let hits = |row: &str| {
        let hits = |row, size| 1.0 - findings.mean(row, Some(size), "miss_ratio");
        let shares = sizes.iter().map(|size| hits(row, size) / hits("bound", size));
        100.0 * shares.sum::<f64>() / sizes.len() as f64
    };
    let behind = "behind";
    let papers = [
        ("lama", "99.2 %"),
        ("auto", ""),
        ("psa", behind),
        ("facebook", behind),
        ("memcached", ""),
    ];
    let shares = papers.map(|(row, paper)| (row, hits(row), paper));
    for (row, share, paper) in shares {
        findings.claim(
            &format!("{row}: hits, share of the bound's"),
            format!("{share:.1} %"),
            paper,
        );
    }
    Ok(())
}
