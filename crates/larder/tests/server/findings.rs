//! LARDER ADVISE under load: each tenant has one fault, and the server finds it.

use crate::client::Client;
use crate::process::{Server, larder, serve};
use std::collections::BTreeMap;
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The kinds of findings, by tenant; findings about the whole cache are under "".
fn found(client: &mut Client) -> BTreeMap<String, Vec<String>> {
    let text = client.value("LARDER ADVISE JSON");
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in all["findings"].as_array().unwrap() {
        let tenant = one["tenant"].as_str().unwrap_or_default().to_owned();
        found.entry(tenant).or_default().push(one["finding"].as_str().unwrap().to_owned());
    }
    found
}

/// The requests of all tenants in one step of a tenth of a second.
fn step(at: u64) -> Vec<String> {
    let mut lines = vec![];
    let mut each = |count: u64, line: &dyn Fn(u64) -> String| lines.extend((0..count).map(line));
    let small = "x".repeat(200);
    if at == 0 {
        for tenant in ["healthy", "cold", "promised", "hot"] {
            each(200, &|key| format!("SET {tenant}:{key} {small}"));
        }
        each(2_000, &|key| format!("SET large:{key} {small}"));
        let large = "x".repeat(60_000);
        each(150, &|key| format!("SET large:large{key} {large}"));
    }
    // `healthy` reads keys that are in the cache.
    each(50, &|key| format!("GET healthy:{}", (at * 50 + key) % 200));
    // `cold` and `promised`: two reads of five are of keys that were never written.
    for tenant in ["cold", "promised"] {
        each(30, &|key| format!("GET {tenant}:{}", (at * 30 + key) % 200));
        each(20, &|key| format!("GET {tenant}:new{at}:{key}"));
    }
    // `expiring`: keys are read again after half a second, and live for 300 ms.
    each(20, &|key| format!("SET expiring:{at}:{key} {small} PX 300"));
    each(20, &|key| format!("GET expiring:{at}:{key}"));
    each(20, &|key| format!("GET expiring:{}:{key}", at.saturating_sub(5)));
    // `removed`: keys are deleted between two reads.
    each(20, &|key| format!("SET removed:{at}:{key} {small}"));
    each(20, &|key| format!("DEL removed:{}:{key}", at.saturating_sub(2)));
    each(20, &|key| format!("GET removed:{at}:{key}"));
    each(20, &|key| format!("GET removed:{}:{key}", at.saturating_sub(4)));
    // `early`: keys are written twelve seconds after the first read.
    each(if at < 120 { 20 } else { 0 }, &|key| format!("GET early:{at}:{key}"));
    if let Some(before) = at.checked_sub(120) {
        each(20, &|key| format!("SET early:{before}:{key} {small}"));
        each(20, &|key| format!("GET early:{before}:{key}"));
    }
    // `large`: the large items hold nearly all bytes, and one read in two hundred hits one of them.
    each(100, &|key| format!("GET large:{}", (at * 100 + key) % 2_000));
    each(at % 2, &|_| format!("GET large:large{}", at % 150));
    // `hot`: one key gets most of the reads.
    each(150, &|_| "GET hot:1".to_owned());
    each(50, &|key| format!("GET hot:{}", (at * 50 + key) % 200));
    // `written`: keys are written and never read.
    let medium = "x".repeat(1_000);
    each(100, &|key| format!("SET written:{at}:{key} {medium}"));
    lines
}

fn play(server: &Server, steps: u64) -> Client {
    let mut client = Client::new(server.addr());
    let began = Instant::now();
    for at in 0..steps {
        client.ask_all(step(at).into_iter());
        let due = Duration::from_millis(100 * (at + 1));
        std::thread::sleep(due.saturating_sub(began.elapsed()));
    }
    client
}

#[test]
fn each_tenant_has_its_fault() {
    let names = ["healthy", "cold", "expiring", "removed", "early", "large", "hot", "written"];
    let tenants = names.map(|name| format!("--tenant {name} match prefix {name}:")).join(" ");
    let server = serve(&format!(
        "--maxmemory 80mb {tenants} --tenant promised match prefix promised: target 0.01"
    ));
    let mut client = play(&server, 242);
    // New keys are usual in a young cache, so `cold` has no finding yet.
    let expected = [
        ("early", vec!["read_too_early"]),
        ("expiring", vec!["ttl_too_short"]),
        ("hot", vec!["hot_key"]),
        ("large", vec!["large_items"]),
        ("promised", vec!["promise_broken"]),
        ("removed", vec!["deleted_misses"]),
        ("written", vec!["write_only"]),
    ];
    let expected = expected.map(|(tenant, kinds)| {
        (tenant.to_owned(), kinds.into_iter().map(str::to_owned).collect::<Vec<_>>())
    });
    let advice = client.value("LARDER ADVISE JSON");
    assert_eq!(found(&mut client), BTreeMap::from(expected), "{advice}");
    // INFO shows the same figures to programs.
    let line = client.info("tenant_cold");
    let ratio = line.split(',').find_map(|field| field.strip_prefix("miss_ratio=")).unwrap();
    assert!((0.35..0.45).contains(&ratio.parse::<f64>().unwrap()), "{line}");
    assert!(client.info("warnings").starts_with('1'));
}

/// Reads of twice as many keys as fit, with values that shrink to next to nothing.
#[test]
fn a_small_cache_is_told() {
    let server = serve("--maxmemory 4mb --compression no");
    let mut client = Client::new(server.addr());
    let value = "x".repeat(400);
    client.ask_all((0..16_000).map(|key| format!("SET {key} {value}")));
    for round in 0..350u64 {
        let keys: Vec<u64> =
            (0..500).map(|at| base::hash::mix(round * 500 + at) % 16_000).collect();
        let read = client.ask_all(keys.iter().map(|key| format!("GET {key}")));
        let missed = keys.iter().zip(read).filter(|(_, value)| value.is_none());
        client.ask_all(missed.map(|(key, _)| format!("SET {key} {value}")));
        std::thread::sleep(Duration::from_millis(50));
    }
    let expected = [("", "too_small"), ("default", "compressible")];
    let expected = expected.map(|(tenant, kind)| (tenant.to_owned(), vec![kind.to_owned()]));
    let expected = BTreeMap::from(expected);
    // Values are sampled one by one, with a rest after each.
    let began = Instant::now();
    while found(&mut client) != expected {
        let advice = client.value("LARDER ADVISE JSON");
        assert!(began.elapsed() < Duration::from_secs(60), "{advice}");
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(client.value("LARDER ADVISE JSON").contains("CONFIG SET compression auto"));
}

#[test]
fn refused_writes_are_told() {
    let server = serve("--maxmemory 2mb --maxmemory-policy noeviction");
    let mut client = Client::new(server.addr());
    let value = "x".repeat(60_000);
    client.ask_all((0..60).map(|key| format!("SET {key} {value}")));
    let kinds = ["refused_writes", "loop_off"].map(str::to_owned).to_vec();
    assert_eq!(found(&mut client), BTreeMap::from([(String::new(), kinds)]));
}

/// `larder advise --apply` shows the difference, asks, and sets what the user accepts.
#[test]
fn advice_is_applied_when_the_user_says_so() {
    let server = serve("--maxmemory 100mb --maxmemory-policy allkeys-lru");
    let mut client = Client::new(server.addr());
    let url = format!("redis://{}", server.addr());
    let mut policy = |answer: &str| {
        let words = format!("advise {url} --apply --wait 0");
        let mut advise =
            larder(&words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        advise.stdin.take().unwrap().write_all(answer.as_bytes()).unwrap();
        let output = advise.wait_with_output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        for line in ["- maxmemory-policy allkeys-lru", "+ maxmemory-policy auto"] {
            assert!(text.lines().any(|one| one == line), "{line} is missing from\n{text}");
        }
        (client.ask("CONFIG GET maxmemory-policy"), text)
    };
    let (kept, _) = policy("n\n");
    assert!(kept.contains("allkeys-lru"), "{kept}");
    let (set, text) = policy("y\n");
    assert!(set.contains("auto"), "{set}");
    assert!(text.contains("CONFIG SET maxmemory-policy allkeys-lru recipe auto"), "{text}");
}

/// LARDER WHY takes a time back, and its answer names the stretch.
#[test]
fn causes_of_a_past_stretch() {
    let server = serve("--maxmemory 80mb --tenant web match prefix web:");
    let mut client = Client::new(server.addr());
    let said = |client: &mut Client, words: &str| client.ask(&format!("LARDER WHY web {words}"));
    let begun = Instant::now();
    while !said(&mut client, "15m").contains("web misses 100 % of ") {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", said(&mut client, "15m"));
        client.ask_all((0..100).map(|key| format!("GET web:{key}")));
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(said(&mut client, "15m").contains("in the last "));
    let document = client.value("LARDER WHY web 15m JSON");
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["miss_ratio"], 1.0, "{document}");
    assert!(said(&mut client, "soon").contains("'soon' is not a time span: write 600, 10m"));
    assert!(said(&mut client, "15m later").starts_with("-ERR syntax error"));
}
