//! The store's protocol of locks and counters, under every order of two threads: `cargo x loom`.
//! Each test runs whole calls, over tables and items as in production.
//!
//! Most tests fill a store of two shards so far that a write must make room and its own shard has
//! nothing to give. The write takes its turn at `elsewhere` and tries the other shard, which may be
//! locked by a thread that waits for the turn itself. In every order, no thread waits for ever, no
//! byte exceeds the limit or is lost, and a write is refused only if nothing could be evicted for
//! it. The lock of a shard is tested separately, with a reader in each reader slot, in
//! `big_reader.rs`.
#![cfg(loom)]

use base::{Bytes, Micros};
use loom::sync::Arc;
use loom::thread;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use store::{Config, Gate, Now, Scope, Slab, Store};

const NOW: Now = Now { unix_ms: 1, micros: Micros(1) };
/// A length at which an item has a page to itself, so that each eviction makes room for one item.
const VALUE: usize = 9_000;
/// With fewer orders, the two threads share less than intended.
const ORDERS_MIN: usize = 4;

/// The n-th key in this shard of two.
fn name(store: &Store, shard: u64, n: usize) -> [u8; 4] {
    let names = (0u32..).map(u32::to_le_bytes);
    let mut mine = names.filter(|name| store.key(0, 0, name).hash >> 32 & 1 == shard);
    mine.nth(n).expect("half of all keys are there")
}

/// A value, not on the stack: that of a thread under loom has 32 KB.
fn value(byte: u8) -> Vec<u8> {
    vec![byte; VALUE]
}

fn set(store: &Store, name: [u8; 4]) -> bool {
    store.set(&store.key(0, 0, &name), &value(name[0]), None, NOW).is_ok()
}

fn config() -> Config {
    let slab = Slab { page: 4 << 10, ..Slab::default() };
    Config { shards: 2, reader_slots: 2, slab, ..Config::default() }
}

/// A store of two shards with room for its tables and `items` items.
fn tight(items: u64) -> Store {
    let config = config();
    let empty = Store::new(config.clone());
    let mut taken = empty.used().0;
    // The bucket and the class of each shard's first item.
    set(&empty, name(&empty, 0, 0));
    taken += 2 * (empty.used().0 - taken - item());
    Store::new(Config { maxmemory: Bytes(taken + items * item()), ..config })
}

/// Bytes of an item's page.
fn item() -> u64 {
    let store = Store::new(config());
    set(&store, name(&store, 0, 0));
    let one = store.used().0;
    set(&store, name(&store, 0, 1));
    store.used().0 - one
}

fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 50_000;
    let orders = std::sync::Arc::new(AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&orders);
    builder.check(move || {
        counted.fetch_add(1, Relaxed);
        model();
    });
    let orders = orders.load(Relaxed);
    println!("{orders} orders");
    assert!(orders > ORDERS_MIN, "{orders} orders: the threads do not meet");
}

fn looks_sound(store: &Store) {
    let mut shown = 0;
    let mut cursor = 0;
    loop {
        cursor = store.scan(Scope::ALL, cursor, 10, NOW, |found| {
            assert!(found.item.value.iter().all(|&byte| byte == found.key[0]));
            shown += 1;
        });
        if cursor == 0 {
            break;
        }
    }
    assert_eq!(store.len(Scope::ALL).items, shown);
    assert!(store.used() <= store.limit(), "{} of {}", store.used(), store.limit());
    assert_eq!(store.flush(Scope::ALL), shown);
    let fresh = Store::new(config());
    assert_eq!(store.used(), fresh.used(), "what was taken is given back");
}

/// There is room for one item, which is in one shard, and both threads write into the other.
#[test]
fn room_is_found_elsewhere() {
    explore(|| {
        let store = Arc::new(tight(1));
        assert!(set(&store, name(&store, 0, 0)));
        let other = Arc::clone(&store);
        let thread = thread::spawn(move || set(&other, name(&other, 1, 0)));
        let mine = set(&store, name(&store, 1, 1));
        assert!(thread.join().unwrap() && mine, "there was something to evict for either");
        looks_sound(&store);
    });
}

/// There is room for one item. Each thread writes into a different shard, and evicts in the
/// other's.
#[test]
fn two_that_look_into_each_others_shard_do_not_wait_for_ever() {
    explore(|| {
        let store = Arc::new(tight(1));
        let other = Arc::clone(&store);
        let thread = thread::spawn(move || set(&other, name(&other, 0, 0)));
        let mine = set(&store, name(&store, 1, 0));
        // One thread may find memory that the other has reserved but not yet used for an item:
        // full.
        assert!(thread.join().unwrap() || mine, "one of them was first");
        looks_sound(&store);
    });
}

/// A limit is lowered during a write. Afterwards the sweep reaches it.
#[test]
fn a_lowered_limit_is_reached() {
    explore(|| {
        let store = Arc::new(tight(2));
        assert!(set(&store, name(&store, 0, 0)));
        let lower = Bytes(store.limit().0 - item());
        let other = Arc::clone(&store);
        let thread = thread::spawn(move || set(&other, name(&other, 1, 0)));
        store.set_limit(lower);
        assert!(thread.join().unwrap());
        (0..3).for_each(|_| _ = store.sweep(NOW, 64));
        looks_sound(&store);
    });
}

/// A read that is recorded in its reader slot runs beside a write of the same key that evicts
/// nothing. The item is new in one case, and replaced in place in the other.
#[test]
fn a_read_sees_what_was_written_or_what_was_there() {
    for was_there in [false, true] {
        explore(move || {
            let store = Arc::new(tight(2));
            let name = name(&store, 0, 0);
            if was_there {
                let key = store.key(0, 0, &name);
                store.set(&key, &value(!name[0]), None, NOW).expect("there is room");
            }
            let other = Arc::clone(&store);
            let thread = thread::spawn(move || set(&other, name));
            let wanted: &[u8] = if was_there { &[!name[0], name[0]] } else { &[name[0]] };
            let is_one = |seen: &[u8]| wanted.iter().any(|&byte| seen == value(byte));
            let seen = store.get(&store.key(0, 0, &name), NOW, |item| is_one(item.value));
            assert!(thread.join().unwrap() && seen.unwrap_or(!was_there));
            let counters = store.tenant_stats(0).counters;
            assert_eq!((counters.gets(), counters.hits), (1, u64::from(seen.is_some())));
            assert_eq!(counters.sets, 1 + u64::from(was_there));
            looks_sound(&store);
        });
    }
}

/// Two counters that are only changed together, by threads that are alone.
struct Pair {
    gate: Gate,
    counts: [loom::sync::atomic::AtomicUsize; 2],
}

impl Pair {
    fn new() -> Arc<Self> {
        Arc::new(Self { gate: Gate::new(2), counts: Default::default() })
    }

    /// Both counts, loaded without further synchronisation.
    fn seen(&self) -> [usize; 2] {
        self.counts.each_ref().map(|count| count.load(Relaxed))
    }

    /// A batch that reads the counts.
    fn look(&self, thread: usize) -> [usize; 2] {
        self.gate.enter(thread, || false);
        let seen = self.seen();
        self.gate.leave(thread);
        seen
    }

    /// A batch that reads the counts, and then increments them alone.
    fn count(&self, thread: usize) -> [usize; 2] {
        self.gate.enter(thread, || false);
        let seen = self.seen();
        let alone = self.gate.close(thread, || false);
        self.counts
            .iter()
            .zip(self.seen())
            .for_each(|(count, seen)| count.store(seen + 1, Relaxed));
        drop(alone);
        self.gate.leave(thread);
        seen
    }
}

/// A batch is entirely before an exclusive section or after it.
#[test]
fn a_batch_sees_no_half_of_an_exclusive_section() {
    explore(|| {
        let pair = Pair::new();
        let other = Arc::clone(&pair);
        let thread = thread::spawn(move || other.count(1));
        let seen = pair.look(0);
        assert_eq!(seen[0], seen[1]);
        thread.join().unwrap();
        assert_eq!(pair.look(0), [1, 1]);
    });
}

/// Two threads that both want to be alone within their batches take turns.
#[test]
fn two_that_would_be_alone_do_not_wait_for_each_other() {
    explore(|| {
        let pair = Pair::new();
        let other = Arc::clone(&pair);
        let thread = thread::spawn(move || other.count(1));
        let seen = pair.count(0);
        assert_eq!(seen[0], seen[1]);
        let seen = thread.join().unwrap();
        assert_eq!(seen[0], seen[1]);
        assert_eq!(pair.look(0), [2, 2]);
    });
}
