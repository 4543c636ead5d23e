//! Finds the best share of a part of the cache with miniatures, so that no trial costs the cache a
//! hit.
//!
//! ```text
//!   all keys ─▶ the cache, its part of share s ◀──────────────┐
//!      └ a fixed part of the keys ─▶ miniatures of shares a, b, c, ... ─▶ is another one better?
//! ```
//!
//! A miniature sees a part of the keys and has the same part of the capacity, so it hits like a
//! whole cache of its share \[1\]. Below some hundreds of objects the miniatures are as large as
//! the cache. All of them see the same requests. Only requests that one of two miniatures hits and
//! the other misses count. The share changes when their balance is too uneven for chance. Each look
//! discounts earlier counts, so the share follows the workload.
//!
//! \[1\] Waldspurger, Saemundsson, Ahmad, Park. Cache Modeling and Optimization using Miniature
//! Simulations. USENIX ATC '17.

use crate::{Cache, Choice, Outcome};
use base::hash::mix;
use base::{Access, Bytes, Op};

/// Objects that a miniature should hold; up to twice as many are accepted.
const OBJECTS: usize = 512;
/// Reads between two looks, for each object of a miniature.
const LOOK: usize = 2;
/// The fewest objects that the interval between two looks assumes.
const LOOK_OBJECTS_MIN: usize = 64;
/// Share of the earlier counts that remains at each look.
const DECAY: f64 = 0.95;
/// Standard deviations of a fair coin beyond which a difference is not chance. Independent reads
/// would need fewer, but the reads of one key come in groups.
const CERTAINTY: f64 = 4.0;

/// A small cache with one share.
#[derive(Debug)]
struct Miniature {
    share: f64,
    choice: Choice,
    cache: Cache,
    /// Reads that it hit and the miniature of the present share missed.
    won: f64,
    /// Reads that it missed and the miniature of the present share hit.
    lost: f64,
}

/// Miniatures of one cache with several shares.
#[derive(Debug)]
pub(crate) struct Miniatures {
    all: Vec<Miniature>,
    /// Index of the miniature that has the share of the cache.
    present: usize,
    /// The miniatures see one key in two to the power of this.
    halvings: u32,
    capacity: Bytes,
    seed: u64,
    reads: usize,
}

impl Miniatures {
    /// Miniatures of a cache of `capacity`, one for each share, with the policy of that share. The
    /// first share is the present one of the cache.
    pub(crate) fn new(shares: Vec<(f64, Choice)>, capacity: Bytes, seed: u64) -> Self {
        let miniature = |(share, choice)| {
            let cache = Cache::new(&choice, capacity, seed);
            Miniature { share, choice, cache, won: 0.0, lost: 0.0 }
        };
        let all = shares.into_iter().map(miniature).collect();
        Self { all, present: 0, halvings: 0, capacity, seed, reads: 0 }
    }

    /// Shows a request to the miniatures. Returns another share when the cache should change to it.
    pub(crate) fn access(&mut self, access: &Access) -> Option<f64> {
        // The constant makes this sample independent of other samples of keys.
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

    /// Starts again with fewer keys, so that a full miniature holds about the intended number of
    /// objects.
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

    /// The share of a miniature whose lead over the present one is beyond chance, if there is one;
    /// the largest lead wins.
    fn look(&mut self) -> Option<f64> {
        self.reads = 0;
        let gain = |at: usize| self.all[at].won - self.all[at].lost;
        let is_certain = |&at: &usize| {
            let Miniature { won, lost, .. } = self.all[at];
            won - lost > CERTAINTY * (won + lost).sqrt()
        };
        let better = (0..self.all.len()).filter(is_certain);
        let best = better.max_by(|&a, &b| gain(a).total_cmp(&gain(b)));
        // The counts of another present share begin at zero.
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

    /// A part of the keys, or of the time, shows the better of two windows.
    #[test]
    fn the_better_share_is_found() {
        let share =
            |share: f64| (share, parse(&format!("w-tinylfu:window={share}:adapt=0")).unwrap());
        for (capacity, turn) in [(50, 20), (4_000, 1_600)] {
            let mut miniatures = Miniatures::new(vec![share(0.01), share(0.8)], Bytes(capacity), 1);
            // Each key has two requests with `turn` other keys between them: only recency matters.
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
