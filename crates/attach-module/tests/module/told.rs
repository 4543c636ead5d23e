//! The output of `larder top` and `larder advise` for a server with the module.

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
