//! A cache of slabs in virtual time for the pilot to steer: pages, size classes, and an LRU list a
//! class, as in memcached.
//!
//! ```text
//!   pages     ┌──────────┐┌──────────┐┌──────────┐    first come; when all are taken, one moves
//!             │ 96 96 96 ││ 120 120  ││ 96 96 96 │    only if the budgets say so, and the items
//!             └──────────┘└──────────┘└──────────┘    on it are evicted
//!   classes   96: newest ─▶ … ─▶ oldest               an item needs a chunk of its class; where
//!            120: newest ─▶ … ─▶ oldest               none is free the oldest of the class goes
//! ```
//!
//! A class that needs a page when none is left gets one only if its budget has room for it and
//! some other class is above its own: a plan takes effect as requests come. Budgets given while
//! pages are still free say nothing: whoever gave them could not know who would take those. A
//! class that has no page at all takes one from the class with most; memcached takes that one from
//! beyond its limit, which here is a promise.
//!
//! Chunk sizes grow by [`Slabs::factor`] from [`Slabs::least`] up to half a page; above that an
//! item has a page to itself, and what is larger than a page is not kept.

use crate::flight::Store;
use crate::plant::{Bounds, Counts};
use base::hash::KeyMap;
use base::list::{Links, List, NIL};
use base::{Access, Bytes, Filter, Micros, Op, Sample, Sighting, TenantId};
use policy::Outcome;
use tune::{Evictor, Goal, Part, Plant, PoolStep, Reading, SlabClass, Step, Tenant};

/// Samples kept for the pilot; of more, the newest are dropped and counted.
const SAMPLES_MAX: usize = 1 << 16;

/// Requests between two looks at which items are about to be evicted.
const TAIL_EVERY: u64 = 1 << 14;

/// No page.
const NONE: u32 = u32::MAX;

/// How memory is cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slabs {
    /// Bytes of a page.
    pub page: u32,
    /// The least chunk.
    pub least: u32,
    /// From one chunk size to the next.
    pub factor: f64,
}

impl Default for Slabs {
    /// memcached's.
    fn default() -> Self {
        Self { page: 1 << 20, least: 96, factor: 1.25 }
    }
}

impl Slabs {
    /// memcached's, with pages such that a limit is some hundreds of them.
    pub fn within(limit: Bytes) -> Self {
        let page = (limit.0 / 512).next_power_of_two().clamp(1 << 14, 1 << 20);
        Self { page: page as u32, ..Self::default() }
    }

    /// What an item takes of its page, by class.
    pub fn shares(&self) -> Vec<u32> {
        self.chunks().into_iter().map(|chunk| self.page / (self.page / chunk)).collect()
    }

    /// The chunk sizes, the least first.
    pub fn chunks(&self) -> Vec<u32> {
        let mut chunks = vec![];
        let mut size = f64::from(self.least);
        while size <= f64::from(self.page / 2) && chunks.len() < usize::from(u8::MAX) - 1 {
            // Multiples of eight, as memcached aligns them.
            let chunk = (size as u32).next_multiple_of(8);
            chunks.push(chunk);
            size = (f64::from(chunk) * self.factor).max(f64::from(chunk) + 8.0);
        }
        chunks.push(self.page);
        chunks
    }
}

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
    /// By tenant, then by class.
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
    /// Pages it is to have; as many as it got where nobody says.
    wanted: Option<f64>,
    gets: u64,
    misses: u64,
    sets: u64,
    evicted: u64,
    tail_hits: u64,
    /// Items used at this time or before are of the last page's worth.
    tail: u64,
    waited: f64,
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
    /// Its place among the items of the page.
    at: u32,
    last: u64,
    expires: Micros,
}

impl SlabPlant {
    /// An empty store of `limit` bytes for these tenants, numbered in their order.
    ///
    /// # Panics
    /// If there are more than 255 chunk sizes, or no page fits.
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
        }
    }

    /// Promises the tenants something.
    pub fn promise(&mut self, goals: Vec<Goal>) {
        self.goals = goals;
    }

    /// Pages that changed hands.
    pub const fn moves(&self) -> u64 {
        self.moves
    }

    /// Pages of each class of a tenant, the least chunks first.
    pub fn pages_of(&self, tenant: TenantId) -> Vec<u64> {
        let first = usize::from(tenant) * self.chunks.len();
        let own = &self.classes[first..first + self.chunks.len()];
        own.iter().map(|class| class.pages.len() as u64).collect()
    }

    fn pages_max(&self) -> u64 {
        self.limit.0 / u64::from(self.slabs.page)
    }

    /// The class of a tenant's item; none for what is larger than a page.
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

    /// What an item of a class takes of its page, with what is left over at the end.
    fn share(&self, class: usize) -> u32 {
        self.slabs.page / self.per_page(class) as u32
    }

    /// Items that a page of a class holds.
    fn per_page(&self, class: usize) -> usize {
        (self.slabs.page / self.chunk(class)) as usize
    }

    fn serve(&mut self, access: &Access) -> Outcome {
        self.now = self.now.max(access.time);
        self.tick += 1;
        let at = usize::from(access.tenant);
        let mut found = self.members[at].places.get(&access.key).copied();
        if let Some(slot) = found.filter(|&slot| self.items[slot as usize].expires <= self.now) {
            self.remove(slot);
            found = None;
        }
        let class = self.class_of(access.tenant, access.size);
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
            let item = &mut self.items[slot as usize];
            if item.class == class as u32 {
                (item.last, item.expires) = (self.tick, expires);
                self.classes[class].order.refresh(&mut self.links, slot);
                return;
            }
            self.remove(slot);
        }
        let Some(page) = self.room(class) else { return };
        let held = &mut self.pages[page as usize].items;
        let (key, at) = (access.key, held.len() as u32);
        let item = Item { key, class: class as u32, page, at, last: self.tick, expires };
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

    /// A page of the class with a free chunk, made if need be.
    fn room(&mut self, class: usize) -> Option<u32> {
        loop {
            while let Some(&page) = self.classes[class].open.last() {
                let held = &self.pages[page as usize];
                if held.class == class as u32 && held.items.len() < self.per_page(class) {
                    return Some(page);
                }
                self.classes[class].open.pop();
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
            let oldest = self.classes[class].order.oldest();
            if oldest == NIL {
                return None;
            }
            self.classes[class].evicted += 1;
            self.remove(oldest);
        }
    }

    /// Who gives the class a page: whoever is furthest above its budget if the class is below its
    /// own; whoever has most if the class has none.
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

    /// Moves the page with the donor's oldest item; the items on it are evicted.
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

    /// Takes a page from a class that has one.
    fn empty_page(&mut self, donor: usize) -> u32 {
        let page = match self.classes[donor].order.oldest() {
            NIL => self.classes[donor].pages[0],
            oldest => self.items[oldest as usize].page,
        };
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

    /// Finds what is about to be evicted: in each class, a page's worth.
    fn mark_tails(&mut self) {
        self.tail_at = self.tick;
        for at in 0..self.classes.len() {
            let mut slot = self.classes[at].order.oldest();
            for _ in 1..self.per_page(at) {
                if slot == NIL {
                    break;
                }
                slot = self.links.newer(slot);
            }
            // A class of less than a page has no tail.
            self.classes[at].tail = if slot == NIL { 0 } else { self.items[slot as usize].last };
        }
    }

    fn slab_class(&self, at: usize) -> Option<SlabClass> {
        let of = &self.classes[at];
        let oldest = of.order.oldest();
        let tail_age = if oldest == NIL { 0 } else { self.tick - self.items[oldest as usize].last };
        let chunks = self.per_page(at) * of.pages.len();
        (of.gets + of.sets > 0).then(|| SlabClass {
            tenant: self.owner(at) as TenantId,
            class: (at % self.chunks.len()) as u8,
            page: Bytes(u64::from(self.slabs.page)),
            chunk: Bytes(u64::from(self.share(at))),
            pages: of.pages.len() as u64,
            free: (chunks - of.order.len()) as u64,
            evicted: of.evicted,
            tail_hits: of.tail_hits,
            tail_age,
        })
    }
}

impl Plant for SlabPlant {
    fn read(&mut self) -> Reading {
        if self.tick - self.tail_at >= TAIL_EVERY {
            self.mark_tails();
        }
        let page = u64::from(self.slabs.page);
        let part = |(of, class): (&Class, u8)| Part {
            class,
            used: Bytes(page * of.pages.len() as u64),
            gets: of.gets,
            misses: of.misses,
            sets: of.sets,
            penalty: (of.waited > 0.0)
                .then(|| Micros((of.waited / of.misses.max(1) as f64).round() as u64)),
        };
        let classes = self.classes.chunks(self.chunks.len());
        let tenants = self.members.iter().zip(classes).zip(0..).map(|((member, classes), id)| {
            let (counts, bounds) = (member.counts, &member.bounds);
            Tenant {
                id,
                name: bounds.name.clone(),
                used: Bytes(page * member.pages),
                items: member.places.len() as u64,
                gets: counts.gets,
                misses: counts.misses,
                sets: counts.sets,
                penalty: (counts.waited > Micros(0))
                    .then(|| Micros((counts.mean_us() / counts.miss_ratio()).round() as u64)),
                min: bounds.min,
                max: bounds.max,
                weight: bounds.weight,
                classes: classes.iter().zip(0..).map(part).collect(),
            }
        });
        Reading {
            now: self.now,
            limit: Bytes(page * self.pages_max()),
            tenants: tenants.collect(),
            slabs: (0..self.classes.len()).filter_map(|at| self.slab_class(at)).collect(),
            goals: self.goals.clone(),
            samples: std::mem::take(&mut self.samples),
            dropped: self.dropped,
        }
    }

    fn apply(&mut self, step: &Step) {
        self.steps.clone_from(&step.pools);
        let page = f64::from(self.slabs.page);
        let is_full = self.pages_taken == self.pages_max();
        for class in &mut self.classes {
            (class.wanted, class.filter) = (None, Filter::NONE);
        }
        for pool in &step.pools {
            for tenant in &pool.tenants {
                let first = usize::from(*tenant) * self.chunks.len();
                let of = match pool.class {
                    Some(class) => first + usize::from(class)..first + usize::from(class) + 1,
                    None => first..first + self.chunks.len(),
                };
                for class in &mut self.classes[of] {
                    class.filter = pool.filter;
                    let budget = pool.budget.as_f64() / page;
                    class.wanted = pool.class.filter(|_| is_full).map(|_| budget);
                }
            }
        }
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

    fn evictor(&self, _: TenantId) -> Evictor {
        Evictor::LRU
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::hash::mix;

    /// Pages of 1 000 bytes and chunks of 104, 200, 384 and 1 000.
    const SMALL: Slabs = Slabs { page: 1_000, least: 100, factor: 1.9 };

    fn get(key: u64, size: u32) -> Access {
        Access::get(mix(key), size)
    }

    fn step(budgets: &[(u8, u64)]) -> Step {
        let pool = |&(class, pages): &(u8, u64)| PoolStep {
            tenants: vec![0],
            class: Some(class),
            budget: Bytes(1_000 * pages),
            evictor: Evictor::LRU,
            filter: Filter::ALL,
        };
        Step { pools: budgets.iter().map(pool).collect() }
    }

    #[test]
    fn sizes_grow_by_the_factor() {
        assert_eq!(SMALL.chunks(), [104, 200, 384, 1_000]);
        let memcached = Slabs::default().chunks();
        assert_eq!(memcached[..5], [96, 120, 152, 192, 240]);
        assert_eq!(memcached.last(), Some(&(1 << 20)));
        assert!(memcached.len() < 48);
    }

    /// First come: the small take all pages but one, and there they stay, however much the large
    /// ask for. (Their first page they take; nobody can be without.)
    #[test]
    fn pages_are_taken_first_come() {
        let mut plant = SlabPlant::new(Bytes(4_000), SMALL, &[Bounds::none("a")]);
        for key in 0..1_000 {
            plant.access(&get(key, 100));
        }
        assert_eq!(plant.pages_of(0), [4, 0, 0, 0]);
        for key in 0..1_000 {
            plant.access(&get(5_000 + key, 200));
        }
        assert_eq!(plant.pages_of(0), [3, 1, 0, 0]);
        // The page that went held the oldest and, behind it, the newest: 26 of the newest are left.
        let mut hits = |keys: std::ops::Range<u64>, size| {
            let hit = |key: &u64| plant.access(&get(*key, size)) == Outcome::Hit;
            keys.filter(hit).count()
        };
        assert_eq!(hits(5_995..6_000, 200), 5);
        assert_eq!(hits(980..999, 100), 19);
        assert_eq!(hits(0..100, 100), 0);
    }

    /// A class is an LRU list of its own: against the policies' own simulator, request by request.
    #[test]
    fn a_class_evicts_as_lru_does() {
        let mut plant = SlabPlant::new(Bytes(4_000), SMALL, &[Bounds::none("a")]);
        let mut lru = policy::Cache::new(&policy::parse("lru").unwrap(), Bytes(36), 1);
        let mut prng = base::Prng::new(4);
        for _ in 0..20_000 {
            let key = prng.below(60);
            let outcome = plant.access(&get(key, 90));
            assert_eq!(outcome, lru.access(&get(key, 1)));
        }
    }

    /// A page moves when the receiver needs it and not before; its items go, and no others.
    #[test]
    fn budgets_move_pages_on_demand() {
        let mut plant = SlabPlant::new(Bytes(4_000), SMALL, &[Bounds::none("a")]);
        for key in 0..1_000 {
            plant.access(&get(key, 100));
            plant.access(&get(5_000 + key % 5, 200));
        }
        assert_eq!(plant.pages_of(0), [3, 1, 0, 0]);
        plant.apply(&step(&[(0, 2), (1, 2)]));
        assert_eq!((plant.pages_of(0), plant.moves()), (vec![3, 1, 0, 0], 0));
        plant.access(&get(7_000, 200));
        assert_eq!((plant.pages_of(0), plant.moves()), (vec![2, 2, 0, 0], 1));
        let reading = plant.read();
        let [small, large] = &reading.slabs[..] else { panic!("two classes") };
        assert_eq!((small.pages, small.free, large.pages, large.free), (2, 0, 2, 4));
        assert_eq!(reading.tenants[0].items, 18 + 6);
        assert_eq!(reading.tenants[0].part(Some(1)).used, Bytes(2_000));
        // As asked: no further.
        for key in 0..100 {
            plant.access(&get(8_000 + key, 200));
        }
        assert_eq!(plant.pages_of(0), [2, 2, 0, 0]);
    }

    #[test]
    fn what_is_read_adds_up() {
        let tenants = [Bounds::none("a"), Bounds { min: Bytes(2_000), ..Bounds::none("b") }];
        let mut plant = SlabPlant::new(Bytes(8_000), SMALL, &tenants);
        let mut prng = base::Prng::new(7);
        let mut counts = [0u64; 2];
        for at in 0..30_000u64 {
            let tenant = prng.below(2) as TenantId;
            let key = prng.below(100);
            let size = 60 + 97 * (key % 12) as u32;
            let op = match prng.below(10) {
                0 => Op::Set,
                1 => Op::Delete,
                _ => Op::Get,
            };
            let ttl = Micros(if key.is_multiple_of(7) { 500 } else { 0 });
            let time = Micros(at * 10);
            plant.access(&Access { tenant, op, ttl, time, ..get(key, size) });
            counts[usize::from(tenant)] += u64::from(op == Op::Get);
            if at % 1_000 == 999 {
                let pages: Vec<_> = (0..4).map(|class| (class, 1 + prng.below(3))).collect();
                plant.apply(&step(&pages));
                let reading = plant.read();
                let pages: u64 = reading.slabs.iter().map(|slab| slab.pages).sum();
                assert_eq!(Bytes(1_000 * pages), plant.used());
                assert!(plant.used() <= Bytes(8_000));
                for (tenant, gets) in reading.tenants.iter().zip(counts) {
                    assert_eq!(tenant.gets, gets);
                    let own = reading.slabs.iter().filter(|slab| slab.tenant == tenant.id);
                    let chunks = |slab: &SlabClass| slab.pages * (1_000 / slab.chunk.0) - slab.free;
                    assert_eq!(tenant.items, own.map(chunks).sum::<u64>());
                }
            }
        }
        assert!(plant.used_by(1) >= Bytes(2_000));
    }
}
