//! The counters that nearly every exclusive call of a shard changes.

use base::Prng;

/// The count of accesses, the thread that holds the shard, and the generator of random numbers.
#[derive(Debug)]
pub(crate) struct Clock {
    /// Accesses so far.
    pub(crate) tick: u64,
    /// The reader slot of the thread that wrote last, below
    /// [`READER_SLOTS_MAX`](crate::sync::big_reader::READER_SLOTS_MAX). It continues its rounds of
    /// evictions.
    pub(crate) reader_slot: usize,
    pub(crate) prng: Prng,
}

impl Clock {
    pub(crate) fn new(seed: u64) -> Self {
        Self { tick: 0, reader_slot: 0, prng: Prng::new(seed) }
    }
}
