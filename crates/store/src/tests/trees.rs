//! Items that are collections: they are charged exactly, and removed with all that they hold.

use super::{at, audit, key, limited};
use crate::{Bounds, Change, Config, Error, Evictor, Key, Pool, Probe, Store, TREE, Tree};
use base::{Bytes, Prng};

const MIB: u64 = 1 << 20;

/// A body begins with the four bytes of a name; the rest is free.
fn with<R>(name: u32, f: impl FnOnce(&Probe<'_>) -> R) -> R {
    let bytes = name.to_le_bytes();
    let order = |body: &[u8]| body[..4].cmp(&bytes);
    f(&Probe { rank: base::hash::mix(name.into()) as u32, order: &order })
}

/// Writes entries of 24 bytes, into a new collection if there is none.
fn put(store: &Store, key: &Key<'_>, names: std::ops::Range<u32>) -> Result<(), Error> {
    for name in names {
        store.edit(key, at(0), |edit| {
            if edit.tree().is_none() {
                edit.make_tree(Tree::default(), 2, b"note", None)?;
            }
            let body = [&name.to_le_bytes()[..], &[7; 20]].concat();
            with(name, |probe| edit.put(probe, None, &body))?;
            edit.written();
            Ok(())
        })?;
    }
    Ok(())
}

fn len(store: &Store, key: &Key<'_>) -> Option<u64> {
    store.peek(key, at(0), |item| item.tree().map(Tree::len)).flatten()
}

fn trees(store: &Store) -> usize {
    let mut count = 0;
    store.each_shard(|shard| {
        count += shard.contents().tenants.iter().map(|tenant| tenant.trees.count()).sum::<usize>();
    });
    count
}

/// However a collection is removed, its tree is freed with it, and its bytes are given back.
#[test]
fn a_tree_goes_with_its_item() {
    let store = limited(0, 2);
    let k = key(&store, 0, b"k");
    let other = key(&store, 0, b"other");
    put(&store, &other, 0..100).unwrap();
    let ends: [&dyn Fn(); 6] = [
        &|| assert!(store.delete(&k, at(0))),
        &|| store.set(&k, b"value", None, at(0)).unwrap(),
        &|| store.set(&k, &[1; 1000], None, at(0)).unwrap(),
        &|| store.update(&k, at(0), |_| (Change::Remove, ())).unwrap(),
        &|| store.update(&k, at(0), |_| (Change::Expire(Some(1_000_050)), ())).unwrap(),
        &|| drop(store.detach(&k, at(0), |_| true)),
    ];
    for end in ends {
        put(&store, &k, 0..10_000).unwrap();
        assert_eq!((len(&store, &k), trees(&store)), (Some(10_000), 2));
        let charge = store.peek(&k, at(0), |item| item.charge().0).unwrap();
        assert!((280_000..420_000).contains(&charge), "{charge}");
        audit(&store);
        end();
        store.sweep(at(100), 1 << 20);
        assert_ne!(store.peek(&k, at(100), |item| item.tree().is_some()), Some(true));
        assert_eq!(trees(&store), 1);
        store.delete(&k, at(100));
        audit(&store);
        assert!(store.used().0 < 200_000, "{} are left", store.used());
    }
    store.flush(crate::Scope::ALL);
    audit(&store);
    assert_eq!(trees(&store), 0);
}

/// If there is no room for the value that replaces a collection, the collection stays as it was.
#[test]
fn what_is_refused_leaves_it_whole() {
    let store = Store::new(Config {
        maxmemory: Bytes(MIB),
        shards: 1,
        evictor: Evictor { k: 0, ..Evictor::default() },
        ..Config::default()
    });
    let k = key(&store, 0, b"k");
    let mut name = 0;
    while put(&store, &k, name..name + 1).is_ok() {
        name += 1;
    }
    assert!(name > 20_000 && store.used() <= store.limit());
    assert!(store.set(&k, &vec![1; 500_000], None, at(0)).is_err());
    assert_eq!(len(&store, &k), Some(name.into()));
    for name in 0..name {
        assert!(store.edit(&k, at(0), |edit| with(name, |probe| edit.remove(probe))));
    }
    assert_eq!(len(&store, &k), Some(0));
    audit(&store);
}

/// The evicted bytes of a collection include its tree.
#[test]
fn evicted_trees_count_whole() {
    let store = Store::new(Config { maxmemory: Bytes(4 * MIB), shards: 1, ..Config::default() });
    for name in 0..40_u8 {
        put(&store, &key(&store, 0, &[name]), 0..5_000).unwrap();
    }
    let counted = store.tenant_stats(0).counters;
    assert!(counted.evicted > 5, "{counted:?}");
    assert!(counted.evicted_bytes / counted.evicted > 100_000, "{counted:?}");
}

/// Checks that every byte is charged to its tenant, or, if pools are penalty classes, to its class.
fn charged(store: &Store, pools: bool) {
    if !pools {
        return audit(store);
    }
    for tenant in 0..2 {
        let mut sum = 0;
        store.each_shard(|shard| {
            let tenant = &shard.contents().tenants[usize::from(tenant)];
            tenant.table.each(|item| sum += tenant.charge_of(item));
        });
        let classes = store.penalty_class_stats(tenant);
        assert_eq!(classes.iter().map(|class| class.used.0).sum::<u64>(), sum);
    }
}

/// Trees and values of all sizes evict each other, and the limit holds.
#[test]
fn the_limit_holds_among_trees() {
    for pools in [false, true] {
        let tenants =
            vec![Bounds::default(), Bounds { min: Bytes(MIB / 4), max: Some(Bytes(2 * MIB)) }];
        let config = Config { maxmemory: Bytes(4 * MIB), shards: 4, tenants, ..Config::default() };
        let store = Store::new(config);
        if pools {
            let pool = |class| Pool {
                tenants: vec![0, 1],
                class: Some(class),
                budget: Bytes(MIB),
                evictor: Evictor::default(),
            };
            store.set_pools(&(0..=base::penalty::CLASSES).map(pool).collect::<Vec<_>>());
        }
        let (mut prng, hot) = (Prng::new(3), key(&store, 0, b"hot"));
        let mut met = 0;
        for n in 0..4_000u32 {
            if store.get(&hot, at(0), |_| ()).is_some() {
                met += 1;
            } else {
                put(&store, &hot, 0..200).unwrap();
            }
            let name = n.to_le_bytes();
            let k = key(&store, (n % 2) as u16, &name);
            if prng.below(4) == 0 {
                put(&store, &k, 0..prng.below(2_000) as u32).unwrap();
            } else {
                store.set(&k, &vec![1; prng.below(3_000) as usize], None, at(0)).unwrap();
            }
            assert!(store.used() <= store.limit());
            if n % 500 == 0 {
                charged(&store, pools);
            }
        }
        charged(&store, pools);
        store.sweep(at(0), 1 << 20);
        charged(&store, pools);
        let left = trees(&store);
        assert!(left > 10, "{left} trees are left: values alone have the memory");
        assert!(met > 3_600, "a collection that is read all the time was there {met} times");
    }
}

/// A tree without an item is charged while it grows. It becomes an item, or its bytes are given
/// back.
#[test]
fn a_loose_tree_is_charged() {
    let tenants = vec![Bounds::default(); 2];
    let store = Store::new(Config { tenants, maxmemory: Bytes(8 * MIB), ..Config::default() });
    let (k, moved) = (key(&store, 0, b"k"), key(&store, 1, b"moved"));
    let before = store.used();
    for keep in [false, true] {
        let mut loose = store.loose(&k);
        for name in 0..5_000u32 {
            let body = [&name.to_le_bytes()[..], &[7; 20]].concat();
            with(name, |probe| loose.put(&k, at(0), probe, None, &body)).unwrap();
        }
        assert!(store.used().0 > before.0 + 140_000);
        if keep {
            assert_eq!(store.attach(&k, &mut loose, (2, b"", None), false, at(0)), Ok(true));
            assert_eq!(store.attach(&k, &mut loose, (2, b"", None), true, at(0)), Ok(false));
        }
        drop(loose);
    }
    audit(&store);
    let mut loose = store.detach(&k, at(0), |item| item.kind == 2 | TREE).unwrap();
    assert!(store.tenant_stats(0).used.0 > 140_000, "it is still charged");
    assert_eq!(store.attach(&moved, &mut loose, (2, b"", None), false, at(0)), Ok(true));
    assert!(store.tenant_stats(0).used.0 < 100_000 && store.tenant_stats(1).used.0 > 140_000);
    assert_eq!(len(&store, &moved), Some(5_000));
    audit(&store);
}
