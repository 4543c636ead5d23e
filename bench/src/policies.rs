//! Six orders of eviction: operations a second by threads and hits, and the time of a GET and of a
//! SET.
//!
//! All six run under one plain table ([`Table`]), so that only the order differs. An exact LRU list
//! and a priority queue (GDSF) each cover all entries behind one lock. CLOCK, random, K-LRU and LHD
//! run in eight stripes with a lock each. The last rows are the store itself, with three of these
//! orders: random, K-LRU and LHD.
//!
//! A cache is full, with 400 000 entries of a 32-byte key and a 100-byte value. At *100 %* the
//! bench reads a fixed quarter of the keys in random order. At *90 %* a tenth of the reads ask for
//! new keys that are never read again. Each of them misses, inserts its key, and causes an
//! eviction. If an order evicts keys of the quarter, reads of these keys miss and insert them
//! again, so the order has fewer hits. *GET* is the time of a read at 100 %. *SET* is the time of a
//! write of a new key.
//!
//! Times are CPU times, and figures are medians of five rounds of all caches in turn, as in
//! `cargo x bench store`.
//!
//! ```text
//! cargo x bench policies
//! ```

use crate::peers::{Held, Larder};
use crate::table::Table;
use crate::{KEY, Text, VALUE, median, play, text};
use base::Prng;
use larder::Evictor;
use larder::rank::Lessons;
use larder::rank::random::Random;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

const ITEMS: usize = 400_000;
const READ: usize = ITEMS / 4;
const OPS: usize = 400_000;
const ROUNDS: usize = 5;
/// Stripes of an order that can be divided, each with its own lock; also the shards of the store.
const STRIPES: usize = 8;
/// Bytes that the store charges for an entry, rounded up a little.
const CHARGE: u64 = 176;
/// Bytes that learning from lifetimes takes, with two reader slots.
const LESSONS: u64 = 344 << 10;

/// Bytes of memory for `items` entries and for the learnt state of the rank.
pub(crate) fn room(items: usize, evictor: &Evictor) -> u64 {
    let bytes = items as u64 * CHARGE;
    match evictor.rank.learns() {
        None => bytes,
        Some(Lessons::Lifetimes) => bytes + LESSONS,
        // Watched keys and evicted keys take a hundredth of the memory each; tables take the rest.
        Some(Lessons::Watched) => bytes + bytes / 32 + bytes / 100,
    }
}

pub(crate) fn random() -> Evictor {
    Evictor { rank: Arc::new(Random), k: 1, pool: false }
}

type Make = fn() -> Box<dyn Held>;

/// Name, name of the cache that ratios are relative to, constructor. That cache evicts at random,
/// in the same kind of table. LHD in the store has 32 candidates, the default of the policy `lhd`.
const CACHES: [(&str, &str, Make); 9] = [
    ("lru list", "random", || table("lru", 1)),
    ("gdsf heap", "random", || table("gdsf", 1)),
    ("clock", "random", || table("clock", STRIPES)),
    ("random", "random", || table("random", STRIPES)),
    ("k-lru", "random", || table("klru:5:pool=16", STRIPES)),
    ("lhd", "random", || table("lhd:k=16", STRIPES)),
    ("store, random", "store, random", || store(random())),
    ("store, k-lru", "store, random", || store(Evictor::default())),
    ("store, lhd", "store, random", || store(Evictor::lhd(32))),
];

fn table(policy: &str, stripes: usize) -> Box<dyn Held> {
    Box::new(Table::new(policy, stripes, ITEMS, KEY + VALUE))
}

fn store(evictor: Evictor) -> Box<dyn Held> {
    let capacity = room(ITEMS, &evictor);
    let builder = larder::Cache::builder(capacity).evictor(evictor).shards(STRIPES).maintained();
    let builder = builder.slab(fine());
    Box::new(Larder(builder.build().expect("static is a recipe")))
}

/// Size classes with a finer growth factor than memcached's: an item of 145 bytes takes a chunk of
/// 148 bytes, and would take 152 with memcached's factor. With a configured page length the store
/// has as many shards as requested, which two threads need.
pub(crate) fn fine() -> larder::Slab {
    larder::Slab { page: 32 << 10, factor: 1.05, ..larder::Slab::default() }
}

/// Number of the next key that was never requested.
static FRESH: AtomicUsize = AtomicUsize::new(READ);

pub(crate) fn fresh() -> Text {
    text(FRESH.fetch_add(1, Relaxed))
}

/// Keys for `ops` operations: new keys at the first `inserts` of each hundred places, random ones
/// of the first [`READ`] keys at the others.
fn order(ops: usize, seed: u64, inserts: usize) -> Vec<Text> {
    let mut prng = Prng::new(seed);
    let key = |at: usize| {
        if at % 100 < inserts { fresh() } else { text(prng.below(READ as u64) as usize) }
    };
    (0..ops).map(key).collect()
}

/// Results of one cache in one round: nanoseconds of CPU time an operation, unless stated
/// otherwise.
#[derive(Clone, Copy, Debug)]
struct Lap {
    get: f64,
    get_by_two: f64,
    mixed: f64,
    mixed_by_two: f64,
    /// Nanoseconds of elapsed time an operation, in the mix with two threads.
    passed: f64,
    hits: f64,
    set: f64,
}

struct Orders {
    gets: [Vec<Text>; 2],
    mixed: [Vec<Text>; 4],
    sets: Vec<Text>,
}

impl Orders {
    fn new(round: u64) -> Self {
        let seed = |at| 10 * round + at;
        Self {
            gets: [1, 2].map(|at| order(OPS, seed(at), 0)),
            mixed: [3, 4, 5, 6].map(|at| order(OPS, seed(at), 10)),
            sets: order(OPS / 4, 0, 100),
        }
    }
}

fn lap(cache: &dyn Held, orders: &Orders) -> Lap {
    let ns = |order: &[Text], inserts| play(cache, order, inserts).ns / order.len() as f64;
    let set = ns(&orders.sets, 100);
    ns(&orders.mixed[0], 0);
    let alone = play(cache, &orders.mixed[1], 0);
    let began = Instant::now();
    let mixed_by_two = by_two(cache, [&orders.mixed[2], &orders.mixed[3]]);
    let passed = began.elapsed().as_nanos() as f64 / (2 * OPS) as f64;
    // Reads the first `READ` keys through, so that the GETs below all hit.
    (0..2).for_each(|_| (0..READ).for_each(|n| read_through(cache, &text(n))));
    Lap {
        get: ns(&orders.gets[0], 0),
        get_by_two: by_two(cache, [&orders.gets[0], &orders.gets[1]]),
        mixed: alone.ns / OPS as f64,
        mixed_by_two,
        passed,
        hits: alone.hits,
        set,
    }
}

fn read_through(cache: &dyn Held, key: &Text) {
    if cache.get(key).is_none() {
        cache.insert(key, &[1; VALUE]);
    }
}

/// Nanoseconds of CPU time an operation, if two threads run at once.
fn by_two(cache: &dyn Held, orders: [&[Text]; 2]) -> f64 {
    let ns = std::thread::scope(|scope| {
        let threads = orders.map(|order| scope.spawn(move || play(cache, order, 0).ns));
        threads.map(|thread| thread.join().expect("it plays to the end")).iter().sum::<f64>()
    });
    ns / (orders[0].len() + orders[1].len()) as f64
}

/// Prints both tables.
pub(crate) fn run() {
    let caches = CACHES.map(|(_, _, make)| {
        let cache = make();
        (0..ITEMS).for_each(|_| cache.insert(&fresh(), &[1; VALUE]));
        (0..READ).for_each(|n| read_through(&*cache, &text(n)));
        cache
    });
    let rounds: Vec<[Lap; CACHES.len()]> = (0..=ROUNDS as u64)
        .map(|round| {
            let orders = Orders::new(round);
            std::array::from_fn(|at| lap(&*caches[at], &orders))
        })
        // The first round only warms up the caches.
        .skip(1)
        .collect();
    println!("million operations a second of processor time, and as a share of random's\n");
    println!(
        "{:15}{:>16}{:>16}{:>10}{:>16}{:>16}{:>8}",
        "", "100 %, 1 thread", "2 threads", "hits", "90 %, 1 thread", "2 threads", "passed"
    );
    for (at, (name, base, _)) in CACHES.iter().enumerate() {
        let base = CACHES.iter().position(|(name, ..)| name == base).expect("it is in the list");
        let mid = |figure: fn(&Lap) -> f64| median(rounds.iter().map(|round| figure(&round[at])));
        // `ns` is CPU time an operation, so `threads` threads do `threads` times as many.
        let rate = |threads: f64, ns: fn(&Lap) -> f64| {
            let share = median(rounds.iter().map(|round| ns(&round[base]) / ns(&round[at])));
            format!("{:.2}{share:>8.2}", threads * 1e3 / mid(ns))
        };
        println!(
            "{name:15}{:>16}{:>16}{:>10.4}{:>16}{:>16}{:>8.2}",
            rate(1.0, |lap| lap.get),
            rate(2.0, |lap| lap.get_by_two),
            mid(|lap| lap.hits),
            rate(1.0, |lap| lap.mixed),
            rate(2.0, |lap| lap.mixed_by_two),
            1e3 / mid(|lap| lap.passed),
        );
    }
    println!("\nnanoseconds of a GET that hits and of a SET for which something leaves");
    for (at, (name, ..)) in CACHES.iter().enumerate() {
        let mid = |figure: fn(&Lap) -> f64| median(rounds.iter().map(|round| figure(&round[at])));
        println!("{name:15}{:>8.0}{:>8.0}", mid(|lap| lap.get), mid(|lap| lap.set));
    }
}
