//! Requests a second of GET-or-load against K, on traces of block devices [1].
//!
//! A miss loads its block from a file that holds all blocks, as in the paper. Redis and Valkey run
//! with four fixed K. `dlru` must come near the best of these without knowing which it is.
//!
//! [1] Wang, Yang, Wang. Dynamically Configuring LRU Replacement Policy in Redis. MEMSYS '20.

use super::super::mixes::recorded;
use super::{Experiment, Findings, Load, ServerRow, Setting, Tenant, compare, memory, play};
use anyhow::Result;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "dlru",
    about: "GET-or-load against K = 1, 5, 10, 16, whose backend reads a file of blocks",
    run,
};

/// The fixed values of K.
const FIXED: [u8; 4] = [1, 5, 10, 16];

/// Traces, and how many of their requests are sent; `--quick` takes the first two.
const TRACES: [(&str, u64); 5] = [
    ("tencent_blk_2706", 100_000),
    ("arc_p3", 400_000),
    ("cp_w106", 400_000),
    ("tencent_blk_1326", 100_000),
    ("phases_dev", 400_000),
];

/// Memory, as a share of the bytes that the requests touch.
const SHARE: f64 = 0.4;

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let mut rows = vec![];
    for peer in ["redis", "valkey"] {
        let fixed = FIXED.map(|k| {
            setting.peer(peer, &format!("{peer} K={k}"), &format!("--maxmemory-samples {k}"))
        });
        rows.extend(fixed.into_iter().flatten());
    }
    rows.push(ServerRow::larder("dlru", "--recipe dlru")?);
    rows.push(ServerRow::larder("auto", "")?);
    let folder = tempfile::tempdir()?;
    for &(name, limit) in setting.pick(&TRACES[..], &TRACES[..2]) {
        let trace = match &setting.traces {
            Some(folder) => recorded(folder, &[name])?.remove(0),
            None => format!(
                "synth:two-phase:keys=60000:skew=0.8:loop=30000:cycles=4:size=const/512:\
                 requests={limit}"
            ),
        };
        let backend = format!("file:{}", folder.path().join(name).display());
        let memory = memory(std::slice::from_ref(&trace), limit, SHARE)?;
        let load = Load::new(
            vec![Tenant::new("blocks", trace, backend)],
            &format!("--limit {limit} --warmup 0.4 --connections 8"),
        );
        play(setting, &rows, name, (&[load], memory), findings)?;
    }
    for k in FIXED {
        compare(findings, ("dlru", &format!("redis K={k}")), "requests_per_s", "");
        compare(findings, ("dlru", &format!("redis K={k}")), "miss_ratio", "");
    }
    Ok(())
}
