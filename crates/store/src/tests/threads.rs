//! Two threads and a watcher. The final counts add up, and the watcher never sees a use above the
//! limit.

use super::{at, audit, key};
use crate::{Bounds, Change, Config, Error, Evictor, Move, Scope, SizeClass, Slab, Store};
use base::{Bytes, Filter, Prng, TenantId};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

const OPS: u64 = 150_000;

fn work(store: &Store, seed: u64, len_max: u64) -> u64 {
    let mut prng = Prng::new(seed);
    let mut refused = 0;
    for i in 0..OPS {
        let (tenant, number) = (prng.below(2) as u16, prng.below(5_000) as u32);
        let bytes = number.to_le_bytes();
        let (key, now) = (key(store, tenant, &bytes), at(i / 1000));
        let len = prng.below(len_max) as usize;
        let value = vec![number as u8; len];
        let mut result = Ok(());
        match prng.below(20) {
            0..8 => result = store.set(&key, &value, None, now),
            8 => result = store.set(&key, &value, Some(now.unix_ms + prng.below(20)), now),
            9 => {
                let more = &value[..len.min(100)];
                result = store.update(&key, now, |_| (Change::Append(more), ()));
            }
            10 => _ = store.delete(&key, now),
            11 => {
                let [from, to] = std::array::from_fn(|_| SizeClass {
                    tenant: prng.below(2) as TenantId,
                    class: prng.below(12) as usize,
                });
                store.move_pages(&[Move { from, to, pages: 1 }]);
                store.sweep(now, 16);
            }
            12 if i % 10_000 == 0 => _ = store.flush(Scope::tenant(tenant)),
            _ => {
                let sound = store
                    .get(&key, now, |item| item.value.iter().all(|&byte| byte == number as u8));
                assert_ne!(sound, Some(false), "another key's bytes");
            }
        }
        refused += u64::from(result == Err(Error::Full));
        assert!(!matches!(result, Err(Error::TooLarge { .. })));
    }
    refused
}

fn run(config: Config, len_max: u64) -> (Store, u64) {
    let tenants = vec![Bounds { min: Bytes(64 << 10), max: None }; 2];
    let made = Store::new(Config { tenants, ..config });
    let store = &made;
    store.set_tap(0, Filter::with_rate(0.1));
    store.set_stopwatch(true);
    let done = AtomicBool::new(false);
    let done = &done;
    let refused = thread::scope(|scope| {
        let watcher = scope.spawn(move || {
            let mut most = Bytes(0);
            while !done.load(Relaxed) {
                most = most.max(store.used());
            }
            most
        });
        let work = |seed| scope.spawn(move || work(store, seed, len_max));
        let workers = [work(1), work(2)];
        let refused = workers.map(thread::ScopedJoinHandle::join);
        done.store(true, Relaxed);
        let refused = refused.into_iter().map(Result::unwrap).sum();
        let most = watcher.join().unwrap();
        assert!(most <= store.limit() && most.0 > 0, "{most}");
        refused
    });
    audit(store);
    (made, refused)
}

#[test]
fn small_values_in_many_shards() {
    let config = Config { maxmemory: Bytes(MIB), shards: 16, ..Config::default() };
    let (store, refused) = run(config, 300);
    assert_eq!(refused, 0);
    assert!(store.tenant_stats(0).counters.evicted > 0);
}

/// Two threads take pages, move them between classes and give them back.
#[test]
fn pages_among_threads() {
    let slab = Slab { page: 4 << 10, ..Slab::default() };
    let config = Config { maxmemory: Bytes(MIB), shards: 4, slab, ..Config::default() };
    let (store, refused) = run(config, 300);
    assert_eq!(refused, 0);
    assert!(store.tenant_stats(0).counters.evicted > 0);
    let (store, _) = run(Config { maxmemory: Bytes(2 * MIB), slab, ..Config::default() }, 20_000);
    store.flush(Scope::ALL);
    assert_eq!(store.used(), Bytes(store.budget.fixed_bytes(2)), "all pages are given back");
}

/// Each of two threads chooses victims ahead, in a class of many items, and meets the other's
/// victims. Then most pages move to a class of larger items.
#[test]
fn victims_looked_for_by_two_threads() {
    let slab = Slab { page: 4 << 10, ..Slab::default() };
    let evictor = Evictor::lhd(8);
    let config =
        Config { maxmemory: Bytes(2 * MIB), shards: 1, slab, evictor, ..Config::default() };
    let store = &Store::new(config);
    for len in [20, 1500] {
        thread::scope(|scope| {
            for seed in [1, 2] {
                scope.spawn(move || {
                    let mut prng = Prng::new(seed);
                    for n in 0..60_000u64 {
                        let key = format!("{len}:{}", prng.below(60_000));
                        let key = store.key(0, 0, key.as_bytes());
                        if store
                            .get(&key, at(n), |item| assert_eq!(item.value.len(), len))
                            .is_none()
                        {
                            store.set(&key, &vec![1; len], None, at(n)).unwrap();
                        }
                        if n % 1000 == 0 {
                            store.sweep(at(n), 1);
                        }
                    }
                });
            }
        });
    }
    assert!(store.tenant_stats(0).counters.evicted > 10_000);
    assert!(store.used() <= store.limit());
}

/// Few items fill the store, so that a shard often has nothing to give and evicts elsewhere.
#[test]
fn few_large_values_find_room_in_other_shards() {
    for shards in [2, 16] {
        let config = Config { maxmemory: Bytes(MIB), shards, ..Config::default() };
        let (_, refused) = run(config, 100_000);
        // If a thread is suspended while it holds a shard, that shard's items cannot be evicted.
        assert!(refused <= 50, "{shards} shards: {refused}");
    }
}

/// Two threads read and write one number: no update may be lost.
#[test]
fn updates_are_not_torn_apart() {
    let evictor = Evictor { k: 1, pool: false, ..Evictor::default() };
    let store = Store::new(Config { evictor, ..Config::default() });
    let key = key(&store, 0, b"counter");
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..20_000 {
                    let add = |item: Option<&crate::Item>| {
                        let old = item
                            .map_or(0, |item| u64::from_le_bytes(item.value.try_into().unwrap()));
                        (Change::set_owned((old + 1).to_le_bytes().to_vec(), None), ())
                    };
                    store.update(&key, at(0), add).unwrap();
                }
            });
        }
    });
    let count = store.get(&key, at(0), |item| u64::from_le_bytes(item.value.try_into().unwrap()));
    assert_eq!(count, Some(40_000));
}

const MIB: u64 = 1 << 20;

/// Reads recorded in several reader slots add up, also while another thread replaces the value.
/// Every reader sees a whole value.
#[test]
fn readers_of_one_item_are_all_counted() {
    let config =
        Config { shards: 1, reader_slots: 2, evictor: Evictor::lhd(8), ..Config::default() };
    for slab in [Slab { page: 4 << 10, ..Slab::default() }, Slab::default()] {
        let store = &Store::new(Config { slab, ..config.clone() });
        let key = key(store, 0, b"one");
        let each = if cfg!(miri) { 60 } else { 50_000 };
        store.set(&key, &[7; 40], None, at(0)).unwrap();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(move || {
                    for n in 0..each {
                        let is_whole = |value: &[u8]| value == [value[0]; 40];
                        let sound = store.get(&key, at(n), |item| is_whole(item.value));
                        assert_eq!(sound, Some(true));
                    }
                });
            }
            scope.spawn(move || {
                let set = |n| store.set(&key, &[n as u8; 40], None, at(n));
                (0..each / 8).for_each(|n| set(n).unwrap());
            });
        });
        let counters = store.tenant_stats(0).counters;
        assert_eq!((counters.hits, counters.misses), (3 * each, 0));
        assert_eq!(counters.sets, 1 + each / 8);
    }
}

/// Recorded reads and in-place replacements have the same result as operations that hold the shard
/// exclusively, as for keys that models sample.
#[test]
fn what_is_noted_comes_to_the_same() {
    let evictor = Evictor::lhd(8);
    let config = Config {
        maxmemory: Bytes(MIB * 5 / 8),
        shards: 2,
        reader_slots: 2,
        evictor,
        ..Config::default()
    };
    for slab in [Slab::default(), Slab { page: 4 << 10, ..Slab::default() }] {
        let [noted, alone] = [0.0, 1.0].map(|rate| {
            let store = Store::new(Config { slab, ..config.clone() });
            store.set_tap(0, Filter::with_rate(rate));
            let mut prng = Prng::new(5);
            for n in 0..if cfg!(miri) { 300 } else { 60_000 } {
                let number = prng.below(9000).min(prng.below(9000)) as u32;
                let (bytes, now) = (number.to_le_bytes(), at(n / 1000));
                let key = key(&store, 0, &bytes);
                let len = 60 + usize::from(prng.below(16) == 0) * prng.below(100) as usize;
                match prng.below(8) {
                    0 => store.set(&key, &vec![n as u8; len], Some(now.unix_ms + 9), now).unwrap(),
                    1..4 => store.set(&key, &vec![n as u8; len], None, now).unwrap(),
                    _ => _ = store.get(&key, now, |_| ()),
                }
                if n % 500 == 0 {
                    store.sweep(now, 8);
                }
            }
            let mut items = vec![];
            store.scan(Scope::ALL, 0, usize::MAX / 8, at(60), |found| {
                let (value, idle) = (found.item.value.to_vec(), found.item.idle);
                items.push((found.key.to_vec(), value, idle, found.item.hits));
            });
            (store.tenant_stats(0).counters, items)
        });
        assert_eq!(noted.0, alone.0);
        assert!(cfg!(miri) || noted.0.evicted > 1000 && noted.0.sets > 20_000, "{:?}", noted.0);
        assert_eq!(noted.1, alone.1);
    }
}
