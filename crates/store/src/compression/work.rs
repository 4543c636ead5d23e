//! Counts of the values compressed and decompressed, and of the time that it took.

use crate::sync::shim::AtomicU64;
use std::sync::Arc;

/// Work of a tenant in all shards.
#[derive(Debug)]
pub(crate) struct CodecWork {
    /// A clock in nanoseconds.
    pub(crate) nanos: fn() -> u64,
    /// Values decompressed for requests, and the time that took in nanoseconds.
    pub(crate) reads: AtomicU64,
    pub(crate) read_nanos: AtomicU64,
    /// Values compressed, stored or not, and the time.
    pub(crate) writes: AtomicU64,
    pub(crate) write_nanos: AtomicU64,
    /// Stored values that were corrupt.
    pub(crate) corrupt: AtomicU64,
}

impl CodecWork {
    /// No work, to be timed by this clock.
    pub(crate) fn new(nanos: fn() -> u64) -> Arc<Self> {
        let [reads, read_nanos, writes, write_nanos, corrupt] =
            std::array::from_fn(|_| AtomicU64::new(0));
        Arc::new(Self { nanos, reads, read_nanos, writes, write_nanos, corrupt })
    }
}
