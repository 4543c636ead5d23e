//! Dead items are removed before live ones and in time, and the entries for expiries are bounded.

use super::{at, audit, key, limited};
use crate::Slab;
use crate::sync::shim::lock;
use crate::{Bounds, Change, Config, Scope, Store};
use base::{Bytes, Prng, TenantId};
use proptest::prelude::*;

const KIB: u64 = 1 << 10;

fn counts(store: &Store, tenant: TenantId) -> crate::Counters {
    store.tenant_stats(tenant).counters
}

/// The number of dead items that have not been found yet.
fn dead(store: &Store, ms: u64) -> usize {
    let mut sum = 0;
    store.each_shard(|shard| {
        for tenant in &shard.contents().tenants {
            tenant.table.each(|item| sum += usize::from(item.is_dead(at(ms).unix_ms)));
        }
    });
    sum
}

fn entries(store: &Store) -> usize {
    let mut sum = 0;
    store.each_shard(|shard| {
        let wheels = shard.contents().tenants.iter().filter_map(|tenant| tenant.wheel.as_ref());
        sum += wheels.map(|wheel| wheel.len()).sum::<usize>();
    });
    sum
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 200 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Two tenants write into one full shard, with times to live of all lengths that are changed,
    /// postponed and removed. No write may evict a live item while there is a dead one, unless it
    /// has looked at all the entries that it may.
    #[test]
    fn nobody_is_evicted_while_somebody_is_dead(
        seed: u64,
        kib in 24u64..64,
        max in prop::option::of(12u64..32),
    ) {
        let tenants = vec![
            Bounds { min: Bytes(0), max: max.map(|kib| Bytes(kib * KIB)) },
            Bounds::default(),
        ];
        let slab = Slab { page: 4 << 10, ..Slab::default() };
        let config = Config { shards: 1, tenants, slab, seed, ..Config::default() };
        let store = Store::new(Config { maxmemory: Bytes(kib * KIB), ..config });
        let evicted = || counts(&store, 0).evicted + counts(&store, 1).evicted;
        let (mut prng, mut ms) = (Prng::new(seed), 0);
        for _ in 0..1_500 {
            let tenant = prng.below(2) as TenantId;
            let name = (prng.below(300) as u16).to_le_bytes();
            let key = key(&store, tenant, &name);
            ms += if prng.below(50) == 0 { prng.below(100_000) } else { prng.below(3) };
            let now = at(ms);
            let when = now.unix_ms + (1 << prng.below(17)) - 1;
            let expires = (prng.below(3) > 0).then_some(when);
            let (before, was_dead) = (evicted(), dead(&store, ms));
            let gave_up_before = gave_up(&store);
            // The write may end a walk that was under way while it evicted.
            let was_walking = is_walking(&store);
            // Close to its max, tenant 0 looks for dead items only among its own.
            let at_max = max.is_some_and(|kib| store.tenant_stats(0).used.0 + 8 * KIB > kib * KIB);
            match prng.below(8) {
                0 => _ = store.delete(&key, now),
                1 => _ = store.update(&key, now, |_| (Change::Expire(expires), ())),
                2 => _ = store.get(&key, now, |_| ()),
                _ => _ = store.set(&key, &vec![1; prng.below(120) as usize], expires, now),
            }
            let evicted = evicted() - before;
            let gave_up = gave_up(&store) > gave_up_before;
            let knows = !gave_up && !was_walking && !is_walking(&store) && !at_max;
            if was_dead > 0 && evicted > 0 && knows {
                let words = "of so many dead some stayed while so many left";
                prop_assert_eq!(dead(&store, ms), 0, "{}: {} {}", words, was_dead, evicted);
            }
            audit(&store);
        }
        prop_assert!(counts(&store, 0).expired + counts(&store, 1).expired > 0);
    }
}

fn gave_up(store: &Store) -> u64 {
    let mut sum = 0;
    store.each_shard(|shard| sum += shard.contents().gave_up);
    sum
}

fn is_walking(store: &Store) -> bool {
    let mut is_walking = false;
    store.each_shard(|shard| {
        let mut wheels = shard.contents().tenants.iter().filter_map(|tenant| tenant.wheel.as_ref());
        is_walking |= wheels.any(|wheel| wheel.walk.is_some());
    });
    is_walking
}

/// Each way to find a dead item has its own count.
#[test]
fn deaths_are_counted_apart() {
    let store = limited(64 * KIB, 1);
    let write = |numbers: std::ops::Range<u32>, ttl: Option<u64>, ms| {
        for n in numbers {
            let expires = ttl.map(|ttl| at(ms).unix_ms + ttl);
            store.set(&key(&store, 0, &n.to_le_bytes()), &[0; 100], expires, at(ms)).unwrap();
        }
    };
    write(0..100, Some(10), 0);
    for n in 0..30u32 {
        assert!(store.get(&key(&store, 0, &n.to_le_bytes()), at(11), |_| ()).is_none());
    }
    let swept = store.sweep(at(11), 10).expired as u64;
    assert!((10..60).contains(&swept), "{swept}: an entry takes its whole chain along");
    // The memory has room for some 400 items.
    write(1_000..1_300, None, 11);
    let before = counts(&store, 0);
    let found = (before.expired - before.expired_for_room, before.expired_swept);
    assert_eq!((found, before.misses_expired), ((30 + swept, swept), 30));
    write(2_000..2_100, None, 11);
    let after = counts(&store, 0);
    assert!(after.expired_for_room > 0, "{after:?}");
    assert!(after.evicted == 0 || after.expired == 100, "{after:?}");
    write(3_000..3_400, None, 11);
    let last = counts(&store, 0);
    assert_eq!((last.expired, last.expired_for_room), (100, 70 - swept));
    assert!(last.evicted > 300);
    audit(&store);
}

/// A session that is postponed by each request has one entry, and stays alive.
#[test]
fn what_is_put_off_costs_nothing() {
    let store = limited(0, 1);
    let session = key(&store, 0, b"session");
    for ms in (0..100_000).step_by(10) {
        let expires = Some(at(ms).unix_ms + 1_000);
        store.set(&session, b"value", expires, at(ms)).unwrap();
        assert_eq!(entries(&store), 1);
        store.sweep(at(ms), 10);
    }
    assert!(store.peek(&session, at(100_000), |_| ()).is_some());
    store.sweep(at(101_000), 10);
    assert!(store.is_empty());
}

/// Locks are taken for half a minute and released at once, and expiries are set and removed. The
/// number of entries stays within twice the items that expire and an eighth of all.
#[test]
fn stale_entries_are_bounded() {
    let store = limited(0, 1);
    let items = if cfg!(miri) { 200 } else { 8_000u32 };
    for n in 0..items {
        let expires = (n % 10 == 0).then(|| at(1 << 40).unix_ms);
        store.set(&key(&store, 0, &n.to_le_bytes()), b"v", expires, at(0)).unwrap();
    }
    let (expiring, mut most) = (items as usize / 10, 0);
    for n in 0..10 * items {
        let now = at(u64::from(n / 10));
        let lock = key(&store, 0, b"lock");
        store.set(&lock, b"", Some(now.unix_ms + 30_000), now).unwrap();
        assert!(store.delete(&lock, now));
        let bytes = (n % 7).to_le_bytes();
        let other = key(&store, 0, &bytes);
        for expires in [None, Some(at(1 << 40).unix_ms)] {
            store.update(&other, now, |_| (Change::Expire(expires), ())).unwrap();
        }
        most = most.max(entries(&store));
    }
    let bound = 2 * expiring + items as usize / 8 + 64;
    assert!(most <= bound + 16, "{most} entries, {bound} may be");
    audit(&store);
    store.sweep(at(1 << 41), 1 << 20);
    assert_eq!(store.len(Scope::ALL).items, u64::from(items) - expiring as u64 - 7 + 1);
    assert_eq!(entries(&store), 0);
    audit(&store);
}

/// The sweep removes due items and does not look at the others.
#[test]
fn a_sweep_looks_at_what_is_due() {
    let store = limited(0, 1);
    for n in 0..10_000u32 {
        let ttl = if n < 100 { 1_000 } else { 1_000_000 };
        let expires = Some(at(0).unix_ms + ttl);
        store.set(&key(&store, 0, &n.to_le_bytes()), b"v", expires, at(0)).unwrap();
    }
    let (mut expired, mut looked) = (0, 0);
    for ms in (0..2_000).step_by(100) {
        let swept = store.sweep(at(ms), 1_000);
        (expired, looked) = (expired + swept.expired, looked + swept.buckets);
    }
    assert_eq!(expired, 100);
    assert!(looked < 1_000, "{looked} entries and buckets in 20 sweeps, of 1800 buckets each");
}

/// Keys return after their expiry, and a sweep has removed them before. Their reads are not hits,
/// whichever side found the items dead.
#[test]
fn what_is_swept_ends_by_an_expiry() {
    let indices = [false, true].map(|sweeps| {
        let evictor = policy::parse("gittins").unwrap().evictor().unwrap();
        let store = Store::new(Config { evictor, shards: 1, ..Config::default() });
        let mut ms = 0;
        for _ in 0..100 {
            for number in 0..20u64 {
                let bytes = number.to_ne_bytes();
                let key = key(&store, 0, &bytes);
                assert!(store.get(&key, at(ms), |_| ()).is_none());
                store.set(&key, b"value", Some(at(ms + 1_000).unix_ms), at(ms)).unwrap();
            }
            ms += 2_000;
            if sweeps {
                assert_eq!(store.sweep(at(ms), 1_000).expired, 20);
            }
        }
        store.sweep(at(ms), 1_000);
        let mut admin = lock(&store.admin);
        let table = admin.watching.as_mut().map(|watching| watching.learner.table());
        table.unwrap().index(0, 0, 0)
    });
    // With hits the index would be one in some twenty requests.
    assert!(indices.iter().all(|&index| index < 0.005), "{indices:?}");
}
