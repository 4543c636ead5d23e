//! The eviction pool: victims chosen before they are needed.
//!
//! An eviction waits for memory three times: for the tags that it draws, for the item whose tag
//! ranks lowest, and for its bucket of the table. So a class has *rounds* of up to four lines of
//! tags each. A round serves as many evictions as find K candidates each in its tags:
//!
//! ```text
//!   queue is empty          half of it is left              empty again
//!   draw ── tags ──▶ rank, pool some ── items ──▶ look, queue the lowest ── bucket ──▶ it leaves
//!                                                 draw ── tags ──▶ …
//! ```
//!
//! A prefetched line is used half a round later. That is enough time for it to arrive, and too
//! little for it to be evicted from the cache, and no step holds its shard for long. In the
//! meantime an item may be used or removed, and another may take its place. So each step ranks the
//! item that is there at that moment, and keeps it only if its rank is not above that of the items
//! left out. If the queue is empty, the victim is drawn directly.
//!
//! Each reader slot of a shard, which is nearly each thread, has rounds of its own: lines that a
//! thread has prefetched are in the cache of its processor, and far from the others.

use crate::items::pages::class::Class;
use crate::items::pages::eviction_pool::pooled;
use crate::items::pages::eviction_pool::{EvictionPool, LINES, MANY, NOBODY, Next, QUEUE};
use crate::items::pages::pages::Pages;
use crate::items::pages::victim::Victim;
use crate::items::table::item_table::ItemTable;
use crate::victims::choose::{Candidates, VictimQuery};
use base::Prng;
use policy::Evictor;

/// Most evictions that are made together, and the number of victims that are prefetched ahead.
const TOGETHER: usize = 4;

/// Bytes of an item that are read to rank it, for most keys.
const LOOKED_AT: u64 = 64;

/// Lines of tags in a round, and the number of evictions that it serves.
fn round(evictor: &Evictor) -> (usize, usize) {
    let (k, step) = Pages::width(evictor);
    let evictions = (LINES * step as usize / k).clamp(1, QUEUE);
    ((k * evictions).div_ceil(step as usize).min(LINES), evictions)
}

impl Pages {
    /// Whether victims of a class are chosen ahead: it must have many items, and its tags must be
    /// drawn by lines, no more than a round has.
    pub(super) fn looks_ahead(&self, class: usize, evictor: &Evictor) -> bool {
        let (k, step) = Self::width(evictor);
        self.held[class].items >= MANY
            && class != self.classes.large()
            && step > 1
            && k <= LINES * step as usize
    }

    /// Whether another item of a class may be evicted together with `count` others, as part of a
    /// round.
    pub(crate) fn may_evict_along(
        &self,
        class: usize,
        count: usize,
        evictor: &Evictor,
        reader_slot: usize,
    ) -> bool {
        let pool = &self.held[class].eviction_pools[reader_slot];
        let is_queued = pool.as_ref().is_some_and(|pool| pool.queued > 0);
        is_queued && self.looks_ahead(class, evictor) && count < round(evictor).1.min(TOGETHER)
    }

    /// The next victim of a class from the queue, if one still ranks low.
    pub(super) fn choose_next(&mut self, class: usize, choice: &VictimQuery) -> Option<Victim> {
        while let Some(next) = self.pop_next(class, choice.reader_slot) {
            let rank = self.rank_now(class, next.at, choice);
            let Next { at, hash, bound } = next;
            if rank <= bound
                && let Some(chosen) = self.take_hashed(class, at, rank, hash, choice)
            {
                return Some(chosen);
            }
        }
        None
    }

    fn pop_next(&mut self, class: usize, reader_slot: usize) -> Option<Next> {
        let pool = self.held[class].eviction_pools[reader_slot].as_mut()?;
        pool.queued = pool.queued.checked_sub(1)?;
        Some(pool.next[usize::from(pool.queued)])
    }

    /// Prefetches for the next victims: their buckets, their chunks, in which other items are
    /// written, and for buckets that have arrived the rest of their chains. Prefetching all at once
    /// would exceed the number of loads that a processor can have in flight.
    pub(crate) fn prefetch_queued(&mut self, class: usize, reader_slot: usize, table: &ItemTable) {
        let Some(Class { pages, eviction_pools, .. }) = self.held.get_mut(class) else { return };
        let Some(pool) = &mut eviction_pools[reader_slot] else { return };
        let first = usize::from(pool.queued).saturating_sub(TOGETHER);
        let last = usize::from(pool.awaited.min(pool.queued));
        let here = usize::from(pool.awaited);
        let soon = usize::from(pool.queued).saturating_sub(TOGETHER / 2).max(here);
        let behind = usize::from(pool.behind.min(pool.queued)).max(soon);
        (pool.awaited, pool.behind) = (pool.awaited.min(first as u8), soon as u8);
        for Next { hash, .. } in &pool.next[soon..behind] {
            table.prefetch_chain(*hash);
        }
        for Next { at, hash, .. } in &pool.next[first.min(last)..last] {
            table.prefetch(*hash);
            if let Some(page) = pages.get(at.page as usize) {
                page.prefetch(at.slot, self.classes.chunk(class));
            }
        }
    }

    /// Makes each step of the round that is due.
    pub(super) fn look_ahead(
        &mut self,
        class: usize,
        choice: &VictimQuery,
        prng: &mut Prng,
        draws: &mut Candidates,
    ) {
        // The pool is taken out of its class, so that the class can be changed meanwhile.
        let mut pool =
            self.held[class].eviction_pools[choice.reader_slot].take().unwrap_or_default();
        let (lines, evictions) = round(choice.evictor);
        let was_empty = pool.queued == 0;
        if was_empty {
            self.look_at_pooled(&mut pool, class, evictions, choice);
        }
        if pool.drawn > 0 && usize::from(pool.queued) <= evictions.div_ceil(2) {
            self.draw(class, &pool.lines[..pool.drawn.into()], choice, prng, draws);
            pool.drawn = 0;
            (pool.pooled, pool.bound) = draws.lowest(&mut pool.items[..pooled(evictions)]);
            let held = &self.held[class];
            for (at, _) in &pool.items[..pool.pooled.into()] {
                held.pages[at.page as usize].prefetch(at.slot, LOOKED_AT);
            }
        }
        if was_empty {
            let held = &self.held[class];
            let step = Self::width(choice.evictor).1;
            for at in 0..lines {
                let mut line = held.line(step, prng);
                if pool.lines[..at].contains(&line) {
                    line = held.line(step, prng);
                }
                held.pages[line.0 as usize].prefetch_tags(line.1);
                pool.lines[at] = line;
            }
            pool.drawn = lines as u8;
        }
        self.held[class].eviction_pools[choice.reader_slot] = Some(pool);
    }

    /// Queues the lowest pooled candidates that still rank low, for up to `evictions` evictions.
    fn look_at_pooled(
        &mut self,
        pool: &mut EvictionPool,
        class: usize,
        evictions: usize,
        choice: &VictimQuery,
    ) {
        let mut lowest = [NOBODY; QUEUE];
        for &(at, by_tag) in &pool.items[..pool.pooled.into()] {
            // A use raises a rank, so the rest rank no lower than their tags.
            if lowest[evictions - 1].1 <= by_tag {
                break;
            }
            let rank = self.rank_now(class, at, choice);
            if rank > pool.bound || rank >= lowest[evictions - 1].1 {
                continue;
            }
            let mut place = evictions - 1;
            while place > 0 && rank < lowest[place - 1].1 {
                lowest[place] = lowest[place - 1];
                place -= 1;
            }
            lowest[place] = (at, rank);
        }
        pool.pooled = 0;
        for (at, rank) in lowest.into_iter().rev() {
            if let Some(Victim { hash, .. }) = self.take(class, at, rank, choice) {
                let bound = pool.bound;
                pool.next[usize::from(pool.queued)] = Next { at, hash, bound };
                pool.queued += 1;
            }
        }
        (pool.awaited, pool.behind) = (pool.queued, pool.queued);
    }
}
