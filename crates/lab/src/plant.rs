//! A cache in virtual time for the pilot to steer: the live store's rules, without its memory.
//!
//! Requests are look-aside: a read that misses is filled after the penalty of the object, by the
//! same client, before it does anything else. So the store's clock need not run, and hours pass in
//! seconds. What the plant does is what the live store does, and in few lines: memory is shared as
//! long as there is any; when there is none, the pool that is furthest above its budget evicts,
//! by sampling its items and asking a rank of the `policy` crate; a tenant at its minimum is no
//! victim of another, one at its maximum makes its own room.

use base::penalty::{Estimate, of_class};
use base::{Access, Bytes, Filter, Micros, Op, Prng, Sample, Sighting, TenantId, Tick};
use policy::rank::klru::Klru;
use policy::{Meta, Outcome, Rank};
use std::collections::{HashMap, VecDeque};
use std::iter::Sum;
use tune::{POOL, Part, Plant, PoolStep, Reading, Step, Tenant};

/// Samples kept for the pilot; of more, the newest are dropped and counted.
const SAMPLES_MAX: usize = 1 << 16;

/// Draws from tenants that are no victims, before another way to make room is taken.
const DRAWS_MAX: u32 = 64;

/// A simulated store, shared by tenants.
#[derive(Debug)]
pub struct SimulatedPlant {
    limit: Bytes,
    used: Bytes,
    now: Micros,
    tick: Tick,
    members: Vec<Member>,
    pools: Vec<Pool>,
    ghosts: Ghosts,
    disk: Disk,
    samples: Vec<Sample>,
    dropped: u64,
    prng: Prng,
}

/// What a tenant is made with.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// Its name.
    pub name: String,
    /// Memory it must have.
    pub min: Bytes,
    /// Memory it may have at most.
    pub max: Option<Bytes>,
    /// How much its misses count.
    pub weight: f64,
}

impl Bounds {
    /// A tenant without bounds.
    pub fn none(name: &str) -> Self {
        Self { name: name.to_owned(), min: Bytes(0), max: None, weight: 1.0 }
    }
}

/// What a tenant asked for and got.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Reads.
    pub gets: u64,
    /// Reads that missed.
    pub misses: u64,
    /// Writes, those that fill a miss included.
    pub sets: u64,
    /// Time waited for misses.
    pub waited: Micros,
}

impl Counts {
    /// Misses a read.
    pub fn miss_ratio(&self) -> f64 {
        self.misses as f64 / self.gets.max(1) as f64
    }

    /// Mean time waited for misses, over all reads, in microseconds.
    pub fn mean_us(&self) -> f64 {
        self.waited.as_f64() / self.gets.max(1) as f64
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            gets: sum.gets + one.gets,
            misses: sum.misses + one.misses,
            sets: sum.sets + one.sets,
            waited: sum.waited + one.waited,
        })
    }
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
    /// By class of penalties, as far as any was met.
    shelves: Vec<Shelf>,
    /// The pool of each shelf.
    pools: Vec<usize>,
}

/// A tenant's items of one class of penalties.
#[derive(Debug, Default)]
struct Shelf {
    items: Vec<Item>,
    used: Bytes,
    gets: u64,
    misses: u64,
    sets: u64,
    fetches: Mean,
}

/// What fetches took lately: the older ones fade.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    count: f64,
    mean: f64,
}

/// Fetches that a mean remembers.
const FETCHES: f64 = 1_000.0;

impl Mean {
    fn add(&mut self, took: Micros) {
        self.count = (self.count + 1.0).min(FETCHES);
        self.mean += (took.as_f64() - self.mean) / self.count;
    }

    /// None where nothing costs anything.
    fn get(self) -> Option<Micros> {
        (self.mean > 0.0).then(|| Micros(self.mean.round() as u64))
    }
}

/// What is known of the penalties of keys, here or gone.
#[derive(Debug, Default)]
struct Ghosts {
    classes: HashMap<(usize, u64), Estimate>,
    order: VecDeque<(usize, u64)>,
}

/// Ghosts at most.
const GHOSTS_MAX: usize = 1 << 17;

impl Ghosts {
    /// An item of this class leaves.
    fn leave(&mut self, at: usize, key: u64, class: u8) {
        if class != 0 && self.class(at, key) != class {
            self.put(at, key, Estimate::of_class(class));
        }
    }

    /// A fetch took so long: the class of the key from here on.
    fn measure(&mut self, at: usize, key: u64, took: Micros) -> u8 {
        let mut estimate = Estimate::new(took);
        if let Some(known) = self.classes.get(&(at, key)) {
            estimate = *known;
            estimate.add(took);
        }
        self.put(at, key, estimate);
        estimate.class()
    }

    fn put(&mut self, at: usize, key: u64, estimate: Estimate) {
        if self.classes.insert((at, key), estimate).is_none() {
            self.order.push_back((at, key));
        }
        while self.order.len() > GHOSTS_MAX {
            if let Some(oldest) = self.order.pop_front() {
                self.classes.remove(&oldest);
            }
        }
    }

    fn class(&self, at: usize, key: u64) -> u8 {
        self.classes.get(&(at, key)).map_or(0, |known| known.class())
    }
}

/// Copies of items, from a valley to the next peak.
#[derive(Debug, Default)]
struct Disk {
    /// With their classes, and how many accesses they had been idle for.
    items: HashMap<(usize, u64), (u8, Item, u64)>,
    /// The most used last.
    order: Vec<(usize, u64)>,
}

impl Member {
    fn item(&self, key: u64) -> Option<&Item> {
        self.places.get(&key).map(|&(shelf, at)| &self.shelves[usize::from(shelf)].items[at])
    }

    /// Items of a class, or of all.
    fn len(&self, class: Option<u8>) -> usize {
        match class {
            None => self.places.len(),
            Some(class) => self.shelves.get(usize::from(class)).map_or(0, |s| s.items.len()),
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
}

#[derive(Debug)]
struct Pool {
    step: PoolStep,
    used: Bytes,
    /// Good candidates of earlier draws, the best last.
    kept: Vec<Candidate>,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    member: usize,
    key: u64,
    last: Tick,
    rank: f32,
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
            shelves: vec![],
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
            ghosts: Ghosts::default(),
            disk: Disk::default(),
            samples: vec![],
            dropped: 0,
            prng: Prng::new(seed),
        }
    }

    /// Serves a request of a known tenant. A read that misses waits for its penalty and writes.
    pub fn access(&mut self, access: &Access) -> Outcome {
        self.access_told(access, None)
    }

    /// The same; where the class of the penalty is told, it is not the measured one that counts.
    pub fn access_told(&mut self, access: &Access, told: Option<u8>) -> Outcome {
        self.now = self.now.max(access.time);
        self.tick += Tick(1);
        let at = usize::from(access.tenant);
        let found = self.find(at, access.key);
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
                let before = found.map_or_else(|| self.ghosts.class(at, access.key), |(c, _)| c);
                self.write(at, access, self.now, told.unwrap_or(before));
                Outcome::Done
            }
            Op::Get => {
                self.members[at].counts.gets += 1;
                if let Some((class, place)) = found {
                    let shelf = &mut self.members[at].shelves[usize::from(class)];
                    shelf.gets += 1;
                    let item = &mut shelf.items[place];
                    item.last = self.tick;
                    item.hits = item.hits.saturating_add(1);
                    self.tap(access, Sighting::Hit, self.now, class);
                    return Outcome::Hit;
                }
                let class = told.unwrap_or_else(|| match access.penalty {
                    Micros(0) => 0,
                    penalty => self.ghosts.measure(at, access.key, penalty),
                });
                self.missed(at, access.penalty, class);
                self.tap(access, Sighting::Miss, self.now, 0);
                self.write(at, access, later(self.now, access.penalty), class);
                Outcome::Miss
            }
        }
    }

    /// Counts a miss for its tenant and the class in which its fill is measured.
    fn missed(&mut self, at: usize, penalty: Micros, class: u8) {
        let shelf = self.shelf(at, class);
        shelf.gets += 1;
        shelf.misses += 1;
        shelf.fetches.add(penalty);
        let member = &mut self.members[at];
        member.counts.misses += 1;
        member.counts.waited = later(member.counts.waited, penalty);
        member.fetches.add(penalty);
    }

    /// The shelf of a class; a new one is of the pool that its class is of.
    fn shelf(&mut self, at: usize, class: u8) -> &mut Shelf {
        let wanted = usize::from(class) + 1;
        let member = &mut self.members[at];
        while member.shelves.len() < wanted {
            let class = member.shelves.len() as u8;
            member.pools.push(home(&self.pools, at as TenantId, class));
            member.shelves.push(Shelf::default());
        }
        &mut member.shelves[usize::from(class)]
    }

    /// Lets time pass.
    pub fn advance(&mut self, now: Micros) {
        self.now = self.now.max(now);
    }

    /// Copies the items of a tenant to the disk. Whatever becomes of a key from here on, its copy
    /// is the older.
    pub fn dump(&mut self, tenant: TenantId) {
        let at = usize::from(tenant);
        self.disk.items.retain(|(of, _), _| *of != at);
        for (shelf, class) in self.members[at].shelves.iter().zip(0u8..) {
            for item in &shelf.items {
                let idle = self.tick.since(item.last);
                self.disk.items.insert((at, item.key), (class, *item, idle));
            }
        }
        let hits = |name: &(usize, u64)| self.disk.items[name].1.hits;
        let mut order: Vec<_> = self.disk.items.keys().copied().collect();
        order.sort_by_key(|name| (hits(name), *name));
        self.disk.order = order;
    }

    /// Brings items back from the disk, up to so many bytes: those that are not here and were not
    /// written, removed or too old meanwhile, the most used first. False when none is left.
    pub fn load(&mut self, most: Bytes) -> bool {
        let mut left = most;
        while let Some((at, key)) = self.disk.order.pop() {
            let Some((class, item, idle)) = self.disk.items.remove(&(at, key)) else { continue };
            let size = Bytes(u64::from(item.size));
            let is_dead = item.expires <= self.now;
            if is_dead || self.members[at].places.contains_key(&key) {
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

    /// Changes the limit; what does not fit leaves with the writes that follow.
    pub const fn set_limit(&mut self, limit: Bytes) {
        self.limit = limit;
    }

    /// What a tenant asked for and got so far.
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

    /// The pools, as they were set last.
    pub fn pools(&self) -> impl Iterator<Item = &PoolStep> {
        self.pools.iter().map(|pool| &pool.step)
    }

    fn find(&mut self, at: usize, key: u64) -> Option<(u8, usize)> {
        let place = *self.members[at].places.get(&key)?;
        if self.members[at].shelves[usize::from(place.0)].items[place.1].expires <= self.now {
            self.remove(at, key);
            return None;
        }
        Some(place)
    }

    fn write(&mut self, at: usize, access: &Access, done: Micros, class: u8) {
        if self.members[at].places.contains_key(&access.key) {
            self.remove(at, access.key);
        }
        self.disk.items.remove(&(at, access.key));
        self.members[at].counts.sets += 1;
        self.shelf(at, class).sets += 1;
        self.tap(access, Sighting::Write, done, class);
        let size = Bytes(u64::from(access.size));
        let most = self.members[at].bounds.max.map_or(self.limit, |max| max.min(self.limit));
        if size > most || !self.make_room(at, class, size) {
            return;
        }
        let expires = match access.ttl {
            Micros(0) => Micros(u64::MAX),
            ttl => later(done, ttl),
        };
        let item = Item {
            key: access.key,
            size: access.size,
            hits: 0,
            last: self.tick,
            born: self.tick,
            expires,
            penalty: access.penalty,
        };
        self.put(at, class, item);
    }

    fn put(&mut self, at: usize, class: u8, item: Item) {
        let size = Bytes(u64::from(item.size));
        let member = &mut self.members[at];
        let shelf = &mut member.shelves[usize::from(class)];
        member.places.insert(item.key, (class, shelf.items.len()));
        shelf.items.push(item);
        shelf.used += size;
        member.used += size;
        self.pools[member.pools[usize::from(class)]].used += size;
        self.used += size;
    }

    /// Evicts until the tenant may take `size`. False where that cannot be.
    fn make_room(&mut self, at: usize, class: u8, size: Bytes) -> bool {
        let max = self.members[at].bounds.max;
        while max.is_some_and(|max| self.members[at].used + size > max) {
            if self.members[at].places.is_empty() {
                return false;
            }
            let victim = self.draw_from(at, None);
            self.evict(victim);
        }
        let own = self.members[at].pools[usize::from(class)];
        while self.used + size > self.limit {
            let pool = self.victim_pool(own);
            let Some(victim) = self
                .victim(pool, at)
                .or_else(|| (0..self.pools.len()).find_map(|other| self.victim(other, at)))
            else {
                return false;
            };
            self.evict(victim);
        }
        true
    }

    /// The pool furthest above its budget, in proportion; the asker's own if none is.
    fn victim_pool(&self, own: usize) -> usize {
        let excess = |pool: &Pool| {
            let budget = pool.step.budget.as_f64();
            (pool.used.as_f64() - budget) / budget.max(1.0)
        };
        let over = self.pools.iter().enumerate().filter(|(_, pool)| pool.used > pool.step.budget);
        over.max_by(|(_, a), (_, b)| excess(a).total_cmp(&excess(b))).map_or(own, |(at, _)| at)
    }

    /// The item of a pool that leaves for a write of tenant `asker`.
    fn victim(&mut self, pool: usize, asker: usize) -> Option<Candidate> {
        let evictor = self.pools[pool].step.evictor;
        let k = usize::from(evictor.k.max(1));
        if !evictor.pool {
            let draws: Vec<_> = (0..k).filter_map(|_| self.draw(pool, asker)).collect();
            return draws.into_iter().min_by(|a, b| a.rank.total_cmp(&b.rank));
        }
        for _ in 0..k {
            let Some(candidate) = self.draw(pool, asker) else { break };
            let kept = &mut self.pools[pool].kept;
            if kept.iter().any(|k| k.key == candidate.key && k.member == candidate.member) {
                continue;
            }
            let place = kept.partition_point(|known| known.rank > candidate.rank);
            kept.insert(place, candidate);
            if kept.len() > POOL as usize {
                kept.remove(0);
            }
        }
        while let Some(candidate) = self.pools[pool].kept.pop() {
            let member = &self.members[candidate.member];
            let current = member.item(candidate.key).map(|item| item.last);
            if current == Some(candidate.last) && self.may_lose(candidate.member, asker) {
                return Some(candidate);
            }
        }
        self.draw(pool, asker)
    }

    fn may_lose(&self, member: usize, asker: usize) -> bool {
        member == asker || self.members[member].used > self.members[member].bounds.min
    }

    /// An item of a pool at random, of a tenant that may lose it.
    fn draw(&mut self, pool: usize, asker: usize) -> Option<Candidate> {
        let PoolStep { tenants, class, .. } = &self.pools[pool].step;
        let class = *class;
        let items = |at: &TenantId| self.members[usize::from(*at)].len(class) as u64;
        let all: u64 = tenants.iter().map(items).sum();
        if all == 0 {
            return None;
        }
        for _ in 0..DRAWS_MAX {
            let mut left = self.prng.below(all);
            let tenants = &self.pools[pool].step.tenants;
            let at = tenants.iter().map(|at| usize::from(*at)).find(|&at| {
                let items = self.members[at].len(class) as u64;
                let here = left < items;
                left -= if here { 0 } else { items };
                here
            })?;
            if self.may_lose(at, asker) {
                return Some(self.draw_from(at, class));
            }
        }
        None
    }

    /// An item of a tenant at random, of a class or of any; there must be one.
    fn draw_from(&mut self, at: usize, class: Option<u8>) -> Candidate {
        let mut left = self.prng.below(self.members[at].len(class) as u64) as usize;
        let shelves = self.members[at].shelves.iter().zip(0u8..);
        let mut wanted = shelves.filter(|(_, of)| class.is_none_or(|class| class == *of));
        let item = wanted.find_map(|(shelf, _)| {
            let found = shelf.items.get(left);
            left = left.wrapping_sub(shelf.items.len());
            found
        });
        let item = item.expect("drawn below the number of items");
        let meta = Meta {
            age: self.tick.since(item.last),
            life: self.tick.since(item.born),
            hits: item.hits,
            size: item.size,
            penalty: item.penalty,
        };
        let rank = Klru.rank(&meta, self.tick);
        Candidate { member: at, key: item.key, last: item.last, rank }
    }

    fn evict(&mut self, victim: Candidate) {
        let (class, _) = self.members[victim.member].places[&victim.key];
        self.ghosts.leave(victim.member, victim.key, class);
        self.remove(victim.member, victim.key);
    }

    fn remove(&mut self, at: usize, key: u64) {
        let member = &mut self.members[at];
        let Some((class, place)) = member.places.remove(&key) else { return };
        let shelf = &mut member.shelves[usize::from(class)];
        let item = shelf.items.swap_remove(place);
        if let Some(moved) = shelf.items.get(place) {
            member.places.insert(moved.key, (class, place));
        }
        let size = Bytes(u64::from(item.size));
        shelf.used -= size;
        member.used -= size;
        self.pools[member.pools[usize::from(class)]].used -= size;
        self.used -= size;
    }

    fn tap(&mut self, access: &Access, sighting: Sighting, time: Micros, class: u8) {
        if !self.members[usize::from(access.tenant)].filter.keeps(access.key) {
            return;
        }
        if self.samples.len() >= SAMPLES_MAX {
            self.dropped += 1;
            return;
        }
        let size = if sighting == Sighting::Miss { 0 } else { access.size };
        let (key, tenant, ttl) = (access.key, access.tenant, access.ttl);
        let penalty = of_class(class);
        self.samples.push(Sample { time, key, tenant, sighting, size, ttl, penalty });
    }
}

/// The time `by` after `from`, or the end of time.
const fn later(from: Micros, by: Micros) -> Micros {
    Micros(from.0.saturating_add(by.0))
}

impl Plant for SimulatedPlant {
    fn read(&mut self) -> Reading {
        let part = |(shelf, class): (&Shelf, u8)| Part {
            class,
            used: shelf.used,
            gets: shelf.gets,
            misses: shelf.misses,
            sets: shelf.sets,
            penalty: shelf.fetches.get(),
        };
        let tenant = |(id, member): (usize, &Member)| Tenant {
            id: id as TenantId,
            name: member.bounds.name.clone(),
            used: member.used,
            items: member.places.len() as u64,
            gets: member.counts.gets,
            misses: member.counts.misses,
            sets: member.counts.sets,
            penalty: member.fetches.get(),
            min: member.bounds.min,
            max: member.bounds.max,
            weight: member.bounds.weight,
            classes: member.shelves.iter().zip(0..).map(part).collect(),
        };
        Reading {
            now: self.now,
            limit: self.limit,
            tenants: self.members.iter().enumerate().map(tenant).collect(),
            samples: std::mem::take(&mut self.samples),
            dropped: self.dropped,
            ..Reading::default()
        }
    }

    fn apply(&mut self, step: &Step) {
        let mut kept: HashMap<_, _> = std::mem::take(&mut self.pools)
            .into_iter()
            .map(|pool| ((pool.step.tenants, pool.step.class), pool.kept))
            .collect();
        let pool = |step: &PoolStep| {
            let kept = kept.remove(&(step.tenants.clone(), step.class)).unwrap_or_default();
            Pool { step: step.clone(), used: Bytes(0), kept }
        };
        self.pools = step.pools.iter().map(pool).collect();
        for (member, tenant) in self.members.iter_mut().zip(0..) {
            for ((home_of, shelf), class) in member.pools.iter_mut().zip(&member.shelves).zip(0..) {
                *home_of = home(&self.pools, tenant, class);
                self.pools[*home_of].used += shelf.used;
            }
            let own = step.pools.iter().filter(|pool| pool.tenants.contains(&tenant));
            let widest = own.map(|pool| pool.filter).max_by_key(|filter| filter.threshold());
            member.filter = widest.unwrap_or(Filter::NONE);
        }
    }
}

/// The pool of a tenant's items of a class; the first where no pool names them.
fn home(pools: &[Pool], tenant: TenantId, class: u8) -> usize {
    let is_home = |pool: &Pool| {
        pool.step.tenants.contains(&tenant) && pool.step.class.is_none_or(|wanted| wanted == class)
    };
    pools.iter().position(is_home).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tune::Evictor;

    fn get(tenant: TenantId, key: u64, size: u32) -> Access {
        Access { tenant, ..Access::get(base::hash::mix(key), size) }
    }

    fn fill(plant: &mut SimulatedPlant, tenant: TenantId, keys: u64) {
        for key in 0..keys {
            plant.access(&get(tenant, key, 1));
        }
    }

    /// The plant must be the cache that the policies' own simulator is, or a pilot tuned on it is
    /// tuned on something else.
    #[test]
    fn one_pool_misses_as_the_simulator_does() {
        let text = "synth:zipf:keys=20000:skew=0.8:requests=400000:size=const/100";
        for (evictor, band) in [(Evictor::klru(1), 0.003), (Evictor::klru_pool(5), 0.003)] {
            let limit = Bytes(400_000);
            let mut plant = SimulatedPlant::new(limit, &[Bounds::none("a")], 1);
            let pools = vec![PoolStep {
                tenants: vec![0],
                class: None,
                budget: limit,
                evictor,
                filter: Filter::NONE,
            }];
            plant.apply(&Step { pools });
            let choice = policy::parse(&evictor.to_string()).unwrap();
            let mut cache = policy::Cache::new(&choice, limit, 1);
            let mut source = trace::synth::open(text, &trace::Options::default()).unwrap();
            while let Some(access) = source.next() {
                let access = access.unwrap();
                plant.access(&access);
                cache.access(&access);
            }
            let counts = plant.counts(0);
            let ratio = counts.misses as f64 / counts.gets as f64;
            let simulated = cache.stats().miss_ratio();
            assert!((ratio - simulated).abs() < band, "{evictor}: {ratio} {simulated}");
        }
    }

    /// Nobody is evicted while there is room, whatever the budgets; then the excess goes first.
    #[test]
    fn budgets_bind_only_when_memory_is_full() {
        let tenants = [Bounds::none("a"), Bounds::none("b")];
        let mut plant = SimulatedPlant::new(Bytes(100), &tenants, 1);
        let pool = |tenant, budget| PoolStep {
            tenants: vec![tenant],
            class: None,
            budget: Bytes(budget),
            evictor: Evictor::klru(5),
            filter: Filter::NONE,
        };
        plant.apply(&Step { pools: vec![pool(0, 30), pool(1, 70)] });
        fill(&mut plant, 0, 100);
        assert_eq!(plant.used_by(0), Bytes(100));
        fill(&mut plant, 1, 1000);
        assert_eq!((plant.used_by(0), plant.used_by(1)), (Bytes(30), Bytes(70)));
    }

    #[test]
    fn bounds_of_tenants_hold_in_a_shared_pool() {
        let tenants = [
            Bounds { min: Bytes(40), ..Bounds::none("safe") },
            Bounds { max: Some(Bytes(10)), ..Bounds::none("small") },
            Bounds::none("greedy"),
        ];
        let mut plant = SimulatedPlant::new(Bytes(100), &tenants, 1);
        fill(&mut plant, 0, 60);
        for key in 0..1000 {
            plant.access(&get(1, key, 1));
            plant.access(&get(2, key, 1));
            assert!(plant.used() <= Bytes(100) && plant.used_by(1) <= Bytes(10));
        }
        assert!(plant.used_by(0) >= Bytes(40), "{}", plant.used_by(0));
    }

    /// A trace may name any time to live and any penalty: beyond all time is for ever.
    #[test]
    fn what_lasts_beyond_all_time_lasts() {
        let mut plant = SimulatedPlant::new(Bytes(100), &[Bounds::none("a")], 1);
        let (ttl, penalty) = (Micros(u64::MAX), Micros(u64::MAX - 5));
        let write = Access { op: Op::Set, ttl, time: Micros(10), ..get(0, 1, 1) };
        plant.access(&write);
        let read = Access { penalty, time: Micros(1 << 60), ..get(0, 1, 1) };
        assert_eq!(plant.access(&read), Outcome::Hit);
        let others = [get(0, 2, 1), get(0, 3, 1)];
        for other in others {
            assert_eq!(plant.access(&Access { key: other.key, ..read }), Outcome::Miss);
        }
        assert_eq!(plant.counts(0).waited, Micros(u64::MAX));
    }

    /// What was dumped comes back unless it was written or removed meanwhile, and within the limit.
    #[test]
    fn the_disk_is_older_than_any_write() {
        let mut plant = SimulatedPlant::new(Bytes(100), &[Bounds::none("a"), Bounds::none("b")], 1);
        fill(&mut plant, 0, 100);
        plant.dump(0);
        plant.access(&Access::delete(base::hash::mix(1)));
        plant.access(&Access { op: Op::Set, size: 2, ..get(0, 2, 2) });
        fill(&mut plant, 1, 1_000);
        assert!(plant.used_by(0) < Bytes(20), "{}", plant.used_by(0));
        while plant.load(Bytes(10)) {}
        assert!(plant.used() <= Bytes(100) && plant.used_by(0) > Bytes(40));
        let has =
            |plant: &SimulatedPlant, key| plant.members[0].item(base::hash::mix(key)).copied();
        assert!(has(&plant, 1).is_none(), "it was removed");
        assert!(has(&plant, 2).is_none_or(|item| item.size == 2), "it was written");
    }

    /// A class is a pool like any other: it keeps its budget and gives what is above, whoever owns
    /// the items. A key whose fill takes longer than before is of another class from then on.
    #[test]
    fn classes_of_penalties_are_pools() {
        let tenants = [Bounds::none("a"), Bounds::none("b")];
        let mut plant = SimulatedPlant::new(Bytes(100), &tenants, 1);
        let pool = |class, budget| PoolStep {
            tenants: vec![0, 1],
            class: Some(class),
            budget: Bytes(budget),
            evictor: Evictor::klru(5),
            filter: Filter::ALL,
        };
        plant.apply(&Step { pools: vec![pool(0, 0), pool(4, 30), pool(7, 70)] });
        let read = |plant: &mut SimulatedPlant, tenant, key, penalty| {
            plant.access(&Access { penalty: Micros(penalty), ..get(tenant, key, 1) })
        };
        for key in 0..1_000 {
            read(&mut plant, (key % 2) as TenantId, key, 120);
            read(&mut plant, (key % 3 % 2) as TenantId, 10_000 + key, 1_000);
        }
        let of = |plant: &mut SimulatedPlant, class| {
            let reading = plant.read();
            let parts = || reading.tenants.iter().map(|tenant| tenant.part(Some(class)));
            let misses: u64 = parts().map(|part| part.misses).sum();
            (parts().map(|part| part.used).sum::<Bytes>(), misses)
        };
        assert_eq!(of(&mut plant, 4), (Bytes(30), 1_000));
        assert_eq!(of(&mut plant, 7), (Bytes(70), 1_000));
        // The newest is still there; read again it keeps its class, fetched anew it changes it.
        assert_eq!(read(&mut plant, 1, 999, 1_000), Outcome::Hit);
        assert_eq!(of(&mut plant, 7).1, 1_000);
        plant.access(&Access { tenant: 1, ..Access::delete(base::hash::mix(999)) });
        assert_eq!(read(&mut plant, 1, 999, 1_000), Outcome::Miss);
        // One slow fetch is not yet the new class, but it is no longer the old one.
        assert_eq!((of(&mut plant, 7).1, of(&mut plant, 5).1), (1_000, 1));
        // What is told counts, not what is measured.
        let told = Access { penalty: Micros(1_000), ..get(0, 77_777, 1) };
        plant.access_told(&told, Some(4));
        assert_eq!(of(&mut plant, 4).1, 1_001);
    }

    #[test]
    fn samples_say_what_happened() {
        let mut plant = SimulatedPlant::new(Bytes(100), &[Bounds::none("a")], 1);
        let step = PoolStep {
            tenants: vec![0],
            class: None,
            budget: Bytes(100),
            evictor: Evictor::klru(5),
            filter: Filter::ALL,
        };
        plant.apply(&Step { pools: vec![step] });
        let miss = Access { penalty: Micros(500), time: Micros(10), ..get(0, 1, 7) };
        assert_eq!(plant.access(&miss), Outcome::Miss);
        assert_eq!(plant.access(&Access { time: Micros(600), ..miss }), Outcome::Hit);
        let reading = plant.read();
        let seen: Vec<_> = reading.samples.iter().map(|s| (s.sighting, s.time.0, s.size)).collect();
        let expected =
            [(Sighting::Miss, 10, 0), (Sighting::Write, 510, 7), (Sighting::Hit, 600, 7)];
        assert_eq!(seen, expected);
        assert_eq!(reading.tenants[0].penalty, Some(Micros(500)));
        assert!(plant.read().samples.is_empty());
    }
}
