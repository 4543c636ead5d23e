//! Who leaves a class: the lowest rank among tags drawn.
//!
//! Up to sixteen candidates are drawn one by one. Of more, sixteen that lie side by side come for
//! the cost of one: they were written at about the same time, so that sixteen of them tell less
//! than sixteen drawn apart, and more than one.
//!
//! A rank that goes by more than tags tell reads the items, a line or two for each.

use super::page::Page;
use super::{Class, Classes, Slabs};
use crate::Evictor;
use crate::evict::saturated;
use crate::item::Ref;
use crate::key::hash_of;
use base::{Prng, TenantId, Tick};
use policy::rank::{Stamps, Tag};

/// Candidates that are drawn one by one.
const APART: usize = 16;
/// Tags in a line.
const LINE: u32 = 16;

/// Items drawn by their tags.
#[derive(Debug, Default)]
pub(crate) struct Draws(Vec<Line>);

/// Slots side by side, a line of tags at most.
#[derive(Clone, Copy, Debug)]
struct Line {
    page: u32,
    first: u32,
    /// Without end where no item is, or one that stays.
    ranks: [f32; LINE as usize],
    /// The lowest of them.
    least: f32,
}

impl Line {
    /// Up to `step` slots of a page from `first` on, each item of which takes `size`; with them,
    /// how many items are there.
    #[inline]
    fn of(
        at: u32,
        page: &Page,
        first: u32,
        step: u32,
        size: u32,
        choice: &Choice,
    ) -> (Self, usize) {
        let slots = first..(first + step).min(page.slots());
        let tags = page.tags(slots.clone());
        let mut ranks = [f32::INFINITY; LINE as usize];
        let Choice { evictor, tenant, tick, .. } = *choice;
        if !evictor.rank.rank_tags(tenant, tags, size, Tick(tick), &mut ranks) {
            for (rank, slot) in ranks.iter_mut().zip(slots) {
                let rank_of = |item: Ref<'_>| choice.rank(item.stamps(), size);
                *rank = page.look(slot, rank_of).unwrap_or(f32::INFINITY);
            }
        }
        let found = if page.is_full() {
            tags.len()
        } else {
            tags.iter().filter(|tag| tag.is_item()).count()
        };
        let mut line = Self { page: at, first, ranks, least: f32::INFINITY };
        if step == 1 {
            line.least = ranks[0];
        } else {
            line.settle();
        }
        (line, found)
    }

    /// Finds the lowest.
    fn settle(&mut self) {
        // No rank is NaN. Four side by side, or each comparison would wait for the one before.
        let (fours, _) = self.ranks.as_chunks::<4>();
        let lower = |a: f32, b: f32| if b < a { b } else { a };
        let least = fours.iter().fold([f32::INFINITY; 4], |least, four| {
            std::array::from_fn(|at| lower(least[at], four[at]))
        });
        self.least = least.into_iter().fold(f32::INFINITY, lower);
    }
}

impl Draws {
    /// The first of the lowest rank: its line, and where it is there.
    fn lowest(&self) -> Option<(usize, usize)> {
        let mut best: Option<(usize, f32)> = None;
        for (at, line) in self.0.iter().enumerate() {
            if line.least < best.map_or(f32::INFINITY, |best| best.1) {
                best = Some((at, line.least));
            }
        }
        let (line, least) = best?;
        let at = self.0[line].ranks.iter().position(|&rank| rank == least)?;
        Some((line, at))
    }

    fn set(&mut self, (line, at): (usize, usize), rank: f32) {
        let line = &mut self.0[line];
        line.ranks[at] = rank;
        line.settle();
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
    /// The rank of an item that takes `size`.
    fn rank(&self, stamps: Stamps, size: u32) -> f32 {
        let (class, meta) = (stamps.hit_class(), stamps.meta(size, self.tick));
        self.evictor.rank.rank_in(self.tenant, class, &meta, Tick(self.tick))
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
        draws.0.clear();
        let (mut found, mut left) = (0, (2 * k).div_ceil(step as usize));
        while found < k && left > 0 && !held.pages.is_empty() {
            left -= 1;
            let at = prng.below(held.pages.len() as u64) as usize;
            let page = &held.pages[at];
            let first = prng.below(u64::from(page.slots().div_ceil(step))) as u32 * step;
            let size = charge(&self.classes, class, page);
            let (line, items) = Line::of(at as u32, page, first, step, size, choice);
            draws.0.push(line);
            found += items;
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
        while let Some(lowest) = draws.lowest() {
            let line = draws.0[lowest.0];
            let (page, slot) = (line.page as usize, line.first + lowest.1 as u32);
            let (stamps, is_dead) = held.pages[page]
                .look(slot, |item| (item.stamps(), item.is_dead(choice.unix_ms)))?;
            if is_dead {
                return held.met(page, slot, choice.seed, choice.unix_ms);
            }
            // By its tag alone it is not known whether it was used since, nor all that a rank goes
            // by.
            let rank = choice.rank(stamps, charge(&self.classes, class, &held.pages[page]));
            if held.pages[page].tag(slot) != Some(Tag::of(stamps)) {
                held.pages[page].set_tag(slot, Tag::of(stamps));
                draws.set(lowest, rank);
                continue;
            }
            let chosen = held.met(page, slot, choice.seed, choice.unix_ms)?;
            if chosen.addr == choice.spare || rank == f32::INFINITY {
                draws.set(lowest, f32::INFINITY);
            } else {
                return Some(Chosen { rank: Some(rank), ..chosen });
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
    /// The item of a slot, about to leave or met on a walk.
    pub(super) fn met(&self, page: usize, slot: u32, seed: u64, unix_ms: u64) -> Option<Chosen> {
        self.pages[page].look(slot, |item| {
            let hash = hash_of(seed, item.db(), item.key());
            let (addr, is_dead) = (item.base().addr().get(), item.is_dead(unix_ms));
            Chosen { page, addr, hash, rank: None, is_dead }
        })
    }
}

/// What an item of the page is charged.
fn charge(classes: &Classes, class: usize, page: &Page) -> u32 {
    saturated(match classes.chunk(class) {
        0 => page.bytes,
        chunk => chunk,
    })
}
