//! Two threads make all kinds of calls at once. Every value read was written by one of them under
//! the same key, the limit holds at every check, and nothing is left after a flush. Meant for
//! ThreadSanitizer: `cargo x tsan` makes ten million calls; without it there are fewer.

use base::{Bytes, Filter, Micros, Prng};
use std::sync::Arc;
use std::thread;
use store::{Bounds, Change, Config, Error, Evictor, Now, Pool, Scope, Store};

/// Calls of both threads together, unless `RACE_CALLS` sets another number.
const CALLS: u64 = 300_000;
const LIMIT: u64 = 4 << 20;

/// A value begins with the bytes of its key, and the rest repeats one byte.
fn is_sound(key: &[u8], value: &[u8]) -> bool {
    let Some(rest) = value.strip_prefix(key) else { return false };
    rest.iter().all(|byte| Some(byte) == rest.first())
}

fn play(store: &Store, seed: u64, calls: u64) {
    let mut prng = Prng::new(seed);
    let mut samples = vec![];
    for call in 0..calls {
        let (tenant, number) = (prng.below(2) as u16, prng.below(20_000) as u32);
        let bytes = number.to_le_bytes();
        let key = store.key(tenant, 0, &bytes);
        let now = Now { unix_ms: call / 1_000, micros: Micros(call) };
        let mut value = bytes.to_vec();
        value.resize(4 + prng.below(400) as usize, seed as u8);
        let result = match prng.below(64) {
            0..20 => store.set(&key, &value, None, now),
            20 => store.set(&key, &value, Some(now.unix_ms + prng.below(20)), now),
            21 => store.set_priced(&key, &value, None, Micros(number.into()), now),
            22 => store.update(&key, now, |item| {
                (if item.is_none() { Change::set(&value, None) } else { Change::Keep }, ())
            }),
            23 => store.update(&key, now, |_| (Change::Expire(Some(now.unix_ms + 9)), ())),
            24 => Ok(_ = store.delete(&key, now)),
            25 => Ok(_ = store.sweep(now, 16)),
            26 if call % 16 == 0 => Ok(_ = store.drain(&mut samples)),
            27 if call % 64 == 0 => {
                let limit = Bytes(LIMIT - (call / 64 % 2) * LIMIT / 16);
                store.set_limit(limit);
                Ok(())
            }
            28 if call % 64 == 0 => {
                let half = Bytes(LIMIT / 2);
                let evictor = Evictor { k: 1 + (call % 7) as u8, ..Evictor::default() };
                let pool = |tenant| Pool {
                    tenants: vec![tenant],
                    class: None,
                    budget: half,
                    evictor: evictor.clone(),
                };
                store.set_pools(&[pool(0), pool(1)]);
                Ok(())
            }
            29 if call % 4096 == 0 => Ok(_ = store.flush(Scope::tenant(tenant))),
            30 if call % 64 == 0 => {
                store.random_key(Scope::ALL, now, |found| {
                    assert!(is_sound(found.key, found.item.value));
                });
                store.scan(Scope::ALL, prng.below(1 << 40), 5, now, |found| {
                    assert!(is_sound(found.key, found.item.value));
                });
                Ok(())
            }
            31 if call % 64 == 0 => {
                store.tenant_stats(tenant);
                store.fade_penalties(0.9);
                Ok(())
            }
            _ => {
                let sound = store.get(&key, now, |item| is_sound(&bytes, item.value));
                assert_ne!(sound, Some(false), "another key's bytes");
                Ok(())
            }
        };
        // One thread may lower the limit just after the other has read it.
        assert!(result != Err(Error::Full) || store.used() > Bytes(LIMIT / 2));
        assert!(store.used() <= Bytes(LIMIT));
        samples.clear();
    }
}

#[test]
fn two_threads_call_everything() {
    let asked = std::env::var("RACE_CALLS").ok().and_then(|calls| calls.parse().ok());
    let calls = asked.unwrap_or(CALLS);
    let tenants = vec![Bounds { min: Bytes(64 << 10), max: None }; 2];
    let config = Config { maxmemory: Bytes(LIMIT), shards: 4, tenants, ..Config::default() };
    let store = Arc::new(Store::new(config));
    store.set_tap(0, Filter::with_rate(0.1));
    store.set_stopwatch(true);
    let threads = [1, 2].map(|seed| {
        let store = Arc::clone(&store);
        thread::spawn(move || play(&store, seed, calls / 2))
    });
    for thread in threads {
        thread.join().unwrap();
    }
    let counters = store.tenant_stats(0).counters;
    assert!(counters.evicted > 0 && counters.expired > 0 && counters.hits > 0, "{counters:?}");
    let items = store.len(Scope::ALL).items;
    assert_eq!(store.flush(Scope::ALL), items);
    assert!(store.is_empty());
    println!("{calls} calls");
}
