//! CPU time per request, and requests a second, of all live policies beside stock servers [1].
//!
//! Each server has one thread, and then two. With 100 per cent of hits everything fits; with about
//! 90 per cent, by a power law, there are evictions. Three depths say how many requests a client
//! sends at once. The CPU time of the server's threads counts, because client and server share the
//! cores.
//!
//! [1] Beckmann, Chen, Cidon. LHD: Improving Cache Hit Rate by Maximizing Hit Density. NSDI '18;
//!     RankCache is its server.

use super::{Experiment, Findings, Load, ServerRow, Setting, Tenant, compare, play};
use anyhow::Result;
use base::Bytes;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "rankcache",
    about: "CPU time per request of all live policies, compared with stock servers",
    run,
};

const POLICIES: [&str; 8] =
    ["lru", "lfu", "lrm", "hyperbolic", "lhd", "cost-lhd", "gittins", "random"];

/// Requests that a client sends at once, and requests of the run.
const DEPTHS: [(u32, u64); 3] = [(64, 1_000_000), (16, 500_000), (1, 100_000)];

/// Number of requests that fill the caches.
const WARM: u64 = 600_000;

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    let kinds = [
        ("all hits", "uniform:keys=50000:size=const/300", 100),
        ("evicting", "zipf:keys=400000:skew=1:size=const/300", 48),
    ];
    let less = setting.pick(1, 4);
    let [one, two] = [rows(setting, 1)?, rows(setting, 2)?];
    for (name, trace, megabytes) in kinds {
        let memory = Bytes(megabytes << 20);
        let mut play = |rows: &[ServerRow], threads: &str, depth: u32, requests: u64| {
            let load = |requests: u64, seed: u64, depth: u32| {
                let trace = format!("synth:{trace}:requests={requests}:seed={seed}");
                let tenant = Tenant::new("t", trace, "delay:0".to_owned());
                Load::new(vec![tenant], &format!("--connections 4 --depth {depth}"))
            };
            let loads = [load(WARM, 1, 64), load(requests, 1, depth)];
            let workload = format!("{name}, depth {depth}{threads}");
            play(setting, rows, &workload, (&loads, memory), findings)
        };
        for (depth, requests) in DEPTHS {
            play(&one, "", depth, requests / less)?;
        }
        let (depth, requests) = DEPTHS[0];
        play(&two, ", two threads", depth, requests / less)?;
    }
    for than in ["redis", "valkey", "memcached"] {
        compare(findings, ("auto", than), "cpu_us", "");
    }
    Ok(())
}

/// The servers, with this many threads each.
fn rows(setting: &Setting, threads: u32) -> Result<Vec<ServerRow>> {
    let io = format!("--io-threads {threads}");
    let mut rows: Vec<ServerRow> = vec![];
    rows.extend(setting.peer("redis", "redis", &io));
    rows.extend(setting.peer("valkey", "valkey", &io));
    rows.extend(setting.peer("memcached", "memcached", &format!("-t {threads}")));
    for policy in POLICIES {
        let settings = format!("{io} --recipe static --maxmemory-policy allkeys-{policy}");
        rows.push(ServerRow::larder(policy, &settings)?);
    }
    rows.push(ServerRow::larder("auto", &io)?);
    Ok(rows)
}
