//! The watched keys of one tenant.

use crate::observe::FILL_WINDOW;
use base::{Cause, Causes, Filter, Micros, Sample, Sighting};
use std::collections::HashMap;

/// The shortest and the longest time that new keys are watched before their misses count: as long
/// as the cache ran without a watch on them.
pub(super) const SETTLING_MIN: Micros = Micros::from_secs(60);
const SETTLING_MAX: Micros = Micros::from_secs(24 * 3_600);

/// A key without a request for this time is forgotten before others are.
const FORGOTTEN: Micros = Micros::from_secs(24 * 3_600);

/// The state of a key in an unbounded cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyState {
    /// Nothing: it was never written. The number counts the reads that missed.
    Absent(u32),
    /// Its item, which expires at this time.
    Held(Micros),
    /// Nothing: its item was removed.
    Removed,
}

/// A watched key.
#[derive(Clone, Copy, Debug)]
pub(super) struct WatchedKey {
    pub(super) state: KeyState,
    /// Time of the last request; for an absent key, of the first.
    pub(super) at: Micros,
    /// The time to live at its write; zero if no write was seen.
    pub(super) ttl: Micros,
    /// Time at which the item would expire if every item lived twice as long. It may be another
    /// item: the next write after a read that only twice the time to live would have answered is
    /// not made there.
    pub(super) twice: Micros,
}

impl WatchedKey {
    /// Whether the last request was such a read.
    fn is_spared(&self) -> bool {
        let has_expired = |expires| expires <= self.at && self.at < self.twice;
        matches!(self.state, KeyState::Held(expires) if has_expired(expires))
    }
}

/// The watched keys of one tenant, and the causes of its misses.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) keys: HashMap<u64, WatchedKey>,
    /// The keys whose misses count, among the watched ones.
    pub(super) counts: Filter,
    pub(super) watches: Filter,
    /// The most keys to watch, whatever is sampled.
    pub(super) bound: Filter,
    /// Whether values were written without a read before.
    pub(super) was_loaded: bool,
    /// Time since which the present share of keys is watched.
    pub(super) since: Micros,
    /// Misses of all keys, as scaled from those that count, and the number of the latter.
    pub(super) misses: Causes,
    pub(super) counted: u64,
    /// Reads of expired keys with a known time to live: those that would be left if items lived
    /// twice as long, and all.
    pub(super) late: (u64, u64),
    /// Sampled hits by the logarithm of the size.
    pub(super) hits: [u32; SIZES],
}

/// Number of size classes: powers of two.
pub const SIZES: usize = 32;

impl Default for Watched {
    fn default() -> Self {
        Self {
            keys: HashMap::new(),
            counts: Filter::NONE,
            watches: Filter::NONE,
            bound: Filter::ALL,
            was_loaded: false,
            since: Micros(0),
            misses: Causes::default(),
            counted: 0,
            late: (0, 0),
            hits: [0; SIZES],
        }
    }
}

impl Watched {
    /// Adapts the watched keys to the filter of the tap.
    pub(super) fn follow(&mut self, tap: Filter, now: Micros, began: Micros, is_fresh: bool) {
        let wanted = Filter::below(tap.threshold().min(self.bound.threshold()));
        let (wide, new) = (self.watches.threshold(), wanted.threshold());
        if new < wide {
            self.keys.retain(|&key, _| wanted.keeps(key));
            self.watches = wanted;
            self.counts = Filter::below(self.counts.threshold().min(new));
        } else if new > wide {
            if is_fresh {
                self.counts = wanted;
            }
            self.watches = wanted;
            self.since = now;
        }
        let unwatched = self.since.saturating_sub(began);
        let settling = Micros(unwatched.0.clamp(SETTLING_MIN.0, SETTLING_MAX.0));
        if now.saturating_sub(self.since) >= settling {
            self.counts = self.watches;
        }
    }

    /// Number of keys that each counted key stands for.
    fn weight(&self) -> u64 {
        (self.counts.rate().recip()).round() as u64
    }

    /// Takes in a sample.
    pub(super) fn see(&mut self, sample: &Sample) {
        let (key, now) = (sample.key, sample.time);
        if !self.watches.keeps(key) {
            return;
        }
        let expires = match sample.ttl {
            Micros(0) => Micros(u64::MAX),
            ttl => now + ttl,
        };
        let twice = expires + sample.ttl;
        let state = KeyState::Held(expires);
        let held = WatchedKey { state, at: now, ttl: sample.ttl, twice };
        match sample.sighting {
            Sighting::Hit => {
                let size = &mut self.hits[sample.size.max(1).ilog2() as usize];
                *size = size.saturating_add(1);
                // The sample has the remaining time to live, not the one at the write.
                let known = self.keys.get(&key);
                let ttl = known.map_or(Micros(0), |known| known.ttl);
                let mut twice = known.map_or(twice, |known| known.twice);
                if ttl > Micros(0) && twice <= now {
                    // This item was written later than the one that would have lived twice as long.
                    self.late.0 += u64::from(self.counts.keeps(key));
                    twice = now + ttl + ttl;
                }
                self.keys.insert(key, WatchedKey { ttl, twice, ..held });
            }
            Sighting::Write => {
                let spared = self.keys.get(&key).filter(|known| known.is_spared());
                let twice = spared.map_or(held.twice, |known| known.twice);
                let before = self.keys.insert(key, WatchedKey { twice, ..held });
                if let Some(WatchedKey { state: KeyState::Absent(reads), at, .. }) = before
                    && now.saturating_sub(at) > FILL_WINDOW
                    && self.counts.keeps(key)
                {
                    // The write did not follow from these reads.
                    let all = u64::from(reads) * self.weight();
                    let [never, .., early] = &mut self.misses;
                    let moved = all.min(*never);
                    *never -= moved;
                    *early += moved;
                }
            }
            Sighting::Delete => {
                if let Some(known) = self.keys.get_mut(&key)
                    && matches!(known.state, KeyState::Held(_))
                {
                    *known = WatchedKey { state: KeyState::Removed, ttl: Micros(0), ..held };
                }
            }
            Sighting::Miss => {
                let absent = WatchedKey { state: KeyState::Absent(0), ttl: Micros(0), ..held };
                let known = self.keys.entry(key).or_insert(absent);
                let ttl = known.ttl;
                let cause = match &mut known.state {
                    KeyState::Absent(reads) => {
                        *reads = reads.saturating_add(1);
                        Cause::NeverSeen
                    }
                    KeyState::Held(expires) if *expires <= now => {
                        if ttl > Micros(0) && self.counts.keeps(key) {
                            self.late.0 += u64::from(known.twice <= now);
                            self.late.1 += 1;
                        }
                        Cause::Expired
                    }
                    KeyState::Held(_) => Cause::Evicted,
                    KeyState::Removed => Cause::Deleted,
                };
                if cause != Cause::NeverSeen {
                    known.at = now;
                }
                if self.counts.keeps(key) {
                    self.misses[cause as usize] += self.weight();
                    self.counted += 1;
                }
            }
        }
    }

    /// Watches fewer keys: first drops keys without a request for a long time.
    pub(super) fn shrink(&mut self, now: Micros, began: Micros) {
        let before = self.keys.len();
        self.keys.retain(|_, known| now.saturating_sub(known.at) < FORGOTTEN);
        if self.keys.len() >= before - before / 8 {
            self.bound = Filter::below((self.watches.threshold() / 2).max(1));
            self.follow(self.bound, now, began, false);
        }
        self.keys.shrink_to(self.keys.len());
    }

    /// Watches more keys if there is room.
    pub(super) fn grow(&mut self, room: usize) {
        if self.bound != Filter::ALL && self.keys.len() < room / 4 {
            let twice = Filter::below(2 * self.bound.threshold());
            self.bound = if twice.rate() >= 1.0 { Filter::ALL } else { twice };
        }
    }
}
