//! Dumped items come back, unless they are outdated.

use super::{at, audit, limited};
use crate::{Change, Config, Dump, Key, Loaded, Saved, Scope, Slab, Store};
use base::{Bytes, Prng, TenantId};
use std::collections::HashMap;

/// A copy, as a caller stores it.
#[derive(Clone, Debug)]
struct Copy {
    tenant: TenantId,
    db: u8,
    key: Vec<u8>,
    value: Vec<u8>,
    kind: u8,
    expires: Option<u64>,
    idle: u32,
    hits: u8,
    block: u64,
}

impl Copy {
    fn key(&self, store: &Store) -> Key<'_> {
        store.key(self.tenant, self.db, &self.key)
    }

    fn load(&self, store: &Store, ms: u64) -> Loaded {
        let Self { value, kind, expires, idle, hits, .. } = self;
        let saved = Saved {
            value,
            is_compressed: false,
            kind: *kind,
            expires: *expires,
            idle: *idle,
            in_use: 0,
            hits: *hits,
            penalty_class: 3,
            beside: 0,
        };
        store.load(&self.key(store), self.block, &saved, at(ms)).unwrap()
    }
}

/// One step of a dump.
fn step(store: &Store, dump: &Dump, cursor: u64, ms: u64, copies: &mut Vec<Copy>) -> Option<u64> {
    let visit = |found: &crate::ScanItem, _| {
        copies.push(Copy {
            tenant: found.tenant,
            db: found.db,
            key: found.key.to_vec(),
            value: found.item.value.to_vec(),
            kind: found.item.kind,
            expires: found.item.expires,
            idle: found.item.idle,
            hits: found.item.hits,
            block: dump.block,
        });
    };
    // If memory is short, there may be no room for the index.
    store.dump(dump, cursor, at(ms), visit).ok().flatten()
}

/// Dumps all items of a tenant into one block.
fn dump(store: &Store, tenant: TenantId, block: u64) -> Vec<Copy> {
    let (mut copies, mut cursor) = (vec![], Some(0));
    while let Some(from) = cursor {
        let dump = Dump { tenant, idle_min: 0, block, most: 1_000, again: false };
        cursor = step(store, &dump, from, 0, &mut copies);
    }
    copies
}

fn name(at: u64) -> [u8; 8] {
    at.to_le_bytes()
}

fn fill(store: &Store, tenant: TenantId, keys: u64) {
    for at_key in 0..keys {
        let name = name(at_key);
        store.set(&store.key(tenant, 0, &name), &name, None, at(0)).unwrap();
    }
}

fn has(store: &Store, tenant: TenantId, key: u64) -> bool {
    store.peek(&store.key(tenant, 0, &name(key)), at(0), |_| ()).is_some()
}

#[test]
fn all_leave_once_and_come_back_as_they_were() {
    for page in [0, 4_096] {
        let slab = Slab { page, ..Slab::default() };
        let config = Config { maxmemory: Bytes(64 << 20), shards: 4, slab, ..Config::default() };
        let store = Store::new(config);
        fill(&store, 0, 5_000);
        let expires = Some(at(500).unix_ms);
        let change = Change::Set { value: b"v"[..].into(), kind: 2, expires };
        let told = store.key(0, 3, b"told");
        store.update(&told, at(0), |_| (change, ())).unwrap();
        let counters = store.tenant_stats(0).counters;
        let full = store.used();
        let copies = dump(&store, 0, 1);
        assert_eq!(copies.len(), 5_001);
        assert_eq!((store.away(0).0, dump(&store, 0, 2).len()), (5_001, 0), "each once");
        assert_eq!(store.len(Scope::ALL).items, 5_001, "copied, and still here");
        audit(&store);
        assert!(copies.iter().all(|copy| store.release(&copy.key(&store), 1)));
        assert_eq!(store.len(Scope::ALL).items, 0);
        audit(&store);
        assert!(store.used() < full);
        assert!(copies.iter().all(|copy| copy.load(&store, 0) == Loaded::Back));
        assert!(copies.iter().all(|copy| copy.load(&store, 0) == Loaded::Outdated), "once");
        assert_eq!(store.tenant_stats(0).counters, counters, "nobody asked for anything");
        let seen = store.peek(&told, at(0), |item| (item.kind, item.expires, item.penalty_class));
        assert_eq!(seen, Some((2, expires, 3)));
        store.forget_away(0);
        assert_eq!(store.away(0), (0, Bytes(0)));
        audit(&store);
    }
}

/// Items come back with their old age, not as the most recently used ones.
#[test]
fn what_comes_back_is_old() {
    let store = limited(0, 1);
    fill(&store, 0, 1_000);
    let idle = |key| store.peek(&store.key(0, 0, &name(key)), at(0), |item| item.idle).unwrap();
    let before = idle(0);
    let copies = dump(&store, 0, 1);
    assert!(copies.iter().all(|copy| store.release(&copy.key(&store), 1)));
    assert!(copies.iter().all(|copy| copy.load(&store, 0) == Loaded::Back));
    assert_eq!(idle(0), before);
    let (mut cold, from) =
        (vec![], Dump { tenant: 0, idle_min: 500, block: 2, most: 1 << 20, again: false });
    let mut cursor = Some(0);
    while let Some(at) = cursor {
        cursor = step(&store, &from, at, 0, &mut cold);
    }
    assert!((450..550).contains(&cold.len()), "the older half: {}", cold.len());
}

/// Every change by a client is newer than the copy, even if the changed item is gone.
#[test]
fn what_clients_did_since_wins() {
    type Act = fn(&Store, &Key);
    let acts: [(&str, Act); 9] = [
        ("written", |store, key| store.set(key, b"new", None, at(0)).unwrap()),
        ("priced", |store, key| {
            store.set_priced(key, b"n", None, base::Micros(9), at(0)).unwrap();
        }),
        ("written and lost", |store, key| {
            store.set(key, b"new", Some(at(0).unix_ms - 1), at(0)).unwrap();
        }),
        ("removed", |store, key| _ = store.delete(key, at(0))),
        ("removed by an update", |store, key| {
            store.update(key, at(0), |_| (Change::Remove, ())).unwrap();
        }),
        ("appended to", |store, key| {
            store.update(key, at(0), |_| (Change::Append(b"+"), ())).unwrap();
        }),
        ("told to live on", |store, key| {
            store.update(key, at(0), |_| (Change::Expire(Some(u64::MAX)), ())).unwrap();
        }),
        ("flushed", |store, _| _ = store.flush(Scope::tenant(0))),
        ("flushed with its database", |store, _| _ = store.flush(Scope::db(0))),
    ];
    for released in [false, true] {
        for (what, act) in &acts {
            let store = limited(0, 2);
            store.add_tenant(crate::Bounds::default());
            (0..2).for_each(|tenant| fill(&store, tenant, 10));
            let copies = [dump(&store, 0, 1), dump(&store, 1, 2)].concat();
            if released {
                assert!(copies.iter().all(|copy| store.release(&copy.key(&store), copy.block)));
            }
            let name = name(4);
            act(&store, &store.key(0, 0, &name));
            assert!(!store.release(&store.key(0, 0, &name), 1), "{what}");
            for copy in &copies {
                let loaded = copy.load(&store, 0);
                let is_touched = copy.tenant == 0 && (copy.key == name || what.contains("flush"));
                let is_other = copy.tenant == 1 && *what == "flushed with its database";
                assert_eq!(loaded == Loaded::Outdated, is_touched || is_other, "{what}: {copy:?}");
            }
            audit(&store);
        }
    }
}

/// A flush of one database does not affect copies of others. A lost copy is not valid, and a later
/// copy invalidates the earlier one.
#[test]
fn only_the_copies_concerned_are_void() {
    let store = limited(0, 2);
    for db in [0, 1] {
        store.set(&store.key(0, db, b"k"), b"v", None, at(0)).unwrap();
    }
    let copies = dump(&store, 0, 1);
    store.flush(Scope::db(1));
    let loaded = |copy: &Copy| (copy.db, copy.load(&store, 0));
    let mut all: Vec<_> = copies.iter().map(loaded).collect();
    all.sort_by_key(|(db, _)| *db);
    assert_eq!(all, [(0, Loaded::Here), (1, Loaded::Outdated)]);
    let [first] = &dump(&store, 0, 2)[..] else { panic!("one is left") };
    store.revoke(&first.key(&store), 1);
    assert_eq!(store.away(0).0, 1, "of another block");
    store.revoke(&first.key(&store), 2);
    let [second] = &dump(&store, 0, 3)[..] else { panic!("it has no copy") };
    assert!(store.release(&second.key(&store), 3));
    assert_eq!([first.load(&store, 0), second.load(&store, 0)], [Loaded::Outdated, Loaded::Back]);
}

/// Random clients act between copying and loading, with limits that evict, in both layouts. A read
/// never finds a value that a client has overwritten, removed or flushed, or that has expired. A
/// copy never undoes the last write.
#[test]
fn no_outdated_copy_is_ever_read() {
    let mut back = 0;
    for seed in 0..60 {
        let mut prng = Prng::new(seed);
        let limit = [0, 150_000, 250_000][seed as usize % 3];
        let slab = Slab { page: if seed % 2 == 1 { 4_096 } else { 0 }, ..Slab::default() };
        let config = Config { maxmemory: Bytes(limit), shards: 4, slab, ..Config::default() };
        let store = Store::new(config);
        let keys = 400;
        // The last write of each key: its value and its expiry.
        let mut truth: HashMap<(u8, u64), (Vec<u8>, Option<u64>)> = HashMap::new();
        let (mut copies, mut ms, mut block): (Vec<Copy>, _, _) = (vec![], 0, 0);
        let mut cursor = Some(0);
        for turn in 0..6_000u64 {
            let (db, key) = (prng.below(2) as u8, prng.below(keys));
            let name = name(key);
            let place = store.key(0, db, &name);
            match prng.below(100) {
                0..30 => {
                    let value = [turn.to_le_bytes().to_vec(), vec![7; key as usize]].concat();
                    let dies = prng.chance(0.3).then(|| at(ms + prng.below(300)).unix_ms);
                    if store.set(&place, &value, dies, at(ms)).is_ok() {
                        truth.insert((db, key), (value, dies));
                    } else {
                        store.delete(&place, at(ms));
                        truth.remove(&(db, key));
                    }
                }
                30..36 => {
                    store.delete(&place, at(ms));
                    truth.remove(&(db, key));
                }
                36..40 => {
                    let dies = prng.chance(0.5).then(|| at(ms + prng.below(300)).unix_ms);
                    let change = |_: Option<&crate::Item>| (Change::Expire(dies), ());
                    let is_here = store.peek(&place, at(ms), |_| ()).is_some();
                    if store.update(&place, at(ms), change).is_err() {
                        store.delete(&place, at(ms));
                        truth.remove(&(db, key));
                    } else if let (true, Some(last)) = (is_here, truth.get_mut(&(db, key))) {
                        last.1 = dies;
                    }
                }
                40..70 => {
                    let dump = Dump {
                        tenant: 0,
                        idle_min: prng.below(3) as u32 * 20,
                        block,
                        most: 500,
                        again: prng.chance(0.2),
                    };
                    // These copies are lost.
                    _ = store.dump(&dump, cursor.unwrap_or(0), at(ms), |_, _| ());
                    block += 1;
                    cursor = step(&store, &Dump { block, ..dump }, 0, ms, &mut copies);
                    let from = cursor.unwrap_or(0);
                    cursor = step(&store, &Dump { block, ..dump }, from, ms, &mut copies);
                }
                70..80 => {
                    for copy in copies.iter().rev().take(20) {
                        store.release(&copy.key(&store), copy.block);
                    }
                }
                80..95 => {
                    for _ in 0..20 {
                        if let Some(copy) = prng_choose(&mut prng, &copies) {
                            back += u64::from(copy.load(&store, ms) == Loaded::Back);
                        }
                    }
                }
                95..98 => ms += prng.below(60),
                98 if prng.chance(0.1) => {
                    store.flush(Scope::db(db));
                    truth.retain(|(of, _), _| *of != db);
                }
                _ => _ = store.sweep(at(ms), 64),
            }
            let read = store.peek(&place, at(ms), |item| (item.value.to_vec(), item.expires));
            if let Some(read) = read {
                assert_eq!(Some(&read), truth.get(&(db, key)), "seed {seed}, turn {turn}");
            }
        }
        audit(&store);
    }
    assert!(back > 10_000, "copies came back: {back}");
}

fn prng_choose<'a>(prng: &mut Prng, copies: &'a [Copy]) -> Option<&'a Copy> {
    (!copies.is_empty()).then(|| &copies[prng.below(copies.len() as u64) as usize])
}

/// The index counts as its tenant's memory, and room is made for it.
#[test]
fn the_index_keeps_within_the_limit() {
    let store = limited(8 << 20, 2);
    for key in 0..50_000 {
        store.set(&store.key(0, 0, &name(key)), &[7; 400], None, at(0)).unwrap();
    }
    let before = store.len(Scope::ALL).items;
    let copies = dump(&store, 0, 1);
    let (items, bytes) = store.away(0);
    assert_eq!(items, copies.len() as u64);
    assert!(store.used() <= Bytes(8 << 20) && store.len(Scope::ALL).items < before);
    assert!(bytes.0 <= 45 * items, "{bytes} for {items}");
    audit(&store);
    store.flush(Scope::ALL);
    assert_eq!(store.away(0), (0, Bytes(0)));
    assert!(!has(&store, 0, 1));
    audit(&store);
}
