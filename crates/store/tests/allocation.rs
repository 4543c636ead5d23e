//! The charged bytes outside pages equal the bytes taken from the allocator at every moment, and
//! all of them are given back. There is only one test, because all tests in this file would share
//! the counting allocator. Allocations of the test runner's thread are not counted.

use base::{Bytes, Micros, Prng};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use store::{Bounds, Change, Config, Now, Scope, Store};

/// Counts the bytes in use, and their maximum.
struct Counting;

static USED: AtomicI64 = AtomicI64::new(0);
static MOST: AtomicI64 = AtomicI64::new(0);

thread_local! {
    static IS_COUNTED: Cell<bool> = const { Cell::new(false) };
}

fn count(bytes: i64) {
    if IS_COUNTED.get() {
        MOST.fetch_max(USED.fetch_add(bytes, Relaxed) + bytes, Relaxed);
    }
}

// SAFETY: all requests are passed to the system's allocator; the counters allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const LIMIT: u64 = 2 << 20;

/// Bound on the store's uncharged allocations: lists of pages and of candidates, and the entries of
/// a chain that is being split.
const BESIDE: i64 = 32 << 10;

fn one_op(store: &Store, prng: &mut Prng, value: &[u8]) {
    let bytes = (prng.below(30_000) as u32).to_le_bytes();
    let key = store.key(prng.below(2) as u16, 0, &bytes);
    let now = Now { unix_ms: prng.below(1000), micros: Micros(0) };
    let len = match prng.below(50) {
        0 => prng.below(200_000),
        _ => prng.below(400),
    };
    let value = &value[..len as usize];
    let result = match prng.below(10) {
        0..6 => store.set(&key, value, None, now),
        6 => store.set(&key, value, Some(now.unix_ms + 10), now),
        7 => store.update(&key, now, |_| (Change::Append(&value[..value.len().min(100)]), ())),
        8 => store.update(&key, now, |_| (Change::Expire(Some(now.unix_ms + 20)), ())),
        _ => {
            store.delete(&key, now);
            Ok(())
        }
    };
    assert_eq!(result, Ok(()));
}

fn new_store() -> Store {
    let config = Config { shards: 4, maxmemory: Bytes(LIMIT), ..Config::default() };
    Store::new(Config { tenants: vec![Bounds::default(); 2], ..config })
}

#[test]
fn charged_is_taken_and_all_is_given_back() {
    IS_COUNTED.set(true);
    let value = vec![7; 200_000];
    // Allocations that the test's thread makes once for itself are not the store's.
    one_op(&new_store(), &mut Prng::new(1), &value);
    let before = USED.load(Relaxed);
    let store = new_store();
    // A tenant's fixed memory in a shard is charged from the start, and allocated when it is
    // needed.
    let (idle, fixed) = (USED.load(Relaxed), store.used().0 as i64);
    let pages = |store: &Store| -> i64 {
        IS_COUNTED.set(false);
        let classes = (0..2).flat_map(|tenant| store.size_class_stats(tenant, Now::default()));
        let bytes = classes.map(|class| class.bytes.0 as i64).sum();
        IS_COUNTED.set(true);
        bytes
    };
    let off = |store: &Store| {
        let charged = store.used().0 as i64 - fixed - pages(store);
        USED.load(Relaxed) - idle - charged
    };
    let mut prng = Prng::new(3);
    MOST.store(0, Relaxed);
    for i in 0..200_000 {
        one_op(&store, &mut prng, &value);
        assert!(store.used() <= Bytes(LIMIT), "{} of {LIMIT}", store.used());
        if i % 64 == 0 {
            let off = off(&store);
            assert!((0..BESIDE).contains(&off), "{off} bytes are not charged after {i} operations");
        }
    }
    assert!(store.used().0 > LIMIT * 9 / 10, "the limit was never near: {}", store.used());
    store.flush(Scope::tenant(0));
    let off = off(&store);
    assert!((0..BESIDE).contains(&off), "{off} bytes are not charged after a flush");
    drop(store);
    // Uncounted allocations made by looking at the classes are freed with the store.
    let left = USED.load(Relaxed) - before;
    assert!((-BESIDE..=0).contains(&left), "the store is gone, and {left} bytes of it are not");
}
