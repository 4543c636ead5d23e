//! Compares the store with a map. Without a limit the two agree; with one the store may lose items,
//! but must never answer with anything that the map does not hold.

use super::{at, audit};
use crate::{
    Bounds, Change, Compression, CompressionSettings, Config, Error, Key, Now, Scope, Store,
};
use base::{Bytes, Filter, TenantId};
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
enum Op {
    Set { len: usize, ttl: Option<u64> },
    Get,
    Peek,
    Append { len: usize },
    Patch { at: usize, len: usize },
    Expire { ttl: Option<u64> },
    TakeAway,
    Delete,
    FlushDb,
    FlushTenant,
    Wait { ms: u64 },
    Sweep { budget: usize },
}

type Name = (TenantId, u8, u16);

fn op() -> impl Strategy<Value = Op> {
    // Lengths that cross size classes, and sometimes large ones.
    let len = prop_oneof![8 => 0usize..300, 1 => 0usize..20_000];
    let ttl = prop_oneof![2 => Just(None), 1 => (0u64..60).prop_map(Some)];
    prop_oneof![
        12 => (len.clone(), ttl.clone()).prop_map(|(len, ttl)| Op::Set { len, ttl }),
        6 => Just(Op::Get),
        3 => Just(Op::Peek),
        3 => len.prop_map(|len| Op::Append { len: len / 3 }),
        2 => (0usize..300, 0usize..40).prop_map(|(at, len)| Op::Patch { at, len }),
        2 => ttl.prop_map(|ttl| Op::Expire { ttl }),
        1 => Just(Op::TakeAway),
        4 => Just(Op::Delete),
        1 => (0u64..30).prop_map(|ms| Op::Wait { ms }),
        1 => (0usize..100).prop_map(|budget| Op::Sweep { budget }),
    ]
}

fn script() -> impl Strategy<Value = Vec<(Name, Op)>> {
    let rare = prop_oneof![60 => op(), 1 => Just(Op::FlushDb), 1 => Just(Op::FlushTenant)];
    prop::collection::vec(((0u16..2, 0u8..3, 0u16..60), rare), 1..400)
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    value: Vec<u8>,
    expires: Option<u64>,
}

struct Pair {
    store: Store,
    model: BTreeMap<Name, Entry>,
    ms: u64,
    fill: u8,
    may_forget: bool,
}

impl Pair {
    fn new(config: Config) -> Self {
        let may_forget = config.maxmemory.0 > 0;
        let tenants = vec![Bounds::default(); 2];
        let store = Store::new(Config { tenants, seed: 3, ..config });
        store.set_tap(0, Filter::with_rate(0.3));
        store.set_stopwatch(true);
        Self { store, model: BTreeMap::new(), ms: 0, fill: 0, may_forget }
    }

    fn expire(&mut self) {
        let now = at(self.ms).unix_ms;
        self.model.retain(|_, entry| entry.expires.is_none_or(|when| now <= when));
    }

    /// Checks that the store's answer equals the model's entry. With a limit, an item missing in
    /// the store is removed from the model.
    fn agree(&mut self, name: Name, answer: Option<Entry>) {
        match (self.model.get(&name), answer) {
            (Some(_), None) if self.may_forget => _ = self.model.remove(&name),
            (held, answer) => assert_eq!(held, answer.as_ref(), "{name:?}"),
        }
    }

    fn wrote(&mut self, name: Name, result: Result<(), Error>, entry: Entry) {
        match result {
            Ok(()) => _ = self.model.insert(name, entry),
            // The write was refused: the old value stays, or was evicted in vain.
            Err(_) => assert!(self.may_forget),
        }
    }

    fn run(&mut self, name: Name, op: &Op) {
        let (tenant, db, number) = name;
        let text = format!("key:{number}:{}", "x".repeat(usize::from(number % 7)));
        let store = &self.store;
        let (key, now) = (store.key(tenant, db, text.as_bytes()), at(self.ms));
        let old = look(store, &key, now);
        self.agree(name, old.clone());
        self.fill = self.fill.wrapping_add(1);
        let when = |ttl: Option<u64>| ttl.map(|ttl| now.unix_ms + ttl);
        let store = &self.store;
        match *op {
            Op::Set { len, ttl } => {
                let entry = Entry { value: vec![self.fill; len], expires: when(ttl) };
                let result = store.set(&key, &entry.value, entry.expires, now);
                self.wrote(name, result, entry);
            }
            Op::Get => {
                let read = store.get(&key, now, |item| item.value.to_vec());
                assert_eq!(read, old.map(|entry| entry.value));
            }
            Op::Peek => {}
            Op::Append { len } => {
                let more = vec![self.fill; len];
                let result = store.update(&key, now, |item| {
                    assert_eq!(item.map(|item| item.value.to_vec()), old.clone().map(|e| e.value));
                    (Change::Append(&more), ())
                });
                let mut entry = old.unwrap_or(Entry { value: vec![], expires: None });
                entry.value.extend(more);
                self.wrote(name, result, entry);
            }
            Op::Patch { at, len } => {
                let bytes = vec![self.fill; len];
                let change = |_: Option<&crate::Item>| (Change::Patch(at, bytes.into()), ());
                let result = store.update(&key, now, change);
                if let Some(mut entry) = old {
                    if let Some(part) = entry.value.get_mut(at..at + len) {
                        part.fill(self.fill);
                    }
                    self.wrote(name, result, entry);
                }
            }
            Op::Expire { ttl } => {
                let result = store.update(&key, now, |_| (Change::Expire(when(ttl)), ()));
                if let Some(entry) = old {
                    self.wrote(name, result, Entry { expires: when(ttl), ..entry });
                }
            }
            Op::TakeAway => {
                let taken = store.get_and_update(&key, now, |item| {
                    (Change::Remove, item.map(|item| item.value.to_vec()))
                });
                assert_eq!(taken, Ok(old.map(|entry| entry.value)));
                self.model.remove(&name);
            }
            Op::Delete => {
                assert_eq!(store.delete(&key, now), old.is_some());
                self.model.remove(&name);
            }
            Op::FlushDb => {
                store.flush(Scope::db(db));
                self.model.retain(|&(_, other, _), _| other != db);
            }
            Op::FlushTenant => {
                store.flush(Scope::tenant(tenant));
                self.model.retain(|&(other, _, _), _| other != tenant);
            }
            Op::Wait { ms } => self.ms += ms,
            Op::Sweep { budget } => _ = store.sweep(now, budget),
        }
        self.expire();
        audit(&self.store);
        let (used, limit) = (self.store.used(), self.store.limit());
        assert!(limit == Bytes(0) || used <= limit, "{used} of {limit}");
    }

    /// A scan shows the items of the store, each once.
    fn finish(&mut self) {
        let now = at(self.ms);
        self.store.sweep(now, 1 << 20);
        let mut shown = BTreeMap::new();
        let mut cursor = 0;
        loop {
            cursor = self.store.scan_values(Scope::ALL, cursor, 3, now, |found| {
                let text = std::str::from_utf8(found.key).unwrap();
                let number = text.split(':').nth(1).unwrap().parse::<u16>().unwrap();
                let (value, expires) = (found.item.value.to_vec(), found.item.expires);
                let name = (found.tenant, found.db, number);
                assert!(shown.insert(name, Entry { value, expires }).is_none(), "{name:?} twice");
            });
            if cursor == 0 {
                break;
            }
        }
        if self.may_forget {
            assert!(shown.iter().all(|(name, entry)| self.model.get(name) == Some(entry)));
        } else {
            assert_eq!(shown, self.model);
        }
        for tenant in 0..2 {
            for db in 0..3 {
                let len = self.store.len(Scope { tenant: Some(tenant), db: Some(db) });
                let mine = |name: &&Name| name.0 == tenant && name.1 == db;
                assert_eq!(len.items, shown.keys().filter(mine).count() as u64);
                let expiring =
                    shown.iter().filter(|(name, entry)| mine(name) && entry.expires.is_some());
                assert_eq!(len.expires, expiring.count() as u64);
            }
        }
        self.store.flush(Scope::ALL);
        let empty = self.store.budget.fixed_bytes(2);
        assert_eq!(self.store.used(), Bytes(empty), "an empty store has only its fixed bytes");
    }
}

fn look(store: &Store, key: &Key, now: Now) -> Option<Entry> {
    store.peek(key, now, |item| Entry { value: item.value.to_vec(), expires: item.expires })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 150 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn without_a_limit_it_is_a_map(script in script(), shards in 1usize..5) {
        let mut pair = Pair::new(Config { shards, ..Config::default() });
        for (name, op) in &script {
            pair.run(*name, op);
        }
        pair.finish();
    }

    #[test]
    #[cfg(not(miri))]
    fn with_every_value_compressed_it_is_a_map(
        script in script(), kib in prop::option::of(8u64..40),
    ) {
        let maxmemory = Bytes(kib.map_or(0, |kib| kib << 10));
        let mut pair = Pair::new(Config { maxmemory, shards: 2, ..Config::default() });
        let mode = Compression::Always;
        pair.store.set_compression(CompressionSettings { mode, weight: 1.0 });
        for (name, op) in &script {
            pair.run(*name, op);
        }
        pair.finish();
    }

    #[test]
    fn with_a_limit_it_only_forgets(script in script(), shards in 1usize..5, kib in 8u64..40) {
        let maxmemory = Bytes(kib << 10);
        let mut pair = Pair::new(Config { maxmemory, shards, ..Config::default() });
        for (name, op) in &script {
            pair.run(*name, op);
        }
        pair.finish();
    }

    /// A client may send any number as a cursor.
    #[test]
    fn any_cursor_ends(cursor: u64, count in 0usize..50) {
        let store = Store::new(Config::default());
        for n in 0..100u8 {
            store.set(&store.key(0, 0, &[n]), b"", None, at(0)).unwrap();
        }
        let mut cursor = cursor;
        for _ in 0..1000 {
            cursor = store.scan(Scope::ALL, cursor, count, at(0), |_| {});
            if cursor == 0 {
                break;
            }
        }
        prop_assert_eq!(cursor, 0);
    }
}
