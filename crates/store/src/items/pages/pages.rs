//! A tenant's pages in one shard, by size class.
//!
//! More of their methods choose victims (`victims/choose.rs`, `victims/queue.rs`), compare classes
//! (`room/balance.rs`) and cut pages to a size (`room/tailor.rs`).

use crate::bytes::config::Evictable;
use crate::items::item::{Owned, Parts, Ref};
use crate::items::pages::arena::{Arena, Run};
use crate::items::pages::class::NIL;
use crate::items::pages::class_list::ClassList;
use crate::items::pages::eviction_pool::MANY;
use crate::items::pages::page::Page;
use crate::items::pages::victim::Victim;
use crate::items::sizes::size_classes::SizeClasses;
use crate::sync::shim::AtomicU64;
use base::Prng;
use policy::rank::{Stamps, Tag};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A tenant's pages in one shard. Their items must be removed before they are dropped.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) arena: Arc<Arena>,
    pub(crate) classes: SizeClasses,
    pub(crate) held: ClassList,
    /// Whether a class may have pages but no items.
    has_idle: bool,
    /// Bytes of the pages of all tenants in the shard.
    pub(crate) in_shard: Arc<AtomicU64>,
}

impl Pages {
    pub(crate) fn new(
        arena: &Arc<Arena>,
        classes: &SizeClasses,
        in_shard: &Arc<AtomicU64>,
    ) -> Self {
        let held = ClassList::new(classes.large() + 1);
        let (arena, classes) = (Arc::clone(arena), classes.unfitted());
        Self { arena, classes, held, has_idle: false, in_shard: Arc::clone(in_shard) }
    }

    /// Creates an empty value with the same settings.
    pub(crate) fn without_pages(&self) -> Self {
        Self::new(&self.arena, &self.classes, &self.in_shard)
    }

    /// Drops everything known about victims, including those chosen ahead.
    pub(crate) fn forget_victims(&mut self) {
        for held in self.held.iter_mut() {
            held.victims.count = 0;
            held.eviction_pools = Default::default();
        }
    }

    pub(crate) fn classes(&self) -> &SizeClasses {
        &self.classes
    }

    /// Bytes of all pages, and of their classes.
    pub(crate) fn bytes(&self) -> u64 {
        self.held.bytes() + self.held.iter().map(|class| class.bytes).sum::<u64>()
    }

    /// Bytes that the first page of a class takes in addition to its own.
    pub(crate) fn class_cost(&self, class: usize) -> u64 {
        self.held.cost(class)
    }

    /// Whether there is room for an item of these contents.
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

    /// Frees the page of a large item that was not written in the end. Returns its bytes.
    pub(crate) fn release_unwritten(&mut self) -> u64 {
        let large = self.classes.large();
        match self.held[large].open.last() {
            Some(&index) => self.release(large, index as usize),
            None => 0,
        }
    }

    /// Bytes to charge for a page with room for an item of these contents.
    pub(crate) fn page_for(&self, contents: u64) -> u64 {
        let class = self.classes.of(contents);
        if class == self.classes.large() {
            return self.classes.charge(contents);
        }
        self.classes.page_of(class)
    }

    /// Adds a page of `bytes` bytes. They are already charged, and so is the class. Returns whether
    /// the system had one.
    pub(crate) fn add_page(&mut self, class: usize, bytes: u64) -> bool {
        let Some(run) = self.arena.take(bytes) else { return false };
        self.cut(run, class, bytes);
        true
    }

    /// Cuts a run into the chunks of a class.
    pub(crate) fn cut(&mut self, run: Run, class: usize, bytes: u64) {
        let held = self.held.make(class);
        let index = held.pages.len();
        held.pages.push(Page::new(run, bytes, class, index, self.classes.slots(class)));
        held.bytes += bytes;
        self.in_shard.fetch_add(bytes, Relaxed);
        held.open(index);
    }

    /// Returns a page without items to the system. Returns its bytes.
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

    /// Writes an item. There must be room.
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

    /// Takes back an item's chunk for the next item of its class. Returns class and page.
    pub(crate) fn vacate(&mut self, item: Owned) -> (usize, usize) {
        let (class, index) = Page::of(item.view(), &self.classes);
        self.vacate_in(class, index, item, false);
        (class, index)
    }

    /// Takes back the chunk of an item that is in this page of this class; `evicted` says whether
    /// it was evicted.
    pub(crate) fn vacate_in(&mut self, class: usize, index: usize, item: Owned, evicted: bool) {
        let held = &mut self.held[class];
        held.pages[index].free(item);
        held.items -= 1;
        held.evicted += u64::from(evicted);
        held.open(index);
    }

    /// Takes back an item's chunk. If the page is empty now, and another page of the class has room
    /// too, the page is freed, and its bytes are returned. Otherwise the page stays for the next
    /// item, until [`Pages::release_idle`].
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

    /// Frees the pages of classes without items. Returns their bytes.
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

    /// Takes all items back and frees all pages.
    pub(crate) fn take_apart(mut self, items: impl Iterator<Item = Owned>) {
        items.for_each(|item| _ = self.vacate(item));
        for class in 0..self.held.len() {
            for index in (0..self.held[class].pages.len()).rev() {
                self.release(class, index);
            }
        }
    }

    /// Whether the items of a class with several items per page would fit in one page fewer.
    pub(crate) fn fits_a_page_less(&self, class: usize) -> bool {
        let (held, slots) = (&self.held[class], u64::from(self.classes.slots(class)));
        let room = (held.pages.len() as u64).saturating_sub(1) * slots;
        held.items <= room || class == self.classes.large()
    }

    /// Whether a page may be cleared: each of its items may be evicted, or has a free chunk
    /// elsewhere.
    pub(crate) fn may_go(&self, class: usize, index: usize, evictable: Evictable) -> bool {
        let is_small = class != self.classes.large();
        if evictable == Evictable::Any || is_small && self.fits_a_page_less(class) {
            return true;
        }
        let page = &self.held[class].pages[index];
        let spares = |item: Ref<'_>| evictable.spare(item.expires());
        (0..page.slots()).all(|slot| page.look(slot, spares) != Some(true))
    }

    /// Whether a class with several items per page has a free chunk.
    pub(crate) fn takes_another(&self, class: usize) -> bool {
        class != self.classes.large() && !self.held[class].open.is_empty()
    }

    /// Removes a page from the open ones, so that it takes no more items.
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

    /// The page with the fewest items, of some random pages of a class. A page with an item at
    /// `pinned` is skipped.
    pub(crate) fn emptiest(
        &self,
        class: usize,
        drawn: u64,
        pinned: usize,
        prng: &mut Prng,
    ) -> Option<usize> {
        let pages = &self.held[class].pages;
        let count = pages.len() as u64;
        let drawn = (0..drawn.min(count)).map(|_| prng.below(count) as usize);
        let all = drawn.chain(0..pages.len().min(2));
        all.filter(|&page| !pages[page].has(pinned)).min_by_key(|&page| pages[page].used())
    }

    /// The stamps of a chosen item.
    pub(crate) fn stamps_of(&self, class: usize, chosen: &Victim) -> Option<Stamps> {
        let page = &self.held[class].pages[chosen.page];
        #[expect(clippy::redundant_closure_for_method_calls, reason = "of any lifetime")]
        page.look(chosen.slot, |item| item.stamps())
    }

    /// The item of a slot, for an eviction or a walk.
    pub(crate) fn met(
        &self,
        class: usize,
        page: usize,
        slot: u32,
        seed: u64,
        unix_ms: u64,
    ) -> Option<Victim> {
        self.held[class].met(page, slot, seed, unix_ms)
    }

    /// Records what a victim of a class was worth.
    pub(crate) fn note_victim(&mut self, class: usize, worth: f64) {
        self.held[class].victims.add(worth);
    }

    /// Whether a class has items, and none was evicted since the last call.
    pub(crate) fn is_quiet(&mut self, class: usize) -> bool {
        let held = &mut self.held[class];
        let evicted = std::mem::replace(&mut held.weighed, held.evicted);
        held.evicted == evicted && held.items > 0
    }

    /// Updates the tag of an item from its stamps.
    pub(crate) fn retag(&mut self, item: Ref) {
        let (class, index) = Page::of(item, &self.classes);
        let page = &mut self.held[class].pages[index];
        let slot = page.slot_of(item);
        page.set_tag(slot, Tag::of(item.stamps()));
    }
}

#[cfg(test)]
impl Pages {
    /// Creates pages without a store, for items in tests.
    pub(crate) fn for_test() -> Self {
        let classes = crate::Slab::default().classes(0, 1, 1);
        Self::new(&Arc::new(Arena::new(classes.page())), &classes, &Arc::default())
    }

    /// Writes an item, after adding a page if necessary.
    pub(crate) fn of_test(&mut self, parts: &Parts) -> Owned {
        if !self.has_room(parts.contents()) {
            let (class, bytes) =
                (self.classes.of(parts.contents()), self.page_for(parts.contents()));
            assert!(self.add_page(class, bytes));
        }
        self.write(parts, Stamps::default())
    }
}
