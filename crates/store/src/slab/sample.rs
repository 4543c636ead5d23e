//! Who leaves a class: the lowest rank among tags drawn.
//!
//! Up to sixteen candidates are drawn one by one. Of more, eight that lie side by side come for the
//! cost of one: they were written at about the same time, so that eight of them tell less than
//! eight drawn apart, and more than one.

use super::page::Page;
use super::{Class, Classes, Slabs};
use crate::Evictor;
use crate::evict::score;
use crate::item::Stamps;
use crate::key::hash_of;
use base::{Prng, TenantId};

/// Candidates that are drawn one by one.
const APART: usize = 16;
/// Tags in a line.
const LINE: u32 = 8;
/// An item drawn by its tag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    rank: f32,
    page: u32,
    slot: u32,
    /// Whether its item was looked at.
    known: bool,
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
    fn rank(&self, size: u64, stamps: Stamps) -> f32 {
        score(self.evictor, self.tenant, size, stamps, self.tick)
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
    fn draw(&self, class: usize, choice: &Choice, prng: &mut Prng, into: &mut Vec<Candidate>) {
        into.clear();
        let held = &self.held[class];
        // Candidates kept double the sample in the heap layout; here twice as many are drawn.
        let k = usize::from(choice.evictor.k) << u32::from(choice.evictor.pool);
        let step = if k > APART { LINE } else { 1 };
        for _ in 0..(2 * k).div_ceil(step as usize) {
            if into.len() >= k || held.pages.is_empty() {
                break;
            }
            let at = prng.below(held.pages.len() as u64) as usize;
            let page = &held.pages[at];
            let line = prng.below(u64::from(page.slots().div_ceil(step))) as u32 * step;
            let size = charge(&self.classes, class, page);
            for slot in line..(line + step).min(page.slots()) {
                if let Some(stamps) = page.tag(slot) {
                    let rank = choice.rank(size, stamps);
                    into.push(Candidate { rank, page: at as u32, slot, known: false });
                }
            }
        }
    }

    /// Chooses an item of a class; none if there is none but the spared one.
    pub(super) fn choose(
        &mut self,
        class: usize,
        choice: &Choice,
        prng: &mut Prng,
        candidates: &mut Vec<Candidate>,
    ) -> Option<Chosen> {
        if self.held[class].items == 0 || choice.evictor.k == 0 {
            return None;
        }
        self.draw(class, choice, prng, candidates);
        let held = &mut self.held[class];
        while let Some(at) = lowest(candidates) {
            let Candidate { rank, page, slot, known } = candidates[at];
            let page = page as usize;
            let (chosen, stamps) = held.look(page, slot, choice.seed, choice.unix_ms)?;
            if chosen.addr == choice.spare {
                candidates.swap_remove(at);
            } else if known || chosen.is_dead || held.pages[page].tag(slot) == Some(stamps) {
                return Some(Chosen { rank: Some(rank).filter(|_| !chosen.is_dead), ..chosen });
            } else {
                held.pages[page].set_tag(slot, stamps);
                candidates[at].rank =
                    choice.rank(charge(&self.classes, class, &held.pages[page]), stamps);
                candidates[at].known = true;
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
fn charge(classes: &Classes, class: usize, page: &Page) -> u64 {
    match classes.chunk(class) {
        0 => page.bytes,
        chunk => chunk,
    }
}

fn lowest(candidates: &[Candidate]) -> Option<usize> {
    let mut lowest = 0;
    for (at, candidate) in candidates.iter().enumerate() {
        // No rank is NaN.
        if candidate.rank < candidates[lowest].rank {
            lowest = at;
        }
    }
    (!candidates.is_empty()).then_some(lowest)
}
