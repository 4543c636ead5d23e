//! The book's configuration of an OpenTelemetry collector: it is whole, Prometheus' own tool
//! accepts its job, and a running server has what the job asks for.

use crate::client::Client;
use crate::process::{free_port, serve};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

/// Reads a collector's configuration, checks that its pipelines name what it defines, and prints
/// the configuration of the Prometheus receiver as JSON.
const READ: &str = r#"
import json, sys, yaml
whole = yaml.safe_load(sys.stdin)
pipelines = whole["service"]["pipelines"]
assert pipelines, "no pipeline"
for pipeline in pipelines.values():
    for kind in ["receivers", "processors", "exporters"]:
        for name in pipeline[kind]:
            assert name in whole[kind], f"{kind} has no {name}"
for kind in ["receivers", "processors", "exporters"]:
    for name in whole[kind]:
        assert any(name in one[kind] for one in pipelines.values()), f"no pipeline has {name}"
print(json.dumps(whole["receivers"]["prometheus"]["config"]))
"#;

/// The output of a program for this input; `None` if the program is missing.
fn told(program: &str, args: &[&str], input: &str) -> Option<String> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().ok()?;
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program} says above what is wrong");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_collector_of_the_book_finds_its_metrics() {
    let has_yaml = Command::new("python3").args(["-c", "import yaml"]).output();
    if !has_yaml.is_ok_and(|out| out.status.success()) {
        skip::skip("python3-yaml", "apt-get install python3-yaml");
        return;
    }
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/operating.md");
    let text = std::fs::read_to_string(book).unwrap();
    let (_, rest) = text.split_once("```yaml\nreceivers:").unwrap();
    let (block, _) = rest.split_once("```").unwrap();
    let config = told("python3", &["-c", READ], &format!("receivers:{block}")).unwrap();
    // JSON is YAML, so Prometheus' tool reads the receiver's configuration as its own.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prometheus.yml");
    std::fs::write(&path, &config).unwrap();
    if told("promtool", &["check", "config", path.to_str().unwrap()], "").is_none() {
        skip::skip("promtool", "apt-get install prometheus");
    }
    let config: serde_json::Value = serde_json::from_str(&config).unwrap();
    let job = &config["scrape_configs"][0];
    let target = job["static_configs"][0]["targets"][0].as_str().unwrap();
    assert_eq!(target, "127.0.0.1:9379", "the default of http-bind and http-port");
    let server = serve(&format!("--http-port {}", free_port()));
    Client::new(server.addr()).ask("PING");
    let mut stream = TcpStream::connect(server.http_addr()).unwrap();
    let route = job["metrics_path"].as_str().unwrap();
    write!(stream, "GET {route} HTTP/1.1\r\nHost: {target}\r\nConnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    for rule in job["metric_relabel_configs"].as_array().unwrap() {
        let name = rule["regex"].as_str().unwrap();
        assert!(page.contains(&format!("\n{name}{{")), "no {name}: {page}");
    }
    assert!(page.contains("# TYPE larder_save_failing "), "{page}");
}
