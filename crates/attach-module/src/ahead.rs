//! The last requests, whose buckets of the table are on their way from memory.
//!
//! A bucket is a cache line somewhere in megabytes: to wait for it takes a tenth of the time of a
//! GET. So a request prefetches its bucket, and the table is changed a few commands later, when the
//! bucket is there. Whoever asks the table, or hears of a key that was removed, lets the table
//! catch up first.

use std::cell::Cell;

/// Requests that wait for their buckets.
const WAITING: usize = 4;

/// A request to one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AheadRequest {
    pub(crate) hash: u64,
    pub(crate) client: u64,
    /// Whether it reads; otherwise it writes.
    pub(crate) reads: bool,
}

/// The requests.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    all: [Cell<Option<AheadRequest>>; WAITING],
    /// The place of the next request, which is that of the oldest.
    next: Cell<usize>,
}

impl Ahead {
    /// Adds a request; returns the oldest if there are too many.
    #[inline]
    pub(crate) fn push(&self, request: AheadRequest) -> Option<AheadRequest> {
        let at = self.next.get();
        self.next.set((at + 1) % WAITING);
        self.all[at % WAITING].replace(Some(request))
    }

    /// Takes all requests, the oldest first.
    pub(crate) fn take(&self) -> [Option<AheadRequest>; WAITING] {
        let next = self.next.get();
        std::array::from_fn(|at| self.all[(next + at) % WAITING].take())
    }

    /// Takes the last request, if it is for this key.
    pub(crate) fn take_last(&self, hash: u64) -> Option<AheadRequest> {
        let last = (self.next.get() + WAITING - 1) % WAITING;
        let request = self.all[last].get().filter(|request| request.hash == hash)?;
        self.all[last].set(None);
        self.next.set(last);
        Some(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_leaves_first_and_the_last_by_its_key() {
        let ahead = Ahead::default();
        let request = |hash| AheadRequest { hash, ..AheadRequest::default() };
        for hash in 0..4 {
            assert_eq!(ahead.push(request(hash)), None);
        }
        assert_eq!(ahead.push(request(4)), Some(request(0)));
        assert_eq!(ahead.take_last(3), None);
        assert_eq!(ahead.take_last(4), Some(request(4)));
        assert_eq!(ahead.take(), [None, Some(request(1)), Some(request(2)), Some(request(3))]);
        assert_eq!(ahead.take_last(3), None);
    }
}
