//! Compression: by price, of values that shrink, and of nothing else; corrupt values are misses.

use super::{at, audit, key};
use crate::compression::form::PLAIN_MAX;
use crate::{Change, Compression, CompressionSettings, Config, Error, Now, Scope, Store};
use base::{Bytes, Micros, Prng};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A document of about 600 bytes, alike for all keys in most of its text.
pub(super) fn document(n: u64, version: u64) -> Vec<u8> {
    let mut prng = Prng::new(n * 1_000 + version);
    let mut text = format!(r#"{{"id":{n},"version":{version},"entries":["#);
    for entry in 0..7 {
        let (score, user) = (prng.below(10_000), prng.below(500));
        let author = format_args!(r#""author":"user-{user}","state":"published""#);
        write!(text, r#"{{"position":{entry},"score":{score},{author}}},"#).unwrap();
    }
    text += r#"{"position":"last"}]}"#;
    text.into_bytes()
}

pub(super) fn noise(n: u64, _: u64) -> Vec<u8> {
    let mut prng = Prng::new(n);
    (0..600).map(|_| prng.below(256) as u8).collect()
}

/// A store of one shard whose misses were measured to cost 5 ms.
pub(super) fn store(maxmemory: u64, mode: Compression, weight: f64) -> Store {
    let config = Config { maxmemory: Bytes(maxmemory), shards: 2, seed: 7, ..Config::default() };
    let store = Store::new(config);
    store.set_compression(CompressionSettings { mode, weight });
    store
}

fn compress(store: &Store, now: Now) {
    for _ in 0..5 {
        if !store.compress(now, 1 << 40) {
            return;
        }
    }
}

/// Plays a cache-aside client over keys with probabilities falling as rank^-0.8, and returns the
/// misses of the second half.
pub(super) fn misses(store: &Store, keys: usize, value: fn(u64, u64) -> Vec<u8>) -> u64 {
    let mut sum = 0.0;
    let weight = |rank: usize| (rank as f64).powf(-0.8);
    let below: Vec<f64> = (1..=keys)
        .map(|rank| {
            sum += weight(rank);
            sum
        })
        .collect();
    let (mut prng, mut missed, accesses) = (Prng::new(3), 0, 120_000u64);
    for n in 0..accesses {
        let now = at(n);
        let u = prng.unit() * sum;
        let number = below.partition_point(|&below| below < u) as u64;
        let name = format!("key:{number}");
        let key = key(store, 0, name.as_bytes());
        let want = value(number, 0);
        if let Some(held) = store.get(&key, now, |item| item.value.to_vec()) {
            assert_eq!(held, want, "{name}");
        } else {
            missed += u64::from(n >= accesses / 2);
            let penalty = Micros(5_000);
            store.set_priced(&key, &want, None, penalty, now).unwrap();
        }
        if n % 200 == 0 {
            store.sweep(now, 64);
            compress(store, now);
        }
    }
    audit(store);
    missed
}

#[test]
fn documents_miss_less() {
    let no = store(2 << 20, Compression::No, 1.0);
    let auto = store(2 << 20, Compression::Auto, 1.0);
    let [without, with] = [&no, &auto].map(|store| misses(store, 12_000, document));
    let stats = auto.compression_stats(0);
    assert!(stats.items > 500 && stats.stored.0 * 2 < stats.plain.0, "{stats:?}");
    assert!(with * 10 < without * 8, "{with} of {without} misses, {stats:?}");
    assert!(stats.corrupt == 0 && stats.reads > 0, "{stats:?}");
    assert_eq!(no.compression_stats(0).items, 0);
    auto.flush(Scope::ALL);
    assert_eq!(auto.compression_stats(0).items, 0);
}

/// While memory is short, writes compress what the thread would compress soon: new items and
/// compressed ones, but no plain item, which may be hot, and no part of a value.
#[test]
fn writes_compress_while_memory_is_short() {
    let store = store(1 << 20, Compression::Auto, 0.0);
    misses(&store, 12_000, document);
    // The charge of a compressed item is less than its plain length.
    let is_plain = |name: &str| {
        let key = key(&store, 0, name.as_bytes());
        store.glance(&key, at(0), |item| item.charge().0 >= item.value_len() as u64).unwrap()
    };
    let write = |name: &str, n| {
        store.set(&key(&store, 0, name.as_bytes()), &document(n, 1), None, at(0)).unwrap();
        is_plain(name)
    };
    assert!(!write("new", 1) && !write("new", 2), "it is compressed, and stays so");
    let new = key(&store, 0, b"new");
    assert_eq!(store.peek(&new, at(0), |item| item.value.to_vec()), Some(document(2, 1)));
    store.update(&new, at(0), |_| (Change::Append(b"more"), ())).unwrap();
    assert!(is_plain("new") && write("new", 3), "a plain item stays plain");
    store.set_compression(CompressionSettings { mode: Compression::No, weight: 0.0 });
    assert!(write("later", 4));
    audit(&store);
}

#[test]
fn a_cache_that_fits_compresses_nothing() {
    let store = store(20 << 20, Compression::Auto, 1.0);
    misses(&store, 12_000, document);
    assert_eq!(store.compression_stats(0).writes, 0);
}

#[test]
fn noise_stays_plain() {
    let no = store(2 << 20, Compression::No, 1.0);
    let auto = store(2 << 20, Compression::Auto, 1.0);
    let [without, with] = [&no, &auto].map(|store| misses(store, 12_000, noise));
    let stats = auto.compression_stats(0);
    assert!(stats.items == 0 && stats.writes < 100, "{stats:?}");
    assert!(with.abs_diff(without) * 20 < without, "{with} and {without}");
}

/// Values of many lengths, of which a quarter of the bytes are redundant.
fn dense(n: u64, _: u64) -> Vec<u8> {
    let mut prng = Prng::new(n);
    let len = 100 + prng.below(3_000);
    let byte = |at| if at % 4 == 0 { b'.' } else { prng.below(256) as u8 };
    (0..len).map(byte).collect()
}

/// A page that is evicted to make room for compressed items must be worth it.
#[test]
fn a_small_cache_of_values_that_hardly_shrink_misses_no_more() {
    let no = store(2 << 20, Compression::No, 1.0);
    let auto = store(2 << 20, Compression::Auto, 0.0);
    let [without, with] = [&no, &auto].map(|store| misses(store, 4_000, dense));
    assert!(with * 10 < without * 11, "{with} of {without}, {:?}", auto.compression_stats(0));
}

#[test]
fn a_high_weight_of_processor_time_compresses_less() {
    let items = |weight| {
        let store = store(1 << 20, Compression::Auto, weight);
        misses(&store, 12_000, document);
        store.compression_stats(0).items
    };
    let [cheap, dear, too_dear] = [0.0, 1_000.0, 1e9].map(items);
    assert!(cheap > dear && dear > too_dear && too_dear == 0, "{cheap} {dear} {too_dear}");
}

/// Every kind of write and read, while walks compress with no regard to cost.
#[test]
fn a_store_that_compresses_is_a_map_that_forgets() {
    for seed in 0..4 {
        let store = store(1 << 20, Compression::Auto, 0.0);
        let mut held = BTreeMap::new();
        let mut prng = Prng::new(seed);
        for step in 0..60_000u64 {
            let now = at(step);
            let number = prng.below(3_000);
            let name = format!("k{number}");
            let key = key(&store, 0, name.as_bytes());
            let read = store.peek(&key, now, |item| item.value.to_vec());
            let glance = store.glance(&key, now, |item| (item.value_len(), item.kind));
            assert_eq!(glance.map(|(len, _)| len), read.as_ref().map(Vec::len));
            match (&read, held.get(&number)) {
                (None, _) => _ = held.remove(&number),
                (read, held) => assert_eq!(read.as_ref(), held, "{name} at {step}"),
            }
            let value = document(number, step);
            match prng.below(12) {
                0..6 => {
                    let done = store.set_priced(&key, &value, None, Micros(9_000), now);
                    done.unwrap();
                    held.insert(number, value);
                }
                6 => {
                    let done = store.update(&key, now, |_| (Change::Append(b"more"), ()));
                    done.unwrap();
                    held.entry(number).or_default().extend(b"more");
                }
                7 => {
                    let patch =
                        |_: Option<&crate::Item<'_>>| (Change::Patch(3, b"patch"[..].into()), ());
                    store.update(&key, now, patch).unwrap();
                    if let Some(part) = held.get_mut(&number).and_then(|v| v.get_mut(3..8)) {
                        part.copy_from_slice(b"patch");
                    }
                }
                8 => {
                    let far = Change::Expire(Some(now.unix_ms + 1_000_000_000));
                    store.update(&key, now, |_| (far, ())).unwrap();
                }
                9 => {
                    store.delete(&key, now);
                    held.remove(&number);
                }
                _ => {}
            }
            if step % 100 == 0 {
                compress(&store, now);
            }
            if step % 5_000 == 0 {
                audit(&store);
            }
        }
        let stats = store.compression_stats(0);
        assert!(stats.items > 0 && stats.corrupt == 0, "{stats:?}");
        let mut shown = 0;
        store.scan_values(Scope::ALL, 0, 1 << 20, at(0), |found| {
            let number = std::str::from_utf8(&found.key[1..]).unwrap().parse().unwrap();
            assert_eq!(held.get(&number).map(Vec::as_slice), Some(found.item.value));
            shown += 1;
        });
        assert_eq!(shown, store.len(Scope::ALL).items);
        store.flush(Scope::ALL);
        audit(&store);
    }
}

#[test]
fn threads_see_whole_values_while_walks_compress() {
    let store = store(1 << 20, Compression::Auto, 0.0);
    std::thread::scope(|scope| {
        let store = &store;
        let writers = [0, 1, 2].map(|thread| {
            scope.spawn(move || {
                let mut prng = Prng::new(thread);
                for step in 0..40_000 {
                    let now = at(step);
                    let number = prng.below(3_000);
                    let name = format!("k{number}");
                    let key = key(store, 0, name.as_bytes());
                    let want = document(number, 0);
                    if let Some(is_same) = store.get(&key, now, |item| item.value == want) {
                        assert!(is_same, "{name}");
                    } else {
                        let done = store.set_priced(&key, &want, None, Micros(9_000), now);
                        done.unwrap();
                    }
                }
            })
        });
        for step in 0.. {
            if writers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                break;
            }
            store.compress(at(step), 1 << 40);
            std::thread::yield_now();
        }
    });
    let stats = store.compression_stats(0);
    assert!(stats.items > 0 && stats.corrupt == 0, "{stats:?}");
    audit(&store);
}

fn forced() -> Store {
    let store = store(0, Compression::Always, 1.0);
    let value = document(1, 0);
    let key = key(&store, 0, b"key");
    store.set(&key, &value, Some(at(100).unix_ms), at(0)).unwrap();
    assert_eq!(store.compression_stats(0).items, 1);
    store
}

#[test]
fn a_corrupt_value_is_a_miss() {
    for by in ["get", "peek", "update", "get_and_update", "edit"] {
        let store = forced();
        let key = key(&store, 0, b"key");
        for shard in &store.shards {
            let mut shard = shard.write_drained();
            let contents = shard.contents_mut();
            if let Some(place) = contents.place(&key) {
                let mut item = contents.tenant_mut(0).table.get_mut(place);
                let middle = item.view().value().len() / 2;
                assert!(item.patch(3, &vec![0xff; middle]));
            }
        }
        let is_some = match by {
            "get" => store.get(&key, at(1), |_| ()).is_some(),
            "peek" => store.peek(&key, at(1), |_| ()).is_some(),
            "update" => store.update(&key, at(1), |item| (Change::Keep, item.is_some())).unwrap(),
            "edit" => store.edit(&key, at(1), |edit| edit.item().is_some()),
            _ => {
                let look = |item: Option<&crate::Item<'_>>| (Change::Keep, item.is_some());
                store.get_and_update(&key, at(1), look).unwrap()
            }
        };
        assert!(!is_some, "{by}");
        let stats = store.compression_stats(0);
        assert!(stats.corrupt >= 1 && stats.items == 0, "{by}: {stats:?}");
        let counters = store.tenant_stats(0).counters;
        let is_read = by.starts_with("get");
        assert_eq!((counters.hits, counters.misses), (0, u64::from(is_read)), "{by}");
        assert_eq!(store.len(Scope::ALL).items, 0);
        audit(&store);
    }
}

#[test]
fn a_glance_tells_the_length_without_the_value() {
    let store = forced();
    let key = key(&store, 0, b"key");
    let reads = store.compression_stats(0).reads;
    let seen = store.glance(&key, at(1), |item| (item.value_len(), item.charge(), item.expires));
    let (len, charge, expires) = seen.unwrap();
    assert_eq!((len, expires), (document(1, 0).len(), Some(at(100).unix_ms)));
    assert!(charge.0 < len as u64, "the charge is that of the stored form");
    assert_eq!(store.compression_stats(0).reads, reads);
    assert_eq!(store.peek(&key, at(101), |_| ()), None, "it expires as ever");
}

#[test]
fn a_value_too_long_to_decompress_at_once_stays_plain() {
    let store = store(0, Compression::Always, 1.0);
    for len in [PLAIN_MAX, PLAIN_MAX + 1] {
        let key = key(&store, 0, b"key");
        store.set(&key, &vec![b'x'; len], None, at(0)).unwrap();
        assert_eq!(store.compression_stats(0).items, u64::from(len == PLAIN_MAX));
        assert_eq!(store.peek(&key, at(0), |item| item.value.len()), Some(len));
    }
    let refused = store.update(&key(&store, 0, b"key"), at(0), |_| {
        (Change::set_owned(vec![], Some(at(9).unix_ms)), ())
    });
    assert_eq!(refused, Ok::<(), Error>(()));
    audit(&store);
}

#[test]
fn a_listener_sees_plain_values() {
    use std::sync::{Arc, Mutex};
    let store = forced();
    let seen = Arc::new(Mutex::new(vec![]));
    let listener = {
        let seen = Arc::clone(&seen);
        move |_, _: &[u8], value: &[u8], _| seen.lock().unwrap().push(value.to_vec())
    };
    store.listen(&(Arc::new(listener) as Arc<crate::RemovalListener>));
    let key = key(&store, 0, b"key");
    store.set(&key, &document(2, 0), None, at(1)).unwrap();
    store.delete(&key, at(2));
    assert_eq!(*seen.lock().unwrap(), [document(1, 0), document(2, 0)]);
}
