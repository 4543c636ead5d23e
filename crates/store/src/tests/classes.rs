//! Pools that are penalty classes.

use super::{at, key, limited};
use crate::{Evictor, PenaltyClassStats, Pool, Scope, Store};
use base::penalty::{CLASSES, class_of};
use base::{Bytes, Micros, Prng};

const MIB: u64 = 1 << 20;

/// Sets pools of all classes for two tenants, with budgets in megabytes by class.
fn by_class(store: &Store, budgets: &[(u8, u64)]) {
    let budget = |class| budgets.iter().find(|(of, _)| *of == class).map_or(0, |(_, mib)| *mib);
    let pool = |class| Pool {
        tenants: vec![0, 1],
        class: Some(class),
        budget: Bytes(budget(class) * MIB),
        evictor: Evictor::default(),
    };
    store.set_pools(&(0..=CLASSES).map(pool).collect::<Vec<_>>());
}

fn class(store: &Store, tenant: u16, class: u8) -> PenaltyClassStats {
    store.penalty_class_stats(tenant)[usize::from(class)]
}

/// The bytes of a class are the charges of its items, whatever happens to them, and whenever
/// counting began.
#[test]
fn what_classes_hold_is_what_is_there() {
    let store = limited(2 * MIB, 4);
    store.add_tenant(crate::Bounds::default());
    store.set_stopwatch(true);
    let mut prng = Prng::new(3);
    let mut ms = 0;
    for step in 0..60_000u64 {
        match step {
            5_000 | 40_000 => by_class(&store, &[(0, 1), (4, 1)]),
            30_000 => store.set_pools(&[Pool {
                tenants: vec![0, 1],
                class: None,
                budget: Bytes(2 * MIB),
                evictor: Evictor::default(),
            }]),
            _ => {}
        }
        let tenant = prng.below(2) as u16;
        let name = prng.below(3_000).to_le_bytes();
        let key = key(&store, tenant, &name);
        let value = vec![7; prng.below(900) as usize];
        let expires = (prng.below(3) == 0).then(|| at(ms + 500).unix_ms);
        match prng.below(20) {
            0..8 => {
                if store.get(&key, at(ms), |_| ()).is_none() {
                    ms += prng.below(3);
                    _ = store.set(&key, &value, expires, at(ms));
                }
            }
            8..12 => _ = store.set(&key, &value, expires, at(ms)),
            12 | 13 => {
                let cost = Micros(prng.below(5_000));
                store.set_with_hint(&key, &value, expires, cost, at(ms)).unwrap();
                let class = store.peek(&key, at(ms), |item| item.penalty_class);
                assert_eq!(class, Some(class_of(cost)));
            }
            14 => store.set_priced(&key, &value, expires, Micros(700), at(ms)).unwrap(),
            15 => _ = store.delete(&key, at(ms)),
            16 => {
                let add = |item: Option<&crate::Item>| {
                    let change = if item.is_some_and(|item| item.value.len() < 2_000) {
                        crate::Change::Append(&value)
                    } else {
                        crate::Change::Expire(expires)
                    };
                    (change, ())
                };
                store.update(&key, at(ms), add).unwrap();
            }
            17 => _ = store.sweep(at(ms), 64),
            18 if prng.below(2_000) == 0 => _ = store.flush(Scope::tenant(tenant)),
            _ => ms += 1,
        }
        if step % 1_000 == 999 {
            check(&store, at(ms));
        }
    }
    let evicted: u64 = (0..2).map(|tenant| store.tenant_stats(tenant).counters.evicted).sum();
    assert!(evicted > 1_000, "nothing was evicted");
}

fn check(store: &Store, now: crate::Now) {
    for tenant in 0..2 {
        let stats = store.penalty_class_stats(tenant);
        if stats.is_empty() {
            continue;
        }
        let mut sums = [0; CLASSES as usize + 1];
        store.each_shard(|shard| {
            let tenant = &shard.contents().tenants[usize::from(tenant)];
            tenant.table.each(|item| {
                sums[usize::from(item.stamps().penalty_class())] += tenant.charge_of(item);
            });
        });
        let told: Vec<_> = stats.iter().map(|stats| stats.used.0).collect();
        assert_eq!(told, sums, "tenant {tenant} at {now:?}");
    }
}

/// A fetch that takes `took`.
fn fetch(store: &Store, tenant: u16, n: u64, took: Micros) {
    let name = n.to_le_bytes();
    let (key, mut now) = (key(store, tenant, &name), at(n));
    if store.get(&key, now, |_| ()).is_none() {
        now.micros += took;
        store.set(&key, &[1; 100], None, now).unwrap();
    }
}

/// A class keeps its budget, whichever tenants own the items, and a miss counts for its class.
#[test]
fn classes_keep_their_budgets() {
    let store = limited(8 * MIB, 4);
    store.add_tenant(crate::Bounds::default());
    store.set_stopwatch(true);
    by_class(&store, &[(4, 2), (7, 6)]);
    for n in 0..100_000 {
        fetch(&store, (n % 2) as u16, n, Micros(120));
        fetch(&store, (n % 3 % 2) as u16, 1_000_000 + n, Micros(1_000));
    }
    let used = |of| (class(&store, 0, of).used.0 + class(&store, 1, of).used.0) as f64;
    let share = used(4) / (used(4) + used(7));
    assert!((0.24..0.26).contains(&share), "share {share}");
    let misses = |of| class(&store, 0, of).misses + class(&store, 1, of).misses;
    // With this many keys, a few are confused with others in the penalty table.
    assert!((199_990..=200_000).contains(&(misses(4) + misses(7))));
    assert!(misses(4).abs_diff(100_000) < 100, "{}", misses(4));
    let dear = class(&store, 0, 7);
    assert!((950..1_050).contains(&dear.penalty.mean.0), "{dear:?}");
    // Recently evicted keys keep their class; all others are unknown.
    let mut known = [0; CLASSES as usize + 1];
    for n in (80_000..90_000u64).step_by(50) {
        let name = n.to_le_bytes();
        let key = key(&store, (n % 2) as u16, &name);
        if store.peek(&key, at(n), |_| ()).is_none() {
            store.set(&key, b"again", None, at(n)).unwrap();
            let class = store.peek(&key, at(n), |item| item.penalty_class).unwrap();
            known[usize::from(class)] += 1;
        }
    }
    assert!(known[4] > 4 && known[0] + known[4] + known[7] == known.iter().sum(), "{known:?}");
}

/// A miss that no write answers counts for the last class of its key.
#[test]
fn a_miss_without_an_end_is_charged_too() {
    let store = limited(8 * MIB, 1);
    store.set_stopwatch(true);
    by_class(&store, &[(4, 2), (7, 6)]);
    for n in 0..1_000 {
        fetch(&store, 0, n, Micros(1_000));
        store.delete(&key(&store, 0, &n.to_le_bytes()), at(n));
    }
    // Each miss replaces another one in the stopwatch.
    for n in 0..100_000u64 {
        store.get(&key(&store, 0, &(n % 1_000).to_le_bytes()), at(20_000 * n), |_| ());
    }
    let known = class(&store, 0, 7).misses;
    assert!(known > 90_000, "{known}");
}

/// If classes come from hints, measurements change only their mean.
#[test]
fn a_hint_is_believed() {
    let store = limited(8 * MIB, 1);
    store.set_stopwatch(true);
    store.set_hinted(0, true);
    by_class(&store, &[(4, 2), (7, 6)]);
    for n in 0..100u64 {
        let name = n.to_le_bytes();
        let (key, mut now) = (key(&store, 0, &name), at(n));
        store.get(&key, now, |_| ());
        now.micros += Micros(2_000);
        store.set_with_hint(&key, b"value", None, Micros(1_000), now).unwrap();
        store.fetch_begins(&key, now);
        now.micros += Micros(2_000);
        store.set(&key, b"value", None, now).unwrap();
        assert_eq!(store.peek(&key, now, |item| item.penalty_class), Some(7));
    }
    let dear = class(&store, 0, 7);
    assert!((1_900..2_100).contains(&dear.penalty.mean.0), "{dear:?}");
    assert_eq!(class(&store, 0, 8).used, Bytes(0));
}
