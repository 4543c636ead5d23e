//! Four and fifteen tenants that share a cache; half of them ask a near database, and half a far
//! one [1].
//!
//! [1] Yang, Wang, Wang. kRedis, IEEE TCC '23, section 6.

use super::super::{kredis_many, mixes};
use super::{Experiment, Findings, Load, ServerRow, Setting, Tenant, compare, memory, play};
use anyhow::Result;
use base::Bytes;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "kredis",
    about: "four and fifteen tenants over a near database and a far one",
    run,
};

/// Wait that is added to the far database's own time: in the paper it is farther than the near one.
const FARTHER: &str = "delay:1ms";

/// Limit of the request rate. Without it, fifteen tenants use all of two cores, and wait for the
/// cores instead of the databases.
const UNHURRIED: &str = "--rate-max 5000";

/// Memory, as a share of the bytes that the requests touch.
const SHARE: f64 = 0.5;

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let four = mixes::live_four(setting.traces.as_deref(), setting.pick(100_000, 30_000))?;
    let many = kredis_many::live_tenants(setting.pick(60_000, 10_000));
    let middle = [false, true, true, false].to_vec();
    let every_other = (0..15).map(|at| at % 2 == 1).collect();
    let mixes = [
        ("four tenants", four, middle, setting.pick(100_000, 30_000), ""),
        ("fifteen tenants", many, every_other, 60_000, UNHURRIED),
    ];
    let [near, far] = setting.databases();
    let far = format!("{far},{FARTHER}");
    for (workload, traces, is_far, limit, pace) in mixes {
        let memory = memory(&traces, limit, SHARE)?;
        let tenants: Vec<_> = traces
            .into_iter()
            .zip(is_far)
            .enumerate()
            .map(|(at, (trace, is_far))| {
                let backend = if is_far { &far } else { &near };
                Tenant::new(&format!("t{}", at + 1), trace, backend.clone())
            })
            .collect();
        let arguments = format!("--limit {limit} --warmup 0.5 --connections 2 {pace}");
        let rows = rows(setting, &tenants, memory)?;
        let load = Load::new(tenants, &arguments);
        play(setting, &rows, workload, (&[load], memory), findings)?;
    }
    for (than, wanted) in [("redis", "0.6"), ("valkey", "0.6"), ("kredis", "")] {
        compare(findings, ("auto", than), "mean_us", wanted);
        compare(findings, ("auto", than), "p99_us", "1");
    }
    compare(findings, ("kredis", "redis"), "mean_us", "0.827; down to 0.498");
    compare(findings, ("kredis", "predis"), "mean_us", "0.857");
    Ok(())
}

fn rows(setting: &Setting, tenants: &[Tenant], memory: Bytes) -> Result<Vec<ServerRow>> {
    let equal = format!("max {}", memory.0 / tenants.len() as u64);
    let mut rows = setting.peers(&["redis", "valkey", "predis"]);
    rows.push(ServerRow::larder("equal split", "--recipe static")?.with_tenants(tenants, &equal));
    for (name, settings) in
        [("predis", "--recipe predis"), ("kredis", "--recipe kredis"), ("auto", "")]
    {
        rows.push(ServerRow::larder(name, settings)?.with_tenants(tenants, ""));
    }
    Ok(rows)
}
