//! The table of docs/results/attach.md: memcached with `lama` attached, beside the same memcached
//! with its own mover, under the same load at the same time.
//!
//! The benchmark takes minutes, and `cargo x bench memcached` runs it. Without `ATTACH_SECONDS` the
//! test does nothing.

use super::Attached;
use super::load::{Load, Next, Random};
use super::memcached::{even, stats};
use crate::capture::Stranger;
use base::{Access, Bytes};
use policy::Cache;
use std::time::Duration;

/// Reads a second for each server.
const PER_S: u32 = 4_000;
/// Memory of each server, in megabytes.
const MEMORY: u32 = 64;
/// A fifth of the time is watched, in short windows, because the memory is small and turns over
/// fast.
const RHYTHM: &str = "--window 2s --every 10s --act --act-before-1-6-43";

/// A row of the table: a load and its name.
struct Row {
    name: &'static str,
    /// Begins the load, which changes after the given number of reads.
    load: fn(u64) -> Next,
}

const ROWS: [Row; 4] = [
    Row { name: "large values come", load: large_come },
    Row { name: "all values grow", load: all_grow },
    Row { name: "ETC", load: etc },
    Row { name: "nothing to gain", load: |_| even(PAIRS) },
];

/// Factor on the key counts of [`even`], so that the keys exceed the memory.
const PAIRS: u64 = 2;

/// Small values that fit; later every other read is for one of far more keys with large values.
fn large_come(shift: u64) -> Next {
    let (mut random, mut count) = (Random(1), 0u64);
    Box::new(move || {
        count += 1;
        if count > shift && random.unit() < 0.5 {
            (1 << 40 | random.below(100_000), 4_000)
        } else {
            (random.below(150_000), 250)
        }
    })
}

/// Small values by a power law; later others, four times as large.
fn all_grow(shift: u64) -> Next {
    let (mut random, mut count) = (Random(2), 0u64);
    Box::new(move || {
        count += 1;
        let key = random.zipf(300_000, 0.8);
        if count > shift { (1 << 40 | key, 1_200) } else { (key, 300) }
    })
}

/// Facebook's ETC, scaled so that the memory holds a part of it; it does not change.
fn etc(_: u64) -> Next {
    let text = "etc:keys=600000:requests=100000000:skew=0.6:seed=1";
    let mut source = trace::synth::open(text, &trace::ReadOptions::default()).unwrap();
    Box::new(move || {
        loop {
            let access = source.next().unwrap().unwrap();
            let size = access.value_size as usize;
            if access.op == trace::Op::Get && size < 500_000 {
                return (access.key, size);
            }
        }
    })
}

/// After the change of `all_grow` only keys of the new size are read. So the best sequence of moves
/// gives that class every page at once. Its misses then are those of one LRU of all pages, by the
/// same reads: hardly fewer than those of memcached's own mover.
#[test]
fn pages_cannot_give_more_where_all_values_grow() {
    /// Items of a page in the class of 1 200 bytes: its chunks have 1 480.
    const OF_A_PAGE: u64 = (1 << 20) / 1_480;
    const READS: u64 = 480 * PER_S as u64;
    let mut next = all_grow(0);
    let pages = u64::from(MEMORY) * OF_A_PAGE;
    let mut cache = Cache::new(&policy::parse("lru").unwrap(), Bytes(pages), 1);
    for _ in 0..READS {
        let (key, _) = next();
        cache.access(&Access::get(key, 1));
    }
    let ratio = cache.stats().misses as f64 / READS as f64;
    println!("with every page at once and for nothing, {:.1} % would miss", 100.0 * ratio);
    assert!((0.41..0.44).contains(&ratio), "{ratio}");
}

fn moved(port: u16) -> u64 {
    stats(port, "stats")["slabs_moved"].parse().unwrap()
}

#[test]
fn beside_its_own_mover() {
    let Some(seconds) =
        std::env::var("ATTACH_SECONDS").ok().and_then(|text| text.parse::<u64>().ok())
    else {
        println!("a benchmark: `cargo x bench memcached` runs it");
        return;
    };
    let before = Duration::from_secs(seconds / 5);
    let after = Duration::from_secs(seconds - seconds / 5);
    let shift = before.as_secs() * u64::from(PER_S);
    let mut runs = vec![];
    for Row { name, load } in ROWS {
        let memory = format!("-m {MEMORY}");
        let Some(stock) = Stranger::memcached(&memory) else { return };
        let Some(steered) = Stranger::memcached(&memory) else { return };
        let loads = [&stock, &steered].map(|server| Load::begin(server.port, PER_S, load(shift)));
        let url = format!("memcached://127.0.0.1:{}", steered.port);
        let attached = Attached::begin(&format!("{url} {RHYTHM}"));
        runs.push((name, stock, steered, loads, attached));
    }
    std::thread::sleep(before);
    let starts: Vec<_> =
        runs.iter().map(|(.., loads, _)| loads.each_ref().map(Load::counts)).collect();
    std::thread::sleep(after);
    println!(
        "| misses of {} s | automove | lama attached | fewer | pages moved |",
        after.as_secs()
    );
    println!("|---|--:|--:|--:|--:|");
    for ((name, stock, steered, loads, attached), starts) in runs.into_iter().zip(starts) {
        let ratio = |at: usize| {
            let (reads, misses) = loads[at].counts();
            (misses - starts[at].1) as f64 / (reads - starts[at].0).max(1) as f64
        };
        let (own, lama) = (ratio(0), ratio(1));
        println!(
            "| {name} | {:.1} % | {:.1} % | {:.0} % | {}, {} |",
            100.0 * own,
            100.0 * lama,
            100.0 * (1.0 - lama / own),
            moved(stock.port),
            moved(steered.port)
        );
        let (status, said) = attached.interrupt();
        assert!(status.success(), "{said:#?}");
        println!("    {}", said.last().map_or("", |last| last["says"].as_str().unwrap_or("")));
    }
}
