//! Metrics and probes over HTTP.

use crate::client::Client;
use crate::process::{free_port, refuses, serve};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

/// Status line and body of an answer.
fn fetch(address: SocketAddr, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    let (head, body) = all.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

#[test]
fn metrics_and_probes() {
    let server = serve(&format!(
        "--http-port {} --maxmemory 64mb --tenant web match prefix web:",
        free_port()
    ));
    let address = server.http_addr();
    let mut client = Client::new(server.addr());
    client.ask("SET web:1 x PX 1");
    client.ask("GET nothing");
    std::thread::sleep(std::time::Duration::from_millis(20));
    client.ask("SET web:2 x");
    client.ask("GET web:2");
    let (status, body) = fetch(address, "GET /metrics");
    assert_eq!(status, "HTTP/1.1 200 OK");
    for line in [
        "larder_memory_max_bytes 67108864",
        "larder_hits_total{tenant=\"web\"} 1",
        "larder_misses_total{tenant=\"default\",kind=\"absent\"} 1",
        "larder_writes_total{tenant=\"web\"} 2",
        "larder_tenant_items{tenant=\"default\"} 0",
        "larder_commands_total{command=\"get\"} 2",
        "larder_clients 1",
    ] {
        assert!(body.contains(&format!("{line}\n")), "{line}: {body}");
    }
    // Every sample belongs to a metric that was described before it.
    let mut described = vec![];
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            described.push(rest.split(' ').next().unwrap().to_owned());
        } else if !line.starts_with('#') {
            let name = line.split(['{', ' ']).next().unwrap();
            let endings = ["_bucket", "_sum", "_count", ""];
            let is_described = |ending| name.strip_suffix(ending) == described.last().map(|d| &**d);
            assert!(endings.into_iter().any(is_described), "{line}");
            line.rsplit(' ').next().unwrap().parse::<f64>().unwrap();
        }
    }
    described.sort();
    let all = described.len();
    described.dedup();
    assert_eq!(described.len(), all, "a metric is described twice");
    assert_eq!(fetch(address, "GET /healthz").1, "alive\n");
    assert_eq!(fetch(address, "GET /readyz").1, "ready\n");
    assert!(fetch(address, "GET /nosuch").0.contains("404"));
    assert!(fetch(address, "POST /metrics").0.contains("405"));
}

/// What the pilot expected of each pool stands beside what came of it.
#[test]
fn forecasts_stand_beside_outcomes() {
    let server = serve(&format!(
        "--http-port {} --maxmemory 2mb --recipe kredis:epoch=0.1:gain=0:rate=1 \
         --tenant 'web match prefix web:'",
        free_port()
    ));
    let mut client = Client::new(server.addr());
    let value = "x".repeat(1_000);
    let begun = std::time::Instant::now();
    let mut at = 0;
    let body = loop {
        for _ in 0..200 {
            at += 1;
            // One pool's keys fit, the other's do not.
            let (few, many) = (base::hash::mix(at) % 100, base::hash::mix(at) % 5_000);
            for key in [format!("web:{few}"), format!("key:{many}")] {
                if client.value(&format!("GET {key}")) == "(null)" {
                    client.ask(&format!("SET {key} {value}"));
                }
            }
        }
        let (_, body) = fetch(server.http_addr(), "GET /metrics");
        if body.contains("larder_forecast_miss_ratio{") {
            break body;
        }
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "no forecast: {body}");
    };
    let pools = |metric: &str| -> Vec<(String, f64)> {
        let samples = body.lines().filter_map(|line| line.strip_prefix(metric));
        let parts = samples.filter_map(|line| line.split_once(' '));
        parts.map(|(pool, value)| (pool.to_owned(), value.parse().unwrap())).collect()
    };
    let (forecast, outcome) =
        (pools("larder_forecast_miss_ratio"), pools("larder_outcome_miss_ratio"));
    assert!(!outcome.is_empty(), "{body}");
    for (pool, ratio) in forecast.iter().chain(&outcome) {
        assert!((0.0..=1.0).contains(ratio), "{pool} {ratio}");
    }
    let both = forecast.iter().any(|(pool, _)| outcome.iter().any(|(other, _)| other == pool));
    assert!(both, "{forecast:?} {outcome:?}");
    assert!(body.contains("larder_epochs_total "), "{body}");
}

/// Writes are timed while memory is full.
#[test]
fn evictions_are_timed() {
    let server = serve(&format!("--http-port {} --maxmemory 1mb", free_port()));
    let mut client = Client::new(server.addr());
    let value = "x".repeat(1_000);
    let count = || {
        let (_, body) = fetch(server.http_addr(), "GET /metrics");
        let line =
            body.lines().find_map(|l| l.strip_prefix("larder_eviction_pause_seconds_count "));
        line.unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(count(), 0);
    for at in 0..5_000 {
        client.ask(&format!("SET key:{at} {value}"));
    }
    assert!((10..5_000).contains(&count()), "one batch in 64: {}", count());
}

/// Two servers on one machine need no setting, but a port that was asked for must be had.
#[test]
fn a_port_in_use_is_named() {
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let error = refuses(&format!("--port 0 --http-port {port}"));
    assert!(error.contains("choose another http-port"), "{error}");
}
