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
pub(crate) struct Request {
    pub(crate) hash: u64,
    pub(crate) client: u64,
    /// Whether it reads; otherwise it writes.
    pub(crate) reads: bool,
}

/// The requests, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    all: [Cell<Request>; WAITING],
    first: Cell<usize>,
    count: Cell<usize>,
}

impl Ahead {
    /// Adds a request; returns the oldest if there are too many.
    #[inline]
    pub(crate) fn push(&self, request: Request) -> Option<Request> {
        let oldest = if self.count.get() == WAITING { self.pop() } else { None };
        self.all[(self.first.get() + self.count.get()) % WAITING].set(request);
        self.count.set(self.count.get() + 1);
        oldest
    }

    /// Takes the oldest request.
    #[inline]
    pub(crate) fn pop(&self) -> Option<Request> {
        let (first, count) = (self.first.get(), self.count.get());
        self.count.set(count.checked_sub(1)?);
        self.first.set((first + 1) % WAITING);
        Some(self.all[first].get())
    }

    /// Takes the last request, if it is for this key.
    pub(crate) fn take_last(&self, hash: u64) -> Option<Request> {
        let last = self.count.get().checked_sub(1)?;
        let request = self.all[(self.first.get() + last) % WAITING].get();
        (request.hash == hash).then(|| {
            self.count.set(last);
            request
        })
    }

    /// The number of requests.
    pub(crate) const fn count(&self) -> usize {
        self.count.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_leaves_first_and_the_last_by_its_key() {
        let ahead = Ahead::default();
        let request = |hash| Request { hash, ..Request::default() };
        for hash in 0..4 {
            assert_eq!(ahead.push(request(hash)), None);
        }
        assert_eq!(ahead.push(request(4)), Some(request(0)));
        assert_eq!(ahead.take_last(3), None);
        assert_eq!(ahead.take_last(4), Some(request(4)));
        let rest: Vec<_> = std::iter::from_fn(|| ahead.pop()).collect();
        assert_eq!(rest, [request(1), request(2), request(3)]);
        assert_eq!(ahead.take_last(3), None);
    }
}
