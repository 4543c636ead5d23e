//! Metrics and probes over HTTP.

use crate::client::Client;
use crate::memcached::Text;
use crate::process::{free_port, refuses, serve, serve_both};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Status line and body of an answer.
pub(crate) fn fetch(address: SocketAddr, request: &str) -> (String, String) {
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
        "larder_misses_total{tenant=\"default\"} 1",
        "larder_writes_total{tenant=\"web\"} 2",
        "larder_tenant_items{tenant=\"default\"} 0",
        "larder_commands_total{command=\"get\"} 2",
        "larder_clients 1",
    ] {
        assert!(body.contains(&format!("{line}\n")), "{line}: {body}");
    }
    // Every sample belongs to the metric described before it.
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

/// Each forecast of the pilot for a pool is exported beside the outcome.
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
            // The keys of one pool fit in memory, the keys of the other do not.
            let (few, many) = (base::hash::mix(at) % 100, base::hash::mix(at) % 5_000);
            for key in [format!("web:{few}"), format!("key:{many}")] {
                if client.value(&format!("GET {key}")) == "(null)" {
                    client.ask(&format!("SET {key} {value}"));
                }
            }
        }
        let (_, body) = fetch(server.http_addr(), "GET /metrics");
        // A round without a read has no outcome.
        if ["forecast", "outcome"]
            .iter()
            .all(|what| body.contains(&format!("larder_{what}_miss_ratio{{")))
        {
            break body;
        }
        // Under more load the server would sample too few of these few keys.
        std::thread::sleep(std::time::Duration::from_millis(100));
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

/// Every write that evicts is timed, by either protocol, and no other write is.
#[test]
fn evictions_are_timed() {
    let http = free_port();
    let arguments = format!("--http-port {http} --maxmemory 1mb");
    let (server, port) = serve_both(&arguments);
    let (mut client, mut text) = (Client::new(server.addr()), Text::new(port));
    let value = "x".repeat(1_000);
    let read = |name: &str| {
        let (_, body) = fetch(server.http_addr(), "GET /metrics");
        let line = body.lines().find_map(|line| line.strip_prefix(&format!("larder_{name} ")));
        line.unwrap_or_else(|| panic!("no {name}: {body}")).parse::<f64>().unwrap()
    };
    assert_eq!(read("eviction_pause_seconds_count"), 0.0);
    let evicted = |client: &mut Client| client.info("evicted_keys").parse::<f64>().unwrap();
    for at in 0..2_500 {
        client.ask(&format!("SET key:{at} {value}"));
    }
    let (first, left) = (read("eviction_pause_seconds_count"), evicted(&mut client));
    assert!(first > 1_000.0, "{first}");
    for at in 0..2_500 {
        client.ask(&format!("GET key:{at}"));
    }
    assert_eq!(read("eviction_pause_seconds_count"), first, "reads evict nothing");
    for at in 0..2_500 {
        assert_eq!(text.ask(&format!("set other:{at} 0 0 1000|{value}")), "STORED");
    }
    let (count, more) = (read("eviction_pause_seconds_count"), evicted(&mut client) - left);
    assert!(count - first > 0.9 * more.min(2_500.0), "{first} {count} {more}");
    assert_eq!(read("eviction_pause_seconds_bucket{le=\"+Inf\"}"), count);
    let (sum, most) = (read("eviction_pause_seconds_sum"), read("eviction_pause_max_seconds"));
    assert!(most > 0.0 && most <= sum && sum < most * count, "{sum} {most}");
    assert!(read("eviction_pause_max_victims") >= 1.0);
    assert_eq!(client.info("eviction_pauses"), count.to_string());
    let us = client.info("eviction_pause_us_max").parse::<f64>().unwrap();
    assert!((us - most * 1e6).abs() < 0.1, "{us} {most}");
    assert!(client.info("eviction_pause_us_p99").parse::<f64>().unwrap() <= us);
    // Redis' event covers evictions of milliseconds, and no threshold is set yet.
    assert_eq!(client.ask("LATENCY LATEST"), "*0\r\n");
    assert_eq!(client.ask("CONFIG SET latency-monitor-threshold 1"), "+OK\r\n");
    let (latest, is_slow) = (client.ask("LATENCY LATEST"), us >= 1_000.0);
    assert_eq!(latest.contains("eviction-cycle"), is_slow, "{latest} {us}");
    assert_eq!(client.ask("LATENCY HISTORY eviction-cycle") != "*0\r\n", is_slow);
    let graph = client.ask("LATENCY GRAPH eviction-cycle");
    assert_eq!(graph.contains("eviction-cycle - high "), is_slow, "{graph}");
    assert_eq!(client.ask("LATENCY RESET"), format!(":{}\r\n", u8::from(is_slow)));
    assert_eq!(client.ask("LATENCY LATEST"), "*0\r\n");
    let none = "-ERR No samples available for event 'eviction-cycle'\r\n";
    assert_eq!(client.ask("LATENCY GRAPH eviction-cycle"), none);
}

/// Two servers on one machine need no setting, but a port that was asked for must be free.
#[test]
fn a_port_in_use_is_named() {
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let error = refuses(&format!("--port 0 --http-port {port}"));
    assert!(error.contains("choose another http-port"), "{error}");
}

/// Size classes are shown with their pages and, where it is known, the outcome of the forecast.
#[test]
fn pages_are_shown() {
    let server = serve(&format!(
        "--http-port {} --maxmemory 4mb --recipe rankcache:interval=100 \
         --tenant web match prefix web:",
        free_port()
    ));
    let address = server.http_addr();
    let mut client = Client::new(server.addr());
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let body = loop {
        for key in 0..200 {
            if client.ask(&format!("GET web:{key}")) == "$-1\r\n" {
                client.ask(&format!("SET web:{key} {}", "x".repeat(100 + key % 5)));
            }
        }
        let (_, body) = fetch(address, "GET /metrics");
        if body.contains("larder_class_outcome{") {
            break body;
        }
        assert!(std::time::Instant::now() < until, "{body}");
    };
    assert!(body.contains("larder_class_pages{class=\"web "), "{body}");
}

/// Connections that send half a request, or nothing, or read no answer, keep no other client out.
#[test]
fn silence_keeps_no_place() {
    let server = serve(&format!("--http-port {} --http-maxclients 64", free_port()));
    let address = server.http_addr();
    let mut silent = vec![];
    for at in 0..200 {
        let mut stream = TcpStream::connect(address).unwrap();
        let _ = match at % 4 {
            0 => Ok(()),
            1 => stream.write_all(b"GET /hea"),
            2 => stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n"),
            _ => stream.write_all(&b"GET /metrics HTTP/1.1\r\n\r\n".repeat(100)),
        };
        silent.push(stream);
        if at % 20 == 0 {
            for (path, body) in [("/healthz", "alive\n"), ("/readyz", "ready\n")] {
                assert_eq!(fetch(address, &format!("GET {path}")).1, body, "{at}");
            }
            assert_eq!(fetch(address, "GET /metrics").0, "HTTP/1.1 200 OK", "{at}");
        }
    }
    // The last of the silent connections keep their places for some seconds.
    let last = silent.iter_mut().rev().find(|stream| stream.set_nonblocking(true).is_ok());
    assert!(last.unwrap().write(b"\r\n").is_ok());
    let begun = Instant::now();
    for mut stream in silent {
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // The server closes every connection, whether it answered or not; a reset counts as closed.
        let mut rest = vec![];
        let timed_out = |error: std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
        assert!(!stream.read_to_end(&mut rest).is_err_and(timed_out), "it is still open");
    }
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

/// Requests that are no HTTP, or too large, get an error, and the connection persists as HTTP
/// requires.
#[test]
fn requests_are_bounded_and_connections_stay() {
    let server = serve(&format!("--http-port {}", free_port()));
    let answer = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(server.http_addr()).unwrap();
        // The server may close before all bytes are sent.
        let _ = stream.write_all(bytes);
        let mut all = vec![];
        let _ = stream.read_to_end(&mut all);
        String::from_utf8(all).unwrap()
    };
    let heads = |answer: &str| answer.matches("HTTP/1.").count();
    let long = format!("GET /healthz HTTP/1.1\r\nHost: x\r\nA: {}\r\n\r\n", "a".repeat(1 << 16));
    assert!(answer(long.as_bytes()).starts_with("HTTP/1.1 431 "));
    let many = format!("GET /healthz HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(100));
    assert!(answer(many.as_bytes()).starts_with("HTTP/1.1 431 "));
    for rubbish in ["rubbish\r\n\r\n", "GET / HTTP/1.1\r\nrubbish\r\n\r\n"] {
        assert!(answer(rubbish.as_bytes()).starts_with("HTTP/1.1 400 "), "{rubbish}");
    }
    let two = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /readyz?a=b HTTP/1.1\r\nHost: x\r\n\
               Connection: close\r\n\r\n";
    let both = answer(two.as_bytes());
    assert!(heads(&both) == 2 && both.contains("\r\n\r\nalive\n"), "{both}");
    assert!(both.ends_with("\r\n\r\nready\n") && both.contains("content-length: 6"), "{both}");
    assert_eq!(heads(&answer(b"GET /healthz HTTP/1.0\r\n\r\n")), 1, "and then it is closed");
    let head = answer(b"HEAD /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(head.contains("content-length: 6") && head.ends_with("\r\n\r\n"), "{head}");
    let body = answer(
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n\
          GET /healthz HTTP/1.1\r\n\r\n",
    );
    assert!(body.starts_with("HTTP/1.1 405 ") && heads(&body) == 1, "{body}");
    assert!(body.contains("allow: GET, HEAD"), "{body}");
}

/// A page of another site reads nothing, even when its name resolves to this machine's address.
#[test]
fn a_name_that_anybody_can_register_is_refused() {
    let server = serve(&format!("--http-port {} --http-hosts cache.example.org", free_port()));
    let address = server.http_addr();
    let ask = |path: &str, host: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\n{host}Connection: close\r\n\r\n").unwrap();
        let mut all = String::new();
        stream.read_to_string(&mut all).unwrap();
        all.lines().next().unwrap_or_default().to_owned()
    };
    let port = address.port();
    for path in ["/", "/metrics", "/report.json", "/events?page=/"] {
        let status = ask(path, &format!("Host: rebound.example.com:{port}\r\n"));
        assert_eq!(status, "HTTP/1.1 421 Misdirected Request", "{path}");
    }
    for host in ["127.0.0.1", "localhost", "[::1]", "larder", "cache.example.org", "x.svc"] {
        let status = ask("/metrics", &format!("Host: {host}:{port}\r\n"));
        assert_eq!(status, "HTTP/1.1 200 OK", "{host}");
    }
    let away = "Host: rebound.example.com\r\n";
    assert_eq!(ask("/healthz", away), "HTTP/1.1 200 OK", "a probe says one word");
    // A browser does not send a name and a password unasked.
    Client::new(server.addr()).ask("CONFIG SET requirepass sesame");
    let login = "Authorization: Basic ZGVmYXVsdDpzZXNhbWU=\r\n";
    assert_eq!(ask("/metrics", &format!("{away}{login}")), "HTTP/1.1 200 OK");
    assert_eq!(ask("/metrics", away), "HTTP/1.1 401 Unauthorized");
}
