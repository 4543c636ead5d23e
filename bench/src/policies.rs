//! Six orders of eviction: how many operations a second, by threads and hits, and what a GET and a
//! SET take.
//!
//! Under one plain table ([`Table`]), where nothing but the order differs: an exact LRU list and a
//! priority queue (GDSF), each over all entries and so behind one lock; CLOCK, random, K-LRU and
//! LHD in eight stripes. Below them the store itself, with the three of them that it has.
//!
//! A cache is full, with 400 000 entries of a 32-byte key and a 100-byte value. At *100 %* a
//! quarter of them is read in random order. At *90 %* each tenth read is of a key that was never
//! there and is never asked for again: it misses and is inserted, and something leaves. What an
//! order loses of the quarter is read through as well, so that its hits are fewer. A *GET* is of
//! the first kind, a *SET* writes new keys alone.
//!
//! Processor time, and medians of five rounds of all caches in turn, as in the other bench.
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
/// Locks, where an order is not one.
const STRIPES: usize = 8;
/// What the store charges for an entry, a little rounded up.
const CHARGE: u64 = 176;
/// What it takes to learn, with two reader slots.
const LESSONS: u64 = 344 << 10;

/// Memory for so many entries, with what the rank learns beside them.
pub(crate) fn room(items: usize, evictor: &Evictor) -> u64 {
    let bytes = items as u64 * CHARGE;
    match evictor.rank.learns() {
        None => bytes,
        Some(Lessons::Lifetimes) => bytes + LESSONS,
        // Watched keys and the evicted, a hundredth each, and tables.
        Some(Lessons::Watched) => bytes + bytes / 32 + bytes / 100,
    }
}

pub(crate) fn random() -> Evictor {
    Evictor { rank: Arc::new(Random), k: 1, pool: false }
}

type Make = fn() -> Box<dyn Held>;

/// The ratios are to random in the same table. The store's LHD has candidates as the server has
/// them by default.
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

/// Finer than memcached's factor: 148 bytes for 145, and 152 with that. Who says how long pages are
/// gets as many shards as he asks for, which two threads want.
pub(crate) fn fine() -> larder::Slab {
    larder::Slab { page: 32 << 10, factor: 1.05, ..larder::Slab::default() }
}

/// The next number of a key that nobody has asked for.
static FRESH: AtomicUsize = AtomicUsize::new(READ);

pub(crate) fn fresh() -> Text {
    text(FRESH.fetch_add(1, Relaxed))
}

/// Keys that are there, and in so many of a hundred places new ones.
fn order(ops: usize, seed: u64, inserts: usize) -> Vec<Text> {
    let mut prng = Prng::new(seed);
    let key = |at: usize| {
        if at % 100 < inserts { fresh() } else { text(prng.below(READ as u64) as usize) }
    };
    (0..ops).map(key).collect()
}

/// What one cache did in one round: nanoseconds of processor time an operation, but for the hits.
#[derive(Clone, Copy, Debug)]
struct Lap {
    get: f64,
    get_by_two: f64,
    mixed: f64,
    mixed_by_two: f64,
    /// Time that passed while two threads worked.
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
    // What was lost is read through, so that all of the following hit.
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

/// Nanoseconds of processor time an operation of two threads.
fn by_two(cache: &dyn Held, orders: [&[Text]; 2]) -> f64 {
    let ns = std::thread::scope(|scope| {
        let threads = orders.map(|order| scope.spawn(move || play(cache, order, 0).ns));
        threads.map(|thread| thread.join().expect("it plays to the end")).iter().sum::<f64>()
    });
    ns / (orders[0].len() + orders[1].len()) as f64
}

/// Both tables.
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
        // The first round only warms up.
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
        // Of one thread where there are two: time is that of both.
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
