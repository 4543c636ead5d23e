//! A table of keys: the last use of each, its hits, the mean interval between them, and the cost
//! of its last fetch, in four bytes.
//!
//! The server stores the last use of a key in whole seconds, and nothing else that the rank needs.
//! The table is addressed by the hash that the filter computes anyway. It also keeps the keys that
//! were evicted lately, so a key that returns keeps its hits.
//!
//! ```text
//!   31        21 20       19     18       11 10   8 7          3 2       0
//!  ┌────────────┬────────┬────────┬──────────┬──────┬────────────┬─────────┐
//!  │ fingerprint│ held   │ coarse │ last use │ hits │ interval   │ penalty │    0: no key
//!  └────────────┴────────┴────────┴──────────┴──────┴────────────┴─────────┘
//! ```
//!
//! Sixteen entries are a bucket of one cache line. A full bucket drops its oldest entry, and first
//! those of evicted keys. A key without an entry counts as new. One key in a few hundred is
//! mistaken for another.
//!
//! - *Last use*: the clock ticks with each request to a key. One step is a sixty-fourth of the
//!   number of keys, so 256 steps reach back four such numbers. A sweep moves older entries to
//!   steps sixteen times as long.
//! - *Interval*: in half octaves. A hit moves the mean by a part of a half octave, so the entry
//!   moves by a whole one with that probability.
//! - *Growth*: the table grows and shrinks by a segment of 256 buckets. A new segment is a copy of
//!   the one whose keys it shares. No entry tells which of the two its key belongs to, so one of
//!   the copies is never found again, and is dropped in time.

use crate::entry::{HELD, KeyStamp, PRINT, RequestClock};
use crate::places::{WAYS, first, places, prefetch};

/// Buckets of a segment, as a power of two.
const SEGMENT: u32 = 8;
/// Entries of a segment.
pub(crate) const SEGMENT_KEYS: usize = WAYS << SEGMENT;
/// Bytes of a segment.
pub(crate) const SEGMENT_BYTES: u64 = (SEGMENT_KEYS * size_of::<KeyStamp>()) as u64;
/// Requests between two buckets of the sweep, less one. A sweep of all buckets takes a request for
/// every second key that the table has room for, so no age in fine steps wraps before.
const SWEEP_EACH: u64 = 7;
/// A part of the table.
#[derive(Debug)]
struct Segment {
    /// The step with which its entries were written.
    shift: u32,
    buckets: Box<[[KeyStamp; WAYS]]>,
}

/// The past of a key, in requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Past {
    pub(crate) age: u32,
    /// Hits, up to seven.
    pub(crate) hits: u8,
    /// The mean interval between hits; meaningless without a hit.
    pub(crate) interval: u32,
    /// The code of the cost of the last fetch ([`code_of`]); 0 where it is unknown.
    pub(crate) penalty: u8,
}

/// The three bits that stand for a class of penalties: two classes each.
pub(crate) const fn code_of(penalty_class: u8) -> u8 {
    let code = penalty_class.div_ceil(2);
    if code > 7 { 7 } else { code }
}

/// The class that a code stands for.
pub(crate) const fn class_of_code(code: u8) -> u8 {
    2 * code
}

/// The table.
#[derive(Debug)]
pub(crate) struct Stamps {
    segments: Vec<Segment>,
    /// The next power of two of their number, less one.
    mask: usize,
    tick: u64,
    shift: u32,
    /// The next bucket of the sweep.
    swept: usize,
}

/// The fingerprint of a hash, in its place.
const fn print(hash: u64) -> u32 {
    let print = (hash >> 32) as u32 & 0x7FF;
    (if print == 0 { 1 } else { print }) << 21
}

impl Stamps {
    /// An empty table that begins at `tick`.
    pub(crate) fn new(tick: u64) -> Self {
        let mut stamps = Self { segments: vec![], mask: 0, tick, shift: 0, swept: 0 };
        stamps.grow();
        stamps
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        self.segments.len() as u64 * SEGMENT_BYTES
    }

    /// Adapts the table: room for `room` keys, and steps for `keys` keys. The table grows by a
    /// segment at a time; returns whether it needs another call.
    pub(crate) fn fit(&mut self, room: usize, keys: usize) -> bool {
        self.shift = (keys.max(64) as u64 / 64).ilog2();
        let wanted = room.div_ceil(SEGMENT_KEYS).max(1);
        if wanted > self.segments.len() {
            self.grow();
        } else if wanted + wanted / 4 + 1 < self.segments.len() {
            self.segments.pop();
        }
        self.mask = self.segments.len().next_power_of_two() - 1;
        wanted > self.segments.len()
    }

    fn grow(&mut self) {
        let len = self.segments.len();
        let mut buckets = vec![[KeyStamp::default(); WAYS]; 1 << SEGMENT].into_boxed_slice();
        let mut shift = self.shift;
        if len > 0 {
            let source = &mut self.segments[len - (1 << len.ilog2())];
            // No entry of the two is known to be of a key that the server holds.
            for entry in source.buckets.as_flattened_mut() {
                *entry = entry.held(false);
            }
            buckets.copy_from_slice(&source.buckets);
            shift = source.shift;
        }
        self.segments.push(Segment { shift, buckets });
        self.mask = self.segments.len().next_power_of_two() - 1;
    }

    fn clock(&self) -> RequestClock {
        RequestClock { tick: self.tick, shift: self.shift }
    }

    /// The segment of a hash, and the bucket within it.
    #[inline]
    fn place(&self, hash: u64) -> (usize, usize) {
        // The segment among the next power of two, or among the one before if there is none yet.
        let at = hash as usize & self.mask;
        let at = if at < self.segments.len() { at } else { at & (self.mask >> 1) };
        (at, (hash >> 24) as usize & ((1 << SEGMENT) - 1))
    }

    /// Prefetches the bucket of a hash.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        let (at, bucket) = self.place(hash);
        prefetch(&self.segments[at].buckets[bucket]);
    }

    #[inline]
    fn bucket(&mut self, hash: u64) -> &mut [KeyStamp; WAYS] {
        let (at, bucket) = self.place(hash);
        let clock = self.clock();
        let segment = &mut self.segments[at];
        if segment.shift != clock.shift {
            segment.convert(clock);
        }
        &mut segment.buckets[bucket]
    }

    #[inline]
    fn find(&mut self, hash: u64) -> Option<&mut KeyStamp> {
        let print = print(hash);
        let bucket = self.bucket(hash);
        let same = places(bucket, |entry| entry.0 & PRINT == print);
        if same == 0 {
            return None;
        }
        Some(&mut bucket[first(same)])
    }

    /// Counts a request.
    #[inline]
    pub(crate) fn pass(&mut self) {
        self.tick += 1;
        if self.tick & SWEEP_EACH == 0 {
            self.sweep();
        }
    }

    /// Moves old entries of the next bucket to coarse steps, before their age wraps.
    fn sweep(&mut self) {
        let at = self.swept;
        self.swept = if at + 1 < self.segments.len() << SEGMENT { at + 1 } else { 0 };
        let clock = self.clock();
        let Some(segment) = self.segments.get_mut(at >> SEGMENT) else { return };
        if segment.shift != clock.shift {
            segment.convert(clock);
        }
        let bucket = &mut segment.buckets[at & ((1 << SEGMENT) - 1)];
        let (fine, coarse) = (clock.fine(), clock.coarse());
        let mut due = places(bucket, |entry| entry.is_due(fine, coarse));
        while due != 0 {
            let entry = &mut bucket[first(due)];
            *entry = entry.aged(entry.age(clock), clock);
            due &= due - 1;
        }
    }

    /// Notes a read of a key that the server holds; false if the table does not know the key as
    /// held.
    #[inline]
    pub(crate) fn hit(&mut self, hash: u64) -> bool {
        let (clock, chance) = (self.clock(), self.chance());
        match self.find(hash) {
            Some(entry) if entry.0 & HELD != 0 => {
                *entry = entry.hit(clock, chance);
                true
            }
            _ => false,
        }
    }

    /// Notes a write of a key that the server holds; false if the table does not know the key as
    /// held.
    #[inline]
    pub(crate) fn wrote(&mut self, hash: u64) -> bool {
        let clock = self.clock();
        match self.find(hash) {
            Some(entry) if entry.0 & HELD != 0 => {
                *entry = entry.aged(0, clock);
                true
            }
            _ => false,
        }
    }

    /// Sixteen bits that differ from request to request.
    const fn chance(&self) -> u32 {
        (self.tick as u32).wrapping_mul(0x9E37_79B1) >> 16
    }

    /// Notes that the server holds a key from now on. A key that returns continues its past.
    pub(crate) fn enters(&mut self, hash: u64) {
        let (clock, chance) = (self.clock(), self.chance());
        if let Some(entry) = self.find(hash) {
            *entry = entry.hit(clock, chance).held(true);
        } else {
            let new = KeyStamp(print(hash) | HELD).aged(0, clock);
            *self.oldest(hash) = new;
        }
    }

    /// The entry to replace in the bucket of a hash: an empty one, or the oldest of an evicted
    /// key, or the oldest.
    fn oldest(&mut self, hash: u64) -> &mut KeyStamp {
        let clock = self.clock();
        let bucket = self.bucket(hash);
        let worth = |entry: &KeyStamp| match entry.0 {
            0 => 0,
            held => (held & HELD) + (1 << 16) - entry.age(clock),
        };
        let least = (0..WAYS).min_by_key(|&at| worth(&bucket[at])).unwrap_or_default();
        &mut bucket[least]
    }

    /// Notes that the server no longer holds a key: evicted, or gone for good.
    pub(crate) fn leaves(&mut self, hash: u64, is_evicted: bool) {
        if let Some(entry) = self.find(hash) {
            *entry = if is_evicted { entry.held(false) } else { KeyStamp::default() };
        }
    }

    /// Notes what the last fetch of a key cost.
    pub(crate) fn fetched(&mut self, hash: u64, code: u8) {
        if let Some(entry) = self.find(hash) {
            *entry = KeyStamp(entry.0 & !7 | u32::from(code & 7));
        }
    }

    /// The past of a key that the server holds.
    pub(crate) fn past(&mut self, hash: u64) -> Option<Past> {
        let clock = self.clock();
        let entry = self.find(hash)?;
        *entry = entry.held(true);
        Some(Past {
            age: clock.requests(entry.age(clock)),
            hits: entry.hits() as u8,
            interval: clock.of_interval(entry.interval()),
            penalty: entry.0 as u8 & 7,
        })
    }

    /// The number of requests so far.
    pub(crate) const fn tick(&self) -> u64 {
        self.tick
    }
}

impl Segment {
    /// Writes all entries anew with the steps of `clock`.
    #[cold]
    fn convert(&mut self, clock: RequestClock) {
        let before = RequestClock { shift: self.shift, ..clock };
        for entry in self.buckets.as_flattened_mut().iter_mut().filter(|entry| entry.0 != 0) {
            let steps = before.requests(entry.age(before)) >> clock.shift;
            let shorter = self.shift.cast_signed() - clock.shift.cast_signed();
            *entry = entry.converted(shorter).aged(steps, clock);
        }
        self.shift = clock.shift;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::hash::mix;

    fn table(keys: usize) -> Stamps {
        let mut stamps = Stamps::new(0);
        while stamps.fit(2 * keys, keys) {}
        stamps
    }

    fn wait(stamps: &mut Stamps, requests: u64) {
        (0..requests).for_each(|_| stamps.pass());
    }

    /// Ages are right to a part of their length, from next to nothing to fifty times the keys.
    #[test]
    fn ages_are_kept_over_the_wrap_of_steps() {
        for idle in [100u64, 5_000, 20_000, 39_000, 100_000, 300_000] {
            let mut stamps = table(10_000);
            wait(&mut stamps, 12_345);
            stamps.enters(mix(7));
            wait(&mut stamps, idle);
            let age = u64::from(stamps.past(mix(7)).unwrap().age);
            assert!(age.abs_diff(idle) <= 100 + idle / 8, "{age} for {idle}");
        }
        let mut stamps = table(10_000);
        stamps.enters(mix(7));
        wait(&mut stamps, 1_500_000);
        assert!(stamps.past(mix(7)).unwrap().age > 400_000, "what is oldest stays old");
    }

    #[test]
    fn the_mean_interval_follows_the_hits() {
        for interval in [500u64, 3_000, 11_000, 40_000] {
            let mut stamps = table(10_000);
            let keys = 0..50u64;
            keys.clone().for_each(|key| stamps.enters(mix(key)));
            for _ in 0..12 {
                wait(&mut stamps, interval - 50);
                for key in keys.clone() {
                    stamps.pass();
                    assert!(stamps.hit(mix(key)));
                }
            }
            let of = |key| f64::from(stamps.past(mix(key)).unwrap().interval);
            let mean = keys.map(of).sum::<f64>() / 50.0 / interval as f64;
            assert!((0.75..1.35).contains(&mean), "{mean} for {interval}");
            assert_eq!(stamps.past(mix(1)).unwrap().hits, 7);
        }
    }

    #[test]
    fn a_key_that_returns_continues_its_past() {
        let mut stamps = table(1_000);
        assert!(!stamps.hit(mix(1)) && !stamps.wrote(mix(1)));
        stamps.enters(mix(1));
        stamps.fetched(mix(1), code_of(9));
        wait(&mut stamps, 400);
        assert!(stamps.hit(mix(1)) && stamps.wrote(mix(1)));
        stamps.leaves(mix(1), true);
        assert!(!stamps.hit(mix(1)), "it is not there");
        stamps.enters(mix(1));
        let Past { hits, penalty, .. } = stamps.past(mix(1)).unwrap();
        assert_eq!((hits, class_of_code(penalty)), (2, 10));
        stamps.leaves(mix(1), false);
        assert_eq!(stamps.past(mix(1)), None);
    }

    /// A table with as many places as keys and a quarter more knows most keys, though it grew.
    #[test]
    fn most_keys_have_an_entry_and_growth_keeps_them() {
        let mut stamps = Stamps::new(0);
        let mut keys = 0;
        while keys < 100_000 {
            stamps.enters(mix(keys));
            stamps.pass();
            keys += 1;
            if keys % 100 == 0 {
                stamps.fit(keys as usize * 5 / 4, keys as usize);
            }
        }
        let known = (0..keys).filter(|&key| stamps.past(mix(key)).is_some()).count();
        assert!(known > 65_000, "{known}");
        let strange = (keys..2 * keys).filter(|&key| stamps.past(mix(key)).is_some()).count();
        assert!(strange < 1_500, "{strange}");
        let age = stamps.past(mix(keys - 20_000)).unwrap().age;
        assert!(age.abs_diff(20_000) < 3_000, "{age}");
        for _ in 0..1_000 {
            stamps.fit(1_000, 1_000);
        }
        assert!(stamps.bytes() <= 2 * SEGMENT_BYTES);
    }
}
