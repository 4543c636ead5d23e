//! The simulated store: its tenants and their items, and the way of a request.

use super::disk::Disk;
use super::item::Item;
use super::penalty_table::{Mean, PenaltyTable};
use super::pool::{Pool, home};
use super::watching::Watching;
use crate::plant::samples::SampleQueue;
use crate::plant::{Bounds, Counts, SimulatedStore};
use base::penalty::{of_class, usual};
use base::{Access, Bytes, Filter, Micros, Op, Prng, Sighting, TenantId, Tick};
use policy::Outcome;
use policy::rank::gittins::{KeyEvent, Past};
use std::collections::HashMap;
use tune::{Evictor, Goal, PoolStep};

/// A simulated store, shared by tenants.
#[derive(Debug)]
pub struct SampledPlant {
    pub(super) limit: Bytes,
    pub(super) used: Bytes,
    pub(super) now: Micros,
    pub(super) tick: Tick,
    pub(super) members: Vec<Member>,
    pub(super) pools: Vec<Pool>,
    pub(super) penalty_table: PenaltyTable,
    pub(super) disk: Disk,
    /// State of a rank that learns, once a pool evicts by it.
    pub(super) watching: Option<Box<Watching>>,
    /// Promises to the tenants.
    pub(super) goals: Vec<Goal>,
    /// Weight of each tenant's waiting, where it is not 1.
    pub(super) prices: Vec<f64>,
    /// Sum of the squares of the items' sizes.
    pub(super) squares: f64,
    pub(super) samples: SampleQueue,
    pub(super) prng: Prng,
}

/// A tenant with its items.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) bounds: Bounds,
    /// The keys to sample.
    pub(super) filter: Filter,
    pub(super) used: Bytes,
    pub(super) counts: Counts,
    pub(super) fetches: Mean,
    pub(super) places: HashMap<u64, (u8, usize)>,
    /// Buckets by class of penalties, up to the highest class that was met.
    pub(super) buckets: Vec<Bucket>,
    /// The pool of each bucket.
    pub(super) pools: Vec<usize>,
}

/// A tenant's items of one class of penalties.
#[derive(Debug, Default)]
pub(super) struct Bucket {
    pub(super) items: Vec<Item>,
    pub(super) used: Bytes,
    pub(super) counts: Counts,
    pub(super) fetches: Mean,
}

impl Member {
    pub(super) fn item(&self, key: u64) -> Option<&Item> {
        self.places.get(&key).map(|&(bucket, at)| &self.buckets[usize::from(bucket)].items[at])
    }

    /// Class of an item whose penalty is not measured.
    fn usual(&self) -> u8 {
        usual(self.buckets.iter().map(|bucket| bucket.counts.misses))
    }

    /// Number of items of a class, or of all.
    pub(super) fn len(&self, class: Option<u8>) -> usize {
        match class {
            None => self.places.len(),
            Some(class) => self.buckets.get(usize::from(class)).map_or(0, |s| s.items.len()),
        }
    }
}

impl SampledPlant {
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
            evictor: Evictor::klru_pool(5),
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
            samples: SampleQueue::default(),
            prng: Prng::new(seed),
        }
    }

    /// Sets the promises to the tenants.
    pub fn promise(&mut self, goals: Vec<Goal>) {
        self.goals = goals;
    }

    /// Serves a request as [`SimulatedStore::access`] does. A hint of the penalty's class counts
    /// instead of the measured class.
    pub fn access_with_hint(&mut self, access: &Access, hint: Option<u8>) -> Outcome {
        self.now = self.now.max(access.time);
        self.tick += Tick(1);
        let at = usize::from(access.tenant);
        let (outcome, class) = self.serve(at, access, hint);
        self.members[at].counts.record(access, outcome);
        if let Some(class) = class {
            self.bucket(at, class).counts.record(access, outcome);
        }
        outcome
    }

    /// Serves a request. Returns the outcome, and the class of penalties in which it counts.
    fn serve(&mut self, at: usize, access: &Access, hint: Option<u8>) -> (Outcome, Option<u8>) {
        let found = self.find(at, access.key);
        self.watch(at, access);
        match access.op {
            Op::Delete => {
                if found.is_some() {
                    self.remove(at, access.key);
                }
                self.disk.forget(at, access.key);
                self.tap(access, Sighting::Delete, self.now, 0);
                (Outcome::Done, None)
            }
            Op::Set => {
                let known =
                    found.map_or_else(|| self.penalty_table.class(at, access.key), |(c, _)| c);
                let before = if known == 0 { self.members[at].usual() } else { known };
                let class = hint.unwrap_or(before);
                self.write(at, access, self.now, class);
                (Outcome::Done, Some(class))
            }
            Op::Get => {
                if let Some((class, place)) = found {
                    let item = &mut self.members[at].buckets[usize::from(class)].items[place];
                    item.last = self.tick;
                    item.hits = item.hits.saturating_add(1);
                    item.past.hit(self.tick.0);
                    self.tap(access, Sighting::Hit, self.now, class);
                    return (Outcome::Hit, Some(class));
                }
                let class = hint.unwrap_or_else(|| match access.penalty {
                    Micros(0) => 0,
                    penalty => self.penalty_table.measure(at, access.key, penalty),
                });
                self.bucket(at, class).fetches.add(access.penalty);
                self.members[at].fetches.add(access.penalty);
                self.tap(access, Sighting::Miss, self.now, 0);
                self.write(at, access, later(self.now, access.penalty), class);
                (Outcome::Miss, Some(class))
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

    /// The bucket of a class. A new one joins the pool of its class.
    fn bucket(&mut self, at: usize, class: u8) -> &mut Bucket {
        let wanted = usize::from(class) + 1;
        let member = &mut self.members[at];
        while member.buckets.len() < wanted {
            let class = member.buckets.len() as u8;
            member.pools.push(home(&self.pools, at as TenantId, class));
            member.buckets.push(Bucket::default());
        }
        &mut member.buckets[usize::from(class)]
    }

    /// Changes the limit. Items that do not fit are evicted by the writes that follow.
    pub const fn set_limit(&mut self, limit: Bytes) {
        self.limit = limit;
    }

    /// The limit in force.
    pub const fn limit(&self) -> Bytes {
        self.limit
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
        self.disk.forget(at, access.key);
        // The class joins its pool, even if the item does not fit.
        self.bucket(at, class);
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

    pub(super) fn put(&mut self, at: usize, class: u8, item: Item) {
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

    pub(super) fn remove(&mut self, at: usize, key: u64) {
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
        if self.members[usize::from(access.tenant)].filter.keeps(access.key) {
            let penalty = of_class(class);
            self.samples.push(access, (sighting, time), access.size.as_u32(), penalty);
        }
    }
}

impl SimulatedStore for SampledPlant {
    fn access(&mut self, access: &Access) -> Outcome {
        self.access_with_hint(access, None)
    }

    fn advance(&mut self, now: Micros) {
        self.now = self.now.max(now);
    }

    fn counts(&self, tenant: TenantId) -> Counts {
        self.members[usize::from(tenant)].counts
    }

    fn used(&self) -> Bytes {
        self.used
    }

    fn used_by(&self, tenant: TenantId) -> Bytes {
        self.members[usize::from(tenant)].used
    }

    fn items_of(&self, tenant: TenantId) -> u64 {
        self.members[usize::from(tenant)].places.len() as u64
    }

    fn evictor(&self, tenant: TenantId) -> Evictor {
        let pool = self.pools().find(|pool| pool.tenants.contains(&tenant));
        pool.map_or(Evictor::klru_pool(5), |pool| pool.evictor)
    }

    fn dump(&mut self, tenant: TenantId) {
        let at = usize::from(tenant);
        let buckets = self.members[at].buckets.iter().zip(0u8..);
        let items =
            buckets.flat_map(|(bucket, class)| bucket.items.iter().map(move |i| (class, *i)));
        self.disk.copy(at, items, self.tick);
    }

    /// Loads the most used items first. It leaves out items that are resident, and those that were
    /// written, removed or expired meanwhile.
    fn load(&mut self, most: Bytes) -> bool {
        let mut left = most;
        while let Some((at, (class, item, idle))) = self.disk.take() {
            let size = Bytes(u64::from(item.size));
            let is_dead = item.expires <= self.now;
            if is_dead || self.members[at].places.contains_key(&item.key) {
                continue;
            }
            if !self.make_room(at, class, size) {
                return false;
            }
            let last = Tick(self.tick.0.saturating_sub(idle));
            self.put(at, class, Item { last, born: last, ..item });
            left = left.saturating_sub(size);
            if left == Bytes(0) {
                return true;
            }
        }
        false
    }
}

/// The time `by` after `from`, or the end of time.
const fn later(from: Micros, by: Micros) -> Micros {
    Micros(from.0.saturating_add(by.0))
}
