//! A store behind one lock.

use crate::{
    Bounds, Change, Config, Counters, Error, Item, Key, Len, Now, Pool, ScanItem, Scope, Swept,
    TenantStats,
};
use base::{Bytes, Filter, Micros, Sample, Sighting, TenantId};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes charged for an item.
pub const fn charge(key_len: usize, value_len: usize, expires: bool) -> u64 {
    let size = 16 + key_len as u64 + value_len as u64 + if expires { 8 } else { 0 };
    let step = if size <= 128 { 16 } else { (size - 1).next_power_of_two() / 8 };
    size.next_multiple_of(step)
}

type Place = (TenantId, u64, u8, Vec<u8>);

#[derive(Debug)]
struct Entry {
    value: Vec<u8>,
    expires: Option<u64>,
    last: u32,
    hits: u8,
}

#[derive(Debug)]
struct Inner {
    items: BTreeMap<Place, Entry>,
    used: u64,
    tenants: Vec<(u64, Counters)>,
    limit: u64,
    tick: u32,
    filter: Filter,
    samples: Vec<Sample>,
}

/// The live engine.
#[derive(Debug)]
pub struct Store {
    seed: u64,
    max_item: u64,
    inner: Mutex<Inner>,
}

fn place(key: &Key) -> Place {
    (key.tenant, key.hash, key.db, key.bytes.to_vec())
}

impl Entry {
    fn view(&self, key_len: usize, tick: u32) -> Item<'_> {
        Item {
            value: &self.value,
            expires: self.expires,
            key_len,
            idle: tick.wrapping_sub(self.last),
            hits: self.hits,
            penalty_class: 0,
        }
    }
}

impl Inner {
    fn remove(&mut self, at: &Place) -> Option<Entry> {
        let entry = self.items.remove(at)?;
        let bytes = charge(at.3.len(), entry.value.len(), entry.expires.is_some());
        self.used -= bytes;
        self.tenants[at.0 as usize].0 -= bytes;
        Some(entry)
    }

    fn live(&mut self, at: &Place, now: Now) -> bool {
        let Some(entry) = self.items.get(at) else { return false };
        if entry.expires.is_some_and(|when| now.unix_ms > when) {
            self.remove(at);
            self.tenants[at.0 as usize].1.expired += 1;
            return false;
        }
        true
    }

    fn put(&mut self, at: Place, value: Vec<u8>, expires: Option<u64>) -> Result<(), Error> {
        let need = charge(at.3.len(), value.len(), expires.is_some());
        if need > self.limit {
            return Err(Error::TooLarge { need: Bytes(need), limit: Bytes(self.limit) });
        }
        self.remove(&at);
        while self.used + need > self.limit {
            let victim = self.items.keys().next().cloned().ok_or(Error::Full)?;
            self.remove(&victim);
            self.tenants[victim.0 as usize].1.evicted += 1;
        }
        self.used += need;
        self.tenants[at.0 as usize].0 += need;
        self.items.insert(at, Entry { value, expires, last: self.tick, hits: 0 });
        Ok(())
    }

    fn tap(&mut self, key: &Key, now: Now, sighting: Sighting, size: u64, expires: Option<u64>) {
        if self.filter.keeps(key.hash) {
            let ttl = expires.map_or(0, |when| when.saturating_sub(now.unix_ms).max(1));
            self.samples.push(Sample {
                time: now.micros,
                key: key.hash,
                tenant: key.tenant,
                sighting,
                size: size as u32,
                ttl: Micros::from_millis(ttl),
            });
        }
    }
}

impl Store {
    /// An empty store.
    pub fn new(config: Config) -> Self {
        let limit = if config.maxmemory.0 == 0 { u64::MAX } else { config.maxmemory.0 };
        let inner = Inner {
            items: BTreeMap::new(),
            used: 0,
            tenants: vec![Default::default(); config.tenants.len().max(1)],
            limit,
            tick: 0,
            filter: Filter::NONE,
            samples: vec![],
        };
        Self { seed: config.seed, max_item: config.max_item.0, inner: Mutex::new(inner) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The seed keys are hashed with.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The key `bytes` of `tenant` in database `db`, hashed for this store.
    pub fn key<'a>(&self, tenant: TenantId, db: u8, bytes: &'a [u8]) -> Key<'a> {
        Key::new(self.seed, tenant, db, bytes)
    }

    /// Reads an item: counted as a hit or a miss, refreshed, tapped. A miss starts the stopwatch.
    pub fn get<R>(&self, key: &Key, now: Now, read: impl FnOnce(&Item) -> R) -> Option<R> {
        let (at, mut inner) = (place(key), self.lock());
        inner.tick = inner.tick.wrapping_add(1);
        let tick = inner.tick;
        if !inner.live(&at, now) {
            inner.tenants[at.0 as usize].1.misses += 1;
            inner.tap(key, now, Sighting::Miss, 0, None);
            return None;
        }
        inner.tenants[at.0 as usize].1.hits += 1;
        let entry = inner.items.get_mut(&at)?;
        entry.last = tick;
        entry.hits = entry.hits.saturating_add(1);
        let item = entry.view(at.3.len(), tick);
        let (size, expires) = (item.charge(), item.expires);
        let result = read(&item);
        inner.tap(key, now, Sighting::Hit, size, expires);
        Some(result)
    }

    /// Looks at an item without a trace: no recency, no counters, no tap.
    pub fn peek<R>(&self, key: &Key, now: Now, read: impl FnOnce(&Item) -> R) -> Option<R> {
        let (at, mut inner) = (place(key), self.lock());
        inner.live(&at, now).then(|| read(&inner.items[&at].view(at.3.len(), inner.tick)))
    }

    /// Refreshes an item as a read does, uncounted and untapped. Whether there is one.
    pub fn touch(&self, key: &Key, now: Now) -> bool {
        let (at, mut inner) = (place(key), self.lock());
        inner.live(&at, now)
    }

    /// Writes an item.
    pub fn set(
        &self,
        key: &Key,
        value: &[u8],
        expires: Option<u64>,
        now: Now,
    ) -> Result<(), Error> {
        self.update(key, now, |_| (Change::set(value, expires), ()))
    }

    /// Shows the item, or that there is none, to `f`, and does what it answers: a
    /// read-modify-write that no other thread comes between. Not counted as a read.
    pub fn update<'v, R>(
        &self,
        key: &Key,
        now: Now,
        f: impl FnOnce(Option<&Item>) -> (Change<'v>, R),
    ) -> Result<R, Error> {
        let (at, mut inner) = (place(key), self.lock());
        inner.tick = inner.tick.wrapping_add(1);
        let live = inner.live(&at, now);
        let tick = inner.tick;
        let item = live.then(|| inner.items[&at].view(at.3.len(), tick));
        let (change, result) = f(item.as_ref());
        let old_expires = item.and_then(|item| item.expires);
        match change {
            Change::Keep => {}
            Change::Set { value, expires } => {
                if value.len() as u64 > self.max_item {
                    let (need, limit) = (Bytes(value.len() as u64), Bytes(self.max_item));
                    return Err(Error::TooLarge { need, limit });
                }
                let size = charge(at.3.len(), value.len(), expires.is_some());
                inner.put(at, value.into_owned(), expires)?;
                inner.tenants[key.tenant as usize].1.sets += 1;
                inner.tap(key, now, Sighting::Write, size, expires);
            }
            Change::Append(more) => {
                let mut value = if live { inner.items[&at].value.clone() } else { vec![] };
                value.extend_from_slice(more);
                inner.put(at, value, old_expires)?;
                inner.tenants[key.tenant as usize].1.sets += 1;
            }
            Change::Expire(expires) => {
                if live {
                    let value = inner.items[&at].value.clone();
                    inner.put(at, value, expires)?;
                }
            }
            Change::Remove => {
                if live {
                    inner.remove(&at);
                    inner.tenants[at.0 as usize].1.deletes += 1;
                    inner.tap(key, now, Sighting::Delete, 0, None);
                }
            }
        }
        Ok(result)
    }

    /// [`Store::update`] by a command that also reads, such as GETEX: counted as a hit or a miss.
    pub fn get_and_update<'v, R>(
        &self,
        key: &Key,
        now: Now,
        f: impl FnOnce(Option<&Item>) -> (Change<'v>, R),
    ) -> Result<R, Error> {
        self.get(key, now, |_| ());
        self.update(key, now, f)
    }

    /// Removes an item. Whether there was one.
    pub fn delete(&self, key: &Key, now: Now) -> bool {
        let removed = self.update(key, now, |item| (Change::Remove, item.is_some()));
        removed.unwrap_or(false)
    }

    /// Walks the items of `scope`, about `count` a call: pass 0 first, then what the last call
    /// returned, until it returns 0.
    pub fn scan(
        &self,
        scope: Scope,
        cursor: u64,
        count: usize,
        now: Now,
        mut visit: impl FnMut(&ScanItem),
    ) -> u64 {
        let _ = (cursor, count);
        let inner = self.lock();
        for (at, entry) in &inner.items {
            let fits = scope.tenant.is_none_or(|tenant| tenant == at.0)
                && scope.db.is_none_or(|db| db == at.2)
                && entry.expires.is_none_or(|when| now.unix_ms <= when);
            if fits {
                let item = entry.view(at.3.len(), inner.tick);
                visit(&ScanItem { tenant: at.0, db: at.2, key: &at.3, item });
            }
        }
        0
    }

    /// Shows a live item of `scope` drawn at random; `None` where there is none.
    pub fn random_key<R>(
        &self,
        scope: Scope,
        now: Now,
        read: impl FnOnce(&ScanItem) -> R,
    ) -> Option<R> {
        let (mut read, mut result) = (Some(read), None);
        self.scan(scope, 0, 1, now, |item| {
            if let Some(read) = read.take() {
                result = Some(read(item));
            }
        });
        result
    }

    /// How many items `scope` has.
    pub fn len(&self, scope: Scope) -> Len {
        let mut len = Len::default();
        self.scan(scope, 0, 0, Now::default(), |found| {
            len += Len { items: 1, expires: u64::from(found.item.expires.is_some()) };
        });
        len
    }

    /// Whether there is no item at all.
    pub fn is_empty(&self) -> bool {
        self.lock().items.is_empty()
    }

    /// Removes every item of `scope`, and says how many there were.
    pub fn flush(&self, scope: Scope) -> u64 {
        let mut inner = self.lock();
        let fits = |at: &&Place| {
            scope.tenant.is_none_or(|tenant| tenant == at.0) && scope.db.is_none_or(|db| db == at.2)
        };
        let all: Vec<_> = inner.items.keys().filter(fits).cloned().collect();
        for at in &all {
            inner.remove(at);
        }
        all.len() as u64
    }

    /// Bytes charged now.
    pub fn used(&self) -> Bytes {
        Bytes(self.lock().used)
    }

    /// Bytes it may take; 0 for no limit.
    pub fn limit(&self) -> Bytes {
        let limit = self.lock().limit;
        Bytes(if limit == u64::MAX { 0 } else { limit })
    }

    /// Changes the limit; 0 for none. A lower one is reached by and by.
    pub fn set_limit(&self, limit: Bytes) {
        self.lock().limit = if limit.0 == 0 { u64::MAX } else { limit.0 };
    }

    /// Sets bytes of the limit aside for what the allocator takes beyond what is charged.
    pub fn set_reserve(&self, reserve: Bytes) {
        let _ = reserve;
    }

    /// Divides the memory anew.
    pub fn set_pools(&self, pools: &[Pool]) {
        let _ = pools;
    }

    /// Changes a tenant's bounds.
    pub fn set_bounds(&self, tenant: TenantId, bounds: Bounds) {
        let _ = (tenant, bounds);
    }

    /// Adds a tenant, to the first pool, and returns its number.
    pub fn add_tenant(&self, bounds: Bounds) -> TenantId {
        let _ = bounds;
        let mut inner = self.lock();
        inner.tenants.push(Default::default());
        (inner.tenants.len() - 1) as TenantId
    }

    /// How many tenants there are.
    pub fn tenants(&self) -> usize {
        self.lock().tenants.len()
    }

    /// A tenant now.
    pub fn tenant_stats(&self, tenant: TenantId) -> TenantStats {
        let len = self.len(Scope::tenant(tenant));
        let inner = self.lock();
        let (used, counters) = inner.tenants[tenant as usize];
        TenantStats { used: Bytes(used), len, counters, ..Default::default() }
    }

    /// Chooses the keys whose requests are reported; [`Filter::NONE`] to begin with.
    pub fn set_tap(&self, filter: Filter) {
        self.lock().filter = filter;
    }

    /// Switches the timing of fetches on or off; off to begin with.
    pub fn set_stopwatch(&self, on: bool) {
        let _ = on;
    }

    /// Lets timed fetches count `factor` times as much as before.
    pub fn fade_penalties(&self, factor: f64) {
        let _ = factor;
    }

    /// Adds the samples since the last call to `samples`, in order of time. Returns how many were
    /// lost because nobody drained in time.
    pub fn drain(&self, samples: &mut Vec<Sample>) -> u64 {
        samples.append(&mut self.lock().samples);
        0
    }

    /// Removes dead items and comes down to the limits: bounded work, to be called over and over.
    pub fn sweep(&self, now: Now, budget: usize) -> Swept {
        let _ = (now, budget);
        Swept::default()
    }
}
