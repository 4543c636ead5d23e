//! `docs/metrics.md`: every metric that a server exports, with its kind and its meaning.
//!
//! This test makes the page from a server's answer; `LARDER_WRITE=1 cargo test -p larder
//! metrics_are_as_documented` writes it anew.

use crate::client::Client;
use crate::http::fetch;
use crate::process::{free_port, serve};
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

const HEAD: &str = "\
# Metrics

Made from what a server says at `/metrics` of `http-port`, in the text format of Prometheus. Alert
rules and a dashboard of Grafana that go by these names are in `packaging/`.

| metric | kind | |
|---|---|---|
";

/// A row for each metric, ordered by name.
fn page(body: &str) -> String {
    let mut rows = vec![];
    let mut help = "";
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ').unwrap().1;
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            rows.push(format!("| `{name}` | {kind} | {} |", help.replace('|', "\\|")));
        }
    }
    rows.sort();
    let mut text = HEAD.to_owned();
    for row in rows {
        writeln!(text, "{row}").unwrap();
    }
    text
}

#[test]
fn metrics_are_as_documented() {
    let server = serve(&format!(
        "--http-port {} --maxmemory 2mb --dump-max 1mb --tenant 'web match prefix web: min 100kb'",
        free_port()
    ));
    let mut client = Client::new(server.addr());
    for at in 0..20_000 {
        client.ask(&format!("GET web:{at}"));
        client.ask(&format!("SET web:{at} {}", "x".repeat(200)));
    }
    client.ask("GET");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let begun = Instant::now();
    // Some metrics exist only after the first epoch of the pilot.
    let is_write = std::env::var_os("LARDER_WRITE").is_some();
    let patience = Duration::from_secs(if is_write { 15 } else { 60 });
    loop {
        let made = page(&fetch(server.http_addr(), "GET /metrics").1);
        if made == written {
            return;
        }
        if begun.elapsed() > patience {
            if is_write {
                return std::fs::write(&path, made).unwrap();
            }
            assert_eq!(made, written, "LARDER_WRITE=1 writes the page anew");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}
