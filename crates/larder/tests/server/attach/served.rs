//! The pages of `--http` for an attached server: the dashboard, metrics, and the report as JSON.

use super::Attached;
use super::load::{Load, Random};
use super::memcached::stats;
use crate::capture::Stranger;
use crate::http::fetch;
use serde_json::Value;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// The address of the HTTP server, from its message.
fn address(attached: &Attached) -> SocketAddr {
    let said = attached.until("http", |_| true);
    let says = said["says"].as_str().unwrap();
    let place = says.split("http://").nth(1).and_then(|rest| rest.split('/').next());
    place.and_then(|place| place.parse().ok()).unwrap_or_else(|| panic!("{says}"))
}

fn report(address: SocketAddr) -> Value {
    let (status, body) = fetch(address, "GET /report.json");
    assert_eq!(status, "HTTP/1.1 200 OK");
    serde_json::from_str(&body).unwrap()
}

/// Fetches reports until one satisfies `is_it`.
fn until(address: SocketAddr, is_it: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let report = report(address);
        if is_it(&report) {
            return report;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{report:#}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_memcached_has_a_dashboard() {
    let Some(server) = Stranger::memcached("-m 16 -o no_slab_automove") else { return };
    let mut random = Random(5);
    let load = Load::begin(server.port, 6_000, Box::new(move || (random.below(60_000), 300)));
    while stats(server.port, "stats")["evictions"] == "0" {
        std::thread::sleep(Duration::from_millis(50));
    }
    let url = format!("memcached://127.0.0.1:{}", server.port);
    let words = format!("{url} --window 1s --every 1s --http 127.0.0.1:0");
    let attached = Attached::begin(&words);
    let address = address(&attached);
    assert_eq!(fetch(address, "GET /healthz").1, "alive\n");
    // A forecast exists after an epoch, and counts of reads after two ticks.
    attached.until("epoch", |one| one["epoch"].as_u64() >= Some(3));
    let known = until(address, |report| report["recent"]["reads"].as_u64() > Some(5_000));
    let class = &known["tenants"][0];
    assert_eq!(class["name"], "class 384 B", "{known:#}");
    assert!(class["used"].as_u64() >= Some(14 << 20) && class["curve"].is_object(), "{class:#}");
    // Random keys of which a part fits: the report has the miss ratio that the load measures.
    let recent = &known["recent"];
    let ratio = recent["misses"].as_f64().unwrap() / recent["reads"].as_f64().unwrap();
    let counted = load.misses_within(Duration::from_secs(3));
    assert!((ratio - counted).abs() < 0.1, "{ratio} {counted}");
    assert_eq!(
        (&known["server"]["recipe"], &known["server"]["maxmemory"]),
        (&Value::from("lama"), &Value::from(16 << 20))
    );

    let (status, metrics) = fetch(address, "GET /metrics");
    assert_eq!(status, "HTTP/1.1 200 OK");
    for part in [
        "\nlarder_memory_max_bytes 16777216\n",
        "\nlarder_tenant_used_bytes{tenant=\"class 384 B\"} ",
        "\nlarder_class_pages{class=\"class 384 B\"} ",
        "\nlarder_class_forecast{class=\"class 384 B\"} 0.",
        "\nlarder_class_outcome{class=\"class 384 B\"} 0.",
    ] {
        assert!(metrics.contains(part), "{part}: {metrics}");
    }
    for page in ["/", "/tenant?tenant=class%20384%20B", "/plans", "/sizing", "/advice"] {
        let (status, html) = fetch(address, &format!("GET {page}"));
        assert_eq!(status, "HTTP/1.1 200 OK", "{page}");
        assert!(html.contains("attached to memcached 1."), "{page}: {html}");
    }
    assert!(fetch(address, "GET /").1.contains(">class 384 B<"));
    assert!(fetch(address, "GET /readyz").0.ends_with("200 OK"));
    assert!(attached.interrupt().0.success());
    assert!(std::net::TcpStream::connect(address).is_err(), "it ends with the pilot");
}

/// The dashboard of an attached Redis lists events on its page of plans.
#[test]
fn a_redis_has_a_dashboard() {
    let Some(server) = Stranger::redis("--maxmemory 6mb --maxmemory-policy allkeys-lru") else {
        return;
    };
    let mut client = server.client();
    client.ask("SET a 1");
    let url = format!("redis://127.0.0.1:{}", server.port);
    let attached = Attached::begin(&format!("{url} --window 1s --every 1s --http 127.0.0.1:0"));
    let address = address(&attached);
    until(address, |report| report["tenants"][0]["name"] == "all");
    for _ in 0..40 {
        client.ask("GET a");
        client.ask("GET nothing");
    }
    let known = until(address, |report| report["recent"]["reads"].as_u64() >= Some(80));
    assert_eq!(known["recent"]["misses"], 40, "{known:#}");
    let version = known["server"]["version"].as_str().unwrap();
    assert!(version.contains("attached to Redis"), "{version}");
    assert!(attached.interrupt().0.success());

    let taken = Attached::begin(&format!("{url} --window 1s --http 127.0.0.1:{}", server.port));
    let (status, _) = taken.wait();
    assert!(!status.success(), "the port is taken");
}
