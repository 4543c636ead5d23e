//! Reports of the store: the tap, the stopwatch, the counters, walks and draws.

use super::{at, key, limited};
use crate::{
    Bounds, Change, Config, Item, Key, Now, RemovalCause, RemovalListener, Scope, Store, charge,
};
use base::{Bytes, Filter, Micros, Sighting};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

fn store() -> Store {
    limited(0, 4)
}

#[test]
fn the_tap_tells_what_a_model_must_know() {
    let store = store();
    store.set_tap(0, Filter::ALL);
    let k = key(&store, 0, b"key");
    store.get(&k, at(0), |_| ());
    store.set(&k, b"value", Some(at(500).unix_ms), at(1)).unwrap();
    store.get(&k, at(2), |_| ());
    store.peek(&k, at(3), |_| ());
    store.delete(&k, at(4));
    store.delete(&k, at(5));
    let mut samples = vec![];
    assert_eq!(store.drain(&mut samples), 0);
    let chunk = store.sizes.charge(charge(3, 5, true) - crate::items::sizes::layout::TAG);
    let size = (chunk + crate::items::table::item_table::SHARE) as u32;
    let told: Vec<_> = samples.iter().map(|s| (s.sighting, s.size, s.ttl, s.time)).collect();
    let ms = Micros::from_millis;
    assert_eq!(
        told,
        [
            (Sighting::Miss, 0, ms(0), ms(0)),
            (Sighting::Write, size, ms(499), ms(1)),
            (Sighting::Hit, size, ms(498), ms(2)),
            (Sighting::Delete, size, ms(496), ms(4)),
        ]
    );
    assert!(samples.iter().all(|sample| sample.key == k.hash && sample.tenant == 0));
    assert_eq!((store.drain(&mut samples), samples.len()), (0, 4));
}

/// Evicted and expired items are reported while a caller polls, each once.
#[test]
fn removals_are_reported() {
    let store = limited(1 << 20, 2);
    let mut all = vec![];
    assert_eq!((store.take_removals(&mut all), all.len()), (0, 0));
    store.set(&key(&store, 0, b"short"), b"value", Some(at(5).unix_ms), at(0)).unwrap();
    store.set(&key(&store, 0, b"gone"), b"value", None, at(0)).unwrap();
    store.delete(&key(&store, 0, b"gone"), at(1));
    store.get(&key(&store, 0, b"short"), at(9), |_| ());
    assert_eq!(store.take_removals(&mut all), 0);
    assert_eq!(all.len(), 1, "what was removed on request is no news: {all:?}");
    assert_eq!((all[0].key.as_slice(), all[0].cause), (&b"short"[..], RemovalCause::Expired));
    all.clear();
    let write = |n: u32| store.set(&key(&store, 0, &n.to_le_bytes()), &[0; 500], None, at(10));
    (0..5_000).for_each(|n| write(n).unwrap());
    let lost = store.take_removals(&mut all);
    assert_eq!(lost + all.len() as u64, store.tenant_stats(0).counters.evicted);
    assert!(
        all.iter().all(|left| left.cause == RemovalCause::Evicted
            && left.size == 500
            && left.tenant == 0)
    );
    store.stop_removals();
    (5_000..9_000).for_each(|n| write(n).unwrap());
    all.clear();
    assert_eq!((store.take_removals(&mut all), all.len()), (0, 0), "nobody asked");
}

/// A listener receives every removed item, with its last value.
#[test]
fn a_listener_hears_of_all_that_leaves() {
    let store = limited(1 << 20, 2);
    let heard = Arc::new(Mutex::new(vec![]));
    let ear = Arc::clone(&heard);
    let listener: Arc<RemovalListener> = Arc::new(move |_, key: &[u8], value: &[u8], cause| {
        ear.lock().unwrap().push((key.to_vec(), value.to_vec(), cause));
    });
    store.listen(&listener);
    let set = |name: &[u8], value: &[u8], expires| {
        store.set(&key(&store, 0, name), value, expires, at(0)).unwrap();
    };
    set(b"a", b"in place", None);
    set(b"a", b"no change", Some(at(5).unix_ms));
    set(b"a", &[0; 300], Some(at(5).unix_ms));
    store.get(&key(&store, 0, b"a"), at(9), |_| ());
    set(b"b", b"grows", None);
    let append = |item: Option<&Item>| (Change::Append(b" on"), item.is_some());
    assert!(store.update(&key(&store, 0, b"b"), at(9), append).unwrap());
    store.delete(&key(&store, 0, b"b"), at(9));
    let too_long = vec![0; 2 << 20];
    set(b"c", b"stays", None);
    assert!(store.set(&key(&store, 0, b"c"), &too_long, None, at(9)).is_err());
    let causes = [
        RemovalCause::Replaced,
        RemovalCause::Replaced,
        RemovalCause::Expired,
        RemovalCause::Removed,
    ];
    let values: [&[u8]; 4] = [b"in place", b"no change", &[0; 300], b"grows on"];
    let told = std::mem::take(&mut *heard.lock().unwrap());
    assert_eq!(told.len(), 4, "{told:?}");
    for ((told, cause), value) in told.iter().zip(causes).zip(values) {
        assert_eq!((told.2, told.1.as_slice()), (cause, value));
    }
    (0..5_000u32).for_each(|n| set(&n.to_le_bytes(), &[7; 500], None));
    let told = std::mem::take(&mut *heard.lock().unwrap());
    assert_eq!(told.len() as u64, store.tenant_stats(0).counters.evicted);
    assert!(
        told.iter().all(|(_, value, cause)| *cause == RemovalCause::Evicted && value.len() != 1)
    );
    let mut asked = vec![];
    assert_eq!((store.take_removals(&mut asked), asked.len()), (0, 0), "nobody had asked");
    store.stop_removals();
    store.delete(&key(&store, 0, &4_999u32.to_le_bytes()), at(9));
    assert_eq!(heard.lock().unwrap().len(), 1, "who asks no more does not stop the listener");
}

#[test]
fn the_tap_keeps_to_its_filter_and_its_bound() {
    let store = store();
    let filter = Filter::with_rate(0.25);
    store.set_tap(0, filter);
    for n in 0..1000u32 {
        store.get(&key(&store, 0, &n.to_le_bytes()), at(u64::from(n)), |_| ());
    }
    let mut samples = vec![];
    assert_eq!(store.drain(&mut samples), 0);
    assert!((200..300).contains(&samples.len()), "{}", samples.len());
    assert!(samples.iter().all(|sample| filter.keeps(sample.key)));
    assert!(samples.is_sorted_by_key(|sample| sample.time), "shards are put in order of time");
    store.set_tap(0, Filter::ALL);
    for n in 0..200_000u32 {
        store.get(&key(&store, 0, &n.to_le_bytes()), at(0), |_| ());
    }
    samples.clear();
    let lost = store.drain(&mut samples);
    assert_eq!(samples.len() as u64 + lost, 200_000);
    assert!(samples.len() <= 1 << 16, "nobody drained, yet {} are held", samples.len());
}

#[test]
fn a_fetch_is_timed_from_the_miss_to_the_write() {
    let store = store();
    let us = |micros| Now { unix_ms: 1, micros: Micros(micros) };
    let k = key(&store, 0, b"key");
    store.get(&k, us(100), |_| ());
    store.set(&k, b"v", None, us(900)).unwrap();
    assert_eq!(store.tenant_stats(0).penalty.count, 0.0, "off to begin with");
    store.delete(&k, us(900));
    store.set_stopwatch(true);
    store.get(&k, us(1_000), |_| ());
    store.get(&k, us(1_400), |_| ());
    store.set(&k, b"v", None, us(3_000)).unwrap();
    let penalty = store.tenant_stats(0).penalty;
    assert_eq!((penalty.count, penalty.waiters), (1.0, 1.0));
    assert!((1_950..2_050).contains(&penalty.mean.0), "{penalty:?}");
    assert_eq!(store.peek(&k, us(0), |item| item.penalty_class), Some(8), "1270 to 2550 µs");
    store.set(&k, b"w", None, us(9_000)).unwrap();
    assert_eq!(store.tenant_stats(0).penalty.count, 1.0, "a write after a hit is no fetch");
    assert_eq!(store.peek(&k, us(0), |item| item.penalty_class), Some(8), "known ones stay");
    // SET NX and similar commands answer a miss like SET.
    let k = key(&store, 0, b"other");
    store.get(&k, us(0), |_| ());
    store.update(&k, us(50), |_| (Change::set(b"v", None), ())).unwrap();
    assert_eq!(store.tenant_stats(0).penalty.count, 2.0);
    for at in 0..198 {
        store.get(&key(&store, 0, format!("{at}").as_bytes()), us(0), |_| ());
        store.set(&key(&store, 0, format!("{at}").as_bytes()), b"v", None, us(50)).unwrap();
    }
    store.fade_penalties(0.5);
    assert_eq!(store.tenant_stats(0).penalty.count, 100.0);
    (0..20).for_each(|_| store.fade_penalties(0.5));
    let known = store.tenant_stats(0).penalty;
    assert!((known.count - 20.0).abs() < 1e-6, "the last are kept: {known:?}");
}

/// A miss in a script starts no fetch, but a write of the script ends a fetch that a client began.
#[test]
fn a_miss_of_a_script_starts_no_stopwatch() {
    let store = store();
    store.set_stopwatch(true);
    let us = |micros| Now { unix_ms: 1, micros: Micros(micros) };
    let client = key(&store, 0, b"key");
    let script = Key { is_untimed: true, ..client };
    store.get(&script, us(100), |_| ());
    store.set(&script, b"v", None, us(200)).unwrap();
    assert_eq!(store.tenant_stats(0).penalty.count, 0.0);
    store.delete(&client, us(300));
    store.get(&client, us(400), |_| ());
    store.get(&script, us(500), |_| ());
    store.set(&script, b"v", None, us(900)).unwrap();
    let penalty = store.tenant_stats(0).penalty;
    assert_eq!((penalty.count, penalty.waiters), (1.0, 0.0));
    assert_eq!(store.tenant_stats(0).counters.misses, 3, "it is a miss all the same");
}

#[test]
fn counters_count() {
    let store = store();
    let k = key(&store, 0, b"key");
    store.get(&k, at(0), |_| ());
    store.set(&k, b"1", Some(at(10).unix_ms), at(0)).unwrap();
    store.get(&k, at(1), |_| ());
    store.peek(&k, at(1), |_| ());
    assert!(store.touch(&k, at(1)));
    let read = store.get_and_update(&k, at(1), |item| (Change::Keep, item.is_some()));
    assert_eq!(read, Ok(true));
    store.get(&k, at(11), |_| ());
    assert!(!store.touch(&k, at(11)));
    store.set(&k, b"2", None, at(12)).unwrap();
    assert!(store.delete(&k, at(12)) && !store.delete(&k, at(12)));
    let counters = store.tenant_stats(0).counters;
    assert_eq!((counters.hits, counters.misses, counters.misses_expired), (2, 2, 1));
    assert_eq!((counters.sets, counters.deletes, counters.expired), (2, 1, 1));
}

/// Reads by tools do not count as workload.
#[test]
fn looking_changes_nothing() {
    let store = store();
    let k = key(&store, 0, b"key");
    store.set(&k, b"value", None, at(0)).unwrap();
    store.set_tap(0, Filter::ALL);
    let look = || store.peek(&k, at(0), |item| (item.idle, item.hits));
    let before = (look(), store.tenant_stats(0));
    store.scan(Scope::ALL, 0, 100, at(0), |_| ());
    store.random_key(Scope::ALL, at(0), |_| ());
    assert_eq!((look(), store.tenant_stats(0)), before);
    let mut samples = vec![];
    store.drain(&mut samples);
    assert!(samples.is_empty());
}

/// Items do not age by reads that miss, with or without a stopwatch, but by the writes that fill
/// them. Otherwise ages would grow with the misses.
#[test]
fn a_miss_and_its_fill_are_one_access() {
    for timed in [false, true] {
        let store = limited(1 << 20, 1);
        store.set_stopwatch(timed);
        let k = key(&store, 0, b"key");
        store.set(&k, b"value", None, at(0)).unwrap();
        for n in 0..10u32 {
            let bytes = n.to_le_bytes();
            let other = key(&store, 0, &bytes);
            for _ in 0..20 {
                assert!(store.get(&other, at(0), |_| ()).is_none());
            }
            store.set(&other, b"value", None, at(0)).unwrap();
        }
        assert_eq!(store.peek(&k, at(0), |item| item.idle), Some(10), "{timed}");
        assert!(store.get(&k, at(0), |_| ()).is_some());
        assert_eq!(store.peek(&k, at(0), |item| item.idle), Some(0), "{timed}");
    }
}

#[test]
fn scopes_select() {
    let tenants = vec![Bounds::default(); 2];
    let store = Store::new(Config { tenants, ..Config::default() });
    for n in 0..600u32 {
        let bytes = n.to_le_bytes();
        let key = store.key((n % 2) as u16, (n % 3) as u8, &bytes);
        store.set(&key, b"v", None, at(0)).unwrap();
    }
    let both = Scope { tenant: Some(1), db: Some(2) };
    for (scope, expected) in
        [(Scope::ALL, 600), (Scope::db(1), 200), (Scope::tenant(0), 300), (both, 100)]
    {
        assert_eq!(store.len(scope).items, expected, "{scope:?}");
        let (mut cursor, mut shown) = (0, 0);
        loop {
            cursor = store.scan(scope, cursor, 10, at(0), |found| {
                assert!(scope.db.is_none_or(|db| db == found.db));
                assert!(scope.tenant.is_none_or(|tenant| tenant == found.tenant));
                shown += 1;
            });
            if cursor == 0 {
                break;
            }
        }
        assert_eq!(shown, expected, "{scope:?}");
        let drawn = store.random_key(scope, at(0), |found| (found.tenant, found.db)).unwrap();
        assert!(scope.db.is_none_or(|db| db == drawn.1));
        assert!(scope.tenant.is_none_or(|tenant| tenant == drawn.0));
    }
    assert_eq!(store.flush(both), 100);
    assert_eq!(store.len(Scope::ALL).items, 500);
    assert_eq!(store.random_key(both, at(0), |_| ()), None);
    assert_eq!(store.flush(Scope::db(0)), 200);
    assert_eq!(store.flush(Scope::ALL), 300);
    assert!(store.is_empty());
}

#[test]
fn random_keys_are_spread() {
    let store = store();
    for n in 0..100u8 {
        store.set(&key(&store, 0, &[n]), b"v", None, at(0)).unwrap();
    }
    let mut counts = BTreeMap::new();
    for _ in 0..20_000 {
        let n = store.random_key(Scope::ALL, at(0), |found| found.key[0]).unwrap();
        *counts.entry(n).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 100);
    // Shards are drawn with equal probability, and have 17 to 33 items here.
    assert!(counts.values().all(|n| (80..400).contains(n)), "{counts:?}");
}

#[test]
fn tenants_can_be_added() {
    let store = limited(1 << 20, 4);
    let added = store.add_tenant(Bounds::default());
    assert_eq!((added, store.tenants()), (1, 2));
    for n in 0..20_000u32 {
        store.set(&key(&store, added, &n.to_le_bytes()), &[0; 100], None, at(0)).unwrap();
    }
    assert!(store.tenant_stats(added).counters.evicted > 0);
    assert!(store.used() <= store.limit());
    assert_eq!(store.tenant_stats(77).used, Bytes(0), "a number that was never given");
    super::audit(&store);
}
