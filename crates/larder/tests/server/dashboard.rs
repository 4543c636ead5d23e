//! The dashboard: over plain HTTP, and in a browser driven by Playwright where both are installed.

use crate::client::Client;
use crate::process::{Server, free_port};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn serve(arguments: &str) -> Server {
    crate::process::serve(&format!("--http-port {} {arguments}", free_port()))
}

/// The answer to a GET, with its head.
fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn pages_are_whole_without_a_script_and_ask_no_other_host() {
    let server = serve("--maxmemory 100mb --tenant web match prefix web:");
    let mut client = Client::new(server.addr());
    client.ask("SET web:1 x");
    client.ask("GET web:1");
    let http = server.http_addr();
    for path in [
        "/",
        "/tenant?tenant=web",
        "/plans?span=0",
        "/sizing?memory=1000000",
        "/sizing?mib=7.5&tenant=web",
        "/advice",
        "/server",
    ] {
        let page = get(http, path);
        assert!(page.starts_with("HTTP/1.1 200"), "{path}: {page}");
        for part in ["default-src 'none'", "nosniff", "<main", "</html>", "Larder"] {
            assert!(page.contains(part), "{path} lacks {part}");
        }
        assert!(!page.contains("http://") && !page.contains("https://"), "{path}");
    }
    assert!(get(http, "/").contains(">web<"));
    assert!(get(http, "/dashboard.css").contains("text/css"));
    assert!(get(http, "/dashboard.js").contains("EventSource"));
    let report = get(http, "/report.json");
    let (_, body) = report.split_once("\r\n\r\n").unwrap();
    let report: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(report["tenants"][1]["name"], "web");
    assert!(get(http, "/events?page=%2Fnowhere").starts_with("HTTP/1.1 404"));
}

/// A page with its style and its script is small, so a wall or a phone shows it at once.
#[test]
fn a_page_is_small() {
    const BYTES_MAX: usize = 150_000;
    let server = serve("--maxmemory 100mb --tenant web match prefix web:");
    let mut client = Client::new(server.addr());
    client.ask("SET web:1 x");
    client.ask("GET web:1");
    let http = server.http_addr();
    let size = |path: &str| get(http, path).len();
    let both = size("/dashboard.css") + size("/dashboard.js");
    for path in ["/", "/tenant", "/plans", "/sizing", "/advice", "/server"] {
        assert!(size(path) + both < BYTES_MAX, "{path}: {} + {both}", size(path));
    }
}

/// The parts of memory add up to resident memory, and commands and threads are those of this
/// server.
#[test]
fn the_server_knows_its_process() {
    let server = serve("--maxmemory 100mb --io-threads 2");
    let mut client = Client::new(server.addr());
    client.ask("SET a x");
    client.ask("GET a");
    let begun = Instant::now();
    loop {
        let report = get(server.http_addr(), "/report.json");
        let (_, body) = report.split_once("\r\n\r\n").unwrap();
        let report: serde_json::Value = serde_json::from_str(body).unwrap();
        let process = &report["process"];
        let parts = process["memory"].as_array().unwrap().iter();
        let sum: u64 = parts.map(|part| part["bytes"].as_u64().unwrap()).sum();
        assert_eq!(report["server"]["resident"], sum, "{body}");
        let names = |of: &str| -> Vec<String> {
            let all = process[of].as_array().unwrap().iter();
            all.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
        };
        assert!(names("commands").iter().any(|name| name == "get"), "{body}");
        // Threads are looked at once a second.
        let threads = names("threads");
        let is_known = |name: &str| threads.iter().any(|thread| thread == name);
        if is_known("worker-0") && is_known("worker-1") && is_known("http") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{body}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn events_come_one_a_second() {
    let server = serve("--maxmemory 100mb");
    let mut stream = TcpStream::connect(server.http_addr()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET /events?page=%2F HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let (mut seen, mut piece) = (String::new(), [0; 1 << 14]);
    while seen.matches("data: ").count() < 3 {
        let got = stream.read(&mut piece).unwrap();
        assert!(got > 0, "the server ended the events: {seen}");
        seen += &String::from_utf8_lossy(&piece[..got]);
    }
    assert!(seen.contains("text/event-stream"));
    // The server answers probes while it streams.
    assert!(get(server.http_addr(), "/healthz").starts_with("HTTP/1.1 200"));
}

/// A client without the right to INFO sees no page.
#[test]
fn pages_are_behind_the_rules_of_metrics() {
    let server = serve("--requirepass secret");
    for path in ["/", "/events?page=%2F", "/report.json", "/dashboard.js"] {
        assert!(get(server.http_addr(), path).starts_with("HTTP/1.1 401"), "{path}");
    }
}

/// Runs a script of `tests/clients` with the ports of a server and a browser.
fn drive(script: &str, server: &Server, browser: &str, more: &[&Path]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(script);
    let output = Command::new("python3")
        .arg(script)
        .args([server.addr().port().to_string(), server.http_addr().port().to_string()])
        .arg(browser)
        .args(more)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}

/// The book has a small picture of every page, and shows it. `LARDER_WRITE=1 cargo test -p larder
/// pictures_of_all_pages` takes them anew, from a server with a load.
#[test]
fn the_book_has_pictures_of_all_pages() {
    const BYTES_MAX: usize = 180_000;
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book");
    if std::env::var_os("LARDER_WRITE").is_some() {
        let Some(browser) = skip::browser(&["redis"]) else { return };
        let tenants = ["web", "jobs", "search"]
            .map(|name| format!("--tenant '{name} match prefix {name}:'"))
            .join(" ");
        let server = serve(&format!("--maxmemory 20mb {tenants}"));
        drive("picture_dashboard.py", &server, browser, &[&book.join("pictures")]);
    }
    let text = std::fs::read_to_string(book.join("dashboard.md")).unwrap();
    for name in ["now", "tenant", "plans", "sizing", "advice", "server"] {
        let picture = std::fs::read(book.join(format!("pictures/{name}.png"))).unwrap();
        assert!(picture.starts_with(b"\x89PNG") && picture.len() < BYTES_MAX, "{name}");
        assert!(text.contains(&format!("](pictures/{name}.png)")), "{name} is not shown");
    }
}

#[test]
fn a_browser_shows_what_the_report_says() {
    let Some(browser) = skip::browser(&["redis"]) else { return };
    let lines: Vec<_> =
        (0..200).map(|at| format!("--tenant 't{at} match prefix t{at}:'")).collect();
    let server = serve(&format!("--maxmemory 100mb {}", lines.join(" ")));
    drive("test_dashboard.py", &server, browser, &[]);
}

/// The server exports every metric that the packaged dashboard and alerts name.
#[test]
fn every_metric_that_is_named_is_exported() {
    let server = serve("--maxmemory 100mb --dump-max 1mb --tenant web match prefix web:");
    let mut client = Client::new(server.addr());
    client.ask("SET web:1 x");
    // Forecasts of the loop are exported once an epoch is over.
    let begun = Instant::now();
    let mut page = String::new();
    while !page.contains("larder_forecast_miss_ratio") {
        assert!(begun.elapsed() < Duration::from_secs(60), "no epoch ended: {page}");
        std::thread::sleep(Duration::from_millis(100));
        page = get(server.http_addr(), "/metrics");
    }
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    let mut named = 0;
    for file in ["grafana.json", "alerts.yml"] {
        let text = std::fs::read_to_string(packaging.join(file)).unwrap();
        for piece in text.split("larder_").skip(1) {
            let rest: String =
                piece.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
            let name = format!("larder_{}", rest.trim_end_matches("_bucket"));
            assert!(page.contains(&format!("# TYPE {name} ")), "{file} names {name}");
            named += 1;
        }
    }
    assert!(named > 20, "{named}");
    let (_, body) = page.split_once("\r\n\r\n").unwrap();
    names_please_prometheus(body);
}

/// Prometheus' own tool accepts every name, unit and help.
fn names_please_prometheus(page: &str) {
    let tool = Command::new("promtool").args(["check", "metrics"]).stdin(Stdio::piped()).spawn();
    let Ok(mut tool) = tool else {
        skip::skip("promtool", "apt-get install prometheus");
        return;
    };
    tool.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    assert!(tool.wait().unwrap().success(), "promtool says above what is wrong");
}
