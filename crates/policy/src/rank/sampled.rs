//! A rank as a policy of the simulator: dense metadata, K draws with replacement, an optional pool.
//!
//! The pool keeps the best candidates of earlier draws, as Redis does, sorted by the rank they had
//! when they were drawn. A candidate whose item was used or left since then is dropped when its
//! turn comes (Redis evicts it all the same: measured, the miss ratio does not tell, but one hot
//! key evicted is visible to users).

use super::{Meta, Rank};
use crate::{Access, Policy, Slot, Tick};
use base::{Micros, Prng};

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Place in `Sampled::dense`, or `ABSENT`.
    place: u32,
    size: u32,
    hits: u32,
    penalty: Micros,
    last: Tick,
    born: Tick,
}

const ABSENT: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Candidate {
    slot: Slot,
    last: Tick,
    rank: f32,
}

/// Draws `k` residents and names the one of lowest rank.
#[derive(Debug)]
pub struct Sampled<R> {
    rank: R,
    k: usize,
    /// Candidates kept between evictions, best (lowest rank) last; none where `pool_max` is 0.
    pool: Vec<Candidate>,
    pool_max: usize,
    prng: Prng,
    entries: Vec<Entry>,
    /// The resident slots without gaps, so that a draw is one index.
    dense: Vec<Slot>,
}

impl<R: Rank> Sampled<R> {
    /// Draws `k` candidates an eviction, and keeps up to `pool` of them for the next.
    pub fn new(rank: R, k: usize, pool: usize, seed: u64) -> Self {
        let (entries, dense) = (vec![], vec![]);
        let prng = Prng::new(seed);
        Self { rank, k, pool: vec![], pool_max: pool, prng, entries, dense }
    }

    fn draw(&mut self, now: Tick) -> Candidate {
        let slot = self.dense[self.prng.below(self.dense.len() as u64) as usize];
        let entry = &self.entries[slot as usize];
        let meta = Meta {
            age: now.since(entry.last),
            life: now.since(entry.born),
            hits: entry.hits,
            size: entry.size,
            penalty: entry.penalty,
        };
        Candidate { slot, last: entry.last, rank: self.rank.rank(&meta, now) }
    }

    fn is_current(&self, candidate: &Candidate) -> bool {
        let entry = &self.entries[candidate.slot as usize];
        entry.place != ABSENT && entry.last == candidate.last
    }

    fn refill(&mut self, now: Tick) {
        for _ in 0..self.k {
            let candidate = self.draw(now);
            if self.pool.iter().any(|known| known.slot == candidate.slot) {
                continue;
            }
            let place = self.pool.partition_point(|known| known.rank > candidate.rank);
            if self.pool.len() == self.pool_max {
                if place == 0 {
                    continue;
                }
                self.pool.remove(0);
                self.pool.insert(place - 1, candidate);
            } else {
                self.pool.insert(place, candidate);
            }
        }
    }
}

impl<R: Rank> Policy for Sampled<R> {
    fn on_insert(&mut self, slot: Slot, access: &Access, now: Tick) {
        let entry = Entry {
            place: self.dense.len() as u32,
            size: access.size,
            hits: 0,
            penalty: access.penalty,
            last: now,
            born: now,
        };
        self.dense.push(slot);
        match self.entries.get_mut(slot as usize) {
            Some(reused) => *reused = entry,
            None => self.entries.push(entry),
        }
    }

    fn on_hit(&mut self, slot: Slot, access: &Access, now: Tick) {
        let entry = &mut self.entries[slot as usize];
        entry.last = now;
        entry.size = access.size;
        entry.hits = entry.hits.saturating_add(1);
    }

    fn on_remove(&mut self, slot: Slot, _: bool, _: Tick) {
        let place = std::mem::replace(&mut self.entries[slot as usize].place, ABSENT);
        self.dense.swap_remove(place as usize);
        if let Some(&moved) = self.dense.get(place as usize) {
            self.entries[moved as usize].place = place;
        }
    }

    fn victim(&mut self, _: &Access, now: Tick) -> Slot {
        if self.pool_max > 0 {
            self.refill(now);
            while let Some(candidate) = self.pool.pop() {
                if self.is_current(&candidate) {
                    return candidate.slot;
                }
            }
        }
        let mut best = self.draw(now);
        for _ in 1..self.k {
            let other = self.draw(now);
            if other.rank < best.rank {
                best = other;
            }
        }
        best.slot
    }
}
