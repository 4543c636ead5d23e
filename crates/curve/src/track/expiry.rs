//! Expiry times of watched objects, in a heap. Stale entries stay in the heap until they are
//! popped.

use base::Micros;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Expiry times in order. The owner knows when an object actually expires; an entry with another
/// time is stale.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expiry(BinaryHeap<Reverse<(Micros, u64)>>);

impl Expiry {
    /// The time of an object that never expires.
    pub(crate) const NEVER: Micros = Micros(u64::MAX);

    /// The time at which an object written at `time` with `ttl` expires.
    pub(crate) fn instant(time: Micros, ttl: Micros) -> Micros {
        if ttl == Micros(0) { Self::NEVER } else { Micros(time.0.saturating_add(ttl.0)) }
    }

    /// Adds an entry: `id` expires at `when`.
    pub(crate) fn push(&mut self, when: Micros, id: u64) {
        if when != Self::NEVER {
            self.0.push(Reverse((when, id)));
        }
    }

    /// The next entry with a time not after `now`, removed from the heap.
    #[inline]
    pub(crate) fn pop(&mut self, now: Micros) -> Option<(Micros, u64)> {
        let &Reverse((when, _)) = self.0.peek()?;
        if when > now {
            return None;
        }
        self.0.pop().map(|Reverse(entry)| entry)
    }

    /// The earliest time at which an object may expire.
    #[inline]
    pub(crate) fn next(&self) -> Micros {
        self.0.peek().map_or(Self::NEVER, |Reverse((when, _))| *when)
    }

    /// Drops stale entries once they are most of the heap; `live` returns whether an entry is
    /// valid.
    pub(crate) fn tidy(&mut self, objects: usize, live: impl Fn(Micros, u64) -> bool) {
        if self.0.len() > 2 * objects + 64 {
            self.0.retain(|&Reverse((when, id))| live(when, id));
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<(Micros, u64)>()
    }
}
