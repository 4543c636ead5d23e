//! Limits, floors and shares: how much tenants may use, and which tenants lose items.

use super::{at, audit, key, limited};
use crate::{Bounds, Change, Config, Error, Evictor, Pool, Scope, Slab, Store};
use base::{Bytes, TenantId};

const MIB: u64 = 1 << 20;

/// Writes items of `len` bytes, and returns how many were refused.
fn flood(store: &Store, tenant: TenantId, numbers: std::ops::Range<u32>, len: usize) -> usize {
    let value = vec![1; len];
    let refused = numbers
        .filter(|n| store.set(&key(store, tenant, &n.to_le_bytes()), &value, None, at(0)).is_err());
    refused.count()
}

fn items(store: &Store, tenant: TenantId) -> u64 {
    store.len(Scope::tenant(tenant)).items
}

fn two(maxmemory: u64, first: Bounds, second: Bounds) -> Store {
    let tenants = vec![first, second];
    Store::new(Config { maxmemory: Bytes(maxmemory), tenants, ..Config::default() })
}

#[test]
fn the_limit_holds_for_every_mix_of_sizes() {
    for (shards, limit) in [(1, MIB), (16, MIB), (64, 4 * MIB)] {
        let store = limited(limit, shards);
        let mut prng = base::Prng::new(1);
        for n in 0..20_000u32 {
            let len = match prng.below(20) {
                0 => prng.below(100_000),
                1..5 => prng.below(5_000),
                _ => prng.below(200),
            };
            let value = vec![2; len as usize];
            let result = store.set(&key(&store, 0, &n.to_le_bytes()), &value, None, at(0));
            assert_eq!(result, Ok(()), "{shards} shards, item {n} of {len} bytes");
            assert!(store.used() <= store.limit());
        }
        audit(&store);
        assert!(store.used().0 > limit / 2, "{} of {limit} in use", store.used());
    }
}

#[test]
fn what_can_never_fit_is_refused_and_harms_nobody() {
    let store = limited(MIB, 4);
    assert_eq!(flood(&store, 0, 0..1000, 100), 0);
    let big = vec![0; 2 * MIB as usize];
    let k = 7u32.to_le_bytes();
    let k = key(&store, 0, &k);
    assert!(matches!(store.set(&k, &big, None, at(0)), Err(Error::TooLarge { .. })));
    let appended = store.update(&k, at(0), |_| (Change::Append(&big), ()));
    assert!(matches!(appended, Err(Error::TooLarge { .. })));
    assert_eq!(items(&store, 0), 1000, "nothing was evicted in vain");
    assert_eq!(store.peek(&k, at(0), |item| item.value.len()), Some(100), "nor the old value lost");
    let store = Store::new(Config { max_item: Bytes(1000), ..Config::default() });
    let refused = store.set(&key(&store, 0, b"k"), &[0; 1001], None, at(0));
    assert!(refused.unwrap_err().to_string().contains("1001 B"), "{refused:?}");
}

/// An item as large as a shard's memory is made room for in all shards. When memory is cut later,
/// other items than this one are evicted.
#[test]
fn what_is_large_empties_no_shard() {
    for slab in [Slab::default(), Slab { page: 16 << 10, ..Slab::default() }] {
        let maxmemory = Bytes(16 * MIB);
        let store = Store::new(Config { maxmemory, shards: 8, slab, ..Config::default() });
        assert_eq!(flood(&store, 0, 0..200_000, 100), 0);
        let k = key(&store, 0, b"large");
        store.set(&k, &vec![0; 3 * MIB as usize], None, at(0)).unwrap();
        let mut lens = vec![];
        store.each_shard(|shard| lens.push(shard.contents().tenants[0].table.len()));
        assert!(lens.iter().min() > lens.iter().max().map(|max| max / 2).as_ref(), "{lens:?}");
        store.set_limit(Bytes(12 * MIB));
        while store.used() > store.limit() {
            store.sweep(at(0), 1000);
        }
        assert!(store.peek(&k, at(0), |_| ()).is_some(), "{slab:?}");
        audit(&store);
    }
}

#[test]
fn k_of_zero_evicts_nothing() {
    let evictor = Evictor { k: 0, ..Evictor::default() };
    let store = Store::new(Config { maxmemory: Bytes(MIB), evictor, ..Config::default() });
    let refused = flood(&store, 0, 0..20_000, 100);
    assert!(refused > 10_000, "{refused}");
    assert_eq!(items(&store, 0), 20_000 - refused as u64);
    assert_eq!(store.tenant_stats(0).counters.evicted, 0);
    let k = 7u32.to_le_bytes();
    assert_eq!(store.set(&key(&store, 0, &k), &[0; 5000], None, at(0)), Err(Error::Full));
    assert_eq!(store.peek(&key(&store, 0, &k), at(0), |item| item.value.len()), Some(100));
    assert!(store.delete(&key(&store, 0, &k), at(0)));
    audit(&store);
}

/// Without the floor, the flood would evict everything of the first tenant.
#[test]
fn a_tenant_below_its_min_is_nobodys_victim() {
    let store = two(MIB, Bounds { min: Bytes(300 << 10), max: None }, Bounds::default());
    assert_eq!(flood(&store, 0, 0..1000, 100), 0);
    let before = items(&store, 0);
    assert!(store.tenant_stats(0).used < Bytes(300 << 10));
    assert_eq!(flood(&store, 1, 0..50_000, 100), 0);
    assert_eq!(items(&store, 0), before);
    // Above its floor the tenant loses items, down to the floor.
    assert_eq!(flood(&store, 0, 0..5000, 100), 0);
    assert_eq!(flood(&store, 1, 0..200_000, 100), 0);
    let used = store.tenant_stats(0).used;
    assert!(used >= Bytes(300 << 10) && used < Bytes(330 << 10), "{used}");
    // When all remaining items are below other tenants' floors, a write that needs more is refused.
    let store = two(MIB, Bounds { min: Bytes(MIB), max: None }, Bounds::default());
    flood(&store, 0, 0..20_000, 100);
    let refused = flood(&store, 1, 0..1000, 100);
    assert!(refused > 900, "{refused}");
    audit(&store);
}

#[test]
fn a_tenant_at_its_max_makes_room_itself() {
    let most = Bounds { min: Bytes(0), max: Some(Bytes(200 << 10)) };
    let store = two(MIB, most, Bounds::default());
    assert_eq!(flood(&store, 1, 0..1000, 100), 0);
    assert_eq!(flood(&store, 0, 0..20_000, 100), 0);
    let used = store.tenant_stats(0).used;
    assert!(used <= Bytes(200 << 10) && used > Bytes(150 << 10), "{used}");
    assert_eq!(items(&store, 1), 1000);
    store.set_bounds(0, Bounds { min: Bytes(0), max: Some(Bytes(100 << 10)) });
    for _ in 0..1000 {
        store.sweep(at(0), 64);
    }
    assert!(store.tenant_stats(0).used <= Bytes(100 << 10));
    assert_eq!(items(&store, 1), 1000);
    audit(&store);
}

/// Budgets divide the memory only once all of it is in use.
#[test]
fn budgets_are_shares_of_full_memory() {
    let store = two(4 * MIB, Bounds::default(), Bounds::default());
    let pool = |tenant, budget| Pool {
        tenants: vec![tenant],
        class: None,
        budget: Bytes(budget),
        evictor: Evictor::default(),
    };
    store.set_pools(&[pool(0, MIB), pool(1, 3 * MIB)]);
    assert_eq!(flood(&store, 0, 0..12_000, 100), 0);
    assert_eq!(items(&store, 0), 12_000, "nobody is evicted while memory is free");
    for round in 0..40 {
        assert_eq!(flood(&store, 1, round * 2000..(round + 1) * 2000, 100), 0);
        assert_eq!(flood(&store, 0, round * 2000..(round + 1) * 2000, 100), 0);
    }
    let share = store.tenant_stats(0).used.as_f64() / MIB as f64;
    assert!((0.95..1.05).contains(&share), "{share} of its budget");
    store.set_pools(&[pool(0, 3 * MIB), pool(1, MIB)]);
    for round in 40..80 {
        assert_eq!(flood(&store, 1, round * 2000..(round + 1) * 2000, 100), 0);
        assert_eq!(flood(&store, 0, round * 2000..(round + 1) * 2000, 100), 0);
    }
    let share = store.tenant_stats(1).used.as_f64() / MIB as f64;
    assert!((0.95..1.05).contains(&share), "{share} of its budget");
    audit(&store);
}

/// Memory is cut below the use. A tenant within its min loses nothing to its own writes as long as
/// another tenant is above its min.
#[test]
fn a_tenant_below_its_min_is_not_its_own_victim_either() {
    let min = Bounds { min: Bytes(2 * MIB), max: None };
    let store = two(24 * MIB, min, Bounds::default());
    flood(&store, 1, 0..200_000, 100);
    flood(&store, 0, 0..50, 100);
    store.set_limit(Bytes(5 * MIB));
    for n in 0..2_000 {
        flood(&store, 0, n % 50..n % 50 + 1, 100 + n as usize / 50);
        assert_eq!(items(&store, 0), 50, "after {n} writes");
    }
    while store.used() > store.limit() {
        store.sweep(at(0), 100);
    }
    flood(&store, 0, 0..5_000, 100);
    assert_eq!(items(&store, 0), 5_000);
    audit(&store);
}

/// If the pool furthest above its budget is down to its floor, the next pool above its budget
/// gives, and not the first in the list.
#[test]
fn budgets_hold_where_a_pool_is_at_its_floor() {
    for page in [0, 4 << 10] {
        let slab = Slab { page, ..Slab::default() };
        let floor = Bounds { min: Bytes(MIB), max: None };
        let tenants = vec![Bounds::default(), Bounds::default(), floor];
        let store = Store::new(Config {
            maxmemory: Bytes(4 * MIB),
            shards: 2,
            slab,
            tenants,
            ..Config::default()
        });
        let pool = |tenant, budget| Pool {
            tenants: vec![tenant],
            class: None,
            budget: Bytes(budget),
            evictor: Evictor::default(),
        };
        store.set_pools(&[pool(0, 2 * MIB), pool(1, MIB), pool(2, MIB / 4)]);
        flood(&store, 0, 0..4_000, 100);
        flood(&store, 2, 0..5_000, 100);
        flood(&store, 1, 0..20_000, 100);
        let (low, high) = (items(&store, 0), items(&store, 1));
        store.set_limit(Bytes(store.used().0 - MIB / 4));
        while store.used() > store.limit() {
            store.sweep(at(0), 1_000);
        }
        assert_eq!(items(&store, 0), low, "nothing leaves a pool below its budget");
        assert!(items(&store, 1) < high - 1_000, "{} of {high}", items(&store, 1));
        audit(&store);
    }
}

/// The sweep evicts in all shards. If it evicted only in the first ones, valuable items there would
/// be lost, and stale items in the others would stay.
#[test]
fn the_sweep_evicts_in_all_shards_alike() {
    for page in [0, 4 << 10] {
        let slab = Slab { page, ..Slab::default() };
        let config = Config { maxmemory: Bytes(8 * MIB), shards: 8, slab, ..Config::default() };
        let store = Store::new(config);
        flood(&store, 0, 0..60_000, 100);
        for step in 1..=128 {
            store.set_limit(Bytes(8 * MIB - step * (16 << 10)));
            store.sweep(at(0), 512 * 32);
        }
        let mut lens = vec![];
        store.each_shard(|shard| lens.push(shard.contents().tenants[0].table.len()));
        let (least, most) = (lens.iter().min(), lens.iter().max());
        assert!(least > most.map(|most| most * 7 / 8).as_ref(), "{slab:?}: {lens:?}");
        audit(&store);
    }
}

#[test]
fn a_lowered_limit_is_reached_step_by_step() {
    let store = limited(8 * MIB, 8);
    assert_eq!(flood(&store, 0, 0..40_000, 100), 0);
    let before = store.used();
    store.set_limit(Bytes(2 * MIB));
    assert_eq!(flood(&store, 0, 100_000..100_001, 100), 0);
    let after_one = store.used();
    assert!(after_one <= before, "a write made it worse");
    assert!(before.0 - after_one.0 < 4096, "one write evicted {}", before.0 - after_one.0);
    let swept = store.sweep(at(0), 100);
    assert!(swept.evicted <= 100, "{swept:?}");
    for _ in 0..2000 {
        store.sweep(at(0), 100);
    }
    assert!(store.used() <= Bytes(2 * MIB), "{}", store.used());
    store.set_reserve(Bytes(MIB));
    for _ in 0..2000 {
        store.sweep(at(0), 100);
    }
    assert!(store.used() <= Bytes(MIB) && store.limit() == Bytes(2 * MIB));
    assert_eq!(flood(&store, 0, 0..40_000, 100), 0);
    assert!(store.used() <= Bytes(MIB));
    audit(&store);
}

#[test]
fn the_dead_leave_without_being_asked_for() {
    let store = limited(0, 4);
    for n in 0..10_000u32 {
        let expires = (n % 2 == 0).then_some(at(5).unix_ms);
        store.set(&key(&store, 0, &n.to_le_bytes()), b"v", expires, at(0)).unwrap();
    }
    store.sweep(at(5), 1 << 20);
    assert_eq!(items(&store, 0), 10_000, "alive to the end of its last millisecond");
    let mut rounds = 0;
    while items(&store, 0) > 5_000 {
        store.sweep(at(6), 100);
        rounds += 1;
        assert!(rounds < 1000);
    }
    let stats = store.tenant_stats(0);
    assert_eq!((stats.counters.expired, stats.len.expires), (5_000, 0));
    audit(&store);
    // A write that needs room removes every dead item that it meets.
    let store = limited(MIB, 1);
    flood(&store, 0, 0..2000, 100);
    for n in 10_000..12_000u32 {
        let expires = Some(at(1).unix_ms);
        store.set(&key(&store, 0, &n.to_le_bytes()), &[0; 100], expires, at(0)).unwrap();
    }
    for n in 20_000..24_500u32 {
        store.set(&key(&store, 0, &n.to_le_bytes()), &[0; 100], None, at(9)).unwrap();
    }
    let counters = store.tenant_stats(0).counters;
    assert!(counters.expired > counters.evicted, "a quarter is dead: {counters:?}");
}
