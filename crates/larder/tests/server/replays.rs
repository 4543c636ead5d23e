//! `larder replay` against the servers that people run: redis-server and memcached of Debian,
//! beside Larder. A test skips a server that is not installed: it says so and passes.

use crate::capture::Stranger;
use crate::memcached::Text;
use crate::process::{larder, serve_both};
use serde_json::Value;

/// The JSON document that a replay printed, and its standard error.
fn replay(words: &str) -> (Value, String) {
    let output = larder(&format!("replay {words} --json")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let printed = serde_json::from_slice(&output.stdout);
    (printed.unwrap_or_else(|error| panic!("{error}: {said}")), said)
}

/// Three servers get the same requests at once; no server holds all keys, and no server counts
/// falsely.
#[test]
fn servers_of_all_kinds_are_compared() {
    let Some(redis) = Stranger::redis("--maxmemory 2mb --maxmemory-policy allkeys-lru") else {
        return;
    };
    let Some(memcached) = Stranger::memcached("-m 8") else { return };
    let (_own, own_port) = serve_both("--maxmemory 8mb");
    let (compared, said) = replay(&format!(
        "synth:zipf:keys=5000:skew=0.9:requests=20000:size=const/500 --depth 8 \
         --to redis=redis://127.0.0.1:{} --to memcached=memcached://127.0.0.1:{} \
         --to memcached://127.0.0.1:{own_port} --at-once",
        redis.port, memcached.port
    ));
    let peers = compared["peers"].as_array().unwrap();
    let own_name = format!("127.0.0.1:{own_port}");
    assert_eq!(peers.len(), 3, "{said}");
    for (peer, name) in peers.iter().zip(["redis", "memcached", &own_name]) {
        let round = &peer["rounds"][0];
        assert_eq!((&peer["name"], &round["errors"]), (&name.into(), &0.into()), "{round}");
        assert_eq!(round["requests"], 20_000);
        let ratio = peer["median"]["miss_ratio"].as_f64().unwrap();
        assert!(ratio > 0.05 && ratio < 0.9, "{name}: {ratio}");
        assert!(peer["median"]["latency_us"]["p9999"].as_f64().unwrap() > 0.0);
    }
    // The server counted the same misses as the client.
    let told = stat(memcached.port, "get_misses");
    assert_eq!(peers[1]["rounds"][0]["tenants"][0]["misses"].as_u64(), Some(told));
}

/// A server that is flushed before each round starts each round cold, so the misses are the same.
#[test]
fn rounds_begin_with_empty_servers() {
    let Some(memcached) = Stranger::memcached("-m 64") else { return };
    let (own, _port) = serve_both("--maxmemory 64mb");
    let (compared, _) = replay(&format!(
        "synth:zipf:keys=500:requests=2000:size=const/100 --connections 1 --rounds 2 --flush \
         --to memcached://127.0.0.1:{} --to redis://{}",
        memcached.port,
        own.addr()
    ));
    for peer in compared["peers"].as_array().unwrap() {
        let misses = |at: usize| peer["rounds"][at]["tenants"][0]["misses"].as_u64().unwrap();
        assert_eq!(misses(0), misses(1), "{peer}");
        assert!(misses(0) > 100, "{peer}");
        assert_eq!(peer["rounds"][1]["errors"], 0);
    }
}

/// An error of memcached is counted, and later requests get their own answers.
#[test]
fn objects_that_are_too_large_for_memcached_are_errors() {
    let Some(memcached) = Stranger::memcached("-m 64") else { return };
    let (report, _) = replay(&format!(
        "synth:zipf:keys=10:requests=40:size=const/1100000 \
         synth:zipf:keys=10:requests=400:size=const/100 \
         --connections 1 --depth 4 --to memcached://127.0.0.1:{}",
        memcached.port
    ));
    let first = report["first_error"].as_str().unwrap();
    assert!(first.contains("object too large"), "{first}");
    let [large, small] = [0, 1].map(|at| &report["tenants"][at]);
    // Every read misses, and the write that follows is refused.
    assert_eq!(large["errors"], 40, "{large}");
    assert_eq!((&small["errors"], small["misses"].as_u64()), (&0.into(), Some(10)), "{small}");
}

/// A counter of the server's `stats`.
fn stat(port: u16, name: &str) -> u64 {
    let mut text = Text::new(port);
    text.send(b"stats\r\n");
    let begin = format!("STAT {name} ");
    loop {
        let line = text.line();
        assert_ne!(line, "END", "no {name}");
        if let Some(count) = line.strip_prefix(&begin) {
            return count.parse().unwrap();
        }
    }
}
