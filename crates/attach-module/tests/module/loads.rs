//! Loading, observing, answering, unloading.

use crate::server::{Client, Reply, Server, all, installed, until};

/// Reads and writes of two tenants, some of which miss.
fn traffic(client: &mut Client, count: u64) {
    let value = "x".repeat(300);
    for step in 0..count {
        let key = |at: u64| format!("{}:{}", if at.is_multiple_of(4) { "web" } else { "k" }, at);
        let at = if step < 2_000 { step } else { base::hash::mix(step) % 2_000 };
        let read = vec!["GET".to_owned(), key(at)];
        if client.all(&[read])[0] == Reply::Nothing {
            client.all(&[vec!["SET".to_owned(), key(at), value.clone()]]);
        }
    }
}

/// In every available server, the module sees the traffic, answers, changes no key, and unloads.
#[test]
fn loads_observes_answers_and_unloads() {
    for path in all() {
        let settings = [("maxmemory", "20mb"), ("larder.tenants", "\"web match prefix web:\"")];
        let server = Server::start(&path, &settings);
        let mut client = server.client();
        let info = client.info("server");
        let version = match info.get("valkey_version") {
            Some(version) => format!("Valkey {version}"),
            None => format!("Redis {}", info["redis_version"]),
        };
        // On a busy machine the traffic could end before the pilot has chosen keys to sample.
        until(10, "sampling", || client.number("larder", "larder_sampled") > 0.0);
        traffic(&mut client, 6_000);
        assert_eq!(client.ask("DBSIZE"), "2000", "{version}: observing evicts nothing");
        until(10, "the pilot's word", || client.number("larder", "larder_epochs") > 2.0);
        until(10, "samples", || client.number("larder", "larder_samples") > 10.0);
        let info = client.info("larder");
        assert!(info["larder_state"].contains("only observes"), "{version}: {info:?}");
        assert_eq!(info["larder_evicted_keys"], "0");
        let web = &info["larder_tenant_web"];
        let fields: std::collections::HashMap<_, _> =
            web.split(',').filter_map(|field| field.split_once('=')).collect();
        assert_eq!(fields["items"], "500", "{version}: {web}");
        assert_eq!(fields["misses"], "500", "{version}: {web}");
        let gets: f64 = fields["gets"].parse().unwrap();
        assert!((600.0..2_400.0).contains(&gets), "{version}: {web}");
        for (line, word) in [
            ("LARDER.PLAN", "recipe auto"),
            ("LARDER.PLAN JSON", "in_force"),
            ("LARDER.TENANTS", "web"),
            ("larder.tenants json", "\"name\":\"web\""),
            ("LARDER.ADVISE", "in use"),
            ("LARDER.ADVISE web JSON", "findings"),
            ("LARDER.HISTORY", "attached with recipe auto"),
            ("LARDER.HISTORY 10m JSON", "changes"),
            ("LARDER.CURVE nobody", "there is no tenant 'nobody'"),
            ("LARDER.CURVE web JSON", "\"tenant\":\"web\""),
            ("CONFIG GET larder.act", "no"),
            ("CONFIG SET larder.recipe lama", "choose static, dlru, kredis, predis or auto"),
        ] {
            let text = client.ask(line);
            assert!(text.contains(word), "{version}: {line}: {text}");
        }
        // Commands that a module must not disturb: MULTI, and watched keys.
        let words = ["WATCH k:1", "MULTI", "GET k:1", "EXEC"];
        let exec = words.map(|line| client.ask(line));
        assert!(exec[3].starts_with("xxx"), "{version}: {exec:?}");
        assert_eq!(client.ask("MODULE UNLOAD larder"), "OK", "{version}: {}", server.log());
        assert!(client.ask("LARDER.PLAN").contains("unknown command"), "{version}");
        let path = crate::server::module();
        for _ in 0..3 {
            assert_eq!(client.call(&["MODULE", "LOAD", path.to_str().unwrap()]).text(), "OK");
            traffic(&mut client, 500);
            assert_eq!(client.ask("MODULE UNLOAD larder"), "OK", "{version}: {}", server.log());
        }
        assert_eq!(client.ask("DBSIZE"), "2000", "{version}");
        println!("{version}: loaded, observed, answered, unloaded and loaded again");
    }
}

/// Look-ups by the module change neither statistics, nor recency, nor events.
#[test]
fn a_look_leaves_no_trace() {
    let Some(path) = installed() else { return };
    let server = Server::start(&path, &[("maxmemory", "20mb")]);
    let mut client = server.client();
    until(10, "sampling", || client.number("larder", "larder_sampled") > 0.0);
    let value = "x".repeat(100);
    for at in 0..3_000 {
        client.call(&["SET", &format!("k{at}"), &value]);
    }
    client.ask("CONFIG RESETSTAT");
    for at in 0..3_000 {
        client.call(&["GET", &format!("k{at}")]);
        client.call(&["GET", &format!("none{at}")]);
    }
    assert_eq!(client.number("stats", "keyspace_hits"), 3_000.0);
    assert_eq!(client.number("stats", "keyspace_misses"), 3_000.0);
    std::thread::sleep(std::time::Duration::from_secs(3));
    let idle = (0..50).map(|at| client.ask(&format!("OBJECT IDLETIME k{at}")).parse::<u64>());
    assert!(idle.map(Result::unwrap).all(|idle| idle >= 2), "a look is no use");
}

/// A panic in a call ends the module, not the server: the server gets its own settings back,
/// answers with the remedy, and can load the module again.
#[test]
fn a_panic_stops_the_module_and_not_the_server() {
    let Some(path) = installed() else { return };
    let settings = [
        ("maxmemory", "20mb"),
        ("maxmemory-samples", "7"),
        ("larder.recipe", "dlru"),
        ("larder.act", "yes"),
    ];
    let server = Server::start(&path, &settings);
    let mut client = server.client();
    let k = |client: &mut Client| client.ask("CONFIG GET maxmemory-samples");
    until(10, "the first K of the recipe", || k(&mut client).ends_with("\n5"));
    if !cfg!(debug_assertions) {
        skip::skip("debug-build", "cargo test without --release");
        return;
    }
    for _ in 0..2 {
        assert!(client.ask("LARDER.PLAN panic").contains("load it again"));
    }
    until(10, "the K that was found", || k(&mut client).ends_with("\n7"));
    traffic(&mut client, 1_000);
    assert_eq!(client.ask("DBSIZE"), "1000", "the server goes on");
    assert!(client.info("larder")["larder_state"].contains("load it again"));
    assert_eq!(client.ask("MODULE UNLOAD larder"), "OK", "{}", server.log());
    let path = crate::server::module();
    assert_eq!(client.call(&["MODULE", "LOAD", path.to_str().unwrap()]).text(), "OK");
    until(10, "the pilot's word", || client.number("larder", "larder_epochs") > 0.0);
    assert_eq!(client.ask("MODULE UNLOAD larder"), "OK", "{}", server.log());
}

/// A server reads through a null pointer if a filter asks it for a key on behalf of a client that
/// touches none. The module must not cause that.
#[test]
fn clients_that_touch_nothing_end_no_server() {
    for path in all() {
        let server = Server::start(&path, &[("maxmemory", "20mb")]);
        let (mut client, mut other) = (server.client(), server.client());
        until(10, "sampling", || other.number("larder", "larder_sampled") > 0.0);
        traffic(&mut other, 2_000);
        if client.ask("CLIENT NO-TOUCH ON") != "OK" {
            skip::skip("client-no-touch", &format!("{path} is older than Redis 7.2"));
            continue;
        }
        let module = crate::server::module();
        for _ in 0..2 {
            traffic(&mut client, 4_000);
            for line in ["MULTI", "GET k:1", "EXEC", "STRLEN k:1", "CLIENT NO-TOUCH OFF", "GET k:1"]
            {
                client.ask(line);
            }
            client.ask("CLIENT NO-TOUCH ON");
            client.ask("EVAL return(redis.call('GET',KEYS[1])) 1 k:1");
            // This client set NO-TOUCH before the module was loaded.
            assert_eq!(other.ask("MODULE UNLOAD larder"), "OK", "{}", server.log());
            assert_eq!(other.call(&["MODULE", "LOAD", module.to_str().unwrap()]).text(), "OK");
            until(10, "sampling", || other.number("larder", "larder_sampled") > 0.0);
        }
        assert_eq!(other.ask("DBSIZE"), "2000", "{path}");
        let samples = other.number("larder", "larder_samples");
        traffic(&mut other, 2_000);
        assert!(other.number("larder", "larder_samples") > samples, "others are sampled");
    }
}

/// The values for Valkey's Helm chart are settings that a server takes.
#[test]
fn the_settings_of_the_chart_start_a_server() {
    let Some(path) = installed() else { return };
    let values = include_str!("../../../../packaging/helm/valkey-cluster-values.yaml");
    let (_, lines) = values.split_once("valkeyConfig: |\n").unwrap();
    let lines = lines.lines().map_while(|line| line.strip_prefix("  "));
    let settings: Vec<_> = lines.filter_map(|line| line.split_once(' ')).collect();
    assert!(settings.len() > 3, "{settings:?}");
    // `Server` loads the module from where it was built.
    let own = |(name, _): &&(&str, &str)| *name != "loadmodule";
    let settings: Vec<_> = settings.iter().filter(own).copied().collect();
    let server = Server::start(&path, &settings);
    let mut client = server.client();
    until(10, "the module acts", || client.info("larder")["larder_state"] == "it acts");
}
