//! A script of calls, read from any bytes, that runs on a store and on a map. The store may lose
//! entries of the map, but it must never return anything that the map does not hold.
//!
//! Each call takes four bytes: the operation, the key, and two numbers. The first byte of a script
//! gives the memory, the number of shards and the evictor, the second byte the layout.

use base::{Bytes, Micros};
use std::collections::HashMap;
use store::{Bounds, Change, Config, Error, Evictor, Move, Now, Scope, SizeClass, Slab, Store};

/// Tenant, database, number; the name has as many bytes as its number gives.
type Name = (u16, u8, u8);

struct Pair {
    store: Store,
    map: HashMap<Name, (Vec<u8>, Option<u64>)>,
    ms: u64,
    /// The byte that fills the next value, so that consecutive writes differ.
    fill: u8,
    may_forget: bool,
}

/// Plays a script to its end, and then checks everything once more.
#[allow(unreachable_pub)]
pub fn play(script: &[u8]) {
    let [first, layout, calls @ ..] = script else { return };
    let first = *first;
    let maxmemory = Bytes([0, 8, 16, 64][usize::from(first & 3)] << 10);
    let config = Config { maxmemory, shards: 1 << (first >> 2 & 3), ..Config::default() };
    let bounds = Bounds { min: Bytes(maxmemory.0 / 8), max: None };
    let slab = Slab {
        page: if layout & 1 != 0 { 4 << 10 } else { 0 },
        chunk_min: 32 << (layout >> 1 & 3),
        factor: 1.0 + f64::from(layout >> 4) / 8.0,
    };
    let evictor = Evictor { pool: first & 16 != 0, k: first >> 5, ..Evictor::default() };
    let store = Store::new(Config { tenants: vec![bounds; 2], evictor, slab, ..config });
    store.set_stopwatch(true);
    let may_forget = maxmemory.0 > 0;
    let mut pair = Pair { store, map: HashMap::new(), ms: 1, fill: 0, may_forget };
    for call in calls.chunks_exact(4) {
        pair.call(call[0], call[1], call[2], call[3]);
    }
    pair.scan();
    // The sweep finds all dead items by itself.
    _ = pair.store.sweep(pair.now(), 1 << 13);
    pair.scan();
    let len = pair.store.len(Scope::ALL).items;
    assert!(len == pair.map.len() as u64, "{len} items, {} alive", pair.map.len());
    pair.store.flush(Scope::ALL);
    assert!(pair.store.is_empty(), "a flush leaves nothing");
}

impl Pair {
    fn now(&self) -> Now {
        Now { unix_ms: self.ms, micros: Micros::from_millis(self.ms) }
    }

    fn call(&mut self, what: u8, key: u8, x: u8, y: u8) {
        let name = (u16::from(what >> 7), what >> 6 & 1, key);
        let before = self.store.used();
        // An eighth of the values do not fit small classes.
        let len = usize::from(x) << if y < 32 { 5 } else { 0 };
        let value = vec![self.fill; len];
        self.fill = self.fill.wrapping_add(1);
        let expires = (y & 3 == 3).then(|| self.ms + u64::from(y >> 2));
        match what & 15 {
            0..4 => self.write(name, value, expires, None),
            4 => self.write(name, value, expires, Some(Micros(u64::from(y)))),
            5..8 => self.read(name),
            8 => self.append(name, &value),
            9 => self.expire(name, expires),
            10 => self.delete(name),
            11 => self.ms += u64::from(x),
            12 => {
                let of = |tenant, class: u8| SizeClass { tenant, class: class.into() };
                let (from, to) = (of(name.0, y & 15), of(u16::from(x & 1), y >> 4));
                let pages = self.may_forget.into();
                self.store.move_pages(&[Move { from, to, pages }]);
                _ = self.store.sweep(self.now(), usize::from(x));
                _ = self.store.size_class_stats(name.0, self.now());
            }
            13 => self.look(name),
            14 if x < 8 => self.flush(name),
            14 if self.may_forget => self.store.set_limit(Bytes((8 + u64::from(y)) << 10)),
            _ => self.scan(),
        }
        let (used, limit) = (self.store.used(), self.store.limit());
        // A lowered limit is reached gradually.
        assert!(limit == Bytes(0) || used <= limit.max(before), "{used} of {limit}");
    }

    fn bytes(name: Name) -> Vec<u8> {
        let mut bytes = vec![b'k'; usize::from(name.2 % 64)];
        bytes.push(name.2);
        bytes
    }

    /// The map's entry of a name, if it is alive.
    fn held(&mut self, name: Name) -> Option<(Vec<u8>, Option<u64>)> {
        let ms = self.ms;
        if self.map.get(&name).is_some_and(|(_, when)| when.is_some_and(|when| ms > when)) {
            self.map.remove(&name);
        }
        self.map.get(&name).cloned()
    }

    /// Checks that the store's answer equals the map's. With a limit, the store may have lost the
    /// entry.
    fn agree(&mut self, name: Name, answer: Option<&(Vec<u8>, Option<u64>)>) {
        let held = self.held(name);
        if answer.is_none() && self.may_forget {
            self.map.remove(&name);
        } else {
            assert_eq!(answer, held.as_ref(), "{name:?}");
        }
    }

    fn wrote(&mut self, name: Name, result: Result<(), Error>, entry: (Vec<u8>, Option<u64>)) {
        match result {
            Ok(()) => _ = self.map.insert(name, entry),
            Err(error) => assert!(self.may_forget, "{error}"),
        }
    }

    fn write(&mut self, name: Name, value: Vec<u8>, expires: Option<u64>, price: Option<Micros>) {
        let (bytes, now) = (Self::bytes(name), self.now());
        let key = self.store.key(name.0, name.1, &bytes);
        let result = match price {
            None => self.store.set(&key, &value, expires, now),
            Some(price) => self.store.set_priced(&key, &value, expires, price, now),
        };
        self.wrote(name, result, (value, expires));
        self.look(name);
    }

    fn read(&mut self, name: Name) {
        let (bytes, now) = (Self::bytes(name), self.now());
        let key = self.store.key(name.0, name.1, &bytes);
        let answer = self.store.get(&key, now, |item| (item.value.to_vec(), item.expires));
        self.agree(name, answer.as_ref());
    }

    fn look(&mut self, name: Name) {
        let (bytes, now) = (Self::bytes(name), self.now());
        let key = self.store.key(name.0, name.1, &bytes);
        let answer = self.store.peek(&key, now, |item| (item.value.to_vec(), item.expires));
        self.agree(name, answer.as_ref());
    }

    fn append(&mut self, name: Name, more: &[u8]) {
        let (bytes, now) = (Self::bytes(name), self.now());
        let key = self.store.key(name.0, name.1, &bytes);
        let mut seen = None;
        let result = self.store.update(&key, now, |item| {
            seen = item.map(|item| (item.value.to_vec(), item.expires));
            (Change::Append(more), ())
        });
        self.agree(name, seen.as_ref());
        let (mut value, expires) = seen.unwrap_or_default();
        value.extend(more);
        self.wrote(name, result, (value, expires));
    }

    fn expire(&mut self, name: Name, expires: Option<u64>) {
        let (bytes, now) = (Self::bytes(name), self.now());
        let key = self.store.key(name.0, name.1, &bytes);
        let result = self.store.update(&key, now, |_| (Change::Expire(expires), ()));
        if let Some((value, _)) = self.held(name) {
            self.wrote(name, result, (value, expires));
        }
        self.look(name);
    }

    fn delete(&mut self, name: Name) {
        let (bytes, now) = (Self::bytes(name), self.now());
        let was = self.store.delete(&self.store.key(name.0, name.1, &bytes), now);
        let held = self.held(name);
        assert!(was == held.is_some() || (self.may_forget && !was), "{name:?}");
        self.map.remove(&name);
        self.look(name);
    }

    fn flush(&mut self, name: Name) {
        self.store.flush(Scope { tenant: Some(name.0), db: Some(name.1) });
        self.map.retain(|known, _| (known.0, known.1) != (name.0, name.1));
    }

    /// Everything that a walk shows is in the map, once; all other entries were lost.
    fn scan(&mut self) {
        let (mut shown, mut cursor) = (HashMap::new(), 0);
        loop {
            cursor = self.store.scan(Scope::ALL, cursor, 7, self.now(), |found| {
                let name = (found.tenant, found.db, *found.key.last().expect("no key is empty"));
                let entry = (found.item.value.to_vec(), found.item.expires);
                assert_eq!(found.key, Self::bytes(name));
                assert!(shown.insert(name, entry).is_none(), "{name:?} is shown twice");
            });
            if cursor == 0 {
                break;
            }
        }
        let ms = self.ms;
        self.map.retain(|_, (_, expires)| expires.is_none_or(|when| ms <= when));
        if self.may_forget {
            assert!(shown.iter().all(|(name, entry)| self.map.get(name) == Some(entry)));
            self.map = shown;
        } else {
            assert_eq!(shown, self.map);
        }
    }
}
