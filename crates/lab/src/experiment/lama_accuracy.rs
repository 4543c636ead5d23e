//! Accuracy of footprints in predicting a memcached that nobody divides: its natural partition and
//! its misses (LAMA, equations 3 and 6) [1].
//!
//! Footprints of all classes on one clock add up. The window whose footprint equals the memory is
//! the time that filled it, and each class holds the pages that its part of this window took. The
//! predicted miss ratio of the whole run at that partition is compared with the actual one.
//!
//! [1] Hu, Wang, Zhou, Luo, Ding, Jiang, Wang. Optimizing Locality-Aware Memory Management of
//!     Key-Value Caches. IEEE TC '17.

use super::lama_etc::{scale, sizes};
use super::slabs::{Load, RIVALS, rival, size_name};
use super::{Experiment, Findings, Setting};
use anyhow::Result;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "lama-accuracy",
    about: "LAMA's prediction of memcached's own partition and its misses",
    run,
};

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let scale = scale(setting);
    for &seed in &setting.seeds {
        let load = Load::etc(scale, seed)?;
        let footprints = load.footprints();
        for &size in &sizes(setting) {
            let memory = load.memory(size);
            let (counts, simulation) =
                load.simulate(rival(RIVALS[0], scale)?, memory, (&[1.0], vec![]), seed);
            let measured = counts[0].miss_ratio();
            let (predicted, pages) = footprints.natural(memory);
            let has = simulation.plant.pages_of(0);
            let all: u64 = has.iter().sum();
            let astray: f64 =
                has.iter().zip(&pages).map(|(&has, said)| (has as f64 - said).abs()).sum();
            let name = size_name(size);
            let error = 100.0 * (predicted / measured - 1.0).abs();
            let figures = |ratio: f64, error: f64, astray: f64| {
                [("miss_ratio", ratio), ("error_percent", error), ("pages_astray_percent", astray)]
            };
            findings.cell("memcached", &name, seed, &figures(measured, 0.0, 0.0));
            let astray = 50.0 * astray / all.max(1) as f64;
            findings.cell("predicted", &name, seed, &figures(predicted, error, astray));
        }
    }
    let error = findings.mean("predicted", None, "error_percent");
    findings.claim("accuracy of the miss ratio", format!("{:.2} %", 100.0 - error), "99.0 %");
    let astray = findings.mean("predicted", None, "pages_astray_percent");
    findings.claim("pages in another class than predicted", format!("{astray:.2} %"), "");
    Ok(())
}
