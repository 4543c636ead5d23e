//! A class fitted to items of one size.

use super::{at, audit, key};
use crate::{Config, Scope, Store};
use base::{Bytes, Prng};
use std::collections::HashMap;

fn store(mib: u64) -> Store {
    Store::new(Config { maxmemory: Bytes(mib << 20), shards: 1, ..Config::default() })
}

fn set(store: &Store, number: u64, len: usize) {
    let bytes = number.to_ne_bytes();
    let value = vec![number as u8; len];
    store.set(&key(store, 0, &bytes), &value, None, at(0)).unwrap();
}

fn is_fitted(store: &Store) -> bool {
    let mut is = false;
    store.each_shard(|shard| is = shard.contents().tenants[0].pages.is_fitted());
    is
}

/// Every item is in the page that its contents determine, and every byte is accounted for.
fn check(store: &Store) {
    store.each_shard(|shard| {
        let tenant = &shard.contents().tenants[0];
        tenant.table.each(|item| assert!(tenant.pages.holds(item)));
    });
    audit(store);
}

/// Items fill nine tenths of their pages, whatever their size.
#[test]
fn items_of_one_size_leave_little_over() {
    for len in [60, 200, 500, 1_030, 4_096, 8_192] {
        let store = store(if cfg!(miri) { 1 } else { 12 });
        let many = (16 << 20) / len as u64;
        (0..if cfg!(miri) { 600 } else { many }).for_each(|number| set(&store, number, len));
        check(&store);
        if !cfg!(miri) {
            let (items, mut pages) = (store.len(Scope::ALL).items, 0);
            store.each_shard(|shard| pages = shard.contents().tenants[0].pages.bytes());
            let taken = items * (crate::charge(8, len, false));
            assert!(taken * 10 > pages * 9, "{len}: {taken} of {pages}");
        }
    }
}

/// Sizes that vary within a class, or over several classes, do not cause a fit.
#[test]
fn items_of_many_sizes_stay_as_they_are() {
    let lens: [fn(u64) -> usize; 2] =
        [|number| 400 + number as usize % 100, |number| [40, 300, 2_000][number as usize % 3]];
    for len in lens {
        let store = store(4);
        (0..8_000).for_each(|number| set(&store, number, len(number)));
        assert!(!is_fitted(&store));
        check(&store);
    }
}

/// Nine in ten items have one size. Then they are overwritten with slightly longer and shorter
/// values, and every value stays as last written.
#[test]
fn what_is_written_stays() {
    let store = store(8);
    let (mut prng, mut lens) = (Prng::new(1), HashMap::new());
    for step in 0..if cfg!(miri) { 900 } else { 20_000 } {
        let number = prng.below(3_000);
        let len = match (step < 800, prng.below(20)) {
            (_, 0) => 420 + prng.below(200) as usize,
            (true, _) => 400,
            (false, more) => 390 + more as usize,
        };
        set(&store, number, len);
        lens.insert(number, len);
    }
    assert!(is_fitted(&store));
    check(&store);
    for (number, len) in lens {
        let bytes = number.to_ne_bytes();
        let value = store.get(&key(&store, 0, &bytes), at(0), |item| item.value.to_vec());
        assert_eq!(value, Some(vec![number as u8; len]));
    }
    store.flush(Scope::ALL);
    assert!(!is_fitted(&store));
    audit(&store);
}
