//! YCSB over a near database and a far one, which becomes slower after two fifths [1].
//!
//! Each database holds half of the records. Only requests after the far database became slower are
//! counted; `before_us` is the mean wait until then. There is no Redis with hyperbolic ranks to
//! compare with: Larder's hyperbolic policy with costs stands in for it.
//!
//! [1] Pan, Luo, Wang, Wang. pRedis: Penalty and Locality Aware Memory Allocation in Redis.
//!     SoCC '19.

use super::{Experiment, Findings, Load, ServerRow, Setting, Tenant, compare, memory, play};
use anyhow::Result;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "predis",
    about: "YCSB A to F over a near database and a far one that slows down",
    run,
};

const WORKLOADS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// Share of the requests after which the far database is slower, and the wait that is added then.
const SLOWER_FROM: f64 = 0.4;
const SLOWER: &str = "delay:1ms";

/// Memory, as a share of the bytes that the requests touch.
const SHARE: f64 = 0.3;

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let requests: u64 = setting.pick(400_000, 100_000);
    let keys = setting.pick(80_000, 20_000);
    let mut rows = setting.peers(&["redis", "valkey", "predis"]);
    for (name, settings) in [
        ("hyperbolic", "--recipe static --maxmemory-policy allkeys-hyperbolic"),
        ("predis auto", "--recipe predis"),
        ("auto", ""),
    ] {
        rows.push(ServerRow::larder(name, settings)?);
    }
    // The client states the time of each fetch, and only that makes a class.
    let mut hint = ServerRow::larder("predis hint", "--recipe predis")?.asked("--tell-costs");
    for name in ["near", "far"] {
        let line = format!("{name} match prefix {name}: penalty hint");
        hint.arguments.extend(["--tenant".to_owned(), line]);
    }
    rows.push(hint);
    let [near, far] = setting.databases();
    let slow = format!("{far},{SLOWER}");
    for workload in WORKLOADS {
        let trace = |seed: u64| {
            format!("synth:ycsb:workload={workload}:keys={keys}:requests={requests}:seed={seed}")
        };
        let before = (requests as f64 * SLOWER_FROM) as u64;
        let part = |far: &str, part: String| {
            let near = Tenant::new("near", trace(1), near.clone());
            let tenants = vec![near, Tenant::new("far", trace(2), far.to_owned())];
            Load::new(tenants, "--connections 4").part(&part)
        };
        let memory = memory(&[trace(1), trace(2)], requests, SHARE)?;
        let loads =
            [part(&far, format!("--limit {before}")), part(&slow, format!("--skip {before}"))];
        play(setting, &rows, &format!("YCSB {workload}"), (&loads, memory), findings)?;
    }
    for (row, than, wanted) in [
        ("auto", "redis", "0.6"),
        ("auto", "pRedis 2019", "0.9"),
        ("auto", "hyperbolic", ""),
        ("predis auto", "redis", "0.66 to 0.88"),
    ] {
        compare(findings, (row, than), "mean_us", wanted);
    }
    compare(findings, ("auto", "redis"), "p99_us", "1");
    Ok(())
}
