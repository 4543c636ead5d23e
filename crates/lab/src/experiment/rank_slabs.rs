//! A cache of slabs whose classes evict by one LHD, with and without rank balance.
//!
//! ```text
//!   pages    first come; a class that has none takes one from the class with most
//!   victims  of 64 items drawn in the class, the one of least hit density by byte of its chunk
//!   densities learnt of all classes together, in requests to the whole cache
//!   balance  now and then a fake eviction in every class, and a page moves (tune::victims)
//! ```
//!
//! Some newcomers are explorers, spared until they are hit or old, as in LHD; of a class they are a
//! hundredth at most, or a class of a page would soon hold nothing else.
//!
//! An item takes a chunk, so what the chunk has beyond the item is lost. What is larger than a page
//! is not kept.

use base::hash::KeyMap;
use base::{Access, Bytes, Op, Prng, Tick};
use policy::rank::Victims;
use policy::rank::lhd::{Learner, Lived, Ranks, hit_class};
use policy::{Meta, Outcome, Rank};
use tune::victims::balance;

/// Candidates of an eviction.
const CANDIDATES: u32 = 64;

/// Chunk sizes: the least, and from one to the next. memcached's.
const LEAST: u32 = 96;
const FACTOR: f64 = 1.25;

/// Fake evictions of a class at a balance.
const FAKES: u32 = 2;

/// Balances while as many requests come as there are items.
const BALANCES: u64 = 16;

/// Requests between two balances, at least.
const BALANCE_MIN: u64 = 200;

/// A newcomer becomes an explorer one time in so many, while its class has room for one: a share of
/// its chunks. It is one until this age, in requests by item.
const EXPLORE_ONE_IN: u64 = 32;
const EXPLORE_SHARE: u64 = 100;
const EXPLORE_AGE: u64 = 64;

/// Pages of the donor that are looked at for the one worth least.
const PAGES_DRAWN: u32 = 4;

/// Balances within which a move back is one undone.
const UNDONE: u64 = 5;

#[derive(Clone, Copy, Debug)]
struct Item {
    key: u64,
    class: u32,
    page: u32,
    at: u32,
    last: u64,
    hit_class: u8,
    explorer: bool,
}

#[derive(Debug, Default)]
struct Class {
    chunk: u32,
    explorers: u64,
    pages: Vec<u32>,
    open: Vec<u32>,
    victims: Victims,
    /// The balance at which it last got a page.
    got: Option<u64>,
}

/// What is to be known of a class at the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    pub(super) chunk: u32,
    pub(super) pages: usize,
    pub(super) victims: Victims,
}

/// The cache.
#[derive(Debug)]
pub(super) struct RankSlabs {
    page: u32,
    pages_max: usize,
    balanced: bool,
    classes: Vec<Class>,
    pages: Vec<(u32, Vec<u32>)>,
    items: Vec<Item>,
    free: Vec<u32>,
    places: KeyMap<u32>,
    lived: Lived,
    learner: Learner,
    ranks: Ranks,
    prng: Prng,
    tick: u64,
    evictions: u64,
    balance_at: u64,
    balances: u64,
    pub(super) moves: u64,
    pub(super) undone: u64,
    pub(super) gets: u64,
    pub(super) misses: u64,
}

/// The size of pages such that a limit is some hundreds of them, a megabyte at most.
fn page_of(limit: Bytes) -> u32 {
    (limit.0 / 512).next_power_of_two().clamp(1 << 14, 1 << 20) as u32
}

/// The chunk of an item in a cache of so many bytes; none where it is larger than a page.
pub(super) fn chunk_of(limit: Bytes, size: u32) -> Option<u32> {
    chunks(page_of(limit)).into_iter().find(|&chunk| chunk >= size)
}

fn chunks(page: u32) -> Vec<u32> {
    let mut chunks = vec![];
    let mut size = LEAST;
    while size <= page / 2 {
        chunks.push(size);
        size = ((f64::from(size) * FACTOR) as u32).next_multiple_of(8);
    }
    chunks.push(page);
    chunks
}

impl RankSlabs {
    pub(super) fn new(limit: Bytes, balanced: bool, seed: u64) -> Self {
        let page = page_of(limit);
        let class = |chunk| Class { chunk, ..Class::default() };
        Self {
            page,
            pages_max: (limit.0 / u64::from(page)) as usize,
            balanced,
            classes: chunks(page).into_iter().map(class).collect(),
            pages: vec![],
            items: vec![],
            free: vec![],
            places: KeyMap::default(),
            lived: Lived::new(1),
            learner: Learner::new(1),
            ranks: Ranks::default(),
            prng: Prng::new(seed),
            tick: 0,
            evictions: 0,
            balance_at: 0,
            balances: 0,
            moves: 0,
            undone: 0,
            gets: 0,
            misses: 0,
        }
    }

    pub(super) fn shown(&self) -> impl Iterator<Item = Shown> + '_ {
        self.classes.iter().map(|class| Shown {
            chunk: class.chunk,
            pages: class.pages.len(),
            victims: class.victims,
        })
    }

    pub(super) fn access(&mut self, access: &Access) -> Outcome {
        self.tick += 1;
        self.learn();
        if self.balanced && self.pages.len() == self.pages_max && self.tick >= self.balance_at {
            self.rebalance();
        }
        let found = self.places.get(&access.key).copied();
        match (access.op, found) {
            (Op::Delete, _) => {
                if let Some(slot) = found {
                    self.remove(slot);
                }
                Outcome::Done
            }
            (Op::Set, _) => {
                if let Some(slot) = found {
                    self.remove(slot);
                }
                self.write(access);
                Outcome::Done
            }
            (Op::Get, Some(slot)) => {
                self.gets += 1;
                let objects = self.places.len();
                let item = &mut self.items[slot as usize];
                let age = (self.tick - item.last) as u32;
                self.lived.count(0, item.hit_class, age, true);
                item.hit_class = hit_class(age, objects);
                item.last = self.tick;
                let class = &mut self.classes[item.class as usize];
                class.explorers -= u64::from(std::mem::take(&mut item.explorer));
                Outcome::Hit
            }
            (Op::Get, None) => {
                self.gets += 1;
                self.misses += 1;
                self.write(access);
                Outcome::Miss
            }
        }
    }

    fn learn(&mut self) {
        let objects = self.places.len();
        if !self.learner.is_due(self.tick, self.evictions, objects as u64) {
            return;
        }
        let lasting: Vec<_> = self
            .places
            .values()
            .map(|&slot| &self.items[slot as usize])
            .map(|item| (0, item.hit_class, (self.tick - item.last) as u32, 1.0))
            .collect();
        self.learner.take(&mut self.lived);
        self.ranks = self.learner.learn(self.tick, &lasting, objects);
    }

    fn write(&mut self, access: &Access) {
        let Some(class) = self.classes.iter().position(|class| class.chunk >= access.size) else {
            return;
        };
        let Some(page) = self.room(class) else { return };
        let held = &mut self.pages[page as usize].1;
        let (key, at) = (access.key, held.len() as u32);
        let of = &mut self.classes[class];
        let chunks = of.pages.len() as u64 * u64::from(self.page / of.chunk);
        let has_room = EXPLORE_SHARE * (of.explorers + 1) <= chunks;
        let explorer = has_room && self.prng.below(EXPLORE_ONE_IN) == 0;
        of.explorers += u64::from(explorer);
        let (class, last) = (class as u32, self.tick);
        let item = Item { key, class, page, at, last, hit_class: 0, explorer };
        let slot = if let Some(slot) = self.free.pop() {
            self.items[slot as usize] = item;
            slot
        } else {
            self.items.push(item);
            (self.items.len() - 1) as u32
        };
        held.push(slot);
        self.places.insert(key, slot);
    }

    /// A page of the class with a free chunk, made if need be.
    fn room(&mut self, class: usize) -> Option<u32> {
        loop {
            let per_page = (self.page / self.classes[class].chunk) as usize;
            while let Some(&page) = self.classes[class].open.last() {
                let (of, held) = &self.pages[page as usize];
                if *of == class as u32 && held.len() < per_page {
                    return Some(page);
                }
                self.classes[class].open.pop();
            }
            if self.pages.len() < self.pages_max {
                self.pages.push((class as u32, vec![]));
                self.give(self.pages.len() as u32 - 1, class);
            } else if self.classes[class].pages.is_empty() {
                let held = |at: &usize| self.classes[*at].pages.len();
                let donor = (0..self.classes.len()).max_by_key(held).filter(|at| held(at) > 0)?;
                self.take_from(donor, class);
            } else {
                let (victim, density) = self.victim(class)?;
                self.evictions += 1;
                if density.is_finite() {
                    self.classes[class].victims.add(density);
                }
                self.remove(victim);
            }
        }
    }

    /// The item of least density by byte among some of a class.
    fn victim(&mut self, class: usize) -> Option<(u32, f64)> {
        let mut best: Option<(u32, f32)> = None;
        for _ in 0..CANDIDATES {
            let own = &self.classes[class].pages;
            if own.is_empty() {
                return None;
            }
            let page = own[self.prng.below(own.len() as u64) as usize];
            let held = &self.pages[page as usize].1;
            if held.is_empty() {
                continue;
            }
            let slot = held[self.prng.below(held.len() as u64) as usize];
            let rank = self.density(slot);
            if best.is_none_or(|(_, least)| rank < least) {
                best = Some((slot, rank));
            }
        }
        best.map(|(slot, rank)| (slot, f64::from(rank)))
    }

    fn density(&self, slot: u32) -> f32 {
        let item = &self.items[slot as usize];
        let age = self.tick - item.last;
        if item.explorer && age < EXPLORE_AGE * self.places.len() as u64 {
            return f32::INFINITY;
        }
        let size = self.classes[item.class as usize].chunk;
        let meta = Meta { age, life: 0, hits: 0, size, penalty: base::Micros(0) };
        // The ranks have explorers of their own, told by the time of their last use. Here they are
        // others, and any time will do that is none of theirs: of the time itself nothing depends.
        let ranks =
            (self.tick..).map(|now| self.ranks.rank_in(0, item.hit_class, &meta, Tick(now)));
        ranks.take(64).find(|rank| rank.is_finite()).unwrap_or(0.0)
    }

    fn rebalance(&mut self) {
        self.balances += 1;
        self.balance_at = self.tick + (self.places.len() as u64 / BALANCES).max(BALANCE_MIN);
        for class in 0..self.classes.len() {
            for _ in 0..FAKES {
                if let Some((_, density)) = self.victim(class).filter(|(_, d)| d.is_finite()) {
                    self.classes[class].victims.add(density);
                }
            }
        }
        let of = |class: &Class| (class.pages.len() as u64, class.victims);
        let classes: Vec<_> = self.classes.iter().map(of).collect();
        if let Some((from, to)) = balance(&classes) {
            let young = self.classes[from].got.is_some_and(|got| self.balances - got <= UNDONE);
            self.undone += u64::from(young);
            self.classes[to].got = Some(self.balances);
            self.moves += 1;
            self.take_from(from, to);
        }
    }

    fn give(&mut self, page: u32, class: usize) {
        self.pages[page as usize].0 = class as u32;
        self.classes[class].pages.push(page);
        self.classes[class].open.push(page);
    }

    /// Moves the page of the donor that is worth least of some; its items are evicted.
    fn take_from(&mut self, donor: usize, class: usize) {
        let own = &self.classes[donor].pages;
        let draw = |_| own[self.prng.below(own.len() as u64) as usize];
        let draws: Vec<_> = (0..PAGES_DRAWN).map(draw).collect();
        let worth = |page: u32| -> f64 {
            let held = &self.pages[page as usize].1;
            // Explorers are worth nothing yet.
            let density = |&slot: &u32| Some(self.density(slot)).filter(|d| d.is_finite());
            held.iter().filter_map(density).map(f64::from).sum()
        };
        let page = draws.into_iter().min_by(|a, b| worth(*a).total_cmp(&worth(*b)));
        let Some(page) = page else { return };
        while let Some(&slot) = self.pages[page as usize].1.last() {
            self.evictions += 1;
            self.remove(slot);
        }
        self.classes[donor].pages.retain(|&held| held != page);
        self.give(page, class);
    }

    fn remove(&mut self, slot: u32) {
        let Item { key, class, page, at, last, hit_class, explorer } = self.items[slot as usize];
        self.classes[class as usize].explorers -= u64::from(explorer);
        self.lived.count(0, hit_class, (self.tick - last) as u32, false);
        let held = &mut self.pages[page as usize].1;
        held.swap_remove(at as usize);
        if let Some(&moved) = held.get(at as usize) {
            self.items[moved as usize].at = at;
        }
        self.classes[class as usize].open.push(page);
        self.places.remove(&key);
        self.free.push(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::hash::mix;

    /// Small items take all pages, and then hardly anybody asks for them. Without balance the large
    /// ones make do with a page; with it they get most.
    #[test]
    fn pages_follow_the_worth_of_victims() {
        let play = |balanced| {
            let mut cache = RankSlabs::new(Bytes(64 << 14), balanced, 1);
            let mut prng = Prng::new(2);
            for _ in 0..30_000 {
                cache.access(&Access::get(mix(prng.below(20_000)), 90));
            }
            let before = cache.misses;
            for _ in 0..200_000 {
                cache.access(&Access::get(mix(1_000_000 + prng.below(600)), 1_000));
            }
            let pages: Vec<_> = cache.shown().filter(|shown| shown.pages > 0).collect();
            let large = pages.last().unwrap();
            assert_eq!(pages.iter().map(|shown| shown.pages).sum::<usize>(), 64);
            assert!(cache.places.len() <= pages.iter().map(|s| s.pages).sum::<usize>() * 170);
            (large.pages, cache.misses - before)
        };
        let ((few, more), (many, less)) = (play(false), play(true));
        assert_eq!(few, 1);
        assert!(many > 30 && less < more * 9 / 10, "{many} pages, {less} misses of {more}");
    }
}
