//! Latencies at a given load, and the gain of a second thread, beside other servers.
//!
//! The clients are `larder replay`: one cache request at a time, with a write after each miss, from
//! 50 connections on a core of their own. An open loop sends at a rate, whatever the server does,
//! and latencies count from the intended times: a pause of the server counts for all waiting
//! requests.

use crate::bench_server::{AS_REDIS, Server, binary, median, prepare};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Requests to a million keys; the server has room for half of them.
const TRACE: &str = "synth:zipf:keys=1m:skew=0.99:requests=";
const MEMORY: &str = "128mb";
const VALUE: &str = "200";
/// Seconds of a run at a rate.
const SECONDS: f64 = 8.0;
const ROUNDS: usize = 5;
/// Keys that expire together, in the middle of a run.
const EXPIRING: &str = "100000";
/// Shares of the load that the other server sustains.
const LOADS: [f64; 2] = [0.5, 0.8];

/// Replays this many requests to a server at `url`; returns the report.
fn replay(url: &str, requests: f64, more: &[&str]) -> Result<Value> {
    let output = Command::new("taskset")
        .args(["-c", "1", &binary()?, "replay", &format!("{TRACE}{requests:.0}:size={VALUE}")])
        .args(["--to", url, "--json"])
        .args(more)
        .stderr(Stdio::null())
        .output()
        .context("could not start taskset")?;
    ensure!(output.status.success(), "larder replay failed against {url}");
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn url(server: &Server) -> String {
    format!("redis://127.0.0.1:{}", server.process.port)
}

fn number(document: &Value, path: &str) -> Result<f64> {
    document.pointer(path).and_then(Value::as_f64).with_context(|| format!("no {path}"))
}

/// In the middle of a run, sets many keys that expire together, and starts a dump.
fn disturb(server: &Server) -> Result<Child> {
    let port = server.process.port;
    let script = format!(
        "sleep 1; redis-benchmark -p {port} -q -n {EXPIRING} -r {EXPIRING} -P 16 \
         SET storm:__rand_int__ x PX 2500 > /dev/null; sleep 3.5; redis-cli -p {port} bgsave"
    );
    let mut command = Command::new("taskset");
    command.args(["-c", "1", "sh", "-c", &script]).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().context("could not start sh")
}

/// Prints latencies of `other` and of Larder at shares of the load that `other` sustains.
pub(crate) fn tails(other: &str) -> Result<()> {
    prepare()?;
    let folder = std::env::temp_dir().join(format!("larder-tails-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let result = tails_in(&folder.display().to_string(), other);
    fs::remove_dir_all(&folder)?;
    result
}

/// Prints the latencies, with dumps in `folder`.
fn tails_in(folder: &str, other: &str) -> Result<()> {
    let mut as_redis = AS_REDIS;
    as_redis[1] = MEMORY;
    let theirs: Vec<&str> = [other].into_iter().chain(as_redis).chain(["--dir", folder]).collect();
    let ours = binary()?;
    let serve = |driver| {
        let words = ["serve", "--maxmemory", MEMORY, "--io-threads", "1", "--http-port", "0"];
        let mut all = vec![ours.as_str()];
        all.extend(words);
        all.extend(["--dir", folder, "--io-uring", driver]);
        all
    };
    let servers = [
        Server::start(other, "0", &theirs)?,
        Server::start("larder, io_uring", "0", &serve("yes"))?,
        Server::start("larder, epoll", "0", &serve("no"))?,
    ];
    let mut rates = vec![];
    for _ in 0..3 {
        let document = replay(&url(&servers[0]), 400_000.0, &["--connections", "50"])?;
        rates.push(400_000.0 / number(&document, "/seconds")?);
    }
    for server in &servers[1..] {
        replay(&url(server), 400_000.0, &["--connections", "50"])?;
    }
    let most = median(&rates);
    println!("{other} sustains {most:.0} requests per second here; medians of {ROUNDS}, µs\n");
    println!("load   server                    p50      p99    p99.9   p99 by {other}'s");
    for load in LOADS {
        let rate = format!("{:.0}", most * load);
        let mut seen = vec![[vec![], vec![], vec![]]; servers.len()];
        for _ in 0..ROUNDS {
            for (server, seen) in servers.iter().zip(&mut seen) {
                let mut other = disturb(server)?;
                let more = ["--connections", "50", "--open-loop", &rate];
                let document = replay(&url(server), most * load * SECONDS, &more)?;
                other.wait()?;
                for (name, seen) in ["p50", "p99", "p999"].into_iter().zip(seen) {
                    seen.push(number(&document, &format!("/latency_us/{name}"))?);
                }
            }
        }
        for (server, at) in servers.iter().zip(0..) {
            let [p50, p99, p999] = seen[at].each_ref().map(|values| median(values));
            let ratios: Vec<_> = seen[at][1].iter().zip(&seen[0][1]).map(|(a, b)| a / b).collect();
            println!(
                "{:>3.0} %  {:<22} {p50:>8.0} {p99:>8.0} {p999:>8.0}   {:.2}",
                load * 100.0,
                server.name(),
                median(&ratios)
            );
        }
    }
    Ok(())
}

/// Prints processor time a request with one thread and with two, for few shared keys and for many
/// keys.
pub(crate) fn threads(other: &str, memcached: &str) -> Result<()> {
    prepare()?;
    let ours = binary()?;
    println!("µs of server CPU per request, depth 16, 50 connections, medians of {ROUNDS}\n");
    println!("keys      server          1 thread  2 threads   throughput with idle cores, 2 by 1");
    for (name, keys) in [("hot", "keys=100"), ("many", "keys=1m")] {
        for kind in ["larder", "valkey", "memcached"] {
            let mut costs = [vec![], vec![]];
            let servers = [1, 2].map(|threads: u32| {
                let n = threads.to_string();
                let words: Vec<&str> = match kind {
                    "larder" => vec![
                        &ours,
                        "serve",
                        "--maxmemory",
                        "1gb",
                        "--http-port",
                        "0",
                        "--recipe",
                        "static",
                        "--io-threads",
                        &n,
                    ],
                    "valkey" => {
                        [other].into_iter().chain(AS_REDIS).chain(["--io-threads", &n]).collect()
                    }
                    _ => vec![memcached, "-u", "root", "-U", "0", "-m", "1024", "-t", &n],
                };
                Server::start(kind, "0,1", &words)
            });
            let [one, two] = servers;
            let servers = [one?, two?];
            for round in 0..=ROUNDS {
                for (server, costs) in servers.iter().zip(&mut costs) {
                    let scheme = if kind == "memcached" { "memcached" } else { "redis" };
                    let url = format!("{scheme}://127.0.0.1:{}", server.process.port);
                    let trace = format!("synth:zipf:{keys}:skew=0.5:requests=1m:size={VALUE}");
                    let before = server.cpu_seconds()?;
                    let status = Command::new(&ours)
                        .args(["replay", &trace, "--to", &url, "--connections", "50"])
                        .args(["--depth", "16", "--json"])
                        .stdout(Stdio::null())
                        .stderr(Stdio::null())
                        .status()?;
                    ensure!(status.success(), "larder replay failed against {kind}");
                    // The first round fills the cache.
                    if round > 0 {
                        costs.push(server.cpu_seconds()? - before);
                    }
                }
                thread::sleep(Duration::from_millis(100));
            }
            let pairs = costs[0].iter().zip(&costs[1]);
            let ratios: Vec<_> = pairs.map(|(one, two)| 2.0 * one / two).collect();
            println!(
                "{name:<9} {kind:<14} {:>9.2} {:>10.2}   {:.2}",
                median(&costs[0]),
                median(&costs[1]),
                median(&ratios)
            );
        }
    }
    Ok(())
}
