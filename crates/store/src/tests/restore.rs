//! Items of an earlier run come back, unless they are outdated.

use super::{at, audit, key, limited, saved};
use crate::{Change, Config, Saved, Scope, Store};
use base::{Bytes, Micros, Prng};
use std::collections::{HashMap, HashSet};

fn value(store: &Store, name: &[u8]) -> Option<Vec<u8>> {
    store.peek(&key(store, 0, name), at(0), |item| item.value.to_vec())
}

#[test]
fn an_item_is_as_it_was() {
    let store = limited(0, 2);
    store.begin_restore(0);
    let expires = Some(at(500).unix_ms);
    let old = Saved {
        kind: 2,
        expires,
        idle: 77_000,
        in_use: 90 << 10,
        hits: 9,
        penalty_class: 5,
        ..saved(b"v")
    };
    assert_eq!(store.restore(&key(&store, 0, b"a"), &old, at(0)), Ok(true));
    let seen = store.peek(&key(&store, 0, b"a"), at(500), |item| {
        (item.kind, item.expires, item.idle, item.in_use, item.hits, item.penalty_class)
    });
    assert_eq!(seen, Some((2, expires, 77_000, 90 << 10, 9, 5)));
    assert_eq!(store.restore(&key(&store, 0, b"dead"), &old, at(501)), Ok(false));
    let counters = store.tenant_stats(0).counters;
    assert_eq!((counters.sets, counters.hits, counters.misses), (0, 0, 0), "it is no request");
    store.end_restore();
    assert_eq!(store.restore(&key(&store, 0, b"b"), &saved(b"v"), at(0)), Ok(false), "too late");
    audit(&store);
}

/// A client deleted the item, failed to change it, flushed it, or wrote it and lost it again. In
/// each case the old value is outdated.
#[test]
fn what_clients_did_meanwhile_wins() {
    let store = limited(0, 4);
    store.begin_restore(0);
    let now = at(0);
    store.set(&key(&store, 0, b"written"), b"new", None, now).unwrap();
    store.delete(&key(&store, 0, b"deleted"), now);
    store.set(&key(&store, 0, b"short"), b"new", Some(now.unix_ms + 1), now).unwrap();
    assert!(store.get(&key(&store, 0, b"short"), at(2), |_| ()).is_none());
    let vain = store.update(&key(&store, 0, b"vain"), now, |_| (Change::Keep, ()));
    vain.unwrap();
    for name in [&b"written"[..], b"deleted", b"short", b"vain"] {
        assert_eq!(store.restore(&key(&store, 0, name), &saved(b"old"), at(2)), Ok(false));
    }
    assert_eq!(value(&store, b"written").unwrap(), b"new");
    assert_eq!(value(&store, b"vain"), None);
    store.flush(Scope::db(3));
    assert_eq!(store.restore(&store.key(0, 3, b"x"), &saved(b"old"), now), Ok(false));
    assert_eq!(store.restore(&store.key(0, 4, b"x"), &saved(b"old"), now), Ok(true));
    store.flush(Scope::ALL);
    assert_eq!(store.restore(&store.key(0, 5, b"x"), &saved(b"old"), now), Ok(false));
}

/// A walk during writes may meet a key twice.
#[test]
fn of_two_the_second_stays() {
    let store = limited(0, 1);
    store.begin_restore(0);
    for name in [&b"first"[..], b"second"] {
        assert_eq!(store.restore(&key(&store, 0, b"a"), &saved(name), at(0)), Ok(true));
    }
    assert_eq!(value(&store, b"a").unwrap(), b"second");
    assert_eq!(store.len(Scope::ALL).items, 1);
    audit(&store);
}

#[test]
fn penalties_come_back() {
    let store = limited(0, 1);
    store.restore_penalty(0, 20.0, Micros(5_000));
    let penalty = store.tenant_stats(0).penalty;
    assert_eq!(penalty.count, 20.0);
    assert!((4_700..5_300).contains(&penalty.mean.0), "{:?}", penalty.mean);
}

/// Random clients act while items are restored, under a limit that evicts. A read never finds a
/// value that a client has overwritten or removed, and most untouched items are there.
#[test]
fn no_old_value_is_ever_read() {
    for seed in 0..20 {
        let mut prng = Prng::new(seed);
        let limit = if seed % 2 == 0 { 0 } else { 100_000 };
        let store = limited(limit, 4);
        store.begin_restore(0);
        let (mut model, mut touched) = (HashMap::new(), HashSet::new());
        let keys = 2_000;
        let mut order: Vec<u64> = (0..keys).collect();
        order.sort_by_key(|&at| base::hash::mix(at ^ seed));
        for &old in &order {
            let name = old.to_le_bytes();
            let old_value = [b"old-".as_slice(), &name].concat();
            let back = store.restore(&key(&store, 0, &name), &saved(&old_value), at(0));
            assert!(back == Ok(false) || !touched.contains(&old), "{old} was touched");
            if back == Ok(true) {
                model.insert(old, old_value);
            }
            let some = prng.below(keys);
            let name = some.to_le_bytes();
            if prng.chance(0.3) {
                touched.insert(some);
                if prng.chance(0.5) {
                    let new = prng.next_u64().to_le_bytes().to_vec();
                    store.set(&key(&store, 0, &name), &new, None, at(0)).unwrap();
                    model.insert(some, new);
                } else {
                    store.delete(&key(&store, 0, &name), at(0));
                    model.remove(&some);
                }
            }
            if let Some(read) = value(&store, &name) {
                assert_eq!(Some(&read), model.get(&some), "{some}");
            }
        }
        store.end_restore();
        if limit == 0 {
            assert!(store.len(Scope::ALL).items as usize >= model.len() * 99 / 100);
        }
        audit(&store);
    }
}

/// Reads popular keys and a loop too long to fit, `reads` of them. Returns the share that missed.
fn read(store: &Store, prng: &mut Prng, from: u64, reads: u64) -> f64 {
    let mut misses = 0;
    for step in from..from + reads {
        let now = at(step / 10);
        let popular = (40_000.0 * prng.unit().powi(6)) as u64;
        let number = if step % 2 == 0 { popular } else { (1 << 40) + step / 2 % 20_000 };
        let name = number.to_le_bytes();
        let key = key(store, 0, &name);
        if store.get(&key, now, |_| ()).is_none() {
            misses += 1;
            store.set(&key, &[7; 100], None, now).unwrap();
        }
        if step % 512 == 0 {
            store.sweep(now, 64);
        }
    }
    f64::from(misses) / reads as f64
}

/// A restored store continues as if it had never stopped. Items are in their old classes, the
/// results of learning are known, and evicted keys are remembered.
#[test]
fn what_was_learnt_comes_back() {
    let made = || {
        let evictor = policy::parse("gittins").unwrap().evictor().unwrap();
        let maxmemory = Bytes(4 << 20);
        Store::new(Config { maxmemory, shards: 2, evictor, ..Config::default() })
    };
    let store = made();
    let reads = 200_000;
    read(&store, &mut Prng::new(1), 0, reads);
    let again = made();
    again.begin_restore(store.tick());
    let now = at(reads / 10);
    again.recall_keys(&store.known_keys().unwrap(), Some, now);
    let pieces = |store: &Store| {
        let piece = |store: &Store, at| store.evicted_keys(at);
        std::iter::successors(piece(store, (0, 0)), |last| piece(store, last.next()))
            .collect::<Vec<_>>()
    };
    let evicted = pieces(&store);
    for piece in &evicted {
        again.recall_evicted(piece, now);
    }
    assert!(evicted == pieces(&again), "all that was remembered");
    let beside = store.len(Scope::ALL).items as usize / store.shards();
    let mut cursor = 0;
    loop {
        cursor = store.scan(Scope::ALL, cursor, 64, now, |found| {
            let item = found.item;
            let saved = Saved {
                idle: item.idle,
                in_use: item.in_use,
                hits: item.hits,
                penalty_class: item.penalty_class,
                beside,
                ..saved(item.value)
            };
            again.restore(&key(&again, 0, found.key), &saved, now).unwrap();
        });
        if cursor == 0 {
            break;
        }
    }
    again.end_restore();
    let [learnt, known] = [&store, &again].map(|store| store.known_keys().unwrap().learnt);
    assert!(learnt == known, "all that was learnt");
    let parts = [&store, &again].map(|store| read(store, &mut Prng::new(2), reads, reads / 10));
    let [on, anew] = parts;
    assert!(anew < on + 0.01, "{on} went on, {anew} came back");
    audit(&again);
}
