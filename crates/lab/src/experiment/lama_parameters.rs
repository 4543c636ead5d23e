//! LAMA's three settings: reads between two plans, pages moved by a plan, and pages in a unit [1].
//!
//! [1] Hu et al. LAMA: Optimized Locality-aware Memory Allocation for Key-value Cache. ATC '15,
//!     section 5.6.

use super::lama_etc::scale;
use super::slabs::{INTERVAL, Load, lama, note, size_name};
use super::{Experiment, Findings, Setting};
use anyhow::Result;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "lama-parameters",
    about: "LAMA by interval, pages moved at once, and grain",
    run,
};

/// Pages moved by a plan, of 1 024, and pages in a unit.
const MOVES: [u64; 4] = [10, 50, 128, 512];
const GRAINS: [u64; 3] = [1, 4, 16];

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let scale = scale(setting);
    for &seed in &setting.seeds {
        let load = Load::etc(scale, seed)?;
        for size in setting.pick(vec![256, 512], vec![512]) {
            let name = size_name(size);
            let mut simulate = |row: &str, settings: &str| -> Result<()> {
                let recipe = lama(settings, scale)?;
                let counts = load.between(recipe, load.memory(size), [0.2, 1.0], seed);
                note(findings, row, &name, seed, counts.miss_ratio());
                Ok(())
            };
            simulate("lama", "")?;
            for reads in [INTERVAL / 5, INTERVAL, 5 * INTERVAL] {
                let row = format!("interval {}k", reads / 1_000);
                simulate(&row, &format!(":interval={reads}"))?;
            }
            for pages in MOVES {
                let share = pages as f64 / 1_024.0;
                simulate(&format!("N = {pages}"), &format!(":move={share}"))?;
            }
            for grain in GRAINS {
                simulate(&format!("r = {grain}"), &format!(":grain={grain}"))?;
            }
        }
    }
    let ratio = |row: &str| findings.mean(row, None, "miss_ratio");
    let more = 100.0 * (ratio("interval 5000k") / ratio("interval 1000k") - 1.0);
    let what = "more misses with 5 million reads than with one";
    findings.claim(what, format!("{more:.1} %"), "more");
    Ok(())
}
