//! A victim looked for before it is wanted.
//!
//! An eviction waits for memory, three times: for the tags that it draws, for the item whose tag
//! ranks lowest, and for the bucket of the table that it is in. So each eviction from a class gets
//! three others under way:
//!
//! ```text
//!   eviction n        n + 1                  n + 2                        n + 3
//!   draw ── tags ──▶ rank, keep 3 ── items ────▶ look, keep one ── bucket ──▶ it leaves
//! ```
//!
//! In the meantime an item may be used, or leave, and another take its place. So each step ranks
//! what stands there then, which goes on if it is no better than what was not kept; else, as where
//! nothing is under way, the victim is drawn there and then.

use super::sample::{At, Choice, Chosen, Draws};
use super::{Class, Slabs};
use crate::Evictor;
use base::Prng;

/// Items kept: most of those that rank low by their tags were used since.
const KEPT: usize = 3;
/// Bytes of an item that a look at it reads, for most keys.
const LOOKED_AT: u64 = 64;
/// Lines of tags drawn.
const LINES: usize = 4;

/// What evictions of a class have under way.
#[derive(Debug)]
pub(super) struct Ahead {
    /// Where the tags drawn lie: page and first slot.
    lines: [(u32, u32); LINES],
    drawn: u8,
    /// The lowest of those ranked, in order and without end where there are fewer, and the lowest
    /// rank of those that were not kept.
    kept: [(At, f32); KEPT],
    bound: f32,
    /// The lowest of those looked at, the hash of its key, and what its rank is to be below.
    next: Option<(At, u64, f32)>,
}

/// None.
const NOBODY: [(At, f32); KEPT] = [(At { page: 0, slot: 0 }, f32::INFINITY); KEPT];

impl Default for Ahead {
    fn default() -> Self {
        Self { lines: [(0, 0); LINES], drawn: 0, kept: NOBODY, bound: 0.0, next: None }
    }
}

impl Slabs {
    /// Whether a victim of a class is looked for ahead: where tags are drawn by lines.
    pub(super) fn looks_ahead(&self, class: usize, evictor: &Evictor) -> bool {
        class != self.classes.large() && Self::width(evictor).1 > 1
    }

    /// The next to leave a class, if it still ranks low.
    pub(super) fn choose_next(&mut self, class: usize, choice: &Choice) -> Option<Chosen> {
        let (at, hash, bound) = self.held[class].ahead.next.take()?;
        let rank = self.rank_now(class, at, choice);
        let chosen = self.take_hashed(class, at, rank, hash, choice).filter(|_| rank <= bound)?;
        // What is written where it stands waits for the rest of it, too.
        self.held[class].pages[chosen.page].expect(at.slot, self.classes.chunk(class));
        Some(chosen)
    }

    /// The hash of the next to leave a class.
    pub(super) fn next_hash(&self, class: usize) -> Option<u64> {
        self.held[class].ahead.next.map(|(_, hash, _)| hash)
    }

    /// Takes each step of those that are under way, and begins another.
    pub(super) fn look_ahead(
        &mut self,
        class: usize,
        choice: &Choice,
        prng: &mut Prng,
        draws: &mut Draws,
    ) {
        self.held[class].ahead.next = self.look_at_kept(class, choice);
        let Ahead { lines, drawn, .. } = self.held[class].ahead;
        if drawn > 0 {
            self.draw(class, &lines[..usize::from(drawn)], choice, prng, draws);
            let Class { pages, ahead, .. } = &mut self.held[class];
            (ahead.kept, ahead.bound) = draws.lowest();
            for (at, _) in ahead.kept.iter().take_while(|(_, rank)| *rank < f32::INFINITY) {
                pages[at.page as usize].expect(at.slot, LOOKED_AT);
            }
        }
        let (k, step) = Self::width(choice.evictor);
        let held = &mut self.held[class];
        let lines = k.div_ceil(step as usize).min(LINES);
        for drawn in 0..lines {
            let (page, first) = held.line(step, prng);
            held.pages[page as usize].expect_tags(first);
            held.ahead.lines[drawn] = (page, first);
        }
        held.ahead.drawn = lines as u8;
    }

    /// The lowest of those kept, if it still ranks low.
    fn look_at_kept(&mut self, class: usize, choice: &Choice) -> Option<(At, u64, f32)> {
        let Ahead { kept, bound, .. } = &mut self.held[class].ahead;
        let (kept, bound) = (std::mem::replace(kept, NOBODY), *bound);
        let mut lowest = (At::default(), f32::INFINITY);
        for (at, by_tag) in kept {
            // A use makes a rank higher, so those to come are no lower than their tags say.
            if lowest.1 <= by_tag {
                break;
            }
            let rank = self.rank_now(class, at, choice);
            if rank < lowest.1 {
                lowest = (at, rank);
            }
        }
        let (at, rank) = lowest;
        let chosen = self.take(class, at, rank, choice).filter(|_| rank <= bound)?;
        Some((at, chosen.hash, bound))
    }
}
