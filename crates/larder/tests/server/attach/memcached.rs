//! memcached, attached: which pages move, when none move, and which settings are restored.

use super::Attached;
use super::load::{Load, Next, Random};
use crate::capture::{Stranger, interrupt};
use crate::process::larder;
use serde_json::Value;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Windows without a pause, so that a test is short.
const ALWAYS: &str = "--window 1s --every 1s";
/// Windows without a pause, and permission to act on a version that is only watched by default.
const ACTING: &str = "--window 1s --every 1s --act --act-before-1-6-43";

/// The names and values in the answer to a form of `stats`.
pub(super) fn stats(port: u16, form: &str) -> HashMap<String, String> {
    let mut stream = BufReader::new(TcpStream::connect(("127.0.0.1", port)).unwrap());
    stream.get_mut().write_all(format!("{form}\r\n").as_bytes()).unwrap();
    let lines = stream.lines().map_while(Result::ok).take_while(|line| line != "END");
    let pair = |line: String| {
        let (name, value) = line.strip_prefix("STAT ")?.split_once(' ')?;
        Some((name.to_owned(), value.to_owned()))
    };
    lines.filter_map(pair).collect()
}

fn moved(port: u16) -> u64 {
    stats(port, "stats")["slabs_moved"].parse().unwrap()
}

fn automove(port: u16) -> String {
    stats(port, "stats settings")["slab_automove"].clone()
}

/// Small values that nearly fit. After `shift` reads, every other read is for one of far more keys
/// with large values, which take every page they can get and hardly ever hit.
fn shifting(shift: u64) -> Next {
    let (mut random, mut count) = (Random(1), 0u64);
    Box::new(move || {
        count += 1;
        if count > shift && random.unit() < 0.5 {
            (1 << 40 | random.below(60_000), 4_000)
        } else {
            (random.below(70_000), 300)
        }
    })
}

/// Without --act the tool advises and moves nothing; with --act it moves pages.
#[test]
fn pages_move_when_told_and_only_then() {
    // memcached's own mover is off.
    let Some(server) = Stranger::memcached("-m 32 -o no_slab_automove") else { return };
    let port = server.port;
    let url = format!("memcached://127.0.0.1:{port}");
    // Large values come first, so small ones have too few pages later.
    let mut random = Random(7);
    let large = move || (1 << 40 | random.below(60_000), 4_000);
    let fill = Load::begin(port, 40_000, Box::new(large));
    while stats(port, "stats")["evictions"] == "0" {
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(fill);
    let load = Load::begin(port, 10_000, shifting(0));
    let watching = Attached::begin(&format!("{url} {ALWAYS}"));
    let advised = watching.until("epoch", |one| one["decision"] == "advised");
    assert!(advised["gain"].as_f64().unwrap() > advised["threshold"].as_f64().unwrap());
    assert!(!advised["plan"].as_array().unwrap().is_empty(), "{advised:#}");
    let judged = watching.until("epoch", |one| {
        one["epoch"].as_u64() > advised["epoch"].as_u64() && !one["outcome"].is_null()
    });
    let off = judged["outcome"].as_f64().unwrap() - judged["forecast"].as_f64().unwrap();
    assert!(off.abs() < 0.1, "{judged:#}");
    let (status, _) = watching.interrupt();
    assert!(status.success());
    assert_eq!(moved(port), 0, "nothing moves without --act");
    let before = load.misses_within(Duration::from_secs(3));

    let acting = Attached::begin(&format!("{url} {ACTING}"));
    acting.until("epoch", |one| one["moves"]["pages_moved"].as_u64() > Some(10));
    std::thread::sleep(Duration::from_secs(8));
    let after = load.misses_within(Duration::from_secs(3));
    println!("misses {before:.3} before, {after:.3} with {} pages moved", moved(port));
    assert!(after < 0.9 * before, "{before} {after}");
    let (status, said) = acting.interrupt();
    assert!(status.success(), "{said:#?}");
    assert_eq!(automove(port), "0", "the setting before");
}

/// memcached's own mover is off while pages are moved, and restored afterwards.
#[test]
fn automove_is_put_back() {
    let Some(server) = Stranger::memcached("-m 16") else { return };
    let port = server.port;
    assert_eq!(automove(port), "1");
    let acting = Attached::begin(&format!("memcached://127.0.0.1:{port} {ACTING}"));
    acting.until("acting", |_| true);
    assert_eq!(automove(port), "0");
    let (status, said) = acting.interrupt();
    assert!(status.success() && said.iter().any(|one| one["event"] == "restored"), "{said:#?}");
    assert_eq!(automove(port), "1");
    drop(server);

    // It is restored after an error, too: this server refuses to be watched.
    let Some(server) = Stranger::memcached("-m 16 -W") else { return };
    let words = format!("attach memcached://127.0.0.1:{} {ACTING}", server.port);
    let output = larder(&words).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && error.contains("without -W"), "{error}");
    assert_eq!(automove(server.port), "1");
}

/// A size class that nobody reads any more gives up its pages at once, whether a window was watched
/// or not.
#[test]
fn pages_of_old_sizes_go_by_what_is_counted() {
    let Some(server) = Stranger::memcached("-m 16 -o no_slab_automove") else { return };
    let mut random = Random(2);
    let small = move || (random.below(80_000), 300);
    let small = Load::begin(server.port, 15_000, Box::new(small));
    while stats(server.port, "stats")["evictions"] == "0" {
        std::thread::sleep(Duration::from_millis(50));
    }
    let rare = "--window 1s --every 60s --act --act-before-1-6-43";
    let acting = Attached::begin(&format!("memcached://127.0.0.1:{} {rare}", server.port));
    acting.until("acting", |_| true);
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(acting.said("counts"), [Value::Null; 0], "nothing has changed");
    drop(small);
    let mut random = Random(3);
    let large = move || (1 << 40 | random.zipf(40_000, 0.8), 1_200);
    let large = Load::begin(server.port, 6_000, Box::new(large));
    let said = acting.until("counts", |_| true);
    let says = said["says"].as_str().unwrap();
    assert!(says.starts_with("pages of class 384 B go to class 1."), "{says}");
    let held = || {
        let slabs = stats(server.port, "stats slabs");
        let pages = |(name, pages): (&String, &String)| {
            let class = name.strip_suffix(":total_pages")?;
            let share: u64 = slabs[&format!("{class}:chunk_size")].parse().ok()?;
            (share > 1_000).then(|| pages.parse::<u64>().ok())?
        };
        slabs.iter().filter_map(pages).sum::<u64>()
    };
    let began = Instant::now();
    while held() < 12 {
        assert!(began.elapsed() < Duration::from_secs(60), "{} pages", held());
        std::thread::sleep(Duration::from_millis(100));
    }
    drop(large);
    assert!(acting.interrupt().0.success());
}

/// Every division is as good as any other: twice the bytes bring twice the reads.
#[test]
fn nothing_moves_where_nothing_is_to_gain() {
    let Some(server) = Stranger::memcached("-m 32 -o no_slab_automove") else { return };
    let load = Load::begin(server.port, 10_000, even(1));
    while stats(server.port, "stats")["evictions"] == "0" {
        std::thread::sleep(Duration::from_millis(100));
    }
    let acting = Attached::begin(&format!("memcached://127.0.0.1:{} {ACTING}", server.port));
    let last = acting.until("epoch", |one| one["epoch"].as_u64() >= Some(25));
    // The curves of one second are noisy, and a page more or less makes no difference.
    assert!(moved(server.port) <= 4, "{last:#}");
    drop(load);
    assert!(acting.interrupt().0.success());
}

/// Values of two sizes, whose items take 304 and 1 184 bytes of a page. Each larger item gets
/// nearly four times the reads, so a page brings as many hits in either class.
pub(super) fn even(times: u64) -> Next {
    let mut random = Random(3);
    let keys = [80_000 * times, 20_000 * times];
    Box::new(move || {
        let larger = keys[1] as f64 * 1_184.0;
        if random.unit() < larger / (larger + keys[0] as f64 * 304.0) {
            (1 << 40 | random.below(keys[1]), 1_080)
        } else {
            (random.below(keys[0]), 210)
        }
    })
}

/// A restarted server counts as a new cache.
#[test]
fn a_restarted_server_is_told() {
    let Some(server) = Stranger::memcached("-m 16") else { return };
    let port = server.port;
    let acting = Attached::begin(&format!("memcached://127.0.0.1:{port} {ACTING}"));
    acting.until("acting", |_| true);
    drop(server);
    let lost = acting.until("lost", |_| true);
    assert!(lost["says"].as_str().unwrap().contains("waiting"), "{lost}");
    let Some(_server) = Stranger::memcached_at(port, "-m 16") else { return };
    let told = acting.until("restarted", |_| true);
    assert!(told["says"].as_str().unwrap().contains("starts again"), "{told}");
    acting.until("acting", |one| one["says"].as_str().unwrap().contains("was 1"));
    let (status, said) = acting.interrupt();
    assert!(status.success(), "{said:#?}");
    assert_eq!(automove(port), "1");
}

/// A version before 1.6.43 is only watched, and the message says why.
#[test]
fn old_versions_are_only_watched() {
    let Some(server) = Stranger::memcached("-m 16") else { return };
    let version = stats(server.port, "stats")["version"].clone();
    let minor: u32 = version.rsplit('.').next().unwrap().parse().unwrap();
    let url = format!("memcached://127.0.0.1:{}", server.port);
    let attached = Attached::begin(&format!("{url} --window 1s --every 1s --act --for 2s"));
    let begin = attached.until("begin", |_| true);
    let says = begin["says"].as_str().unwrap();
    assert!(says.contains(&version), "{says}");
    assert_eq!(says.contains("--act-before-1-6-43"), minor < 43, "{says}");
    let (status, said) = attached.wait();
    assert!(status.success());
    assert_eq!(said.iter().any(|one| one["event"] == "acting"), minor >= 43, "{said:#?}");
}

/// Ctrl-C between a request and its answer is an end like any other, with the status of success.
#[test]
fn an_interrupt_before_an_answer_is_no_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let attached = Attached::begin(&format!("memcached://127.0.0.1:{port}"));
    let (stream, _) = listener.accept().unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "stats");
    interrupt(&attached.child);
    // The command waits for the answer when the signal arrives.
    std::thread::sleep(Duration::from_millis(200));
    (&stream).write_all(b"END\r\n").unwrap();
    for _ in lines.map_while(Result::ok) {
        (&stream).write_all(b"END\r\n").unwrap();
    }
    assert!(attached.wait().0.success());
}
