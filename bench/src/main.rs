//! Larder as a library beside other in-process caches: bytes an entry, operations a second, hits.
//!
//! All caches hold byte strings and copy them in and out. Each runs in a process of its own with
//! one allocator: jemalloc with its default settings, which include thread caches. Keys have 32
//! bytes.
//!
//! *Bytes* is the memory by which a process grows for two million entries, per entry, beyond key
//! and value. For this figure jemalloc has the settings of the server.
//!
//! *Speed* draws requests for a million keys by Zipf's law and reads through: an insertion follows
//! each read that misses. In the second mix, a tenth of the operations insert without a read.
//! Values have 100 bytes. All caches have equal memory: a quarter of the bytes that all entries
//! would take in Larder. Larder counts its own overhead. For the other caches, the overhead
//! measured by *bytes* is part of the weight of each entry.
//!
//! Before the first round every cache serves eight million operations. Each round has its own
//! draws, which are the same for all caches except in a repeated lap. A round runs all caches in
//! turn, in two processes each. A ratio compares two figures of one round, and the table has the
//! median of five rounds.
//!
//! Time is the CPU time of the threads, user and system, so that other load on the machine matters
//! little. A thread that waits for a lock costs CPU time while it spins, and none while it sleeps.
//! *2/1* is the work of two threads relative to one at equal CPU time, times two. It shows the cost
//! of sharing, but no queue in front of a lock. *Apart* is the same figure for two processes that
//! run at once, with one thread and one cache each. The machine changes from one second to the
//! next, so a lap counts if the machine gave two whole processors (`machine.rs`).
//!
//! ```text
//! cargo x bench store
//! ```
//!
//! The latest results are in `docs/results/engine.md`.
#![forbid(unsafe_code)]

mod evictions;
mod hits;
mod lhd;
mod machine;
mod peers;
mod policies;
mod race;
mod table;
mod victims;
mod zipf;

use peers::{CACHES, cache};
use race::{Mix, Played, play};
use std::process::Command;
use zipf::Zipf;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const ITEMS: usize = 2_000_000;
const KEYS: usize = 1_000_000;
const VALUE: usize = 100;
const KEY: usize = 32;
const OPS: usize = 1_000_000;
const ROUNDS: usize = 5;

type Text = [u8; KEY];

fn text(n: usize) -> Text {
    let mut text = [b'.'; KEY];
    let digits = format!("key:{n:012}");
    text[..digits.len()].copy_from_slice(digits.as_bytes());
    text
}

/// The environment variable with jemalloc's settings, and jemalloc's defaults on two processors.
const SETTINGS: (&str, &str) = ("_RJEM_MALLOC_CONF", "tcache:true,dirty_decay_ms:10000,narenas:8");

/// This program with its arguments, and with jemalloc's default settings.
fn as_it_comes() -> Command {
    let own = std::env::current_exe().expect("this program has a path");
    let mut command = Command::new(own);
    command.env(SETTINGS.0, SETTINGS.1).args(std::env::args().skip(1));
    command
}

fn main() {
    let args: Vec<_> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["bytes", name, len] => println!("{}", bytes(name, len.parse().expect("a length"))),
        _ if std::env::var_os(SETTINGS.0).is_none() => {
            let status = as_it_comes().status().expect("it runs");
            std::process::exit(status.code().unwrap_or(1));
        }
        ["lhd", ..] => lhd::run(&args[1..]),
        ["victims", path] => victims::run(path),
        ["policies"] => policies::run(),
        ["evictions"] => evictions::run(),
        ["eviction", evictor, sharing] => evictions::one(evictor, sharing),
        ["hits"] => hits::run(),
        ["hit", name] => hits::one(name),
        ["play", name, skew] => one(name, skew.parse().expect("a skew")),
        ["race", skew, inserts] => {
            let overheads = CACHES.map(|(name, _)| bytes_in_a_process(name, VALUE));
            race::run(&Mix::of(skew, inserts), &overheads);
        }
        ["racer", name, skew, inserts, capacity, overhead, fitting] => {
            let number = |text: &str| text.parse().expect("a number");
            let cache = cache(name)(number(capacity), number(overhead), number(fitting) as usize);
            race::racer(&*cache, &Mix::of(skew, inserts));
        }
        [] => all(),
        _ => panic!("the arguments are none, or: policies, evictions, hits, lhd TRACE…"),
    }
}

/// Plays one cache alone, for a profiler.
fn one(name: &str, skew: f64) {
    let overheads = [CACHES[0].0, name].map(|name| bytes_in_a_process(name, VALUE));
    let (capacity, fitting) = room(&overheads, overheads[1]);
    let cache = cache(name)(capacity, overheads[1].max(0.0) as u64, fitting);
    let zipf = Zipf::new(KEYS, skew);
    for seed in 1..6 {
        let order = zipf.order(OPS, seed);
        let Played { ns, hits } = play(&*cache, &order, 0);
        println!("{hits:.4} {:.0} ns", ns / OPS as f64);
    }
}

/// The memory of all caches in bytes, and the number of entries of one cache that fit. The first of
/// `overheads` decides the memory; `overhead` is that of the one cache. Both are bytes an entry
/// beyond key and value.
fn room(overheads: &[f64], overhead: f64) -> (u64, usize) {
    let entry = (KEY + VALUE) as f64;
    let capacity = KEYS as f64 / 4.0 * (entry + overheads[0]);
    (capacity as u64, (capacity / (entry + overhead)) as usize)
}

fn all() {
    println!("bytes of an entry beyond key and value, {ITEMS} entries, resident");
    println!("{:12}{:>14}{:>14}", "", "100-byte", "10-byte");
    let overheads: Vec<_> = CACHES
        .iter()
        .map(|(name, _)| {
            let [large, small] = [VALUE, 10].map(|len| bytes_in_a_process(name, len));
            println!("{name:12}{large:>14.1}{small:>14.1}");
            large
        })
        .collect();
    let megabytes = room(&overheads, 0.0).0 as f64 / 1e6;
    println!("\nspeed with {megabytes:.1} MB, ratios to larder's operations");
    for skew in [0.99, 1.2] {
        for inserts in [0, 10] {
            race::run(&Mix { skew, inserts }, &overheads);
        }
    }
}

/// The bytes by which this process grows for each entry, beyond its key and value.
fn bytes(name: &str, len: usize) -> f64 {
    let before = resident();
    let cache = cache(name)(1 << 40, 0, ITEMS);
    (0..ITEMS).for_each(|n| cache.insert(&text(n), &vec![1; len]));
    cache.settle();
    (resident() - before) / ITEMS as f64 - (KEY + len) as f64
}

fn bytes_in_a_process(name: &str, len: usize) -> f64 {
    let own = std::env::current_exe().expect("this program has a path");
    let mut own = Command::new(own);
    let output = own.env_remove(SETTINGS.0).args(["bytes", name, &len.to_string()]).output();
    let text = String::from_utf8(output.expect("it runs").stdout).expect("it prints a number");
    text.trim().parse().expect("it prints a number")
}

fn resident() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("Linux tells");
    let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok());
    pages.expect("the second number is resident") * 4096.0
}

/// Runs this program under callgrind with the arguments `words`, on a simulated machine with caches
/// of 32 KB and 2 MB. Counts instructions, data misses of the first-level cache and data misses of
/// the last-level cache, in the functions that match `functions` and in their callees. Divides each
/// count by the number that the program prints.
fn callgrind(functions: &str, words: &[&str]) -> [f64; 3] {
    let own = std::env::current_exe().expect("this program has a path");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--cache-sim=yes"])
        .args(["--D1=32768,8,64", "--LL=2097152,16,64", "--collect-atstart=no"])
        .arg(format!("--toggle-collect={functions}"))
        .arg(own)
        .args(words)
        .output()
        .expect("valgrind could not be started: is it installed?");
    let said = String::from_utf8(output.stdout).expect("it prints a number");
    let times: f64 = said.trim().parse().expect("it prints a number");
    let report = String::from_utf8_lossy(&output.stderr);
    ["I   refs:", "D1  misses:", "LLd misses:"].map(|what| {
        let line = report.lines().find_map(|line| line.split_once(what));
        let number = line.expect("callgrind says it").1.split_whitespace().next();
        let number = number.expect("callgrind says how many").replace(',', "");
        number.parse::<f64>().expect("a number") / times
    })
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<_> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
