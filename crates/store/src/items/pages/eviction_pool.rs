//! The state of a class's rounds of evictions. `victims/queue.rs` explains the rounds.

use crate::items::pages::victim::PageSlot;

/// Most lines of tags per round.
pub(crate) const LINES: usize = 4;

/// Most evictions that a round serves.
pub(crate) const QUEUE: usize = 8;

/// Candidates in the *eviction pool* for this many evictions. It is more than that, because many
/// items with low-ranking tags are used in the meantime.
pub(crate) const fn pooled(evictions: usize) -> usize {
    evictions + evictions / 2 + 2
}

const POOL_MAX: usize = pooled(QUEUE);

/// An item that is to be evicted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Next {
    pub(crate) at: PageSlot,
    /// Hash of its key.
    pub(crate) hash: u64,
    /// Its rank must be no higher than this bound.
    pub(crate) bound: f32,
}

/// Least number of items in a class for choosing victims ahead. With fewer, rounds would meet the
/// same items again and again. The pools of all reader slots are not charged; they take at most
/// five hundredths of the items' memory.
pub(crate) const MANY: u64 = 1024;

/// The eviction pool of a class, with all state of its current rounds.
#[derive(Debug)]
pub(crate) struct EvictionPool {
    /// The drawn lines of tags: page and first slot.
    pub(crate) lines: [(u32, u32); LINES],
    pub(crate) drawn: u8,
    /// Number of items in the pool, and number of queued victims, of which the last is evicted
    /// first.
    pub(crate) pooled: u8,
    pub(crate) queued: u8,
    /// The first `awaited` victims of the queue, which are evicted last, have not been prefetched
    /// yet. For the first `behind` ones, the rest of the chains after their buckets has not.
    pub(crate) awaited: u8,
    pub(crate) behind: u8,
    /// The lowest rank of the candidates that were not pooled.
    pub(crate) bound: f32,
    /// The lowest-ranked candidates, in order.
    pub(crate) items: [(PageSlot, f32); POOL_MAX],
    pub(crate) next: [Next; QUEUE],
}

/// No candidate.
pub(crate) const NOBODY: (PageSlot, f32) = (PageSlot { page: 0, slot: 0 }, f32::INFINITY);

impl Default for EvictionPool {
    fn default() -> Self {
        Self {
            lines: [(0, 0); LINES],
            drawn: 0,
            pooled: 0,
            queued: 0,
            awaited: 0,
            behind: 0,
            bound: 0.0,
            items: [NOBODY; POOL_MAX],
            next: [Next::default(); QUEUE],
        }
    }
}
