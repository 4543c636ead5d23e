//! The slab layout: memory in pages, each cut into chunks of one size, as in memcached.
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
//! `classes.rs` cuts, `page.rs` is one page, this file is a tenant's pages in one shard, `evict.rs`
//! finds room in them.

mod ahead;
#[allow(unsafe_code)]
mod arena;
mod classes;
mod count;
mod evict;
mod held;
mod lowest;
#[allow(unsafe_code)]
mod mapping;
mod mover;
#[allow(unsafe_code)]
mod page;
mod sample;

pub(crate) use arena::Arena;
pub(crate) use classes::Classes;
pub use count::SizeCounts;
pub(crate) use mover::Moves;
pub use mover::{Move, SizeClass, SizeClassStats};
pub(crate) use sample::Draws;

use crate::item::{Owned, Parts, Ref};
use crate::lanes::LANES_MAX;
use ahead::{Ahead, MANY};
use held::Held;
use page::Page;
use policy::rank::{Stamps, Tag, Victims};
use std::sync::Arc;

/// No place among the pages that have room.
const NIL: u32 = u32::MAX;

/// How the slab layout cuts memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slab {
    /// Bytes of a page, a power of two from 4096 on; 0 for a length that suits the limit. Each
    /// shard has pages of its own, so that a page of all shards together is as many times larger.
    pub page: u64,
    /// Bytes of the smallest chunk.
    pub chunk_min: u64,
    /// What each class is larger by than the last.
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
/// Pages that a shard has at least, by default, and of more than so many bytes so many more: with
/// fewer some of thirty classes have one or two, and cannot lose a half.
const PAGES: u64 = 64;
const PAGE_MID: u64 = 32 << 10;
const PAGES_WANTED: u64 = 1024;

/// Bytes of a store from which on it has the shards that it is asked for. Below, each has this
/// much: in less, divided among classes, there are too few items of each to tell what they are
/// worth.
const SHARDED: u64 = 256 << 20;
const SHARD_MIN: u64 = 16 << 20;

impl Slab {
    /// Bytes of a page that suit a shard of so many.
    fn suits(shard: u64) -> u64 {
        let page = (shard / PAGES_WANTED).max(PAGE_MID.min(shard / PAGES)).max(1);
        page.next_power_of_two().min(PAGE_MAX)
    }

    /// How many of the shards that are asked for a store of so many bytes has, 0 for no limit:
    /// where there are few pages all classes need to be balanced at once.
    pub(crate) fn shards(&self, limit: u64, asked: usize) -> usize {
        if self.page > 0 || limit == 0 || limit >= SHARDED {
            return asked;
        }
        asked.min(1 << (limit / SHARD_MIN).max(1).ilog2())
    }

    /// The classes for a store of so many bytes, 0 for no limit, and shards.
    pub(crate) fn classes(&self, limit: u64, shards: usize) -> Classes {
        let suits = match limit {
            0 => PAGE_MAX,
            limit => Self::suits(limit / shards as u64),
        };
        let page = if self.page == 0 { suits } else { self.page };
        Classes::new(
            page.next_power_of_two().max(PAGE_MIN),
            self.chunk_min.clamp(32, 1 << 16),
            if self.factor > 1.0 { self.factor } else { Self::default().factor },
        )
    }
}

/// The pages of a class.
#[derive(Debug, Default)]
struct Class {
    pages: Vec<Page>,
    /// Those with a free slot, in no order; the last is filled first.
    open: Vec<u32>,
    items: u64,
    bytes: u64,
    /// Items that left to make room.
    evicted: u64,
    /// As many as had left when it was last told of.
    told: u64,
    /// As many as had left when the shard's classes were last balanced.
    balanced: u64,
    /// As many as had left when it last looked for a page of another class.
    asked: u64,
    /// As many as had left when it was last asked what a page of it is worth.
    weighed: u64,
    victims: Victims,
    counts: SizeCounts,
    /// By the shard's lane; none before there are many items and one was evicted.
    ahead: [Option<Box<Ahead>>; LANES_MAX],
}

/// A tenant's pages in one shard. The items in them must be gone before it is.
#[derive(Debug)]
pub(crate) struct Slabs {
    arena: Arc<Arena>,
    classes: Arc<Classes>,
    held: Held,
}

impl Slabs {
    pub(crate) fn new(arena: &Arc<Arena>, classes: &Arc<Classes>) -> Self {
        let held = Held::new(classes.large() + 1);
        Self { arena: Arc::clone(arena), classes: Arc::clone(classes), held }
    }

    /// The same without a page.
    pub(crate) fn without_pages(&self) -> Self {
        Self::new(&self.arena, &self.classes)
    }

    /// Bytes that a tenant's slabs take in a shard, without pages and with every class in use.
    pub(crate) fn fixed_bytes(classes: &Classes) -> u64 {
        Held::bytes(classes.large() + 1)
    }

    /// What is known of victims, those to come among them, is out of date.
    pub(crate) fn forget_victims(&mut self) {
        for held in self.held.iter_mut() {
            held.victims.count = 0;
            held.ahead = Default::default();
        }
    }

    pub(crate) fn classes(&self) -> &Classes {
        &self.classes
    }

    /// Bytes of all pages.
    pub(crate) fn bytes(&self) -> u64 {
        self.held.iter().map(|class| class.bytes).sum()
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
    fn release_unwritten(&mut self) -> u64 {
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
        self.classes.page()
    }

    /// Adds a page of so many bytes, which are charged already. Whether the system had one.
    pub(crate) fn add_page(&mut self, class: usize, bytes: u64) -> bool {
        let Some(run) = self.arena.take(bytes) else { return false };
        let held = &mut self.held[class];
        let index = held.pages.len();
        held.pages.push(Page::new(run, bytes, class, index, self.classes.slots(class)));
        held.bytes += bytes;
        held.open(index);
        true
    }

    /// Gives a page without items back to the system; returns its bytes.
    fn release(&mut self, class: usize, index: usize) -> u64 {
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
            held.ahead = Default::default();
        }
        let bytes = page.bytes;
        held.bytes -= bytes;
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
    fn vacate(&mut self, item: Owned) -> (usize, usize) {
        let (class, index) = Page::of(item.view(), self.classes.page());
        self.vacate_in(class, index, item);
        (class, index)
    }

    /// The same of an item that is known to stand in this page of this class.
    fn vacate_in(&mut self, class: usize, index: usize, item: Owned) {
        let held = &mut self.held[class];
        held.pages[index].free(item);
        held.items -= 1;
        held.open(index);
    }

    /// Takes back an item's chunk. Returns the bytes of its page if that is given back: when it was
    /// the last item of the page, and another page of the class has room too.
    pub(crate) fn free(&mut self, item: Owned) -> u64 {
        let (class, index) = self.vacate(item);
        let held = &self.held[class];
        let spare = class == self.classes.large() || held.open.len() > 1;
        if held.pages[index].used() == 0 && spare { self.release(class, index) } else { 0 }
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

    /// Brings the tag of an item up to date.
    pub(crate) fn retag(&mut self, item: Ref) {
        let (class, index) = Page::of(item, self.classes.page());
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
