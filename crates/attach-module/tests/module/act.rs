//! Acting: budgets, K, and the conditions that forbid it.

use crate::server::{Client, Reply, Server, installed, until};
use std::time::{Duration, Instant};

/// Writes keys `from..to` of a prefix, a hundred at once.
fn fill(client: &mut Client, prefix: &str, from: u64, to: u64) {
    let value = "x".repeat(400);
    for start in (from..to).step_by(100) {
        let set = |at| vec!["SET".to_owned(), format!("{prefix}{at:07}"), value.clone()];
        let all: Vec<_> = (start..(start + 100).min(to)).map(set).collect();
        assert!(client.all(&all).iter().all(|reply| *reply == Reply::Text("OK".to_owned())));
    }
}

/// Settings of a server that holds budgets.
fn settings(tenants: &str) -> [(&str, &str); 4] {
    [
        ("maxmemory", "100mb"),
        ("larder.tenants", tenants),
        ("larder.recipe", "kredis"),
        ("larder.act", "yes"),
    ]
}

fn keys(client: &mut Client, pattern: &str) -> Vec<String> {
    let Reply::List(all) = client.call(&["KEYS", pattern]) else { panic!("KEYS") };
    all.iter().map(Reply::text).collect()
}

/// Bytes that keys take, by MEMORY USAGE of some of them that still exist.
fn bytes(client: &mut Client, keys: &[String]) -> f64 {
    let some = &keys[..keys.len().min(50)];
    let mut usage = |key| client.call(&["MEMORY", "USAGE", key]).text().parse::<f64>().ok();
    let known: Vec<f64> = some.iter().filter_map(|key| usage(key.as_str())).collect();
    known.iter().sum::<f64>() / known.len().max(1) as f64 * keys.len() as f64
}

/// The module holds a database, and a prefix with one key in a hundred, to their limits. It leaves
/// a tenant below its limit alone.
#[test]
fn budgets_are_held_by_database_and_by_prefix() {
    let Some(path) = installed() else { return };
    let tenants = "\"small match prefix small: max 250kb; jobs match db 1 max 10mb\"";
    let settings = settings(tenants);
    let server = Server::start(&path, &settings);
    let mut client = server.client();
    fill(&mut client, "small:", 0, 900);
    fill(&mut client, "big:", 0, 60_000);
    let mut jobs = server.client();
    jobs.ask("SELECT 1");
    fill(&mut jobs, "job:", 0, 40_000);
    let held = |client: &mut Client, tenant: &str| -> f64 {
        let info = client.info("larder").remove(&format!("larder_tenant_{tenant}")).unwrap();
        let used = info.split(',').find_map(|field| field.strip_prefix("used="));
        used.unwrap().parse().unwrap()
    };
    let is_held = |client: &mut Client, tenant: &str, most: f64| {
        (held(client, tenant) / most - 1.0).abs() < 0.02
    };
    // Keys just written stay for a second or two.
    let begun = Instant::now();
    until(20, "both budgets", || {
        is_held(&mut client, "small", 250.0 * 1_024.0)
            && is_held(&mut client, "jobs", 10.0 * 1_048_576.0)
    });
    println!("budgets are held after {:?}", begun.elapsed());
    let small = client.info("larder")["larder_tenant_small"].clone();
    let count = keys(&mut client, "small:*").len();
    assert!(small.starts_with(&format!("items={count},")), "{small}, and there are {count}");
    // By the server's own measure, which leaves the tables out.
    let some = keys(&mut client, "small:*");
    assert!(bytes(&mut client, &some) < 250.0 * 1024.0);
    assert_eq!(keys(&mut client, "big:*").len(), 60_000, "nobody touched these");
    assert_eq!(client.number("stats", "evicted_keys"), 0.0, "the server evicted none");
    // The mean, as on a busy machine a single tick may be charged for other work.
    let ticks = client.number("larder", "larder_ticks");
    let each = client.number("larder", "larder_ticks_us") / ticks;
    let longest = client.number("larder", "larder_longest_tick_us");
    println!("{ticks} ticks of {each:.0} µs, the longest of {longest:.0}");
    assert!(ticks > 10.0 && each < 1_000.0, "{ticks} ticks of {each} µs");
}

/// With the pools of a plan in force and memory full, old keys are evicted, and keys in use stay.
#[test]
fn keys_in_use_outlive_those_that_are_not() {
    let Some(path) = installed() else { return };
    let tenants = "\"jobs match db 1 max 4mb\"";
    let settings = settings(tenants);
    let server = Server::start(&path, &settings);
    let mut client = server.client();
    client.ask("SELECT 1");
    fill(&mut client, "cold:", 0, 20_000);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(6) {
        fill(&mut client, "hot:", 0, 1_000);
        std::thread::sleep(Duration::from_millis(300));
    }
    assert_eq!(keys(&mut client, "hot:*").len(), 1_000);
    assert!(keys(&mut client, "cold:*").len() < 10_000);
}

/// `dlru` is the server's own eviction with another K; at the end the server has its own K back.
#[test]
fn dlru_sets_maxmemory_samples_and_gives_it_back() {
    let Some(path) = installed() else { return };
    let settings = [
        ("maxmemory", "8mb"),
        ("maxmemory-samples", "7"),
        ("larder.recipe", "dlru:interval=20000:rate=0.2"),
        ("larder.act", "yes"),
    ];
    let server = Server::start(&path, &settings);
    let mut client = server.client();
    let k = |client: &mut Client| client.call(&["CONFIG", "GET", "maxmemory-samples"]).text();
    until(10, "the first K of the recipe", || k(&mut client).ends_with("\n5"));
    client.ask("CONFIG SET larder.act no");
    until(10, "the K that was found", || k(&mut client).ends_with("\n7"));
    client.ask("CONFIG SET larder.act yes");
    until(10, "the K of the plan", || k(&mut client).ends_with("\n5"));
    // Random victims are best for a loop that is a little too large.
    let value = "x".repeat(400);
    let mut at = 0_u64;
    until(60, "another K", || {
        for _ in 0..2_000 {
            let key = format!("loop:{}", at % 20_000);
            at += 1;
            if client.call(&["GET", &key]) == Reply::Nothing {
                client.call(&["SET", &key, &value]);
            }
        }
        k(&mut client).ends_with("\n1")
    });
    assert_eq!(client.ask("MODULE UNLOAD larder"), "OK");
    assert!(k(&mut client).ends_with("\n7"));
}

/// A server with `noeviction` keeps every key: the module must not evict either.
#[test]
fn noeviction_forbids_acting() {
    let Some(path) = installed() else { return };
    let settings = [
        ("maxmemory", "100mb"),
        ("maxmemory-policy", "noeviction"),
        ("larder.tenants", "\"jobs match db 1 max 1mb\""),
        ("larder.act", "yes"),
    ];
    let server = Server::start(&path, &settings);
    let mut client = server.client();
    client.ask("SELECT 1");
    fill(&mut client, "k", 0, 10_000);
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(client.ask("DBSIZE"), "10000");
    let state = client.info("larder")["larder_state"].clone();
    assert!(state.contains("set allkeys-lru"), "{state}");
}
