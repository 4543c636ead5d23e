//! The output of `larder top` and `larder advise` for a server with the module.

use crate::nodes::{self, ClusterClient};
use crate::server::{Server, installed, until};
use std::time::Duration;

#[test]
fn top_and_advise_ask_the_module() {
    let Some(path) = installed() else { return };
    let settings =
        [("maxmemory", "64mb"), ("larder.tenants", "\"web match prefix web:; jobs match db 1\"")];
    let server = Server::start(&path, &settings);
    let url = format!("redis://127.0.0.1:{}", server.port);
    let mut client = server.client();
    let read = |key| vec!["GET".to_owned(), format!("web:{key}")];
    until(30, "top shows what was read", || {
        client.all(&(0..500).map(read).collect::<Vec<_>>());
        // In its first second the module has no data yet.
        let look = lab::top_command::look(&url, Duration::from_millis(200));
        let Ok(look) = look else { return false };
        let look = serde_json::to_value(look).unwrap();
        assert!(look["server"].as_str().unwrap().contains("with Larder's module"), "{look}");
        let rows = look["rows"].as_array().unwrap();
        let web = rows.iter().find(|row| row["name"] == "web").expect("a row of the tenant");
        web["miss_ratio"] == 1.0 && web["reads_per_s"].as_f64().is_some_and(|rate| rate > 0.0)
    });
    let advice = lab::advise_command::ask(&url, None).unwrap();
    let advice: serde_json::Value = serde_json::from_str(&advice).unwrap();
    assert!(!advice["says"].as_array().unwrap().is_empty(), "{advice}");
}

/// The commands add up what the modules of a cluster's masters tell.
#[test]
fn top_and_advise_add_up_a_cluster() {
    let Some(path) = installed() else { return };
    let settings = [("maxmemory", "32mb"), ("larder.tenants", "\"web match prefix web:\"")];
    let nodes = nodes::start(&path, &settings, 3, 0);
    let ports: Vec<_> = nodes.iter().map(|node| node.port).collect();
    let url = format!("redis://127.0.0.1:{}", ports[1]);
    let mut client = ClusterClient::new(&ports);
    (0..900).for_each(|key| _ = client.call(&["SET", &format!("web:{key}"), "x"]));
    until(30, "top shows the reads of all nodes", || {
        // Every second key was never written.
        (0..1_800).for_each(|key| _ = client.call(&["GET", &format!("web:{key}")]));
        let look = lab::top_command::look_at_cluster(&url, Duration::from_millis(200));
        // In its first second a module has no data yet.
        let Ok(look) = look else { return false };
        let look = serde_json::to_value(look).unwrap();
        assert!(look["server"].as_str().unwrap().starts_with("3 masters, "), "{look}");
        assert_eq!(look["limit"], 3 * 32 * 1_048_576, "{look}");
        let rows = look["rows"].as_array().unwrap();
        let web = rows.iter().find(|row| row["name"] == "web").expect("a row of the tenant");
        let ratio = web["miss_ratio"].as_f64().unwrap_or_default();
        web["items"] == 900 && (0.35..0.65).contains(&ratio)
    });
    let advice = lab::advise_command::ask_cluster(&url).unwrap();
    let asked: Vec<_> = advice["nodes"].as_array().unwrap().iter().collect();
    assert_eq!(asked.len(), 3);
    let slots: u64 = asked.iter().map(|node| node["slots"].as_u64().unwrap()).sum();
    assert_eq!(slots, 16_384);
    assert!(asked.iter().all(|node| node["report"]["server"]["divided"].as_u64() > Some(1 << 20)));
    let said = advice["says"].to_string();
    assert!(said.contains("3 nodes hold"), "{said}");
}
