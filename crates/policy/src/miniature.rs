//! Finds on miniatures of the cache how large a part of it should be: no try costs the cache a hit.
//!
//! ```text
//!   all keys ─▶ the cache, its part of share s ◀──────────────┐
//!      └ a fixed part of the keys ─▶ miniatures of shares a, b, c, ... ─▶ is another one better?
//! ```
//!
//! A miniature holds as much less as it sees fewer keys, so it hits as a whole cache of its share
//! would \[1\]. Where a cache holds some hundreds of objects the miniatures are as large as it is.
//! All of them see the same requests: only those count which one of two miniatures hits and the
//! other misses, and the share changes when these are too uneven to be chance. What was seen long
//! ago weighs less with each look, so another workload is followed.
//!
//! \[1\] Waldspurger, Saemundsson, Ahmad, Park. Cache Modeling and Optimization using Miniature
//! Simulations. USENIX ATC '17.

use crate::{Access, Bytes, Cache, Choice, Op, Outcome};
use base::hash::mix;

/// Objects that a miniature is meant to hold; up to twice as many are borne.
const OBJECTS: usize = 512;
/// Reads by object of a miniature between two looks.
const LOOK: usize = 2;
/// A miniature of fewer objects is looked at as if it held so many.
const LOOK_OBJECTS_MIN: usize = 64;
/// What is left at a look of what was counted before.
const DECAY: f64 = 0.95;
/// Standard deviations of a fair coin beyond which a difference is none of chance: more than would
/// do if each read were a throw of its own, for the reads of one key come together.
const CERTAINTY: f64 = 4.0;

/// A cache of one share, in small.
#[derive(Debug)]
struct Miniature {
    share: f64,
    choice: Choice,
    cache: Cache,
    /// Reads that it hit and that of the present share missed.
    won: f64,
    /// And the other way round.
    lost: f64,
}

/// Miniatures of several shares.
#[derive(Debug)]
pub(crate) struct Miniatures {
    all: Vec<Miniature>,
    /// Which of them has the share of the cache.
    present: usize,
    /// One key in two to the power of this is seen.
    halvings: u32,
    capacity: Bytes,
    seed: u64,
    reads: usize,
}

impl Miniatures {
    /// Miniatures of a cache of `capacity`, one for each share with the policy that has it. The
    /// first share is that of the cache.
    pub(crate) fn new(shares: Vec<(f64, Choice)>, capacity: Bytes, seed: u64) -> Self {
        let miniature = |(share, choice)| {
            let cache = Cache::new(&choice, capacity, seed);
            Miniature { share, choice, cache, won: 0.0, lost: 0.0 }
        };
        let all = shares.into_iter().map(miniature).collect();
        Self { all, present: 0, halvings: 0, capacity, seed, reads: 0 }
    }

    /// Shows a request to the miniatures. At times: the share that the cache should have from now
    /// on.
    pub(crate) fn access(&mut self, access: &Access) -> Option<f64> {
        // Mixed with a number of this place's own: other samples take other keys.
        let hash = mix(access.key ^ 0x6d69_6e69);
        if self.halvings > 0 && hash >> (64 - self.halvings) != 0 {
            return None;
        }
        let present_hit = self.all[self.present].cache.access(access) == Outcome::Hit;
        for at in (0..self.all.len()).filter(|&at| at != self.present) {
            let miniature = &mut self.all[at];
            let hit = miniature.cache.access(access) == Outcome::Hit;
            miniature.won += f64::from(u8::from(hit && !present_hit));
            miniature.lost += f64::from(u8::from(!hit && present_hit));
        }
        if access.op != Op::Get {
            return None;
        }
        self.reads += 1;
        let objects = self.all[self.present].cache.len();
        if objects > 2 * OBJECTS {
            self.shrink();
        }
        (self.reads >= LOOK * objects.max(LOOK_OBJECTS_MIN)).then(|| self.look()).flatten()
    }

    /// The cache now holds up to `capacity`.
    pub(crate) fn resize(&mut self, capacity: Bytes) {
        self.capacity = capacity;
        let small = self.small();
        self.all.iter_mut().for_each(|miniature| miniature.cache.resize(small));
    }

    fn small(&self) -> Bytes {
        Bytes(self.capacity.0 >> self.halvings)
    }

    /// Begins anew with so few keys that a full miniature holds what it is meant to.
    fn shrink(&mut self) {
        let cache = &self.all[self.present].cache;
        let full = cache.len() as f64 * cache.capacity().as_f64() / cache.used().as_f64().max(1.0);
        self.halvings = (self.halvings + (full as u64 / OBJECTS as u64).max(2).ilog2()).min(63);
        let small = self.small();
        for miniature in &mut self.all {
            miniature.cache = Cache::new(&miniature.choice, small, self.seed);
            (miniature.won, miniature.lost) = (0.0, 0.0);
        }
        self.reads = 0;
    }

    /// The share of the miniature that hits more than the present one beyond chance, if any does;
    /// of several the best.
    fn look(&mut self) -> Option<f64> {
        self.reads = 0;
        let gain = |at: usize| self.all[at].won - self.all[at].lost;
        let is_certain = |&at: &usize| {
            let Miniature { won, lost, .. } = self.all[at];
            won - lost > CERTAINTY * (won + lost).sqrt()
        };
        let better = (0..self.all.len()).filter(is_certain);
        let best = better.max_by(|&a, &b| gain(a).total_cmp(&gain(b)));
        // Counted against another from now on.
        let left = if best.is_some() { 0.0 } else { DECAY };
        for miniature in &mut self.all {
            miniature.won *= left;
            miniature.lost *= left;
        }
        self.present = best?;
        Some(self.all[self.present].share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    /// A part of the keys, or of the time, shows which of two windows is the better one.
    #[test]
    fn the_better_share_is_found() {
        let share =
            |share: f64| (share, parse(&format!("w-tinylfu:window={share}:adapt=0")).unwrap());
        for (capacity, turn) in [(50, 20), (4_000, 1_600)] {
            let mut miniatures = Miniatures::new(vec![share(0.01), share(0.8)], Bytes(capacity), 1);
            // Each key is asked for twice, with so many others between: recency is all.
            let mut told = vec![];
            for at in 0..40 * capacity {
                for key in [at, at.saturating_sub(turn)] {
                    told.extend(miniatures.access(&Access::get(mix(key), 1)));
                }
            }
            assert_eq!(told, [0.8], "{capacity}");
        }
    }
}
