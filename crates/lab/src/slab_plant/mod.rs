//! A cache of slabs in virtual time, for the pilot to steer: pages, size classes, and in each class
//! an LRU list, as in memcached, or LHD, as in RankCache (`worth`).
//!
//! ```text
//!   pages     ┌──────────┐┌──────────┐┌──────────┐    first come; when all are taken, one moves
//!             │ 96 96 96 ││ 120 120  ││ 96 96 96 │    only if the budgets say so, and the items
//!             └──────────┘└──────────┘└──────────┘    on it are evicted
//!   classes   96: newest ─▶ … ─▶ oldest               an item needs a chunk of its class; where
//!            120: newest ─▶ … ─▶ oldest               none is free the oldest of the class goes,
//!                                                     or of some the one that is worth least
//! ```
//!
//! When no page is free, a class gets one only if its budget has room for it and some other class
//! is above its own budget. So a plan takes effect as requests arrive. Budgets that are set while
//! pages are free do not count: the planner could not know which classes would take the free pages.
//! A class without any page takes one from the class with most. memcached takes that page from
//! beyond its limit, but here the limit is a promise.

mod cut;
mod show;
mod worth;

pub use cut::Slabs;

use crate::plant::{Bounds, Counts};
use crate::simulation::Store;
use base::hash::KeyMap;
use base::list::{Links, List};
use base::{Access, Bytes, Filter, Micros, Op, Prng, Sample, Sighting, TenantId};
use policy::Outcome;
use policy::rank::Victims;
use tune::{Evictor, Goal, PoolStep};
use worth::Worth;

/// Maximum number of samples kept for the pilot. Beyond it, the newest are dropped and counted.
const SAMPLES_MAX: usize = 1 << 16;

/// Class of a page that no class holds.
const NONE: u32 = u32::MAX;

/// A simulated store of slabs, shared by tenants.
#[derive(Debug)]
pub struct SlabPlant {
    slabs: Slabs,
    chunks: Vec<u32>,
    limit: Bytes,
    now: Micros,
    tick: u64,
    tail_at: u64,
    members: Vec<Member>,
    /// Classes by tenant, then by chunk size.
    classes: Vec<Class>,
    pages: Vec<Page>,
    free_pages: Vec<u32>,
    pages_taken: u64,
    items: Vec<Item>,
    free_items: Vec<u32>,
    links: Links,
    steps: Vec<PoolStep>,
    goals: Vec<Goal>,
    samples: Vec<Sample>,
    dropped: u64,
    moves: u64,
    evictor: Evictor,
    /// Learnt worth of items, where it decides which are evicted.
    worth: Option<Worth>,
    prng: Prng,
}

#[derive(Debug)]
struct Member {
    bounds: Bounds,
    counts: Counts,
    places: KeyMap<u32>,
    pages: u64,
}

/// A tenant's items of one size class.
#[derive(Debug)]
struct Class {
    order: List,
    pages: Vec<u32>,
    /// Pages that may have a free chunk, the next one last.
    open: Vec<u32>,
    filter: Filter,
    /// Pages that the class should have. `None` without a plan: it keeps those that it got.
    wanted: Option<f64>,
    gets: u64,
    misses: u64,
    sets: u64,
    evicted: u64,
    tail_hits: u64,
    /// Latest use of an item in the tail, which is the last page's worth of items.
    tail: u64,
    waited: f64,
    victims: Victims,
    /// Items evicted when the plant last asked which item the class would evict.
    reported: u64,
}

#[derive(Debug)]
struct Page {
    class: u32,
    items: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    key: u64,
    class: u32,
    page: u32,
    /// Its index among the items of the page.
    at: u32,
    last: u64,
    /// The class of its age at its last hit.
    hit_class: u8,
    expires: Micros,
}

impl SlabPlant {
    /// An empty store of `limit` bytes for these tenants, numbered in their order.
    ///
    /// # Panics
    /// If the limit holds no page.
    pub fn new(limit: Bytes, slabs: Slabs, tenants: &[Bounds]) -> Self {
        let chunks = slabs.chunks();
        assert!(limit.0 >= u64::from(slabs.page), "{limit} hold no page");
        let class = || Class {
            order: List::default(),
            pages: vec![],
            open: vec![],
            filter: Filter::NONE,
            wanted: None,
            gets: 0,
            misses: 0,
            sets: 0,
            evicted: 0,
            tail_hits: 0,
            tail: 0,
            waited: 0.0,
            victims: Victims::default(),
            reported: 0,
        };
        let member = |bounds: &Bounds| Member {
            bounds: bounds.clone(),
            counts: Counts::default(),
            places: KeyMap::default(),
            pages: 0,
        };
        Self {
            slabs,
            classes: (0..tenants.len() * chunks.len()).map(|_| class()).collect(),
            chunks,
            limit,
            now: Micros(0),
            tick: 0,
            tail_at: 0,
            members: tenants.iter().map(member).collect(),
            pages: vec![],
            free_pages: vec![],
            pages_taken: 0,
            items: vec![],
            free_items: vec![],
            links: Links::default(),
            steps: vec![],
            goals: vec![],
            samples: vec![],
            dropped: 0,
            moves: 0,
            evictor: Evictor::LRU,
            worth: None,
            prng: Prng::new(0),
        }
    }

    /// The plant with another policy in its classes: LRU, or LHD.
    #[must_use]
    pub fn evicting(self, evictor: Evictor, seed: u64) -> Self {
        let worth = (evictor.policy == Evictor::lhd(0).policy).then(|| {
            let tenants = self.members.len();
            Worth::new(evictor.k, tenants)
        });
        Self { evictor, worth, prng: Prng::new(seed), ..self }
    }

    /// Sets the promises to the tenants.
    pub fn promise(&mut self, goals: Vec<Goal>) {
        self.goals = goals;
    }

    /// Pages that moved from class to class.
    pub const fn moves(&self) -> u64 {
        self.moves
    }

    /// Pages of each class of a tenant, the smallest chunks first.
    pub fn pages_of(&self, tenant: TenantId) -> Vec<u64> {
        let first = usize::from(tenant) * self.chunks.len();
        let own = &self.classes[first..first + self.chunks.len()];
        own.iter().map(|class| class.pages.len() as u64).collect()
    }

    fn pages_max(&self) -> u64 {
        self.limit.0 / u64::from(self.slabs.page)
    }

    /// Index of the class of a tenant's item; `None` for an item larger than a page.
    fn class_of(&self, tenant: TenantId, size: u32) -> Option<usize> {
        let at = self.chunks.partition_point(|&chunk| chunk < size);
        (at < self.chunks.len()).then_some(usize::from(tenant) * self.chunks.len() + at)
    }

    fn chunk(&self, class: usize) -> u32 {
        self.chunks[class % self.chunks.len()]
    }

    fn owner(&self, class: usize) -> usize {
        class / self.chunks.len()
    }

    /// Bytes that an item of a class takes of its page, with its part of the unused end.
    fn share(&self, class: usize) -> u32 {
        self.slabs.page / self.per_page(class) as u32
    }

    /// Number of items that a page of a class holds.
    fn per_page(&self, class: usize) -> usize {
        (self.slabs.page / self.chunk(class)) as usize
    }

    fn serve(&mut self, access: &Access) -> Outcome {
        self.now = self.now.max(access.time);
        self.tick += 1;
        self.learn();
        let at = usize::from(access.tenant);
        let mut found = self.members[at].places.get(&access.key).copied();
        if let Some(slot) = found.filter(|&slot| self.items[slot as usize].expires <= self.now) {
            self.remove(slot);
            found = None;
        }
        let class = self.class_of(access.tenant, access.size.as_u32());
        match access.op {
            Op::Delete => {
                if let Some(slot) = found {
                    self.tap(access, Sighting::Delete, self.now, self.items[slot as usize].class);
                    self.remove(slot);
                }
                Outcome::Done
            }
            Op::Set => {
                self.write(access, self.now, found, class);
                Outcome::Done
            }
            Op::Get => {
                self.members[at].counts.gets += 1;
                if let Some(slot) = found {
                    self.hit(slot, access);
                    return Outcome::Hit;
                }
                let counts = &mut self.members[at].counts;
                counts.misses += 1;
                counts.waited = Micros(counts.waited.0.saturating_add(access.penalty.0));
                let done = Micros(self.now.0.saturating_add(access.penalty.0));
                if let Some(class) = class {
                    let of = &mut self.classes[class];
                    of.gets += 1;
                    of.misses += 1;
                    of.waited += access.penalty.as_f64();
                    self.tap(access, Sighting::Miss, self.now, class as u32);
                }
                self.write(access, done, None, class);
                Outcome::Miss
            }
        }
    }

    fn hit(&mut self, slot: u32, access: &Access) {
        self.lives_on(slot, true);
        let item = &mut self.items[slot as usize];
        let class = item.class;
        let of = &mut self.classes[class as usize];
        of.gets += 1;
        of.tail_hits += u64::from(item.last <= of.tail);
        item.last = self.tick;
        of.order.refresh(&mut self.links, slot);
        self.tap(access, Sighting::Hit, self.now, class);
    }

    fn write(&mut self, access: &Access, done: Micros, old: Option<u32>, class: Option<usize>) {
        self.members[usize::from(access.tenant)].counts.sets += 1;
        let Some(class) = class else {
            if let Some(slot) = old {
                self.remove(slot);
            }
            return;
        };
        self.classes[class].sets += 1;
        self.tap(access, Sighting::Write, done, class as u32);
        let expires = match access.ttl {
            Micros(0) => Micros(u64::MAX),
            ttl => Micros(done.0.saturating_add(ttl.0)),
        };
        if let Some(slot) = old {
            if self.items[slot as usize].class == class as u32 {
                self.lives_on(slot, false);
                let item = &mut self.items[slot as usize];
                (item.last, item.expires) = (self.tick, expires);
                self.classes[class].order.refresh(&mut self.links, slot);
                return;
            }
            self.remove(slot);
        }
        let Some(page) = self.room(class) else { return };
        let held = &mut self.pages[page as usize].items;
        let (key, at) = (access.key, held.len() as u32);
        let item =
            Item { key, class: class as u32, page, at, last: self.tick, hit_class: 0, expires };
        let slot = if let Some(slot) = self.free_items.pop() {
            self.items[slot as usize] = item;
            slot
        } else {
            self.items.push(item);
            (self.items.len() - 1) as u32
        };
        held.push(slot);
        self.classes[class].order.push(&mut self.links, slot);
        self.members[usize::from(access.tenant)].places.insert(access.key, slot);
    }

    /// A page of the class with a free chunk.
    fn open_page(&mut self, class: usize) -> Option<u32> {
        while let Some(&page) = self.classes[class].open.last() {
            let held = &self.pages[page as usize];
            if held.class == class as u32 && held.items.len() < self.per_page(class) {
                return Some(page);
            }
            self.classes[class].open.pop();
        }
        None
    }

    /// A page of the class with a free chunk. Without one, the class takes a page or evicts an
    /// item.
    fn room(&mut self, class: usize) -> Option<u32> {
        loop {
            if let Some(page) = self.open_page(class) {
                return Some(page);
            }
            let owner = &self.members[self.owner(class)];
            let page = u64::from(self.slabs.page);
            let may_grow = owner.bounds.max.is_none_or(|max| (owner.pages + 1) * page <= max.0);
            if may_grow && self.pages_taken < self.pages_max() {
                self.take_new(class);
                continue;
            }
            if let Some(donor) = self.donor(class).filter(|_| may_grow) {
                self.take_from(donor, class);
                continue;
            }
            let victim = self.victim(class)?;
            self.classes[class].evicted += 1;
            self.remove(victim);
        }
    }

    /// The class that gives a page to this one: the class furthest above its budget, if this one is
    /// below its own. A class without any page gets one from the class with most.
    fn donor(&self, class: usize) -> Option<usize> {
        let own = &self.classes[class];
        let has = own.pages.len() as f64;
        let asker = self.owner(class);
        let page = u64::from(self.slabs.page);
        let may_give = |&at: &usize| {
            let owner = &self.members[self.owner(at)];
            let safe = self.owner(at) == asker || (owner.pages - 1) * page >= owner.bounds.min.0;
            at != class && safe
        };
        let givers = (0..self.classes.len()).filter(|&at| !self.classes[at].pages.is_empty());
        let givers = givers.filter(may_give);
        if own.pages.is_empty() {
            let most = givers.max_by_key(|&at| self.classes[at].pages.len());
            return most;
        }
        if own.wanted.is_none_or(|wanted| has + 0.5 > wanted) {
            return None;
        }
        let excess = |at: &usize| {
            let of = &self.classes[*at];
            of.pages.len() as f64 - of.wanted.unwrap_or(of.pages.len() as f64)
        };
        let above = givers.map(|at| (at, excess(&at))).filter(|(_, excess)| *excess >= 0.5);
        above.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(at, _)| at)
    }

    fn take_new(&mut self, class: usize) {
        self.pages_taken += 1;
        let page = self.free_pages.pop().unwrap_or_else(|| {
            self.pages.push(Page { class: NONE, items: vec![] });
            (self.pages.len() - 1) as u32
        });
        self.give(page, class);
    }

    /// Moves a page from `donor` to `class`, and evicts the items that are still on it.
    fn take_from(&mut self, donor: usize, class: usize) {
        let page = self.empty_page(donor);
        self.moves += 1;
        self.give(page, class);
    }

    fn give(&mut self, page: u32, class: usize) {
        self.pages[page as usize].class = class as u32;
        self.classes[class].pages.push(page);
        self.classes[class].open.push(page);
        let owner = self.owner(class);
        self.members[owner].pages += 1;
    }

    /// Takes a page from a class that has one, and empties it.
    fn empty_page(&mut self, donor: usize) -> u32 {
        let page = self.page_to_give(donor);
        self.rescue(donor, page);
        while let Some(&slot) = self.pages[page as usize].items.last() {
            self.remove(slot);
        }
        self.pages[page as usize].class = NONE;
        self.classes[donor].pages.retain(|&held| held != page);
        let owner = self.owner(donor);
        self.members[owner].pages -= 1;
        page
    }

    fn remove(&mut self, slot: u32) {
        self.ends(slot);
        let Item { key, class, page, at, .. } = self.items[slot as usize];
        let per_page = self.per_page(class as usize);
        let held = &mut self.pages[page as usize].items;
        let was_full = held.len() == per_page;
        held.swap_remove(at as usize);
        if let Some(&moved) = held.get(at as usize) {
            self.items[moved as usize].at = at;
        }
        let of = &mut self.classes[class as usize];
        if was_full {
            of.open.push(page);
        }
        of.order.remove(&mut self.links, slot);
        let owner = self.owner(class as usize);
        self.members[owner].places.remove(&key);
        self.free_items.push(slot);
    }

    fn tap(&mut self, access: &Access, sighting: Sighting, time: Micros, class: u32) {
        if !self.classes[class as usize].filter.keeps(access.key) {
            return;
        }
        if self.samples.len() >= SAMPLES_MAX {
            self.dropped += 1;
            return;
        }
        let size = if sighting == Sighting::Miss { 0 } else { self.share(class as usize) };
        let (key, tenant, ttl) = (access.key, access.tenant, access.ttl);
        let penalty = Micros(0);
        self.samples.push(Sample { time, key, tenant, sighting, size, ttl, penalty });
    }
}

impl Store for SlabPlant {
    fn access(&mut self, access: &Access) -> Outcome {
        self.serve(access)
    }

    fn advance(&mut self, now: Micros) {
        self.now = self.now.max(now);
    }

    fn counts(&self, tenant: TenantId) -> Counts {
        self.members[usize::from(tenant)].counts
    }

    fn used(&self) -> Bytes {
        Bytes(self.pages_taken * u64::from(self.slabs.page))
    }

    fn used_by(&self, tenant: TenantId) -> Bytes {
        Bytes(self.members[usize::from(tenant)].pages * u64::from(self.slabs.page))
    }

    fn items_of(&self, tenant: TenantId) -> u64 {
        self.members[usize::from(tenant)].places.len() as u64
    }

    fn evictor(&self, _: TenantId) -> Evictor {
        self.evictor
    }
}

#[cfg(test)]
mod tests;
