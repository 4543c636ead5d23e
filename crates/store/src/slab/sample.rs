//! Who leaves a class: the lowest rank among tags drawn.
//!
//! Up to sixteen candidates are drawn one by one. Of more, eight that lie side by side come for the
//! cost of one: they were written at about the same time, so that eight of them tell less than
//! eight drawn apart, and more than one.

use super::page::Page;
use super::{Class, Classes, Slabs};
use crate::Evictor;
use crate::evict::saturated;
use crate::key::hash_of;
use base::{Prng, TenantId, Tick};
use policy::rank::Stamps;

/// Candidates that are drawn one by one.
const APART: usize = 16;
/// Tags in a line.
const LINE: u32 = 8;

/// Items drawn by their tags.
#[derive(Debug, Default)]
pub(crate) struct Draws {
    lines: Vec<Line>,
    /// Slots of a line, a power of two.
    step: u32,
    /// Of each slot of each line; without end where no item is, or one that stays.
    ranks: Vec<f32>,
}

/// Slots side by side.
#[derive(Clone, Copy, Debug)]
struct Line {
    page: u32,
    first: u32,
}

impl Draws {
    /// Adds the slots of a page that have these tags, from `first` on. How many items are there.
    #[inline]
    fn add(&mut self, line: Line, tags: &[Stamps], size: u32, choice: &Choice) -> usize {
        let start = self.ranks.len();
        self.lines.push(line);
        self.ranks.resize(start + self.step as usize, f32::INFINITY);
        let Choice { evictor, tenant, tick, .. } = *choice;
        evictor.rank.rank_all(tenant, tags, size, Tick(tick), &mut self.ranks[start..]);
        tags.iter().map(|tag| usize::from(tag.is_item())).sum()
    }

    /// The first of the lowest rank: its place among the ranks, its page and its slot.
    fn lowest(&self) -> Option<(usize, usize, u32)> {
        // No rank is NaN.
        let lower = |least, &rank| if rank < least { rank } else { least };
        let least = self.ranks.iter().fold(f32::INFINITY, lower);
        let lowest = self.ranks.iter().position(|&rank| rank == least && least < f32::INFINITY)?;
        let shift = self.step.trailing_zeros();
        let line = self.lines[lowest >> shift];
        Some((lowest, line.page as usize, line.first + (lowest as u32 & (self.step - 1))))
    }
}

/// What a choice goes by.
pub(super) struct Choice<'a> {
    pub(super) evictor: &'a Evictor,
    pub(super) tenant: TenantId,
    pub(super) tick: u64,
    pub(super) unix_ms: u64,
    /// Where the item stands that is being written, which is spared.
    pub(super) spare: usize,
    /// What keys are hashed with.
    pub(super) seed: u64,
}

impl Choice<'_> {
    fn spares(&self, stamps: Stamps) -> bool {
        self.evictor.rank.spares(stamps, Tick(self.tick))
    }
}

/// An item that is to leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chosen {
    pub(super) page: usize,
    pub(super) addr: usize,
    pub(super) hash: u64,
    /// None if it is not chosen by its rank.
    pub(super) rank: Option<f32>,
    pub(super) is_dead: bool,
}

impl Slabs {
    /// Draws candidates of a class by their tags.
    fn draw(&self, class: usize, choice: &Choice, prng: &mut Prng, draws: &mut Draws) {
        let held = &self.held[class];
        // Candidates kept double the sample in the heap layout; here twice as many are drawn.
        let k = usize::from(choice.evictor.k) << u32::from(choice.evictor.pool);
        let step = if k > APART { LINE } else { 1 };
        draws.lines.clear();
        draws.ranks.clear();
        draws.step = step;
        let (mut found, mut left) = (0, (2 * k).div_ceil(step as usize));
        while found < k && left > 0 && !held.pages.is_empty() {
            left -= 1;
            let at = prng.below(held.pages.len() as u64) as usize;
            let page = &held.pages[at];
            let slots = page.slots();
            let first = prng.below(u64::from(slots.div_ceil(step))) as u32 * step;
            let tags = page.tags(first..(first + step).min(slots));
            let size = charge(&self.classes, class, page);
            found += draws.add(Line { page: at as u32, first }, tags, size, choice);
        }
    }

    /// Chooses an item of a class; none if there is none but the spared one.
    pub(super) fn choose(
        &mut self,
        class: usize,
        choice: &Choice,
        prng: &mut Prng,
        draws: &mut Draws,
    ) -> Option<Chosen> {
        if self.held[class].items == 0 || choice.evictor.k == 0 {
            return None;
        }
        self.draw(class, choice, prng, draws);
        let held = &mut self.held[class];
        while let Some((at, page, slot)) = draws.lowest() {
            let (chosen, stamps) = held.look(page, slot, choice.seed, choice.unix_ms)?;
            let is_known = held.pages[page].tag(slot) == Some(stamps);
            if !is_known && !chosen.is_dead {
                held.pages[page].set_tag(slot, stamps);
                let size = charge(&self.classes, class, &held.pages[page]);
                let rank = std::slice::from_mut(&mut draws.ranks[at]);
                let Choice { evictor, tenant, tick, .. } = *choice;
                evictor.rank.rank_all(tenant, &[stamps], size, Tick(tick), rank);
            } else if chosen.addr == choice.spare || !chosen.is_dead && choice.spares(stamps) {
                draws.ranks[at] = f32::INFINITY;
            } else {
                let rank = Some(draws.ranks[at]).filter(|_| !chosen.is_dead);
                return Some(Chosen { rank, ..chosen });
            }
        }
        self.search(class, choice, prng)
    }

    /// The first item from a random page on: for classes with so few items that draws met none.
    fn search(&self, class: usize, choice: &Choice, prng: &mut Prng) -> Option<Chosen> {
        let held = &self.held[class];
        let first = prng.below(held.pages.len() as u64) as usize;
        let pages = (0..held.pages.len()).map(|at| (first + at) % held.pages.len());
        pages.filter(|&at| held.pages[at].used() > 0).find_map(|at| {
            let slots = 0..held.pages[at].slots();
            let mut met = slots.filter_map(|slot| held.met(at, slot, choice.seed, choice.unix_ms));
            met.find(|chosen| chosen.addr != choice.spare)
        })
    }
}

impl Class {
    /// The item of a slot, and when it was used.
    fn look(&self, page: usize, slot: u32, seed: u64, unix_ms: u64) -> Option<(Chosen, Stamps)> {
        self.pages[page].look(slot, |item| {
            let hash = hash_of(seed, item.db(), item.key());
            let (addr, is_dead) = (item.base().addr().get(), item.is_dead(unix_ms));
            (Chosen { page, addr, hash, rank: None, is_dead }, item.stamps())
        })
    }

    /// The item of a slot, met on a walk.
    pub(super) fn met(&self, page: usize, slot: u32, seed: u64, unix_ms: u64) -> Option<Chosen> {
        self.look(page, slot, seed, unix_ms).map(|(chosen, _)| chosen)
    }
}

/// What an item of the page is charged.
fn charge(classes: &Classes, class: usize, page: &Page) -> u32 {
    saturated(match classes.chunk(class) {
        0 => page.bytes,
        chunk => chunk,
    })
}
