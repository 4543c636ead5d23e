//! LAMA on Facebook's ETC pool, with 128 to 1 024 MB. It is compared with other ways to divide
//! memcached's pages, and with the bound [1].
//!
//! Only the second half of the run is counted, when every division has settled. The bound is the
//! best fixed division, by the exact curves of that half.
//!
//! [1] Hu, Wang, Zhou, Luo, Ding, Jiang, Wang. Optimizing Locality-Aware Memory Management of
//!     Key-Value Caches. IEEE TC '17.

use super::slabs::{Load, RIVALS, lama, note, rival, size_name};
use super::{Experiment, Findings, Setting};
use anyhow::Result;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "lama-etc",
    about: "LAMA and others on Facebook's ETC pool at 128 to 1 024 MB",
    run,
};

/// Begin and end of the counted part, as shares of the run.
const MARKS: [f64; 2] = [0.5, 1.0];

/// Memory sizes, in megabytes before scaling.
pub(super) fn sizes(setting: &Setting) -> Vec<u64> {
    setting.pick((128..=1_024).step_by(64).collect(), vec![128, 512, 1_024])
}

/// Divisor of the published keys, requests and sizes.
pub(super) fn scale(setting: &Setting) -> u64 {
    setting.pick(8, 64)
}

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let scale = scale(setting);
    for &seed in &setting.seeds {
        let load = Load::etc(scale, seed)?;
        let bound = load.bound(MARKS)?;
        for &size in &sizes(setting) {
            let (memory, name) = (load.memory(size), size_name(size));
            for subject in RIVALS {
                let counts = load.between(rival(subject, scale)?, memory, MARKS, seed);
                note(findings, subject.0, &name, seed, counts.miss_ratio());
            }
            for (row, settings) in [("lama", ""), ("lama:model=footprint", ":model=footprint")] {
                let counts = load.between(lama(settings, scale)?, memory, MARKS, seed);
                note(findings, row, &name, seed, counts.miss_ratio());
            }
            let counts = load.auto_between(memory, MARKS, seed)?;
            note(findings, "auto", &name, seed, counts.miss_ratio());
            note(findings, "bound", &name, seed, bound.miss_ratio(memory)?);
        }
    }
    conclude(findings);
    Ok(())
}

fn conclude(findings: &mut Findings) {
    let ratio = |row: &str, size: &str| findings.mean(row, Some(size), "miss_ratio");
    let sizes = findings.workloads();
    let mean = |of: &dyn Fn(&str) -> f64| {
        sizes.iter().map(|size| of(size)).sum::<f64>() / sizes.len() as f64
    };
    let mut claims = vec![];
    for (than, paper) in [("memcached", "41.9 %"), ("automove", ""), ("twemcache", "")] {
        let less = mean(&|size| 100.0 * (1.0 - ratio("lama", size) / ratio(than, size)));
        claims.push((format!("fewer misses than {than}, mean of sizes"), less, "%", paper));
    }
    for than in ["psa", "facebook"] {
        let below = sizes.iter().filter(|size| ratio("lama", size) < ratio(than, size)).count();
        let share = 100.0 * below as f64 / sizes.len() as f64;
        claims.push((format!("sizes with fewer misses than {than}"), share, "%", "all"));
    }
    let hits = mean(&|size| 100.0 * (1.0 - ratio("lama", size)) / (1.0 - ratio("bound", size)));
    claims.push(("hits, share of the bound's".to_owned(), hits, "%", "97.6 %"));
    let saved = mean(&|size| {
        let most = ratio("memcached", size) - ratio("bound", size);
        100.0 * (ratio("memcached", size) - ratio("lama", size)) / most
    });
    claims.push(("misses saved, share of what the bound saves".to_owned(), saved, "%", ""));
    for (what, value, unit, paper) in claims {
        findings.claim(&what, format!("{value:.1} {unit}"), paper);
    }
}
