//! Large new values are declined if the writer allows it and the victims would be worth more.

use super::{at, key};
use crate::{Config, Key, Store};
use base::Bytes;

/// A full store of small items, all of which are read repeatedly.
fn full() -> Store {
    let evictor = policy::parse("gittins").unwrap().evictor().unwrap();
    let maxmemory = Bytes(1 << 20);
    let store = Store::new(Config { evictor, maxmemory, shards: 1, ..Config::default() });
    for round in 0..40u64 {
        for number in 0..1_500u64 {
            let now = at(round * 1_500 + number);
            let bytes = number.to_le_bytes();
            let small = key(&store, 0, &bytes);
            if store.get(&small, now, |_| ()).is_none() {
                store.set(&small, &[b'x'; 800], None, now).unwrap();
            }
        }
        store.sweep(at((round + 1) * 1_500), 1_000);
    }
    assert!(store.tenant_stats(0).counters.evicted > 1_000, "it is full");
    store
}

#[test]
fn a_large_new_value_is_declined_only_where_the_writer_allows_it() {
    let (store, now, large) = (full(), at(60_001), vec![b'x'; 20_000]);
    let offered = |bytes| Key { may_be_declined: true, ..key(&store, 0, bytes) };
    let is_there = |key: &Key| store.get(key, now, |_| ()).is_some();
    let declined = || store.tenant_stats(0).counters.not_admitted;
    let new = offered(b"new");
    store.set(&new, &large, None, now).unwrap();
    assert_eq!((is_there(&new), declined()), (false, 1));
    store.set(&key(&store, 0, b"relied on"), &large, None, now).unwrap();
    assert!(is_there(&key(&store, 0, b"relied on")), "nobody said that it may be declined");
    let small = offered(b"small");
    store.set(&small, b"1", None, now).unwrap();
    assert!(is_there(&small), "a small value competes after it has entered");
    store.set(&small, &large, None, now).unwrap();
    assert!(is_there(&small), "what would be read otherwise is old");
    store.set_admission(false);
    let other = offered(b"other");
    store.set(&other, &large, None, now).unwrap();
    assert_eq!((is_there(&other), declined()), (true, 1));
}
