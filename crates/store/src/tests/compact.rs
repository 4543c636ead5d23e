//! Compaction copies items, and that must not show; or evicts them, where they may leave.

use super::{at, audit, key};
use crate::{Bounds, Config, Evictor, Pool, Spare, Store};
use base::{Bytes, Prng};

/// Every item must be there still, byte for byte, whatever lay where, and be charged once.
#[test]
fn what_is_copied_stays_what_it_is() {
    let store = Store::new(Config { shards: 4, seed: 5, ..Config::default() });
    let name = |n: u64| format!("key:{n}:{}", "x".repeat(n as usize % 50));
    let count = if cfg!(miri) { 200 } else { 20_000 };
    let expires = |n: u64| n.is_multiple_of(3).then_some(1 << 40 | n);
    for n in 0..count {
        let name = name(n);
        let value = vec![n as u8; 7 * n as usize % 3_000];
        store.set(&store.key(0, 0, name.as_bytes()), &value, expires(n), at(0)).unwrap();
    }
    let mut prng = Prng::new(1);
    let stays: Vec<_> = (0..count).map(|_| prng.below(10) == 0).collect();
    for n in (0..count).filter(|&n| !stays[n as usize]) {
        assert!(store.delete(&store.key(0, 0, name(n).as_bytes()), at(0)));
    }
    let addresses = || {
        let mut all = vec![];
        store.each_shard(|shard| {
            shard.tenants[0].table.each(|item| all.push(item.base().addr().get()));
        });
        all
    };
    let (before, used) = (addresses(), store.used());
    for _ in 0..10_000 {
        store.compact(Bytes(1), Spare::All, at(0));
    }
    assert!(store.compacted().pass > 64, "{:?}", store.compacted());
    let after = addresses();
    let moved = before.iter().zip(&after).filter(|(before, after)| before != after).count();
    assert!(2 * moved > before.len(), "{moved} of {} were moved", before.len());
    assert_eq!(store.used(), used);
    for n in 0..count {
        let name = name(n);
        let key = store.key(0, 0, name.as_bytes());
        let found = store.peek(&key, at(0), |item| (item.value.to_vec(), item.expires));
        let value = (vec![n as u8; 7 * n as usize % 3_000], expires(n));
        assert_eq!(found, stays[n as usize].then_some(value), "{n}");
    }
    audit(&store);
}

/// What is dead expires. Of three tenants one has a min that it is at, and one evicts nothing:
/// these lose no item, and the third loses what lies in the blocks, charged to nobody any more and
/// counted.
#[test]
fn what_may_leave_is_evicted() {
    let store = Store::new(Config {
        shards: 2,
        tenants: vec![Bounds::default(); 3],
        seed: 5,
        ..Config::default()
    });
    let pool = |tenants: &[u16], evictor| Pool {
        tenants: tenants.into(),
        class: None,
        budget: Bytes(0),
        evictor,
    };
    let never = Evictor { k: 0, ..Evictor::default() };
    store.set_pools(&[pool(&[0, 1], Evictor::default()), pool(&[2], never)]);
    let count = if cfg!(miri) { 200u32 } else { 5_000 };
    for tenant in 0..3 {
        for n in 0..count {
            let expires = (n % 10 == 0 && tenant == 1).then_some(at(1).unix_ms);
            store.set(&key(&store, tenant, &n.to_le_bytes()), &[7; 300], expires, at(0)).unwrap();
        }
    }
    store.set_bounds(0, Bounds { min: Bytes(1 << 40), max: None });
    let used = store.used();
    let begun = store.compacted().pass;
    while store.compacted().pass < begun + 3 {
        store.compact(Bytes(1 << 20), Spare::Nothing, at(2));
    }
    let counters = [0, 1, 2].map(|tenant| store.tenant_stats(tenant).counters);
    let evicted = counters.map(|counters| counters.evicted);
    let gone = counters.map(|counters| counters.evicted + counters.expired);
    assert!(evicted[1] > 0 && gone[1] < u64::from(count), "{evicted:?}");
    assert!(gone[1] > evicted[1], "what is dead is not evicted");
    assert_eq!([gone[0], gone[2]], [0, 0]);
    let here = |tenant, n: u32| {
        let found = store.peek(&key(&store, tenant, &n.to_le_bytes()), at(0), |item| {
            assert_eq!(item.value, [7; 300]);
        });
        u64::from(found.is_some())
    };
    let there = [0, 1, 2].map(|tenant| (0..count).map(|n| here(tenant, n)).sum::<u64>());
    assert_eq!(there, gone.map(|gone| u64::from(count) - gone));
    assert!(store.used() < used);
    audit(&store);
}

/// A pass takes as many calls as bytes are asked for, and the first, which only looks at what is
/// where, is no longer than another.
#[test]
fn the_first_pass_ends() {
    let store = Store::new(Config { maxmemory: Bytes(64 << 20), shards: 2, ..Config::default() });
    for n in 0..if cfg!(miri) { 500u32 } else { 20_000 } {
        store.set(&key(&store, 0, &n.to_le_bytes()), &[7; 300], None, at(0)).unwrap();
    }
    for _ in 0..3 {
        let pass = store.compacted().pass;
        let calls = (0..100).take_while(|_| {
            store.compact(Bytes(64 << 10), Spare::All, at(0));
            store.compacted().pass == pass
        });
        let calls = calls.count();
        assert!((8..32).contains(&calls), "{calls}");
    }
}
