//! Prometheus' exporters for Redis and memcached: the metrics that they show of Larder, compared
//! with the metrics of redis-server and memcached after the same traffic.
//!
//! The exporters come from the Go module proxy, where `.ci/run` builds them, or else from the
//! distribution. A missing exporter or server is reported as skipped.

use crate::client::Client;
use crate::memcached::Text;
use crate::process::{free_port, serve, serve_both};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A process that is killed at the end of its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the first of `programs` that is installed.
fn start(programs: &[&str], args: &[&str]) -> Option<Running> {
    let quiet = |program: &&str| {
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/exporters");
        let built = built.join(program);
        let mut command = Command::new(if built.exists() { &built } else { Path::new(program) });
        command.args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
    };
    let found = programs.iter().find_map(quiet).map(Running);
    if found.is_none() {
        skip::skip(programs[0], "bash .ci/run tools");
    }
    found
}

/// Waits until a server listens on this port of loopback.
fn listening(port: u16) -> SocketAddr {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let begun = Instant::now();
    while TcpStream::connect(address).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody listens at {address}");
        std::thread::sleep(Duration::from_millis(50));
    }
    address
}

/// The lines of samples of an exporter.
fn scrape(port: u16) -> Vec<String> {
    let mut stream = TcpStream::connect(listening(port)).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.0\r\nHost: x\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

/// The names of metrics that begin with `prefix`.
fn names(lines: &[String], prefix: &str) -> BTreeSet<String> {
    let name = |line: &String| line.split(['{', ' ']).next().unwrap_or_default().to_owned();
    lines.iter().map(name).filter(|name| name.starts_with(prefix)).collect()
}

fn value(lines: &[String], name: &str) -> f64 {
    let line = lines.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name}")).parse().unwrap()
}

/// The metrics that redis_exporter shows of the server at `address`, after some traffic.
fn of_redis(address: SocketAddr) -> Option<Vec<String>> {
    let mut client = Client::new(address);
    for line in ["SET a 1", "SET b 2 EX 100", "GET a", "GET none", "INCR n", "NOSUCH", "HSET h f 1"]
    {
        client.ask(line);
    }
    // The server times one in 64 batches of quick commands.
    for _ in 0..200 {
        client.ask("GET a");
    }
    let port = free_port();
    let exporter = start(
        &["redis_exporter", "prometheus-redis-exporter"],
        &[
            &format!("--redis.addr=redis://{address}"),
            &format!("--web.listen-address=127.0.0.1:{port}"),
            "--include-config-metrics",
        ],
    )?;
    let lines = scrape(port);
    drop(exporter);
    Some(lines)
}

#[test]
fn redis_exporter() {
    let server = serve("--maxmemory 64mb");
    let Some(ours) = of_redis(server.addr()) else { return };
    assert_eq!(value(&ours, "redis_up"), 1.0);
    assert_eq!(value(&ours, "redis_exporter_last_scrape_error{err=\"\"}"), 0.0);
    assert_eq!(value(&ours, "redis_memory_max_bytes"), f64::from(64 << 20));
    assert_eq!(value(&ours, "redis_keyspace_misses_total"), 1.0);
    assert_eq!(value(&ours, "redis_db_keys{db=\"db0\"}"), 4.0);
    assert_eq!(value(&ours, "redis_db_keys_expiring{db=\"db0\"}"), 1.0);
    let port = free_port();
    let port_word = port.to_string();
    let redis = ["--port", &port_word, "--save", "", "--maxmemory", "64mb"];
    let Some(_redis) = start(&["redis-server"], &redis) else { return };
    let theirs = of_redis(listening(port)).unwrap();
    let (ours, theirs) = (names(&ours, "redis_"), names(&theirs, "redis_"));
    assert!(theirs.len() > 100, "{} metrics say little", theirs.len());
    let missing: Vec<_> = theirs.difference(&ours).collect();
    assert!(missing.is_empty(), "redis-server has, and we do not: {missing:#?}");
}

/// Sends requests of memcached's protocol so that every counter counts something.
fn traffic(port: u16) {
    let mut client = Text::new(port);
    for request in ["set a 0 0 1|1", "get a", "get none", "incr a 1", "touch a 9", "delete a"] {
        client.ask(request);
    }
    client.ask("set b 0 100 1|1");
    client.ask("gets b");
    client.ask("cas b 0 0 1 1|2");
}

/// The metrics that memcached_exporter shows of the server at `port`, after some traffic.
fn of_memcached(port: u16) -> Option<Vec<String>> {
    traffic(port);
    let at = free_port();
    let exporter = start(
        &["memcached_exporter", "prometheus-memcached-exporter"],
        &[
            &format!("--memcached.address=127.0.0.1:{port}"),
            &format!("--web.listen-address=127.0.0.1:{at}"),
        ],
    )?;
    let lines = scrape(at);
    drop(exporter);
    Some(lines)
}

#[test]
fn memcached_exporter() {
    let (_server, port) = serve_both("--maxmemory 64mb");
    let Some(ours) = of_memcached(port) else { return };
    assert_eq!(value(&ours, "memcached_up"), 1.0);
    assert_eq!(value(&ours, "memcached_limit_bytes"), f64::from(64 << 20));
    assert_eq!(value(&ours, "memcached_current_items"), 1.0);
    let theirs = free_port();
    let Some(_memcached) = memcached(theirs) else { return };
    listening(theirs);
    let theirs = of_memcached(theirs).unwrap();
    let ours = names(&ours, "memcached_");
    let theirs = names(&theirs, "memcached_");
    let missing: Vec<_> = theirs.difference(&ours).collect();
    assert!(missing.is_empty(), "memcached has, and we do not: {missing:#?}");
}

fn memcached(port: u16) -> Option<Running> {
    start(&["memcached"], &["-p", &port.to_string(), "-l", "127.0.0.1", "-U", "0", "-u", "root"])
}

/// The reports that memcached_exporter reads have the fields that it requires (without them it
/// reports that memcached is down), and every field of memcached 1.6 that it exports as a metric.
#[test]
fn what_memcached_exporter_reads() {
    let (_server, port) = serve_both("--maxmemory 64mb");
    traffic(port);
    let mut client = Text::new(port);
    let report = |client: &mut Text, name: &str| -> BTreeSet<String> {
        let text = client.ask(name);
        let names = text.lines().filter_map(|line| line.strip_prefix("STAT ")?.split(' ').next());
        names.map(str::to_owned).collect()
    };
    let stats = report(&mut client, "stats");
    for name in READ.split_whitespace() {
        assert!(stats.contains(name), "stats has no {name}");
    }
    let settings = report(&mut client, "stats settings");
    assert!(settings.contains("maxconns") && settings.contains("lru_crawler"), "{settings:?}");
    let slabs = report(&mut client, "stats slabs");
    let classes: BTreeSet<_> =
        slabs.iter().filter_map(|name| Some(name.split_once(':')?.0.to_owned())).collect();
    assert!(!classes.is_empty(), "an item is stored, and no class is shown");
    for class in &classes {
        for name in READ_OF_SLABS.split_whitespace() {
            assert!(slabs.contains(&format!("{class}:{name}")), "no {class}:{name}");
        }
    }
    let items = report(&mut client, "stats items");
    for name in READ_OF_ITEMS.split_whitespace() {
        let is_there = |class| items.contains(&format!("items:{class}:{name}"));
        assert!(classes.iter().any(is_there), "stats items has no {name}");
    }
}

const READ: &str = "version uptime time rusage_user rusage_system bytes limit_maxbytes curr_items \
    total_items bytes_read bytes_written curr_connections total_connections rejected_connections \
    conn_yields listen_disabled_num evictions reclaimed store_too_large store_no_memory \
    lru_crawler_starts direct_reclaims crawler_items_checked crawler_reclaimed moves_to_cold \
    moves_to_warm moves_within_lru total_malloced accepting_conns get_hits get_misses delete_hits \
    delete_misses incr_hits incr_misses decr_hits decr_misses cas_hits cas_misses cas_badval \
    touch_hits touch_misses cmd_flush cmd_set";

const READ_OF_SLABS: &str = "chunk_size chunks_per_page total_pages total_chunks used_chunks \
    free_chunks free_chunks_end get_hits cmd_set delete_hits incr_hits decr_hits \
    cas_hits cas_badval touch_hits";

const READ_OF_ITEMS: &str = "number age evicted evicted_nonzero evicted_time evicted_unfetched \
    expired_unfetched outofmemory reclaimed tailrepairs mem_requested crawler_reclaimed \
    number_hot number_warm number_cold number_temp age_hot age_warm hits_to_hot hits_to_warm \
    hits_to_cold hits_to_temp";
