//! Miss ratios of LHD in the store, beside LHD in the simulator, on traces.
//!
//! The store approximates: it keeps three bits of state for each item, it merges the counts of the
//! shards only now and then, and it draws candidates in groups of neighbours. The difference of the
//! miss ratios is the loss.
//!
//! The store has memory for a tenth, then for three tenths, of the bytes that all items would take.
//! The simulator gets the bytes that the store had for items at the end, and charges each item the
//! same size. K-LRU (5 candidates, pool) in the store shows how much LHD can gain.
//!
//! Each size class evicts by LHD among its own items. Rank balance moves pages of a shard from the
//! class whose victims are worth least to the class whose victims are worth most. The column
//! *alone* is without rank balance. The growth factor of the classes is 1.08: with memcached's
//! 1.25, a tenth of the memory is unused space at the ends of chunks.
//!
//! ```text
//! cargo x bench lhd TRACE…
//! ```

use crate::median;
use base::{Access, Bytes, Micros, Op};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::ops::RangeInclusive;
use store::{Config, Evictor, Now, Scope, Slab, Store, charge};

const REQUESTS: usize = 2_000_000;
pub(crate) const NOW: Now = Now { unix_ms: 1, micros: Micros(1) };
/// Requests between two sweeps, each with a budget of one entry or bucket.
const SWEEP_EVERY: usize = 64;

/// Seeds of the rounds; figures and differences are medians over them. On a short trace, chance
/// changes a miss ratio of LHD by more than a percentage point, in the simulator and in the store.
const fn seeds(requests: usize) -> RangeInclusive<u64> {
    if requests < 100_000 { 1..=15 } else { 1..=5 }
}

pub(crate) struct Request {
    key: Vec<u8>,
    hash: u64,
    len: usize,
    is_read: bool,
}

pub(crate) fn requests(path: &str) -> Vec<Request> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut reader: Box<dyn Read + Send> = match path.strip_suffix(".zst") {
        Some(_) => Box::new(zstd::Decoder::new(file).expect("a frame")),
        None => Box::new(file),
    };
    let mut head = vec![0; 4096];
    let mut filled = 0;
    while filled < head.len() {
        match reader.read(&mut head[filled..]).expect("the trace can be read") {
            0 => break,
            count => filled += count,
        }
    }
    head.truncate(filled);
    let spec = trace::format::detect(path, &head).expect("a format that is known");
    let whole = Box::new(BufReader::new(Cursor::new(head).chain(reader)));
    let mut source = (spec.open)(whole, &trace::ReadOptions::default()).expect("it opens");
    let mut all = vec![];
    while all.len() < REQUESTS {
        let Some(access) = source.next() else { break };
        let access = access.expect("a sound record");
        if access.op != Op::Delete {
            let key = source.key().to_vec();
            // By default, a trace charges the size of the value, if it records one.
            let len = access.size.get() as usize;
            all.push(Request { hash: access.key, len, is_read: access.op == Op::Get, key });
        }
    }
    all
}

fn store_of(maxmemory: u64, evictor: Evictor, seed: u64) -> Store {
    let slab = Slab { factor: 1.08, ..Slab::default() };
    let maxmemory = Bytes(maxmemory);
    Store::new(Config { maxmemory, shards: 8, evictor, slab, seed, ..Config::default() })
}

/// Bytes that learning takes in an empty store. A store with LHD gets them on top of `maxmemory`,
/// so that all evictors have the same memory for items.
pub(crate) fn lessons(maxmemory: u64) -> u64 {
    let used = |evictor| store_of(maxmemory, evictor, 0).used().0;
    used(Evictor::lhd(64)) - used(Evictor::default())
}

/// Plays requests on a store, and calls `look` after each of them. Returns the miss ratio and the
/// store.
pub(crate) fn play(
    requests: &[Request],
    maxmemory: u64,
    evictor: Evictor,
    balanced: bool,
    seed: u64,
    mut look: impl FnMut(usize, &Store),
) -> (f64, Store) {
    let store = store_of(maxmemory, evictor, seed);
    store.balance_pages(balanced);
    let longest = requests.iter().map(|request| request.len).max().unwrap_or(0);
    let value = vec![1; longest];
    let (mut reads, mut misses) = (0u64, 0u64);
    for (at, request) in requests.iter().enumerate() {
        let key = store.key(0, 0, &request.key);
        let found = request.is_read && store.get(&key, NOW, |_| ()).is_some();
        reads += u64::from(request.is_read);
        misses += u64::from(request.is_read && !found);
        if !found {
            // The store refuses an item that is too large for it.
            let _ = store.set(&key, &value[..request.len], None, NOW);
        }
        if at % SWEEP_EVERY == 0 {
            store.sweep(NOW, 1);
        }
        look(at, &store);
    }
    (misses as f64 / reads as f64, store)
}

fn items_bytes(store: &Store) -> u64 {
    let (mut sum, mut cursor) = (0, 0);
    loop {
        cursor = store.scan(Scope::ALL, cursor, 1000, NOW, |found| sum += found.item.charge().0);
        if cursor == 0 {
            return sum;
        }
    }
}

fn simulated(requests: &[Request], capacity: u64, seed: u64) -> f64 {
    let choice = policy::parse("lhd").expect("it is in the list");
    let mut cache = policy::Cache::new(&choice, Bytes(capacity), seed);
    for request in requests {
        let size = charge(request.key.len(), request.len, false) as u32;
        let access = Access::get(request.hash, size);
        let op = if request.is_read { Op::Get } else { Op::Set };
        cache.access(&Access { op, ..access });
    }
    cache.stats().miss_ratio()
}

/// Bytes that all items of the requests would take, each at its last size.
pub(crate) fn footprint(requests: &[Request]) -> u64 {
    let charge = |request: &Request| charge(request.key.len(), request.len, false);
    let sizes: HashMap<_, _> = requests.iter().map(|r| (r.hash, charge(r))).collect();
    sizes.values().sum()
}

/// Miss ratios in the round of one seed.
struct Misses {
    klru: f64,
    simulated: f64,
    live: f64,
    alone: f64,
}

fn round(requests: &[Request], maxmemory: u64, seed: u64) -> Misses {
    let of = |with, evictor, balanced| play(requests, with, evictor, balanced, seed, |_, _| ());
    let (klru, plain) = of(maxmemory, Evictor::default(), true);
    drop(plain);
    let lhd = |balanced| of(maxmemory + lessons(maxmemory), Evictor::lhd(64), balanced);
    let (live, store) = lhd(true);
    let free = store.limit().0 - store.used().0;
    let simulated = simulated(requests, items_bytes(&store) + free, seed);
    drop(store);
    Misses { klru, simulated, live, alone: lhd(false).0 }
}

/// Prints the table for these traces.
pub(crate) fn run(paths: &[String]) {
    println!(
        "{:24}{:>9}{:>11}{:>8}{:>11}{:>8}{:>8}{:>8}{:>8}",
        "trace", "requests", "memory", "k-lru", "simulated", "live", "points", "alone", "points"
    );
    for path in paths {
        let requests = requests(path);
        let footprint = footprint(&requests);
        let name = path.rsplit('/').next().unwrap_or(path);
        for tenths in [1, 3] {
            let maxmemory = footprint * tenths / 10;
            let seeds = seeds(requests.len());
            let rounds: Vec<_> = seeds.map(|seed| round(&requests, maxmemory, seed)).collect();
            let of = |figure: fn(&Misses) -> f64| median(rounds.iter().map(figure));
            let [klru, simulated] = [of(|misses| misses.klru), of(|misses| misses.simulated)];
            let [live, alone] = [of(|misses| misses.live), of(|misses| misses.alone)];
            println!(
                "{name:24}{:>9}{:>11}{klru:>8.4}{simulated:>11.4}{live:>8.4}{:>8.2}\
                 {alone:>8.4}{:>8.2}",
                requests.len(),
                Bytes(maxmemory).to_string(),
                100.0 * of(|misses| misses.live - misses.simulated),
                100.0 * of(|misses| misses.alone - misses.simulated),
            );
        }
    }
}
