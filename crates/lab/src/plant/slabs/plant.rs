//! The cache of slabs: its tenants, classes and pages, and the way of a request.

use super::Slabs;
use super::item::Item;
use super::worth::Worth;
use crate::plant::samples::SampleQueue;
use crate::plant::{Bounds, Counts, SimulatedStore};
use base::hash::KeyMap;
use base::list::{Links, List};
use base::{Access, Bytes, Filter, Micros, Op, Prng, Sighting, TenantId};
use policy::Outcome;
use policy::rank::Victims;
use tune::{Evictor, Goal};

/// Class of a page that no class holds.
pub(super) const NONE: u32 = u32::MAX;

/// A simulated store of slabs, shared by tenants.
#[derive(Debug)]
pub struct SlabPlant {
    pub(super) slabs: Slabs,
    pub(super) chunks: Vec<u32>,
    pub(super) limit: Bytes,
    pub(super) now: Micros,
    pub(super) tick: u64,
    pub(super) tail_at: u64,
    pub(super) members: Vec<Member>,
    /// Classes by tenant, then by chunk size.
    pub(super) classes: Vec<SizeClass>,
    pub(super) pages: Vec<SlabPage>,
    pub(super) free_pages: Vec<u32>,
    pub(super) pages_taken: u64,
    pub(super) items: Vec<Item>,
    pub(super) free_items: Vec<u32>,
    pub(super) links: Links,
    pub(super) goals: Vec<Goal>,
    pub(super) samples: SampleQueue,
    pub(super) moves: u64,
    pub(super) evictor: Evictor,
    /// Learnt worth of items, where it decides which are evicted.
    pub(super) worth: Option<Worth>,
    pub(super) prng: Prng,
}

/// A tenant with the places of its items.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) bounds: Bounds,
    pub(super) counts: Counts,
    pub(super) places: KeyMap<u32>,
    pub(super) pages: u64,
}

/// A tenant's items of one size class.
#[derive(Debug)]
pub(super) struct SizeClass {
    pub(super) order: List,
    pub(super) pages: Vec<u32>,
    /// Pages that may have a free chunk, the next one last.
    pub(super) open: Vec<u32>,
    pub(super) filter: Filter,
    /// Pages that the class should have. `None` without a plan: it keeps those that it got.
    pub(super) wanted: Option<f64>,
    pub(super) counts: Counts,
    pub(super) evicted: u64,
    pub(super) tail_hits: u64,
    /// Latest use of an item in the tail, which is the last page's worth of items.
    pub(super) tail: u64,
    pub(super) victims: Victims,
    /// Items evicted when the plant last asked which item the class would evict.
    pub(super) reported: u64,
}

/// A page, with the items on it.
#[derive(Debug)]
pub(super) struct SlabPage {
    pub(super) class: u32,
    pub(super) items: Vec<u32>,
}

impl SlabPlant {
    /// An empty store of `limit` bytes for these tenants, numbered in their order.
    ///
    /// # Panics
    /// If the limit holds no page.
    pub fn new(limit: Bytes, slabs: Slabs, tenants: &[Bounds]) -> Self {
        let chunks = slabs.chunks();
        assert!(limit.0 >= u64::from(slabs.page), "{limit} is less than a page");
        let class = || SizeClass {
            order: List::default(),
            pages: vec![],
            open: vec![],
            filter: Filter::NONE,
            wanted: None,
            counts: Counts::default(),
            evicted: 0,
            tail_hits: 0,
            tail: 0,
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
            goals: vec![],
            samples: SampleQueue::default(),
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

    pub(super) fn pages_max(&self) -> u64 {
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

    pub(super) fn owner(&self, class: usize) -> usize {
        class / self.chunks.len()
    }

    /// Bytes that an item of a class takes of its page, with its part of the unused end.
    pub(super) fn share(&self, class: usize) -> u32 {
        self.slabs.page / self.per_page(class) as u32
    }

    /// Number of items that a page of a class holds.
    pub(super) fn per_page(&self, class: usize) -> usize {
        (self.slabs.page / self.chunk(class)) as usize
    }

    /// Serves a request. Returns the outcome, and the class in which it counts.
    fn serve(&mut self, access: &Access) -> (Outcome, Option<usize>) {
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
                (Outcome::Done, None)
            }
            Op::Set => {
                self.write(access, self.now, found, class);
                (Outcome::Done, class)
            }
            Op::Get => {
                if let Some(slot) = found {
                    return (Outcome::Hit, Some(self.hit(slot, access)));
                }
                let done = Micros(self.now.0.saturating_add(access.penalty.0));
                if let Some(class) = class {
                    self.tap(access, Sighting::Miss, self.now, class as u32);
                }
                self.write(access, done, None, class);
                (Outcome::Miss, class)
            }
        }
    }

    /// Serves a hit. Returns the class of the item.
    fn hit(&mut self, slot: u32, access: &Access) -> usize {
        self.lives_on(slot, true);
        let item = &mut self.items[slot as usize];
        let class = item.class;
        let of = &mut self.classes[class as usize];
        of.tail_hits += u64::from(item.last <= of.tail);
        item.last = self.tick;
        of.order.refresh(&mut self.links, slot);
        self.tap(access, Sighting::Hit, self.now, class);
        class as usize
    }

    fn write(&mut self, access: &Access, done: Micros, old: Option<u32>, class: Option<usize>) {
        let Some(class) = class else {
            if let Some(slot) = old {
                self.remove(slot);
            }
            return;
        };
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

    pub(super) fn remove(&mut self, slot: u32) {
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
        if self.classes[class as usize].filter.keeps(access.key) {
            let size = self.share(class as usize);
            self.samples.push(access, (sighting, time), size, Micros(0));
        }
    }
}

impl SimulatedStore for SlabPlant {
    fn access(&mut self, access: &Access) -> Outcome {
        let (outcome, class) = self.serve(access);
        self.members[usize::from(access.tenant)].counts.record(access, outcome);
        if let Some(class) = class {
            self.classes[class].counts.record(access, outcome);
        }
        outcome
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
