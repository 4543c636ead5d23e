//! How long operations wait for room: the time that each spends evicting, and the number of
//! victims.
//!
//! The store reads no clock; callers that want times supply one
//! ([`Config::nanos`](crate::Config::nanos)). It is read twice when room has to be made, and
//! nowhere else. A read pays nothing, nor does a write that finds room. An operation may need room
//! more than once (for its table, for the item). So its parts are summed under the shard's count of
//! accesses, and counted when the next operation needs room.
//!
//! Each shard counts under its own lock, and [`Store::pauses`] merges the counts.

use crate::Now;
use base::histogram::{BUCKETS, bucket, left_edge, width};
use std::collections::VecDeque;

/// Pauses from this length on are recorded one by one.
const SPIKE_NS: u64 = 1_000_000;
/// Most recorded pauses, as many as Redis keeps for an event.
const SPIKES_MAX: usize = 160;

/// A long pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spike {
    /// Time of the pause, in Unix milliseconds.
    pub unix_ms: u64,
    /// Length of the pause, in nanoseconds.
    pub nanos: u64,
}

/// Time that operations took to make room.
#[derive(Clone, Debug, Default)]
pub struct Pauses {
    /// Operations by the nanoseconds they took, in the buckets of [`base::histogram`]; empty if
    /// nothing was counted yet.
    counts: Vec<u64>,
    /// Operations that made room.
    pub count: u64,
    /// Sum of their nanoseconds.
    pub nanos: u64,
    /// Nanoseconds of the longest one.
    pub nanos_max: u64,
    /// Victims: items and whole pages.
    pub victims: u64,
    /// Most victims of one operation.
    pub victims_max: u64,
    /// The last pauses of a millisecond or more, oldest first.
    pub spikes: VecDeque<Spike>,
}

impl Pauses {
    fn add(&mut self, one: Pause) {
        if self.counts.is_empty() {
            self.counts = vec![0; BUCKETS];
        }
        self.counts[bucket(one.nanos)] += 1;
        self.count += 1;
        self.nanos += one.nanos;
        self.nanos_max = self.nanos_max.max(one.nanos);
        self.victims += one.victims;
        self.victims_max = self.victims_max.max(one.victims);
        if one.nanos >= SPIKE_NS {
            self.spikes.push_back(Spike { unix_ms: one.unix_ms, nanos: one.nanos });
            bound(&mut self.spikes);
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        for (sum, count) in self.counts.iter_mut().zip(&other.counts) {
            *sum += count;
        }
        self.count += other.count;
        self.nanos += other.nanos;
        self.nanos_max = self.nanos_max.max(other.nanos_max);
        self.victims += other.victims;
        self.victims_max = self.victims_max.max(other.victims_max);
        self.spikes.extend(&other.spikes);
        self.spikes.make_contiguous().sort_unstable();
        bound(&mut self.spikes);
    }

    /// Operations that took at most `nanos` nanoseconds, to the width of a bucket: a sixteenth.
    pub fn within(&self, nanos: u64) -> u64 {
        let counts = self.counts.iter().enumerate();
        counts.take_while(|(at, _)| left_edge(*at) <= nanos).map(|(_, count)| count).sum()
    }

    /// Nanoseconds per victim since the snapshot `before`: the time of the median operation,
    /// divided by the mean number of victims per operation. `None` without victims.
    pub fn of_a_victim_since(&self, before: &Self) -> Option<f64> {
        let operations = self.count.checked_sub(before.count)?;
        let victims = self.victims.checked_sub(before.victims).filter(|&more| more > 0)?;
        Some(self.median_since(before)? as f64 * operations as f64 / victims as f64)
    }

    /// The median of the operations since the snapshot `before`; `None` without any.
    fn median_since(&self, before: &Self) -> Option<u64> {
        let goal = self.count.checked_sub(before.count).filter(|&more| more > 0)?.div_ceil(2);
        let known = before.counts.iter().chain(std::iter::repeat(&0));
        let mut sum = 0;
        let at = self.counts.iter().zip(known).position(|(count, known)| {
            sum += count.saturating_sub(*known);
            sum >= goal
        })?;
        Some(left_edge(at) + width(at) / 2)
    }

    /// The nanoseconds within which the share `q` of the operations finished; 0 without operations.
    pub fn quantile(&self, q: f64) -> u64 {
        let goal = (q.clamp(0.0, 1.0) * self.count as f64).ceil() as u64;
        let mut sum = 0;
        for (at, &count) in self.counts.iter().enumerate() {
            sum += count;
            if count > 0 && sum >= goal {
                return (left_edge(at) + width(at) - 1).min(self.nanos_max);
            }
        }
        0
    }
}

/// Drops the oldest entries beyond the most.
fn bound(spikes: &mut VecDeque<Spike>) {
    spikes.drain(..spikes.len().saturating_sub(SPIKES_MAX));
}

/// Time that one operation has taken so far.
#[derive(Clone, Copy, Debug, Default)]
struct Pause {
    /// The operation, by the shard's count of accesses.
    tick: u64,
    unix_ms: u64,
    nanos: u64,
    victims: u64,
}

/// The pauses of a shard.
#[derive(Debug)]
pub(crate) struct EvictionTimes {
    pub(crate) all: Pauses,
    /// The last operation that needed room. It is not counted while it has no victims.
    last: Pause,
    /// Whether room is being made now.
    is_open: bool,
}

impl Default for EvictionTimes {
    /// Allocates all the memory that it will ever use, because a full store should not allocate
    /// more.
    fn default() -> Self {
        let spikes = VecDeque::with_capacity(SPIKES_MAX + 1);
        let all = Pauses { counts: vec![0; BUCKETS], spikes, ..Pauses::default() };
        Self { all, last: Pause::default(), is_open: false }
    }
}

impl EvictionTimes {
    /// Counts a victim of the current operation.
    pub(crate) const fn victim(&mut self) {
        self.last.victims += 1;
    }

    /// Begins to make room for the operation with this count of accesses; false if it is made
    /// already.
    pub(crate) fn begin(&mut self, tick: u64) -> bool {
        if self.is_open {
            return false;
        }
        if self.last.tick != tick {
            self.close();
            self.last.tick = tick;
        }
        self.is_open = true;
        true
    }

    /// Ends to make room, which took this time.
    pub(crate) fn end(&mut self, nanos: u64, now: Now) {
        self.last.nanos += nanos;
        self.last.unix_ms = now.unix_ms;
        self.is_open = false;
    }

    /// Counts the last operation that made room, which is over.
    pub(crate) fn close(&mut self) {
        let last = std::mem::take(&mut self.last);
        if last.victims > 0 {
            self.all.add(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_counted_and_merged() {
        let (mut one, mut other) = (Pauses::default(), Pauses::default());
        for at in 1..=1_000 {
            one.add(Pause { nanos: at * 1_000, victims: 1, ..Pause::default() });
        }
        for at in 0..200 {
            other.add(Pause { nanos: 2_000_000, victims: 3, unix_ms: at, tick: at });
        }
        one.merge(&other);
        assert_eq!((one.count, one.victims, one.victims_max), (1_200, 1_600, 3));
        assert_eq!((one.nanos_max, one.nanos), (2_000_000, 900_500_000));
        let half = one.quantile(0.5);
        assert!((600_000..640_000).contains(&half), "{half}");
        assert_eq!(one.quantile(1.0), 2_000_000);
        assert_eq!((one.within(1_999_999_999), Pauses::default().quantile(0.9)), (1_200, 0));
        assert!((100..107).contains(&one.within(100_000)), "{}", one.within(100_000));
        let mut more = one.clone();
        assert_eq!(more.median_since(&one), None);
        for nanos in [5_000, 6_000, 900_000] {
            more.add(Pause { nanos, victims: 1, ..Pause::default() });
        }
        let median = more.median_since(&one).unwrap();
        assert!((5_600..6_400).contains(&median), "{median}");
        more.victims += 3;
        let one_of_two = more.of_a_victim_since(&one).unwrap();
        assert!((2_800.0..3_200.0).contains(&one_of_two), "{one_of_two}");
        assert_eq!(more.of_a_victim_since(&more), None);
        assert!(one.median_since(&Pauses::default()).is_some_and(|all| all > 500_000));
        assert_eq!((one.spikes.len(), one.spikes[0].unix_ms), (SPIKES_MAX, 40));
    }
}
