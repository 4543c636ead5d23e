//! A cache in virtual time for the pilot to steer: it has the live store's rules, without its
//! memory.
//!
//! Requests are look-aside: the client of a read that misses fills it after the penalty of the
//! object, before it does anything else. So the store's clock need not run, and hours pass in
//! seconds. The plant does what the live store does, in few lines. Memory is shared as long as some
//! is free. When none is free, the pool that is furthest above its budget evicts: it samples its
//! items and asks a rank of the `policy` crate. A tenant at its minimum is no victim of another; a
//! tenant at its maximum makes its own room.

mod counts;
mod disk;
mod gittins;
mod penalty_table;
mod room;
mod steer;

pub use counts::{Bounds, Counts};

use base::penalty::{of_class, usual};
use base::{Access, Bytes, Filter, Micros, Op, Prng, Sample, Sighting, TenantId, Tick};
use disk::Disk;
use gittins::Watching;
use penalty_table::{Mean, PenaltyTable};
use policy::Outcome;
use policy::rank::gittins::{KeyEvent, Past};
use room::Candidate;
use std::collections::HashMap;
use tune::{Goal, PoolStep};

/// Maximum number of samples kept for the pilot. Beyond it, the newest are dropped and counted.
const SAMPLES_MAX: usize = 1 << 16;

/// A simulated store, shared by tenants.
#[derive(Debug)]
pub struct SimulatedPlant {
    limit: Bytes,
    used: Bytes,
    now: Micros,
    tick: Tick,
    members: Vec<Member>,
    pools: Vec<Pool>,
    penalty_table: PenaltyTable,
    disk: Disk,
    /// State of a rank that learns, once a pool evicts by it.
    watching: Option<Box<Watching>>,
    /// Promises to the tenants.
    goals: Vec<Goal>,
    /// Weight of each tenant's waiting, where it is not 1.
    prices: Vec<f64>,
    /// Sum of the squares of the items' sizes.
    squares: f64,
    samples: Vec<Sample>,
    dropped: u64,
    prng: Prng,
}

#[derive(Debug)]
struct Member {
    bounds: Bounds,
    /// The keys to sample.
    filter: Filter,
    used: Bytes,
    counts: Counts,
    fetches: Mean,
    places: HashMap<u64, (u8, usize)>,
    /// Buckets by class of penalties, up to the highest class that was met.
    buckets: Vec<Bucket>,
    /// The pool of each bucket.
    pools: Vec<usize>,
}

/// A tenant's items of one class of penalties.
#[derive(Debug, Default)]
struct Bucket {
    items: Vec<Item>,
    used: Bytes,
    gets: u64,
    misses: u64,
    sets: u64,
    fetches: Mean,
}

impl Member {
    fn item(&self, key: u64) -> Option<&Item> {
        self.places.get(&key).map(|&(bucket, at)| &self.buckets[usize::from(bucket)].items[at])
    }

    /// Class of an item whose penalty is not measured.
    fn usual(&self) -> u8 {
        usual(self.buckets.iter().map(|bucket| bucket.misses))
    }

    /// Number of items of a class, or of all.
    fn len(&self, class: Option<u8>) -> usize {
        match class {
            None => self.places.len(),
            Some(class) => self.buckets.get(usize::from(class)).map_or(0, |s| s.items.len()),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Item {
    key: u64,
    size: u32,
    hits: u32,
    last: Tick,
    born: Tick,
    expires: Micros,
    penalty: Micros,
    past: Past,
    /// Class of its size by the mean size when it was first written.
    size_class: u8,
}

#[derive(Debug)]
struct Pool {
    step: PoolStep,
    used: Bytes,
    /// Good candidates of earlier draws, the best last.
    kept: Vec<Candidate>,
}

impl SimulatedPlant {
    /// An empty store with these tenants, numbered in their order, in one pool.
    pub fn new(limit: Bytes, tenants: &[Bounds], seed: u64) -> Self {
        let member = |bounds: &Bounds| Member {
            bounds: bounds.clone(),
            filter: Filter::NONE,
            used: Bytes(0),
            counts: Counts::default(),
            fetches: Mean::default(),
            places: HashMap::new(),
            buckets: vec![],
            pools: vec![],
        };
        let step = PoolStep {
            tenants: (0..tenants.len() as TenantId).collect(),
            class: None,
            budget: limit,
            evictor: tune::Evictor::klru_pool(5),
            filter: Filter::NONE,
        };
        Self {
            limit,
            used: Bytes(0),
            now: Micros(0),
            tick: Tick(0),
            members: tenants.iter().map(member).collect(),
            pools: vec![Pool { step, used: Bytes(0), kept: vec![] }],
            penalty_table: PenaltyTable::default(),
            disk: Disk::default(),
            watching: None,
            goals: vec![],
            prices: vec![],
            squares: 0.0,
            samples: vec![],
            dropped: 0,
            prng: Prng::new(seed),
        }
    }

    /// Sets the promises to the tenants.
    pub fn promise(&mut self, goals: Vec<Goal>) {
        self.goals = goals;
    }

    /// Serves a request of a known tenant. A read that misses waits for its penalty and writes.
    pub fn access(&mut self, access: &Access) -> Outcome {
        self.access_with_hint(access, None)
    }

    /// Like [`Self::access`]. A hint of the penalty's class counts instead of the measured class.
    pub fn access_with_hint(&mut self, access: &Access, hint: Option<u8>) -> Outcome {
        self.now = self.now.max(access.time);
        self.tick += Tick(1);
        let at = usize::from(access.tenant);
        let found = self.find(at, access.key);
        self.watch(at, access);
        match access.op {
            Op::Delete => {
                if found.is_some() {
                    self.remove(at, access.key);
                }
                self.disk.items.remove(&(at, access.key));
                self.tap(access, Sighting::Delete, self.now, 0);
                Outcome::Done
            }
            Op::Set => {
                let known =
                    found.map_or_else(|| self.penalty_table.class(at, access.key), |(c, _)| c);
                let before = if known == 0 { self.members[at].usual() } else { known };
                self.write(at, access, self.now, hint.unwrap_or(before));
                Outcome::Done
            }
            Op::Get => {
                self.members[at].counts.gets += 1;
                if let Some((class, place)) = found {
                    let bucket = &mut self.members[at].buckets[usize::from(class)];
                    bucket.gets += 1;
                    let item = &mut bucket.items[place];
                    item.last = self.tick;
                    item.hits = item.hits.saturating_add(1);
                    item.past.hit(self.tick.0);
                    self.tap(access, Sighting::Hit, self.now, class);
                    return Outcome::Hit;
                }
                let class = hint.unwrap_or_else(|| match access.penalty {
                    Micros(0) => 0,
                    penalty => self.penalty_table.measure(at, access.key, penalty),
                });
                self.missed(at, access.penalty, class);
                self.tap(access, Sighting::Miss, self.now, 0);
                self.write(at, access, later(self.now, access.penalty), class);
                Outcome::Miss
            }
        }
    }

    /// Shows a request to the rank that learns, if there is one.
    fn watch(&mut self, at: usize, access: &Access) {
        let size_class = self.size_class(access.size);
        let Some(watching) = &mut self.watching else { return };
        let kind = match access.op {
            Op::Get => KeyEvent::Read,
            Op::Set => KeyEvent::Write,
            Op::Delete => KeyEvent::Gone,
        };
        let residents = self.members.iter().map(|member| member.places.len()).sum();
        watching.see((at, access.key), kind, self.tick, size_class, residents);
    }

    /// Counts a miss for its tenant, and for the class of penalties of its fill.
    fn missed(&mut self, at: usize, penalty: Micros, class: u8) {
        let bucket = self.bucket(at, class);
        bucket.gets += 1;
        bucket.misses += 1;
        bucket.fetches.add(penalty);
        let member = &mut self.members[at];
        member.counts.misses += 1;
        member.counts.waited = later(member.counts.waited, penalty);
        member.fetches.add(penalty);
    }

    /// The bucket of a class. A new one joins the pool of its class.
    fn bucket(&mut self, at: usize, class: u8) -> &mut Bucket {
        let wanted = usize::from(class) + 1;
        let member = &mut self.members[at];
        while member.buckets.len() < wanted {
            let class = member.buckets.len() as u8;
            member.pools.push(steer::home(&self.pools, at as TenantId, class));
            member.buckets.push(Bucket::default());
        }
        &mut member.buckets[usize::from(class)]
    }

    /// Advances the clock.
    pub fn advance(&mut self, now: Micros) {
        self.now = self.now.max(now);
    }

    /// Changes the limit. Items that do not fit are evicted by the writes that follow.
    pub const fn set_limit(&mut self, limit: Bytes) {
        self.limit = limit;
    }

    /// Requests and misses of a tenant so far.
    pub fn counts(&self, tenant: TenantId) -> Counts {
        self.members[usize::from(tenant)].counts
    }

    /// The limit in force.
    pub const fn limit(&self) -> Bytes {
        self.limit
    }

    /// Memory in use.
    pub const fn used(&self) -> Bytes {
        self.used
    }

    /// Memory in use by a tenant.
    pub fn used_by(&self, tenant: TenantId) -> Bytes {
        self.members[usize::from(tenant)].used
    }

    /// Items of a tenant.
    pub fn items_of(&self, tenant: TenantId) -> u64 {
        self.members[usize::from(tenant)].places.len() as u64
    }

    /// The pools, as they were last set.
    pub fn pools(&self) -> impl Iterator<Item = &PoolStep> {
        self.pools.iter().map(|pool| &pool.step)
    }

    fn find(&mut self, at: usize, key: u64) -> Option<(u8, usize)> {
        let place = *self.members[at].places.get(&key)?;
        if self.members[at].buckets[usize::from(place.0)].items[place.1].expires <= self.now {
            self.remove(at, key);
            return None;
        }
        Some(place)
    }

    fn write(&mut self, at: usize, access: &Access, done: Micros, class: u8) {
        // A value that replaces another keeps its past.
        let known = self.members[at].item(access.key).map(|item| (item.past, item.size_class));
        if known.is_some() {
            self.remove(at, access.key);
        }
        self.disk.items.remove(&(at, access.key));
        self.members[at].counts.sets += 1;
        self.bucket(at, class).sets += 1;
        self.tap(access, Sighting::Write, done, class);
        let size = Bytes(u64::from(access.size));
        let most = self.members[at].bounds.max.map_or(self.limit, |max| max.min(self.limit));
        let expires = match access.ttl {
            Micros(0) => Micros(u64::MAX),
            ttl => later(done, ttl),
        };
        let new = || (Past::new(self.tick.0), self.size_class(access.size));
        let (past, size_class) = known.unwrap_or_else(new);
        let mut item = Item {
            past,
            size_class,
            key: access.key,
            size: access.size.as_u32(),
            hits: 0,
            last: self.tick,
            born: self.tick,
            expires,
            penalty: access.penalty,
        };
        let is_read = access.op == Op::Get;
        let pool = self.members[at].pools[usize::from(class)];
        let enters = size <= most && (known.is_some() || self.enters(at, &item, pool, is_read));
        if !enters || !self.make_room(at, class, size) {
            return;
        }
        if let (None, Some(watching)) = (known, &mut self.watching) {
            item.past = watching.enters(at, access.key, is_read, self.tick);
        }
        self.put(at, class, item);
    }

    fn put(&mut self, at: usize, class: u8, item: Item) {
        let size = Bytes(u64::from(item.size));
        let member = &mut self.members[at];
        let bucket = &mut member.buckets[usize::from(class)];
        member.places.insert(item.key, (class, bucket.items.len()));
        bucket.items.push(item);
        bucket.used += size;
        member.used += size;
        self.pools[member.pools[usize::from(class)]].used += size;
        self.used += size;
        self.squares += size.as_f64().powi(2);
    }

    fn remove(&mut self, at: usize, key: u64) {
        let member = &mut self.members[at];
        let Some((class, place)) = member.places.remove(&key) else { return };
        let bucket = &mut member.buckets[usize::from(class)];
        let item = bucket.items.swap_remove(place);
        if let Some(moved) = bucket.items.get(place) {
            member.places.insert(moved.key, (class, place));
        }
        let size = Bytes(u64::from(item.size));
        bucket.used -= size;
        member.used -= size;
        self.pools[member.pools[usize::from(class)]].used -= size;
        self.used -= size;
        self.squares -= size.as_f64().powi(2);
    }

    fn tap(&mut self, access: &Access, sighting: Sighting, time: Micros, class: u8) {
        if !self.members[usize::from(access.tenant)].filter.keeps(access.key) {
            return;
        }
        if self.samples.len() >= SAMPLES_MAX {
            self.dropped += 1;
            return;
        }
        let size = if sighting == Sighting::Miss { 0 } else { access.size.as_u32() };
        let (key, tenant, ttl) = (access.key, access.tenant, access.ttl);
        let penalty = of_class(class);
        self.samples.push(Sample { time, key, tenant, sighting, size, ttl, penalty });
    }
}

/// The time `by` after `from`, or the end of time.
const fn later(from: Micros, by: Micros) -> Micros {
    Micros(from.0.saturating_add(by.0))
}

#[cfg(test)]
mod tests;
