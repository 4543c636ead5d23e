//! Measures the time of one operation, and the memory of one item beyond its key and value.
//!
//! One thread uses a million keys of 32 bytes with values of 100, in random order. Most operations
//! therefore miss the processor's caches, as in a server. The baseline is `Mutex<HashMap<Vec<u8>,
//! Vec<u8>>>` in the same run: the simplest map that a lock can guard, without evictions, expiry
//! and counts. The benchmark does not cover contention.
//!
//! ```text
//! cargo bench -p store                      the tables
//! cargo bench -p store -- get 1000000       so many operations of one kind (get, set, insert) and
//!                                           nothing else, to be counted by callgrind: take the
//!                                           difference of two runs
//! cargo bench -p store -- bytes 100         what an item takes, in a process of its own
//!                                           kept by a sweep every 100 ms and without
//! ```
//!
//! 2026-11-21, a busy machine of two cores, so look at the ratios of CPU time to the baseline:
//!
//! ```text
//! get, hit           0.75 to 0.90      363 instructions
//! set, overwrite     0.81 to 0.94      495
//! insert and evict   3.8 to 3.9       4499, five candidates and a pool; the baseline's removal
//!                                      knows its victim
//! bytes of an item beyond its key and value: 42.7 charged and 42.1 resident with values of 100
//! (12 of them rounding to a size class), 36.7 and 35.7 with values of 10
//! ```
use base::{Bytes, Micros, Prng};
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Mutex;
use store::{Config, Now, Store};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const KEYS: usize = 1_000_000;
const OPS: usize = 2_000_000;
const NOW: Now = Now { unix_ms: 1, micros: Micros(1) };

type Text = [u8; 32];

fn text(n: usize) -> Text {
    let mut text = [b'.'; 32];
    let digits = format!("key:{n:012}");
    text[..digits.len()].copy_from_slice(digits.as_bytes());
    text
}

/// Random keys out of the first `keys`, `ops` of them.
fn order(keys: usize, ops: usize) -> Vec<Text> {
    let mut prng = Prng::new(1);
    (0..ops).map(|_| text(prng.below(keys as u64) as usize)).collect()
}

fn store(maxmemory: u64) -> Store {
    Store::new(Config { maxmemory: Bytes(maxmemory), shards: 16, ..Config::default() })
}

fn set(store: &Store, text: &Text, value: &[u8]) {
    store.set(&store.key(0, 0, text), value, None, NOW).expect("there is room");
}

fn fill(store: &Store, keys: usize, value: &[u8]) {
    (0..keys).for_each(|n| set(store, &text(n), value));
}

fn resident_bytes() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0.0_f64);
    pages * 4096.0
}

/// Nanoseconds that this thread has run. Unlike wall time, it does not include waiting for a
/// processor on a busy machine.
fn cpu_ns() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells");
    stat.split(' ').next().and_then(|ns| ns.parse().ok()).expect("its first number is the time")
}

/// CPU nanoseconds per operation, the best of three rounds.
fn time<T>(keys: &[T], mut op: impl FnMut(&T)) -> f64 {
    let round = |_| {
        let begin = cpu_ns();
        keys.iter().for_each(&mut op);
        (cpu_ns() - begin) / keys.len() as f64
    };
    (0..3).map(round).fold(f64::INFINITY, f64::min)
}

/// A limit under which about `items` items of the benchmark fit.
const fn room(items: usize) -> u64 {
    items as u64 * 175
}

fn one(kind: &str, ops: usize) {
    let keys = 100_000;
    let order = order(keys, keys);
    let texts = order.iter().cycle().take(ops);
    let store = store(if kind == "insert" { room(keys) } else { 0 });
    fill(&store, keys, &[1; 100]);
    match kind {
        "get" => texts.for_each(|text| {
            black_box(store.get(&store.key(0, 0, text), NOW, |item| item.value[0]));
        }),
        "set" => texts.for_each(|text| set(&store, text, &[2; 100])),
        "insert" => (0..ops).for_each(|n| {
            let mut text = order[0];
            text[24..].copy_from_slice(&(n as u64).to_le_bytes());
            set(&store, &text, &[2; 100]);
        }),
        _ => panic!("'{kind}' is not a kind of operation: say get, set, insert or bytes"),
    }
}

/// Prints the bytes of an item beyond its key and value.
fn bytes(len: usize) {
    let before = resident_bytes();
    let live = store(0);
    let used = live.used().as_f64();
    fill(&live, KEYS, &vec![1; len]);
    let each = |bytes: f64| bytes / KEYS as f64 - (32 + len) as f64;
    let charged = each(live.used().as_f64() - used);
    let resident = each(resident_bytes() - before);
    println!("values of {len}: {charged:.1} bytes charged, {resident:.1} resident");
}

fn all() {
    let order = order(KEYS, OPS);
    let baseline = Mutex::new(HashMap::new());
    for n in 0..KEYS {
        baseline.lock().unwrap().insert(text(n).to_vec(), vec![1u8; 100]);
    }
    let base_get = time(&order, |text| {
        black_box(baseline.lock().unwrap().get(&text[..]).map(|value| value[0]));
    });
    let base_set = time(&order, |text| {
        if let Some(value) = baseline.lock().unwrap().get_mut(&text[..]) {
            value.copy_from_slice(&[2; 100]);
        }
    });
    let fresh: Vec<_> = (KEYS..KEYS + OPS / 2).map(text).collect();
    let oldest: Vec<_> = (0..KEYS).map(text).collect();
    let mut at = 0;
    let base_insert = time(&fresh, |new| {
        let mut map = baseline.lock().unwrap();
        map.remove(&oldest[at % KEYS][..]);
        at += 1;
        map.insert(new.to_vec(), vec![3; 100]);
    });
    drop(baseline);

    let live = store(0);
    fill(&live, KEYS, &[1; 100]);
    let get = time(&order, |text| {
        black_box(live.get(&live.key(0, 0, text), NOW, |item| item.value[0]));
    });
    let overwrite = time(&order, |text| set(&live, text, &[2; 100]));
    let absent: Vec<_> = (KEYS..2 * KEYS).map(text).collect();
    let miss = time(&absent, |text| {
        black_box(live.get(&live.key(0, 0, text), NOW, |item| item.value[0]));
    });
    drop(live);
    let full = store(room(KEYS));
    fill(&full, 2 * KEYS, &[1; 100]);
    let mut round = 0;
    let insert = time(&fresh, |text| {
        // Each round writes new keys, because none of them may exist yet.
        let mut text = *text;
        text[31] = b'0' + (round / fresh.len()) as u8;
        round += 1;
        set(&full, &text, &[3; 100]);
    });
    drop(full);

    println!("{:24}{:>10}{:>14}{:>8}", "", "ns/op", "baseline ns", "ratio");
    for (name, ours, base) in [
        ("get, hit", get, base_get),
        ("set, overwrite", overwrite, base_set),
        ("insert and evict", insert, base_insert),
    ] {
        println!("{name:24}{ours:>10.0}{base:>14.0}{:>8.2}", ours / base);
    }
    println!("{:24}{miss:>10.0}", "get, miss");
}

fn main() {
    let args: Vec<_> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let number = |text: &str| text.parse().expect("the second argument is a number");
    match args.as_slice() {
        [kind, len] if kind == "bytes" => bytes(number(len)),
        [kind, ops] => one(kind, number(ops)),
        _ => all(),
    }
}
