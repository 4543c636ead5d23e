//! The penalty, the cost of a miss: the time from a GET that misses to the SET of the same key [1].
//!
//! A small table holds the current misses by hash, one per place: a new miss replaces the old one
//! in its place. So a fetch is not timed if another key's miss replaces it, which costs a sample
//! and biases nothing. The first miss of a key starts the stopwatch. Further misses before the SET
//! are waiters on the same fetch.
//!
//! A SET that answers no miss sees this from the *marks*, one byte of hash per place. All marks
//! stay in the processor's caches, where the places would not fit.
//!
//! [1] Pan, Luo, Wang, Wang. pRedis: Penalty and Locality Aware Memory Allocation in Redis.
//! SoCC '19.

use crate::bytes::measured::Fetched;
use base::{Micros, TenantId};

/// A fetch that takes longer counts as abandoned.
const TIMEOUT: Micros = Micros::from_secs(10);

#[derive(Clone, Copy, Debug, Default)]
struct Fetch {
    hash: u64,
    since: Micros,
    /// Reads that missed since then; 0 if the place is free.
    reads: u32,
    tenant: TenantId,
}

/// One shard's current fetches.
#[derive(Debug, Default)]
pub(crate) struct Stopwatch {
    /// `None` while fetches are not timed.
    table: Option<Box<FetchTable>>,
    /// Selects the bits of a hash that choose its place.
    mask: usize,
}

#[derive(Debug)]
struct FetchTable {
    places: Box<[Fetch]>,
    /// The mark of the hash in each place; 0 if the place is free.
    marks: Box<[u8]>,
}

impl Stopwatch {
    /// Times up to `places` fetches at once, a power of two. 0 switches the stopwatch off.
    pub(crate) fn set_places(&mut self, places: usize) {
        let known = self.table.as_ref().map_or(0, |table| table.places.len());
        if places != known {
            let table = || {
                let (fetches, marks) = (vec![Fetch::default(); places], vec![0; places]);
                Box::new(FetchTable { places: fetches.into(), marks: marks.into() })
            };
            self.table = (places > 0).then(table);
            self.mask = places.saturating_sub(1);
        }
    }

    /// Whether fetches are timed.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.table.is_some()
    }

    /// The mark of a hash, from bits that choose neither its place nor its shard.
    #[inline]
    fn mark(hash: u64) -> u8 {
        (hash >> 24) as u8 | 1
    }

    /// Whether a fetch of this hash may be under way.
    #[inline]
    pub(crate) fn may_await(&self, hash: u64) -> bool {
        let is_marked =
            |table: &FetchTable| table.marks[hash as usize & self.mask] == Self::mark(hash);
        self.table.as_deref().is_some_and(is_marked)
    }

    /// Removes and returns the fetch of a hash.
    #[inline]
    fn take(&mut self, hash: u64) -> Option<Fetch> {
        let (table, at) = (self.table.as_mut()?, hash as usize & self.mask);
        if table.marks[at] != Self::mark(hash) || table.places[at].hash != hash {
            return None;
        }
        table.marks[at] = 0;
        Some(std::mem::take(&mut table.places[at]))
    }

    /// Records a read that missed. Returns the fetch that lost its place, if any: its tenant, hash,
    /// and reads.
    #[inline]
    pub(crate) fn start(
        &mut self,
        tenant: TenantId,
        hash: u64,
        now: Micros,
    ) -> Option<(TenantId, u64, u32)> {
        let (table, at) = (self.table.as_mut()?, hash as usize & self.mask);
        let fetch = &mut table.places[at];
        if fetch.hash == hash && fetch.reads > 0 && now.saturating_sub(fetch.since) <= TIMEOUT {
            fetch.reads = fetch.reads.saturating_add(1);
            return None;
        }
        table.marks[at] = Self::mark(hash);
        let lost = std::mem::replace(fetch, Fetch { hash, since: now, reads: 1, tenant });
        (lost.reads > 0).then_some((lost.tenant, lost.hash, lost.reads))
    }

    /// Ends the fetch of a key that was written.
    #[inline]
    pub(crate) fn stop(&mut self, hash: u64, now: Micros) -> Option<Fetched> {
        let Fetch { since, reads, .. } = self.take(hash)?;
        let took = now.saturating_sub(since);
        Some(if took <= TIMEOUT { Fetched::In(took, reads - 1) } else { Fetched::Abandoned })
    }

    /// Drops the fetch of a deleted key: the next write is not the answer to the miss.
    pub(crate) fn forget(&mut self, hash: u64) {
        self.take(hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_miss_starts_and_the_write_stops() {
        let mut watch = Stopwatch::default();
        watch.set_places(16);
        watch.start(0, 5, Micros(100));
        watch.start(0, 5, Micros(150));
        assert_eq!(watch.stop(21, Micros(180)), None, "another key in the same place");
        let marked = 5 | 1 << 40;
        assert_eq!(watch.stop(marked, Micros(180)), None, "and of the same mark");
        let other = 5 | 1 << 30;
        assert_eq!(watch.stop(other, Micros(180)), None, "and of another");
        assert_eq!(watch.stop(5, Micros(300)), Some(Fetched::In(Micros(200), 1)));
        assert_eq!(watch.stop(5, Micros(300)), None, "a second write is no fetch");
        watch.start(0, 5, Micros(400));
        watch.forget(5);
        assert_eq!(watch.stop(5, Micros(500)), None, "deleted meanwhile");
        watch.start(0, 5, Micros(0));
        assert_eq!(watch.stop(5, Micros(10_000_001)), Some(Fetched::Abandoned));
        watch.set_places(0);
        watch.start(0, 5, Micros(0));
        assert_eq!(watch.stop(5, Micros(1)), None, "switched off");
    }

    #[test]
    fn a_newcomer_takes_the_place() {
        for (old, new) in [(5, 5 | 1 << 30), (5, 5 | 1 << 40), (0, u64::MAX << 4), (16, 0)] {
            let mut watch = Stopwatch::default();
            watch.set_places(16);
            assert_eq!(watch.stop(new, Micros(0)), None, "nothing is under way");
            assert_eq!(watch.start(3, old, Micros(100)), None);
            assert_eq!(watch.start(4, new, Micros(150)), Some((3, old, 1)), "{old} {new}");
            assert_eq!(watch.stop(old, Micros(200)), None, "it lost its place");
            assert_eq!(watch.stop(new, Micros(250)), Some(Fetched::In(Micros(100), 0)));
            watch.start(3, old, Micros(300));
            watch.set_places(32);
            assert_eq!(watch.stop(old, Micros(350)), None, "other places, and empty ones");
        }
    }
}
