//! Memory in pages, each cut into chunks of one size, as in memcached.
//!
//! A page belongs to a shard, a tenant and a class, and its whole length is charged to the tenant.
//! Inside a class an item takes the chunk of another, and nothing else moves: eviction and
//! allocation are one step, for a write or for a few to come. Between classes and tenants memory
//! moves a page at a time (`mover.rs`), and what items take never exceeds what is charged, by
//! construction: no allocator stands between (`arena.rs`).
//!
//! ```text
//!   tenant ─▶ class 0 ─▶ page, page, …     each: head │ tags │ chunk │ chunk │ …
//!             class 1 ─▶ page
//!             …
//!             large   ─▶ run, run, …       each: head │ tag │ one item
//! ```
//!
//! `size_classes.rs` cuts, `fit.rs` cuts to items of one size, `page.rs` is one page, this file is
//! a tenant's pages in one shard, `sample.rs` chooses who leaves a class.

#[allow(unsafe_code)]
mod arena;
mod count;
mod eviction_pool;
mod fit;
mod held;
mod lowest;
#[allow(unsafe_code)]
mod mapping;
mod mover;
#[allow(unsafe_code)]
mod page;
mod sample;
mod size_classes;

pub(crate) use arena::Arena;
use arena::Run;
pub use count::SizeCounts;
pub(crate) use mover::Moves;
pub use mover::{Move, SizeClass, SizeClassStats};
pub(crate) use page::{STEP, TAG};
pub(crate) use sample::{Choice, Chosen, Draws};
pub(crate) use size_classes::SizeClasses;

use crate::big_reader::READER_SLOTS_MAX;
use crate::config::Evictable;
use crate::item::{Owned, Parts, Ref};
use crate::sync::AtomicU64;
use base::Prng;
use eviction_pool::{EvictionPool, MANY};
use held::Held;
use page::Page;
use policy::rank::{Stamps, Tag, Victims};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// No place among the pages that have room.
const NIL: u32 = u32::MAX;

/// How memory is cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slab {
    /// Bytes of a page, a power of two from 4096 on; 0 for a length that suits the limit and the
    /// number of tenants. Each shard and each tenant has pages of its own.
    pub page: u64,
    /// Bytes of the smallest chunk.
    pub chunk_min: u64,
    /// The factor by which each class is larger than the last.
    pub factor: f64,
}

impl Default for Slab {
    /// memcached's smallest chunk and factor.
    fn default() -> Self {
        Self { page: 0, chunk_min: 48, factor: 1.25 }
    }
}

/// Least and most bytes of a page, by default: the items of one are cleared in far less than a
/// millisecond.
const PAGE_MIN: u64 = 4 << 10;
const PAGE_MAX: u64 = 64 << 10;
/// Pages that a tenant has in a shard at least, by default, and of more than so many bytes so many
/// more: with fewer some of thirty classes have one or two, and cannot lose a half.
pub(crate) const PAGES: u64 = 64;
/// Pages that are longer than others where pages are short: so many times, and no more bytes.
const LONGER: u64 = 4;
const LONGEST: u64 = 16 << 10;
/// Growth factors where there are so few pages that not every class could have a few.
const COARSE: [(u64, f64); 2] = [(24, 2.0), (48, 1.5)];
const PAGE_MID: u64 = 32 << 10;
const PAGES_WANTED: u64 = 1024;

/// Bytes of a store from which on it has the shards that it is asked for. Below, each has this
/// much: in less, divided among classes, there are too few items of each to tell what they are
/// worth.
const SHARDED: u64 = 256 << 20;
const SHARD_MIN: u64 = 16 << 20;

impl Slab {
    /// Bytes of a page that suit a tenant of so many in a shard.
    fn suits(bytes: u64) -> u64 {
        let page = (bytes / PAGES_WANTED).max(PAGE_MID.min(bytes / PAGES)).max(1);
        page.next_power_of_two().clamp(PAGE_MIN, PAGE_MAX)
    }

    /// How many of the shards that are asked for a store of so many bytes has, 0 for no limit:
    /// where there are few pages all classes need to be balanced at once.
    pub(crate) fn shards(&self, limit: u64, asked: usize) -> usize {
        if self.page > 0 || limit == 0 || limit >= SHARDED {
            return asked;
        }
        asked.min(1 << (limit / SHARD_MIN).max(1).ilog2())
    }

    /// The classes for a store of so many bytes, 0 for no limit, shards and tenants.
    pub(crate) fn classes(&self, limit: u64, shards: usize, tenants: usize) -> SizeClasses {
        let bytes = if limit == 0 { u64::MAX } else { limit / (shards * tenants.max(1)) as u64 };
        let page = match self.page {
            0 => Self::suits(bytes),
            page => page.next_power_of_two().max(PAGE_MIN),
        };
        let factor = if self.factor > 1.0 { self.factor } else { Self::default().factor };
        let coarse = COARSE.iter().find(|(pages, _)| bytes / page < *pages);
        SizeClasses::new(
            page,
            (LONGER * page).min(page.max(LONGEST)),
            self.chunk_min.clamp(32, 1 << 16),
            coarse.map_or(factor, |(_, coarse)| factor.max(*coarse)),
        )
    }
}

/// The pages of a class.
#[derive(Debug, Default)]
struct Class {
    pages: Vec<Page>,
    /// The pages with a free slot, in no order; the last is filled first.
    open: Vec<u32>,
    items: u64,
    bytes: u64,
    /// Items that left to make room.
    evicted: u64,
    /// As many as had left when it was last reported.
    reported: u64,
    /// As many as had left when the shard's classes were last balanced.
    balanced: u64,
    /// As many as had left when it last looked for a page of another class.
    asked: u64,
    /// As many as had left when it was last asked what a page of it is worth.
    weighed: u64,
    /// Pages that it had when it was last tried to be fitted.
    tried: usize,
    victims: Victims,
    counts: SizeCounts,
    /// By the shard's reader slot; none before there are many items and one was evicted.
    eviction_pools: [Option<Box<EvictionPool>>; READER_SLOTS_MAX],
}

/// A tenant's pages in one shard. The items in them must be gone before it is.
#[derive(Debug)]
pub(crate) struct Pages {
    arena: Arc<Arena>,
    classes: SizeClasses,
    held: Held,
    /// Whether the last item of a class left, whose page is still here.
    has_idle: bool,
    /// Bytes of the pages of all tenants in the shard.
    in_shard: Arc<AtomicU64>,
}

impl Pages {
    pub(crate) fn new(
        arena: &Arc<Arena>,
        classes: &SizeClasses,
        in_shard: &Arc<AtomicU64>,
    ) -> Self {
        let held = Held::new(classes.large() + 1);
        let (arena, classes) = (Arc::clone(arena), classes.unfitted());
        Self { arena, classes, held, has_idle: false, in_shard: Arc::clone(in_shard) }
    }

    /// The same without a page.
    pub(crate) fn without_pages(&self) -> Self {
        Self::new(&self.arena, &self.classes, &self.in_shard)
    }

    /// What is known of victims, those to come among them, is out of date.
    pub(crate) fn forget_victims(&mut self) {
        for held in self.held.iter_mut() {
            held.victims.count = 0;
            held.eviction_pools = Default::default();
        }
    }

    pub(crate) fn classes(&self) -> &SizeClasses {
        &self.classes
    }

    /// Bytes of all pages, and of the classes that they are of.
    pub(crate) fn bytes(&self) -> u64 {
        self.held.bytes() + self.held.iter().map(|class| class.bytes).sum::<u64>()
    }

    /// Bytes that the first page of a class takes beside itself.
    pub(crate) fn class_cost(&self, class: usize) -> u64 {
        self.held.cost(class)
    }

    /// Whether an item of these contents finds room.
    #[inline]
    pub(crate) fn has_room(&self, contents: u64) -> bool {
        let class = self.classes.of(contents);
        let held = &self.held[class];
        match held.open.last() {
            Some(&index) if class == self.classes.large() => {
                held.pages[index as usize].bytes == self.page_for(contents)
            }
            open => open.is_some(),
        }
    }

    /// Gives back the page of a large item that was not written after all; returns its bytes.
    pub(crate) fn release_unwritten(&mut self) -> u64 {
        let large = self.classes.large();
        match self.held[large].open.last() {
            Some(&index) => self.release(large, index as usize),
            None => 0,
        }
    }

    /// Bytes to charge for the page in which an item of these contents finds room.
    pub(crate) fn page_for(&self, contents: u64) -> u64 {
        let class = self.classes.of(contents);
        if class == self.classes.large() {
            return self.classes.charge(contents);
        }
        self.classes.page_of(class)
    }

    /// Adds a page of so many bytes, which are charged already, as is the class. Whether the system
    /// had one.
    pub(crate) fn add_page(&mut self, class: usize, bytes: u64) -> bool {
        let Some(run) = self.arena.take(bytes) else { return false };
        self.cut(run, class, bytes);
        true
    }

    /// Cuts a run into the chunks of a class.
    fn cut(&mut self, run: Run, class: usize, bytes: u64) {
        let held = self.held.make(class);
        let index = held.pages.len();
        held.pages.push(Page::new(run, bytes, class, index, self.classes.slots(class)));
        held.bytes += bytes;
        self.in_shard.fetch_add(bytes, Relaxed);
        held.open(index);
    }

    /// Gives a page without items back to the system; returns its bytes.
    pub(crate) fn release(&mut self, class: usize, index: usize) -> u64 {
        let held = &mut self.held[class];
        held.close(index);
        let page = held.pages.swap_remove(index);
        if let Some(moved) = held.pages.get_mut(index) {
            moved.set_index(index);
            if moved.open != NIL {
                held.open[moved.open as usize] = index as u32;
            }
        }
        if held.items < MANY {
            held.eviction_pools = Default::default();
        }
        let bytes = page.bytes;
        held.bytes -= bytes;
        self.in_shard.fetch_sub(bytes, Relaxed);
        self.arena.give(page.into_run());
        bytes
    }

    /// Makes an item. There must be room.
    pub(crate) fn write(&mut self, parts: &Parts, stamps: Stamps) -> Owned {
        let held = &mut self.held[self.classes.of(parts.contents())];
        let index = *held.open.last().expect("there is room") as usize;
        let item = held.pages[index].write(parts, stamps);
        held.items += 1;
        if held.pages[index].is_full() {
            held.close(index);
        }
        item
    }

    /// Takes back an item's chunk for the next one of its class; returns class and page.
    pub(crate) fn vacate(&mut self, item: Owned) -> (usize, usize) {
        let (class, index) = Page::of(item.view(), &self.classes);
        self.vacate_in(class, index, item, false);
        (class, index)
    }

    /// The same of an item that is known to stand in this page of this class, and that leaves to
    /// make room or not.
    pub(crate) fn vacate_in(&mut self, class: usize, index: usize, item: Owned, evicted: bool) {
        let held = &mut self.held[class];
        held.pages[index].free(item);
        held.items -= 1;
        held.evicted += u64::from(evicted);
        held.open(index);
    }

    /// Takes back an item's chunk. Returns the bytes of its page if that is given back: when it was
    /// the last item of the page, and another page of the class has room too. Else the page stays
    /// for the next item, until [`Pages::release_idle`].
    pub(crate) fn free(&mut self, item: Owned) -> u64 {
        let (class, index) = self.vacate(item);
        let held = &self.held[class];
        let is_empty = held.pages[index].used() == 0;
        let spare = class == self.classes.large() || held.open.len() > 1;
        if is_empty && spare {
            return self.release(class, index);
        }
        self.has_idle |= is_empty;
        0
    }

    /// Whether there may be pages of classes without items.
    pub(crate) const fn has_idle(&self) -> bool {
        self.has_idle
    }

    /// Gives the pages of classes back that have no item any more; returns their bytes.
    pub(crate) fn release_idle(&mut self) -> u64 {
        let mut bytes = 0;
        if !std::mem::take(&mut self.has_idle) {
            return bytes;
        }
        for class in 0..self.held.len() {
            while self.held[class].items == 0 && !self.held[class].pages.is_empty() {
                bytes += self.release(class, self.held[class].pages.len() - 1);
            }
        }
        bytes
    }

    /// Takes all items back and gives all pages back.
    pub(crate) fn take_apart(mut self, items: impl Iterator<Item = Owned>) {
        items.for_each(|item| _ = self.vacate(item));
        for class in 0..self.held.len() {
            for index in (0..self.held[class].pages.len()).rev() {
                self.release(class, index);
            }
        }
    }

    /// Whether the items of a class, of which there are several to a page, would find room in a
    /// page less.
    pub(crate) fn fits_a_page_less(&self, class: usize) -> bool {
        let (held, slots) = (&self.held[class], u64::from(self.classes.slots(class)));
        let room = (held.pages.len() as u64).saturating_sub(1) * slots;
        held.items <= room || class == self.classes.large()
    }

    /// Whether a page may go: whatever is on it may leave, or finds a chunk elsewhere.
    pub(crate) fn may_go(&self, class: usize, index: usize, evictable: Evictable) -> bool {
        let is_small = class != self.classes.large();
        if evictable == Evictable::Any || is_small && self.fits_a_page_less(class) {
            return true;
        }
        let page = &self.held[class].pages[index];
        let spares = |item: Ref<'_>| evictable.spare(item.expires());
        (0..page.slots()).all(|slot| page.look(slot, spares) != Some(true))
    }

    /// Whether a class of several items to a page has a free chunk.
    pub(crate) fn takes_another(&self, class: usize) -> bool {
        class != self.classes.large() && !self.held[class].open.is_empty()
    }

    /// Says that a page is to take no more items.
    pub(crate) fn close(&mut self, class: usize, index: usize) {
        self.held[class].close(index);
    }

    /// The classes that have pages.
    pub(crate) fn with_pages(&self) -> impl Iterator<Item = usize> {
        self.held.iter().enumerate().filter(|(_, held)| held.bytes > 0).map(|(class, _)| class)
    }

    /// Bytes of a page of a class.
    pub(crate) fn bytes_of(&self, class: usize, index: usize) -> u64 {
        self.held[class].pages[index].bytes
    }

    /// Of some pages of a class drawn at random, the one with the fewest items: not the one in
    /// which something stands at `spare`.
    pub(crate) fn emptiest(
        &self,
        class: usize,
        drawn: u64,
        spare: usize,
        prng: &mut Prng,
    ) -> Option<usize> {
        let pages = &self.held[class].pages;
        let count = pages.len() as u64;
        let drawn = (0..drawn.min(count)).map(|_| prng.below(count) as usize);
        let all = drawn.chain(0..pages.len().min(2));
        all.filter(|&page| !pages[page].has(spare)).min_by_key(|&page| pages[page].used())
    }

    /// The stamps of an item that was chosen.
    pub(crate) fn stamps_of(&self, class: usize, chosen: &Chosen) -> Option<Stamps> {
        let page = &self.held[class].pages[chosen.page];
        #[expect(clippy::redundant_closure_for_method_calls, reason = "of any lifetime")]
        page.look(chosen.slot, |item| item.stamps())
    }

    /// The item of a slot, about to leave or met on a walk.
    pub(crate) fn met(
        &self,
        class: usize,
        page: usize,
        slot: u32,
        seed: u64,
        unix_ms: u64,
    ) -> Option<Chosen> {
        self.held[class].met(page, slot, seed, unix_ms)
    }

    /// Counts what a victim of a class was worth.
    pub(crate) fn note_victim(&mut self, class: usize, worth: f64) {
        self.held[class].victims.add(worth);
    }

    /// Whether a class has items of which none left since this was asked last.
    pub(crate) fn is_quiet(&mut self, class: usize) -> bool {
        let held = &mut self.held[class];
        let evicted = std::mem::replace(&mut held.weighed, held.evicted);
        held.evicted == evicted && held.items > 0
    }

    /// Brings the tag of an item up to date.
    pub(crate) fn retag(&mut self, item: Ref) {
        let (class, index) = Page::of(item, &self.classes);
        let page = &mut self.held[class].pages[index];
        let slot = page.slot_of(item);
        page.set_tag(slot, Tag::of(item.stamps()));
    }
}

impl Class {
    /// Notes that a page has a free slot.
    fn open(&mut self, index: usize) {
        let page = &mut self.pages[index];
        if page.open == NIL {
            page.open = self.open.len() as u32;
            self.open.push(index as u32);
        }
    }

    /// Notes that a page has none.
    fn close(&mut self, index: usize) {
        let at = std::mem::replace(&mut self.pages[index].open, NIL);
        if at != NIL {
            self.open.swap_remove(at as usize);
            if let Some(&moved) = self.open.get(at as usize) {
                self.pages[moved as usize].open = at;
            }
        }
    }
}

#[cfg(test)]
impl Pages {
    /// Pages of no store, for items outside of one.
    pub(crate) fn for_test() -> Self {
        let classes = Slab::default().classes(0, 1, 1);
        Self::new(&Arc::new(Arena::new(classes.page())), &classes, &Arc::default())
    }

    /// An item in a page of its own accord.
    pub(crate) fn of_test(&mut self, parts: &Parts) -> Owned {
        if !self.has_room(parts.contents()) {
            let (class, bytes) =
                (self.classes.of(parts.contents()), self.page_for(parts.contents()));
            assert!(self.add_page(class, bytes));
        }
        self.write(parts, Stamps::default())
    }
}
