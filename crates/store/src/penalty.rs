//! What a miss costs: the time from a GET that misses to the SET of the same key [1].
//!
//! Misses under way are kept in a small table by hash, one to a place: a newcomer takes the place
//! of whatever stood there. So a fetch may go untimed when another key's miss falls into its
//! place, which costs a sample and biases nothing. The first miss of a key starts the watch, and
//! those that follow before the SET are waiters on the same fetch.
//!
//! A tenant's mean is taken with all above the 99th percentile counted as the 99th percentile:
//! the planner needs a mean, and one fetch of ten seconds must not own it.
//!
//! [1] Pan, Luo, Wang, Wang. pRedis: Penalty and Locality Aware Memory Allocation in Redis.
//! SoCC '19.

use crate::stats::PenaltyStats;
use base::Micros;
use base::histogram::{Histogram, left_edge, width};

/// A fetch that takes longer has been given up.
const TIMEOUT: Micros = Micros::from_secs(10);

#[derive(Clone, Copy, Debug, Default)]
struct Fetch {
    hash: u64,
    since: Micros,
    /// Reads that missed since then; 0 where the place is free.
    reads: u32,
}

/// One shard's fetches under way.
#[derive(Debug, Default)]
pub(crate) struct Stopwatch {
    /// Empty while fetches are not timed; else a power of two.
    places: Box<[Fetch]>,
}

/// A fetch that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fetched {
    /// It took this long, and so many further reads missed meanwhile.
    In(Micros, u32),
    /// It took too long to be believed.
    Abandoned,
}

impl Stopwatch {
    /// Times up to `places` fetches at once, a power of two; none for 0.
    pub(crate) fn set_places(&mut self, places: usize) {
        if places != self.places.len() {
            self.places = vec![Fetch::default(); places].into();
        }
    }

    #[inline]
    fn place(&mut self, hash: u64) -> Option<&mut Fetch> {
        let mask = self.places.len().wrapping_sub(1);
        self.places.get_mut(hash as usize & mask)
    }

    /// A read missed.
    #[inline]
    pub(crate) fn start(&mut self, hash: u64, now: Micros) {
        let Some(fetch) = self.place(hash) else { return };
        if fetch.hash == hash && fetch.reads > 0 && now.saturating_sub(fetch.since) <= TIMEOUT {
            fetch.reads = fetch.reads.saturating_add(1);
        } else {
            *fetch = Fetch { hash, since: now, reads: 1 };
        }
    }

    /// The key was written.
    #[inline]
    pub(crate) fn stop(&mut self, hash: u64, now: Micros) -> Option<Fetched> {
        let fetch = self.place(hash).filter(|fetch| fetch.hash == hash && fetch.reads > 0)?;
        let Fetch { since, reads, .. } = std::mem::take(fetch);
        let took = now.saturating_sub(since);
        Some(if took <= TIMEOUT { Fetched::In(took, reads - 1) } else { Fetched::Abandoned })
    }

    /// The key was deleted: what is written next is not the answer to the miss.
    pub(crate) fn forget(&mut self, hash: u64) {
        if let Some(fetch) = self.place(hash).filter(|fetch| fetch.hash == hash) {
            *fetch = Fetch::default();
        }
    }
}

/// One tenant's fetches that ended.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// Of microseconds; none until the first.
    times: Option<Box<Histogram>>,
    waiters: f64,
    abandoned: u64,
}

impl Measured {
    pub(crate) fn add(&mut self, fetched: Fetched) {
        match fetched {
            Fetched::In(took, waiters) => {
                self.times.get_or_insert_default().add(took.0, 1.0);
                self.waiters += f64::from(waiters);
            }
            Fetched::Abandoned => self.abandoned += 1,
        }
    }

    /// Counts a fetch like so many others.
    pub(crate) fn recall(&mut self, fetched: Fetched, count: f64) {
        if let Fetched::In(took, _) = fetched {
            self.times.get_or_insert_default().add(took.0, count);
        }
    }

    /// Lets what was measured so far count `factor` times as much.
    pub(crate) fn fade(&mut self, factor: f64) {
        if let Some(times) = &mut self.times {
            times.scale(factor);
        }
        self.waiters *= factor;
    }

    pub(crate) fn stats(&self) -> PenaltyStats {
        let (waiters, abandoned) = (self.waiters, self.abandoned);
        let Some(times) = self.times.as_ref().filter(|times| times.total() > 0.0) else {
            return PenaltyStats { waiters, abandoned, ..PenaltyStats::default() };
        };
        let cut = times.quantile(0.99);
        let sum: f64 = (times.counts().iter().enumerate())
            .filter(|(_, count)| **count > 0.0)
            .map(|(at, count)| count * (left_edge(at) + (width(at) - 1) / 2).min(cut) as f64)
            .sum();
        let mean = Micros((sum / times.total()).round() as u64);
        PenaltyStats { count: times.total(), mean, waiters, abandoned }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_miss_starts_and_the_write_stops() {
        let mut watch = Stopwatch::default();
        watch.set_places(16);
        watch.start(5, Micros(100));
        watch.start(5, Micros(150));
        assert_eq!(watch.stop(21, Micros(180)), None, "another key in the same place");
        assert_eq!(watch.stop(5, Micros(300)), Some(Fetched::In(Micros(200), 1)));
        assert_eq!(watch.stop(5, Micros(300)), None, "a second write is no fetch");
        watch.start(5, Micros(400));
        watch.forget(5);
        assert_eq!(watch.stop(5, Micros(500)), None, "deleted meanwhile");
        watch.start(5, Micros(0));
        assert_eq!(watch.stop(5, Micros(10_000_001)), Some(Fetched::Abandoned));
        watch.set_places(0);
        watch.start(5, Micros(0));
        assert_eq!(watch.stop(5, Micros(1)), None, "switched off");
    }

    /// One slow fetch in a thousand must not move the mean.
    #[test]
    fn outliers_are_cut() {
        let mut measured = Measured::default();
        (0..999).for_each(|_| measured.add(Fetched::In(Micros(1_000), 0)));
        measured.add(Fetched::In(Micros(9_000_000), 4));
        let stats = measured.stats();
        assert!((970..=1030).contains(&stats.mean.0), "{stats:?}");
        assert_eq!((stats.count, stats.waiters), (1000.0, 4.0));
        measured.fade(0.5);
        assert_eq!(measured.stats().count, 500.0);
        assert_eq!(measured.stats().mean, stats.mean);
    }
}
