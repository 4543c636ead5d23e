//! Causes of misses, and the footprint, by an unbounded cache that sees each request.
//!
//! For every key, the cache keeps its largest size, and the end of its life if it has one. Most
//! requests repeat a recent key and change nothing about it. A small table of such keys, by some
//! bits of the hash, answers these from the processor's nearest cache. A trace of more keys than
//! [`KEYS_MAX`] is judged by a sample of them, half as many at each step, as SHARDS does [1]. So
//! the memory is bounded; the footprint and the causes are then estimates.
//!
//! [1] Waldspurger, Park, Garthwaite, Ahmad. Efficient MRC Construction with SHARDS. FAST '15.

use base::hash::{KeyMap, mix};
use base::{Access, Filter, Micros, Op, Size};

/// Maximum number of keys known at a time. With one more, they just fit a table of 2²⁰ places, 18
/// MB.
pub(super) const KEYS_MAX: usize = (1 << 20) / 8 * 7 - 1;
/// Places in the table of recent keys: 256 KiB.
const RECENT: usize = 1 << 14;
/// Requests whose keys are looked up together: their entries fit the processor's nearest cache.
const AT_ONCE: usize = 64;
/// Makes the sample independent of others by the same hash, such as the trace itself.
const SALT: u64 = 0x5bd1_e995_97f4_a7c1;
/// End of life of a removed key.
const REMOVED: Micros = Micros(0);

/// Cause of a miss: the answer that an unbounded cache would have given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Cause {
    /// The first read of a key that was never written.
    First,
    /// Its time to live was over.
    Expired,
    /// A request removed it.
    Deleted,
    /// An unbounded cache holds it: more memory would help, or the cache did not admit it.
    Evicted,
}

impl Cause {
    pub(super) const ALL: [Self; 4] = [Self::First, Self::Expired, Self::Deleted, Self::Evicted];
}

/// An unbounded cache that finds the causes of misses, and adds up the footprint.
#[derive(Debug)]
pub(super) struct Annotator {
    filter: Filter,
    keys_max: usize,
    /// The largest size of each key.
    sizes: KeyMap<Size>,
    /// Ends of life of the keys that have one; [`REMOVED`] for a removed key.
    ends: KeyMap<Micros>,
    /// Recent keys that live for ever, with the largest size of each.
    recent: Vec<(u64, Size)>,
    /// Sum of the sizes.
    bytes: u64,
    /// How often a key got an end of life, or the sample shrank.
    changes: u64,
}

impl Default for Annotator {
    fn default() -> Self {
        Self::knowing(KEYS_MAX)
    }
}

impl Annotator {
    /// An annotator that knows at most `keys_max` keys.
    pub(super) fn knowing(keys_max: usize) -> Self {
        let (sizes, ends) = (KeyMap::default(), KeyMap::default());
        let recent = (0..RECENT).map(nobody).collect();
        Self { filter: Filter::ALL, keys_max, sizes, ends, recent, bytes: 0, changes: 0 }
    }

    /// Appends the causes of some requests in their order; `None` for a key outside the sample.
    pub(super) fn see_all(&mut self, accesses: &[Access], causes: &mut Vec<Option<Cause>>) {
        for part in accesses.chunks(AT_ONCE) {
            let began = self.changes;
            let unchanged = part
                .iter()
                .rev()
                .fold(0u64, |bits, access| bits << 1 | u64::from(self.is_unchanged(access)));
            // Most of the time goes to waiting for memory. These look-ups do not depend on each
            // other, so the processor waits for several at once. The loop below finds them in its
            // cache.
            let mut far = !unchanged;
            let mut sizes = 0;
            while let Some(access) = part.get(far.trailing_zeros() as usize) {
                sizes ^= self.sizes.get(&access.key).map_or(0, |size| size.get());
                far &= far - 1;
            }
            std::hint::black_box(sizes);
            for (at, access) in part.iter().enumerate() {
                let is_unchanged = unchanged >> at & 1 == 1 && self.changes == began;
                let cause = if is_unchanged { Some(Cause::Evicted) } else { self.see(access) };
                causes.push(cause);
            }
        }
    }

    /// Whether the key is a recent one, and the request changes nothing about it.
    #[inline]
    fn is_unchanged(&self, access: &Access) -> bool {
        let (key, size) = self.recent[place(access.key)];
        let changes = access.op == Op::Delete || access.op == Op::Set && access.ttl != Micros(0);
        key == access.key && access.size <= size && !changes
    }

    /// The cause of one request; `None` for a key outside the sample.
    #[inline]
    pub(super) fn see(&mut self, access: &Access) -> Option<Cause> {
        if self.is_unchanged(access) {
            return Some(Cause::Evicted);
        }
        self.filter.keeps(mix(access.key ^ SALT)).then(|| self.look_up(access))
    }

    fn look_up(&mut self, access: &Access) -> Cause {
        let Some(largest) = self.sizes.get_mut(&access.key) else {
            if access.op != Op::Delete {
                self.sizes.insert(access.key, access.size);
                self.bytes += u64::from(access.size);
                self.live(access);
                self.shrink();
            }
            return Cause::First;
        };
        if access.size > *largest && access.op != Op::Delete {
            self.bytes += access.size.get() - largest.get();
            *largest = access.size;
        }
        let largest = *largest;
        let end = if self.ends.is_empty() { None } else { self.ends.get(&access.key).copied() };
        if access.op == Op::Delete {
            self.ends.insert(access.key, REMOVED);
            self.changes += 1;
            self.recent[place(access.key)] = nobody(place(access.key));
            return Cause::Deleted;
        }
        let cause = match end {
            Some(REMOVED) => Cause::Deleted,
            Some(end) if end <= access.time => Cause::Expired,
            _ => Cause::Evicted,
        };
        if access.op == Op::Set || cause != Cause::Evicted {
            self.ends.remove(&access.key);
            self.live(access);
        } else if end.is_none() {
            self.recent[place(access.key)] = (access.key, largest);
        }
        cause
    }

    /// Notes the end of the life that the access begins.
    fn live(&mut self, access: &Access) {
        let at = place(access.key);
        if access.ttl != Micros(0) {
            let end = Micros(access.time.0.saturating_add(access.ttl.0));
            self.ends.insert(access.key, end);
            self.changes += 1;
            self.recent[at] = nobody(at);
        }
    }

    /// Halves the sample until it is small enough.
    fn shrink(&mut self) {
        while self.sizes.len() > self.keys_max {
            self.filter = Filter::below(self.filter.threshold() / 2);
            let filter = self.filter;
            self.sizes.retain(|&key, _| filter.keeps(mix(key ^ SALT)));
            self.ends.retain(|&key, _| filter.keeps(mix(key ^ SALT)));
            self.bytes = self.sizes.values().map(|size| size.get()).sum();
            self.recent = (0..RECENT).map(nobody).collect();
            self.changes += 1;
        }
    }

    /// Sum over all keys of the largest size of each.
    pub(super) fn footprint(&self) -> u64 {
        self.whole(self.bytes)
    }

    /// Number of distinct keys.
    pub(super) fn keys(&self) -> u64 {
        self.whole(self.sizes.len() as u64)
    }

    /// Whether the trace has more keys than can be known, so that a sample stands for them.
    pub(super) fn is_estimate(&self) -> bool {
        self.filter != Filter::ALL
    }

    fn whole(&self, of_sample: u64) -> u64 {
        if self.is_estimate() {
            (of_sample as f64 / self.filter.rate()).round() as u64
        } else {
            of_sample
        }
    }
}

const fn place(key: u64) -> usize {
    key as usize % RECENT
}

/// An entry that no key finds: its key belongs to another place.
const fn nobody(at: usize) -> (u64, Size) {
    (!(at as u64), Size::ONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn at(time: u64, access: Access) -> Access {
        Access { time: Micros(time), ..access }
    }

    fn living(ttl: u64, access: Access) -> Access {
        Access { ttl: Micros(ttl), ..access }
    }

    #[test]
    fn misses_are_told_apart() {
        let mut annotator = Annotator::default();
        let steps = [
            (at(0, living(10, Access::get(1, 5))), Cause::First),
            (at(5, Access::get(1, 5)), Cause::Evicted),
            (at(10, Access::get(1, 5)), Cause::Expired),
            (at(99, Access::get(1, 9)), Cause::Evicted),
            (at(100, Access::delete(1)), Cause::Deleted),
            (at(101, Access::get(1, 5)), Cause::Deleted),
            (at(102, Access::get(1, 5)), Cause::Evicted),
            (at(103, Access::set(2, 7)), Cause::First),
            (at(104, Access::get(2, 7)), Cause::Evicted),
        ];
        for (access, cause) in steps {
            assert_eq!(annotator.see(&access), Some(cause), "{access:?}");
        }
        assert_eq!(annotator.footprint(), 9 + 7, "each key at its largest");
        assert_eq!(annotator.keys(), 2);
    }

    proptest! {
        /// The annotator agrees with a map that keeps the whole state of every key.
        #[test]
        fn agrees_with_a_plain_map(
            steps in prop::collection::vec((0u64..9, 0u8..4, 1u32..4, 0u64..12), 0..300),
        ) {
            let mut annotator = Annotator::default();
            let (mut all, mut wanted, mut causes) = (vec![], vec![], vec![]);
            let mut plain: HashMap<u64, (u32, bool, u64)> = HashMap::new();
            for (time, (key, op, size, ttl)) in steps.into_iter().enumerate() {
                let ttl = if ttl < 6 { 0 } else { ttl };
                let time = time as u64;
                let access = match op {
                    0 | 1 => Access::get(key, size),
                    2 => Access::set(key, size),
                    _ => Access::delete(key),
                };
                let ends = if ttl == 0 { u64::MAX } else { time + ttl };
                let is_removal = access.op == Op::Delete;
                let want = match plain.get_mut(&key) {
                    None => {
                        if !is_removal {
                            plain.insert(key, (size, true, ends));
                        }
                        Cause::First
                    }
                    Some((_, alive, _)) if is_removal => {
                        *alive = false;
                        Cause::Deleted
                    }
                    Some((largest, alive, end)) => {
                        let cause = match (*alive, *end <= time) {
                            (false, _) => Cause::Deleted,
                            (true, true) => Cause::Expired,
                            (true, false) => Cause::Evicted,
                        };
                        if access.op == Op::Set || cause != Cause::Evicted {
                            (*alive, *end) = (true, ends);
                        }
                        *largest = size.max(*largest);
                        cause
                    }
                };
                let access = at(time, living(ttl, access));
                prop_assert_eq!(annotator.see(&access), Some(want));
                all.push(access);
                wanted.push(Some(want));
            }
            Annotator::default().see_all(&all, &mut causes);
            prop_assert_eq!(causes, wanted, "many at once");
            let footprint: u64 = plain.values().map(|(size, ..)| u64::from(*size)).sum();
            prop_assert_eq!(annotator.footprint(), footprint);
        }
    }

    #[test]
    fn a_sample_tells_of_more_keys_than_are_known() {
        let mut annotator = Annotator::knowing(5_000);
        let mut told = 0;
        for round in 0..2 {
            for key in 0..100_000u64 {
                let access = Access::get(mix(key), 100 + (key % 100) as u32);
                let cause = annotator.see(&access);
                told += u64::from(cause.is_some());
                let want = if round == 0 { Cause::First } else { Cause::Evicted };
                assert!(cause.is_none_or(|cause| cause == want));
            }
        }
        assert!(annotator.is_estimate() && annotator.sizes.len() <= 5_000);
        assert!(told < 60_000, "{told}");
        let near = |estimate: u64, exact: f64| (estimate as f64 / exact - 1.0).abs() < 0.05;
        assert!(near(annotator.keys(), 1e5), "{}", annotator.keys());
        assert!(near(annotator.footprint(), 149.5e5), "{}", annotator.footprint());
    }
}
