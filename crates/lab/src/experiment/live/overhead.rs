//! Cost of the loop: `auto`, whose pilot learns and plans, beside the same ranks without a pilot.
//!
//! CPU time is that of all threads of the server, including the pilot's. Both evict by the same
//! ranks. Without the loop, the ranks do not know the cost of misses, and no memory is divided.

use super::{Experiment, Findings, Load, ServerRow, Setting, Tenant, compare, play};
use anyhow::Result;
use base::Bytes;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "overhead",
    about: "the loop on and off: CPU time per request, resident memory",
    run,
};

/// Requests that a client sends at once.
const DEPTH: u32 = 16;

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let requests: u64 = setting.pick(2_000_000, 500_000);
    let tenants: Vec<_> = [("a", 0.8), ("b", 1.0)]
        .into_iter()
        .map(|(name, skew)| {
            let trace = format!(
                "synth:zipf:keys=300000:skew={skew}:size=const/300:requests={requests}:seed=1"
            );
            Tenant::new(name, trace, "delay:0".to_owned())
        })
        .collect();
    let mut rows = vec![];
    for (name, settings) in [
        ("loop off", "--recipe static --maxmemory-policy allkeys-gittins"),
        ("loop on", ""),
        ("kredis", "--recipe kredis"),
        ("static", "--recipe static"),
    ] {
        rows.push(ServerRow::larder(name, settings)?.with_tenants(&tenants, ""));
    }
    let load = Load::new(tenants, &format!("--connections 4 --depth {DEPTH} --warmup 0.3"));
    for megabytes in [64, 512] {
        let workload = format!("{megabytes} MB");
        let memory = Bytes(megabytes << 20);
        play(setting, &rows, &workload, (std::slice::from_ref(&load), memory), findings)?;
    }
    compare(findings, ("loop on", "loop off"), "cpu_us", "1.01");
    compare(findings, ("kredis", "static"), "cpu_us", "1.01");
    Ok(())
}
