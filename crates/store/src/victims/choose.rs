//! The victim of a class: the lowest rank among the drawn tags.
//!
//! Fewer than eight candidates are drawn one by one. From eight on, sixteen neighbouring tags are
//! drawn at the cost of one. They were written at about the same time, so sixteen of them tell less
//! than sixteen separate draws, and more than one.
//!
//! A rank that needs more data than the tags hold reads the items, a line or two for each.

use crate::bytes::config::Evictable;
use crate::items::item::Ref;
use crate::items::pages::class::Class;
use crate::items::pages::eviction_pool::LINES;
use crate::items::pages::page::Page;
use crate::items::pages::pages::Pages;
use crate::items::pages::victim::{PageSlot, Victim};
use crate::items::sizes::size_classes::SizeClasses;
use crate::victims::lowest;
use crate::victims::lowest::{Sorted, least};
use base::{Prng, TenantId, Tick};
use policy::Evictor;
use policy::rank::{Stamps, Tag};

/// Number of candidates from which on tags are drawn by lines.
const BY_LINES: u8 = 8;
/// Most lines drawn for a penalty class.
const LINES_OF_CLASS: usize = 12;
/// Tags per line.
const LINE: u32 = lowest::LINE as u32;

/// Candidates drawn by their tags.
#[derive(Debug, Default)]
pub(crate) struct Candidates(Vec<Line>);

/// Neighbouring slots, at most a line of tags.
#[derive(Clone, Copy, Debug)]
struct Line {
    page: u32,
    first: u32,
    /// Infinite for a slot without an item, or with one that stays.
    ranks: [f32; LINE as usize],
    /// The lowest of the ranks.
    least: f32,
}

impl Line {
    /// Slots from `first` on, without ranks.
    const fn from(page: u32, first: u32) -> Self {
        Self { page, first, ranks: [f32::INFINITY; LINE as usize], least: f32::INFINITY }
    }

    /// Ranks up to `step` slots of the page, where each item takes `size` bytes. Returns the number
    /// of items there.
    #[inline]
    fn rank(&mut self, page: &Page, step: u32, size: u32, choice: &VictimQuery) -> usize {
        let slots = self.first..(self.first + step).min(page.slots());
        let tags = page.tags(slots.clone());
        let VictimQuery { evictor, tenant, tick, .. } = *choice;
        if !evictor.rank.rank_tags(tenant, tags, &[size], Tick(tick), &mut self.ranks) {
            for (rank, slot) in self.ranks.iter_mut().zip(slots) {
                let rank_of = |item: Ref<'_>| choice.rank(item.stamps(), size);
                *rank = page.look(slot, rank_of).unwrap_or(f32::INFINITY);
            }
        }
        let is_foreign = |tag: &Tag| choice.only.is_some_and(|only| tag.penalty_class() != only);
        let mut foreign = 0;
        if choice.only.is_some() {
            for (rank, tag) in self.ranks.iter_mut().zip(tags) {
                if tag.is_item() && is_foreign(tag) {
                    *rank = f32::INFINITY;
                    foreign += 1;
                }
            }
        }
        if step == 1 {
            self.least = self.ranks[0];
        } else {
            self.find_least();
        }
        let items = if page.is_full() {
            tags.len()
        } else {
            tags.iter().filter(|tag| tag.is_item()).count()
        };
        items - foreign
    }

    /// Removes and returns the first slot with the lowest rank.
    fn pop(&mut self) -> PageSlot {
        // All ranks are compared, several at once in the processor.
        let bit = |(at, &rank): (usize, &f32)| u32::from(rank == self.least) << at;
        let equal = self.ranks.iter().enumerate().map(bit).fold(0, |all, one| all | one);
        let at = equal.trailing_zeros() % LINE;
        // All ranks are written again, because reading several at once would wait for a write of
        // one of them.
        let left = |slot| if slot as u32 == at { f32::INFINITY } else { self.ranks[slot] };
        self.ranks = std::array::from_fn(left);
        self.find_least();
        PageSlot { page: self.page, slot: self.first + at }
    }

    /// Updates the lowest rank.
    fn find_least(&mut self) {
        self.least = least(&self.ranks);
    }
}

impl Candidates {
    /// The lowest rank of all, infinite if there is none, and the first line with it.
    fn least(&self) -> (f32, usize) {
        let lower = |least: (f32, usize), (at, line): (usize, &Line)| {
            if line.least < least.0 { (line.least, at) } else { least }
        };
        self.0.iter().enumerate().fold((f32::INFINITY, 0), lower)
    }

    /// Removes and returns the first slot with the lowest rank.
    pub(super) fn pop(&mut self) -> Option<(PageSlot, f32)> {
        let (least, line) = self.least();
        (least < f32::INFINITY).then(|| (self.0[line].pop(), least))
    }

    /// Fills `into` with the lowest slots in order, from the first [`LINES`] lines. Returns
    /// how many there are, and the lowest rank of the others.
    pub(super) fn lowest(&self, into: &mut [(PageSlot, f32)]) -> (u8, f32) {
        let lines = &self.0[..self.0.len().min(LINES)];
        let mut sorted = Sorted::new(lines.iter().map(|line| &line.ranks));
        let mut next = || {
            let (line, column) = sorted.next()?;
            let Line { page, first, ranks, .. } = &lines[line];
            Some((PageSlot { page: *page, slot: first + column as u32 }, ranks[column]))
        };
        let mut found = 0;
        for into in into {
            let Some(lowest) = next() else { break };
            *into = lowest;
            found += 1;
        }
        (found, next().map_or(f32::INFINITY, |(_, rank)| rank))
    }

    /// Puts a removed slot back with another rank.
    fn put(&mut self, at: PageSlot, rank: f32) {
        let is_in = |line: &&mut Line| line.page == at.page && at.slot - line.first < LINE;
        if let Some(line) = self.0.iter_mut().filter(|line| line.first <= at.slot).find(is_in) {
            line.ranks[(at.slot - line.first) as usize] = rank;
            line.find_least();
        }
    }
}

/// The context of a choice.
pub(crate) struct VictimQuery<'a> {
    pub(crate) evictor: &'a Evictor,
    pub(crate) tenant: TenantId,
    /// The penalty class from which to choose, if pools are penalty classes.
    pub(crate) only: Option<u8>,
    pub(crate) tick: u64,
    /// The shard's reader slot, whose rounds of evictions continue.
    pub(crate) reader_slot: usize,
    pub(crate) unix_ms: u64,
    /// The address of the item that is being written, which is spared.
    pub(crate) pinned: usize,
    /// The seed of the keys' hashes.
    pub(crate) seed: u64,
    pub(crate) evictable: Evictable,
}

impl VictimQuery<'_> {
    /// The rank of an item that takes `size` bytes.
    fn rank(&self, stamps: Stamps, size: u32) -> f32 {
        let (class, meta) = (stamps.hit_class(), stamps.meta(size, self.tick));
        self.evictor.rank.rank_in(self.tenant, class, &meta, Tick(self.tick))
    }
}

impl Pages {
    /// Number of slots to choose from, and number of neighbouring ones per draw.
    pub(super) fn width(evictor: &Evictor) -> (usize, u32) {
        // Candidates kept in the eviction pool double the sample, and so does drawing twice as
        // many.
        let k = usize::from(evictor.k) << u32::from(evictor.pool);
        (k, if evictor.k < BY_LINES { 1 } else { LINE })
    }

    /// Draws candidates of a class by their tags. It starts with `lines`, given as page and first
    /// slot. If these are too few for one eviction, it draws up to [`LINES`] in all.
    pub(super) fn draw(
        &self,
        class: usize,
        lines: &[(u32, u32)],
        choice: &VictimQuery,
        prng: &mut Prng,
        draws: &mut Candidates,
    ) {
        let held = &self.held[class];
        let (k, step) = Self::width(choice.evictor);
        let step = if choice.only.is_some() { LINE } else { step };
        draws.0.clear();
        let mut rank = |at: u32, first: u32| {
            let page = &held.pages[at as usize];
            let size = charge(&self.classes, class, page);
            draws.0.push(Line::from(at, first));
            draws.0.last_mut().map_or(0, |line| line.rank(page, step, size, choice))
        };
        let known = lines.iter().filter(|(at, first)| held.has(*at, *first));
        let (mut drawn, mut found) = (0, 0);
        for &(at, first) in known {
            drawn += 1;
            found += rank(at, first);
        }
        // A penalty class may have few items, and pages with few slots have no whole line.
        let in_line = step.min(self.classes.slots(class)).max(1) as usize;
        let all = if choice.only.is_some() { LINES_OF_CLASS } else { (2 * k).div_ceil(in_line) };
        let mut left = if lines.is_empty() { all } else { LINES - drawn };
        while found < k && left > 0 && !held.pages.is_empty() {
            left -= 1;
            let (at, first) = held.line(step, prng);
            found += rank(at, first);
        }
    }

    /// Chooses an item of a class; `None` if there is none except the spared one.
    pub(crate) fn choose(
        &mut self,
        class: usize,
        choice: &VictimQuery,
        prng: &mut Prng,
        draws: &mut Candidates,
    ) -> Option<Victim> {
        if self.held[class].items == 0 || choice.evictor.k == 0 {
            return None;
        }
        let is_any = choice.only.is_none() && choice.evictable == Evictable::Any;
        if is_any && self.looks_ahead(class, choice.evictor) {
            let chosen = self.choose_next(class, choice);
            self.look_ahead(class, choice, prng, draws);
            if let Some(chosen) = chosen.or_else(|| self.choose_next(class, choice)) {
                return Some(chosen);
            }
        }
        self.draw(class, &[], choice, prng, draws);
        while let Some((at, rank)) = draws.pop() {
            let now = self.rank_now(class, at, choice);
            if now > rank {
                draws.put(at, now);
            } else if let Some(chosen) = self.take(class, at, now, choice) {
                return Some(chosen);
            }
        }
        if choice.only.is_some() { None } else { self.search(class, choice, prng) }
    }

    /// The current rank of the item in a slot, after updating its tag. A dead item ranks below all
    /// others, and an empty slot above all.
    pub(super) fn rank_now(&mut self, class: usize, at: PageSlot, choice: &VictimQuery) -> f32 {
        let held = &mut self.held[class];
        let Some(page) = held.pages.get_mut(at.page as usize) else { return f32::INFINITY };
        let look = |item: Ref<'_>| (item.stamps(), item.is_dead(choice.unix_ms));
        let Some((stamps, is_dead)) = page.look(at.slot, look) else { return f32::INFINITY };
        if is_dead {
            return f32::NEG_INFINITY;
        }
        if choice.evictable != Evictable::Any {
            let left_ms = |item: Ref<'_>| Some(item.expires()?.saturating_sub(choice.unix_ms));
            match page.look(at.slot, left_ms).flatten() {
                Some(left_ms) if choice.evictable == Evictable::NextToExpire => {
                    return left_ms as f32;
                }
                Some(_) => {}
                None => return f32::INFINITY,
            }
        }
        if choice.only.is_some_and(|only| stamps.penalty_class() != only) {
            page.set_tag(at.slot, Tag::of(stamps));
            return f32::INFINITY;
        }
        // A tag does not know whether its item was used since, nor all data that a rank may need.
        if page.tag(at.slot) != Some(Tag::of(stamps)) {
            page.set_tag(at.slot, Tag::of(stamps));
        }
        choice.rank(stamps, charge(&self.classes, class, page))
    }

    /// The item in a slot, chosen by its rank, if it may be evicted.
    pub(super) fn take(
        &self,
        class: usize,
        at: PageSlot,
        rank: f32,
        choice: &VictimQuery,
    ) -> Option<Victim> {
        if rank == f32::INFINITY {
            return None;
        }
        let (page, slot) = (at.page as usize, at.slot);
        let chosen = self.held[class].met(page, slot, choice.seed, choice.unix_ms)?;
        let rank = (!chosen.is_dead).then_some(rank);
        (chosen.is_dead || chosen.addr != choice.pinned).then_some(Victim { rank, ..chosen })
    }

    /// Like [`Pages::take`], with a known hash of the item that was in the slot.
    pub(super) fn take_hashed(
        &self,
        class: usize,
        at: PageSlot,
        rank: f32,
        hash: u64,
        choice: &VictimQuery,
    ) -> Option<Victim> {
        if rank == f32::INFINITY {
            return None;
        }
        let (page, slot, is_dead) = (at.page as usize, at.slot, rank == f32::NEG_INFINITY);
        let addr = self.held[class].pages[page].addr_of(slot);
        let rank = (!is_dead).then_some(rank);
        (is_dead || addr != choice.pinned).then_some(Victim {
            page,
            slot,
            addr,
            hash,
            rank,
            is_dead,
        })
    }

    /// The first item from a random page on, for classes in which the draws found no item to evict.
    fn search(&self, class: usize, choice: &VictimQuery, prng: &mut Prng) -> Option<Victim> {
        let held = &self.held[class];
        let first = prng.below(held.pages.len() as u64) as usize;
        let pages = (0..held.pages.len()).map(|at| (first + at) % held.pages.len());
        pages.filter(|&at| held.pages[at].used() > 0).find_map(|at| {
            let page = &held.pages[at];
            let spares = |item: Ref<'_>| choice.evictable.spare(item.expires());
            let slots = (0..page.slots()).filter(|&slot| page.look(slot, spares) != Some(true));
            let mut met = slots.filter_map(|slot| held.met(at, slot, choice.seed, choice.unix_ms));
            met.find(|chosen| chosen.addr != choice.pinned)
        })
    }
}

impl Class {
    /// A random line of neighbouring slots: its page, and its first slot.
    pub(super) fn line(&self, step: u32, prng: &mut Prng) -> (u32, u32) {
        let at = prng.below(self.pages.len() as u64) as u32;
        let lines = self.pages[at as usize].slots().div_ceil(step);
        (at, prng.below(lines.into()) as u32 * step)
    }

    /// Whether there is a page with this index and slot.
    fn has(&self, page: u32, slot: u32) -> bool {
        self.pages.get(page as usize).is_some_and(|page| slot < page.slots())
    }
}

/// Bytes charged for an item of the page.
fn charge(classes: &SizeClasses, class: usize, page: &Page) -> u32 {
    saturated(match classes.chunk(class) {
        0 => page.bytes,
        chunk => chunk,
    })
}

/// The bytes in 32 bits, as ranks use them; capped at `u32::MAX`.
fn saturated(bytes: u64) -> u32 {
    bytes.try_into().unwrap_or(u32::MAX)
}
