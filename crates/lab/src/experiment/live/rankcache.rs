//! Processor time a request, and requests a second, of all live policies beside stock servers [1].
//!
//! Each server has one thread. At 100 per cent of hits everything fits; at about 90 per cent, by a
//! power law, there are evictions. Three depths: how many requests a client sends at once. Time of
//! the server's threads is what counts, for client and server share the cores.
//!
//! [1] Beckmann, Chen, Cidon. LHD: Improving Cache Hit Rate by Maximizing Hit Density. NSDI '18;
//!     RankCache is its server.

use super::{Experiment, Findings, Load, Row, Setting, Tenant, compare, play};
use anyhow::Result;
use base::Bytes;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "rankcache",
    about: "processor time a request of all live policies, beside stock servers",
    run,
};

const POLICIES: [&str; 8] =
    ["lru", "lfu", "lrm", "hyperbolic", "lhd", "cost-lhd", "gittins", "random"];

/// Requests a client sends at once, and so many requests.
const DEPTHS: [(u32, u64); 3] = [(64, 1_000_000), (16, 500_000), (1, 100_000)];

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let mut rows: Vec<Row> = setting.peers(&["redis", "valkey"]);
    rows.extend(setting.peer("memcached", "memcached", "-t 1"));
    for policy in POLICIES {
        let settings =
            format!("--io-threads 1 --recipe static --maxmemory-policy allkeys-{policy}");
        rows.push(Row::larder(policy, &settings)?);
    }
    rows.push(Row::larder("auto", "--io-threads 1")?);
    let kinds = [
        ("all hits", "uniform:keys=50000:size=const/300", 100),
        ("evicting", "zipf:keys=400000:skew=1:size=const/300", 48),
    ];
    for (name, trace, megabytes) in kinds {
        for &(depth, requests) in setting.pick(&DEPTHS[..], &DEPTHS[..1]) {
            let load = |requests: u64, seed: u64, depth: u32| {
                let trace = format!("synth:{trace}:requests={requests}:seed={seed}");
                let tenant = Tenant::new("t", trace, "delay:0".to_owned());
                Load::new(vec![tenant], &format!("--connections 4 --depth {depth}"))
            };
            let loads = [load(600_000, 1, 64), load(requests, 1, depth)];
            let memory = Bytes(megabytes << 20);
            play(setting, &rows, &format!("{name}, depth {depth}"), (&loads, memory), findings)?;
        }
    }
    for than in ["redis", "valkey", "memcached"] {
        compare(findings, ("auto", than), "cpu_us", "");
    }
    Ok(())
}
