//! The library beside other caches that live in process: bytes an entry, operations a second, hits.
//!
//! All hold byte strings, `Vec<u8>` in and out, each in a process of its own with one allocator:
//! jemalloc as it comes, with caches of threads. Keys have 32 bytes.
//!
//! *Bytes* are what a process of its own grows by for two million entries, beyond their keys and
//! values, with jemalloc set up as for the server. *Speed* is a million keys drawn by Zipf's law,
//! read through: a read that misses is followed by an insertion, and in the second mix every tenth
//! operation is an insertion anyway.
//! Values have 100 bytes, and the memory is a quarter of what all entries would take. It is equal
//! for all: what an entry takes beyond key and value, as just measured, is part of the weight that
//! the others are told to count, while ours counts what it takes by itself.
//!
//! Each round has its own draws, the same for all caches but where a lap is done again; before the
//! first, all see eight million.
//! A round runs all caches in turn, in two processes each; a ratio is of one round, and the figure
//! is the median of five. Time is processor time of the threads, user and system, so that a busy
//! machine does not decide: a thread that waits for a lock costs what it looks for it, and nothing
//! once it sleeps. So *2/1*, the work of two threads by that of one at equal processor time, times
//! two, shows what sharing costs; it does not show a queue in front of a lock. *Apart* is the same
//! of two processes at once that have a thread and a cache each. What the machine gives
//! changes from one second to the next, so a lap counts where it gave two processors
//! (`machine.rs`).
//!
//! ```text
//! cargo x bench store
//! ```
//!
//! The last answer is in `docs/results/engine.md`.
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

/// What jemalloc reads its settings from, and those that it has if nobody says anything.
const SETTINGS: (&str, &str) = ("_RJEM_MALLOC_CONF", "tcache:true,dirty_decay_ms:10000,narenas:8");

/// This program, with jemalloc as it comes.
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

/// One cache alone, for a profiler.
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

/// The memory, if the first takes so many bytes of an entry beyond key and value, and the entries
/// of another that fit.
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

/// What the process grows by for each entry, beyond its key and value.
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

/// What this program does when it is asked for `words`, in a simulated machine with caches of 32 KB
/// and 2 MB: instructions, misses of the first cache and of the last, in the functions of this name
/// and what they call, by the number that it prints.
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
