//! Counters of bytes: reserved before memory is allocated, given back after it is freed.
//!
//! So the counters are never below the actual use. A counter that never exceeds its limit keeps the
//! memory within it, whatever the threads do in between.

use crate::bytes::freed::Freed;
use crate::sync::shim::{AtomicU64, Padded, try_add};
use std::sync::atomic::Ordering::Relaxed;

/// The bytes of the whole store.
#[derive(Debug)]
pub(crate) struct Memory {
    used: Padded<AtomicU64>,
    /// The limit minus the reserve: the bound for writes.
    effective: AtomicU64,
    limit: AtomicU64,
    reserve: AtomicU64,
}

impl Memory {
    pub(crate) fn new(limit: u64) -> Self {
        let memory = Self {
            used: Padded::default(),
            effective: AtomicU64::new(0),
            limit: AtomicU64::new(limit),
            reserve: AtomicU64::new(0),
        };
        memory.update_effective();
        memory
    }

    pub(crate) fn used(&self) -> u64 {
        self.used.0.load(Relaxed)
    }

    /// The limit; 0 for none.
    pub(crate) fn limit(&self) -> u64 {
        self.limit.load(Relaxed)
    }

    pub(crate) fn set_limit(&self, limit: u64) {
        self.limit.store(limit, Relaxed);
        self.update_effective();
    }

    pub(crate) fn reserve(&self) -> u64 {
        self.reserve.load(Relaxed)
    }

    pub(crate) fn set_reserve(&self, reserve: u64) {
        self.reserve.store(reserve, Relaxed);
        self.update_effective();
    }

    fn update_effective(&self) {
        let effective = match self.limit() {
            0 => u64::MAX,
            limit => limit.saturating_sub(self.reserve()),
        };
        self.effective.store(effective, Relaxed);
    }

    /// The most bytes that may be in use.
    #[inline]
    pub(crate) fn effective(&self) -> u64 {
        self.effective.load(Relaxed)
    }

    /// Bytes in use above that bound, after a limit was lowered.
    #[inline]
    pub(crate) fn excess(&self) -> u64 {
        self.used().saturating_sub(self.effective())
    }

    /// Reserves `bytes`, or nothing if they are not free.
    #[inline]
    pub(crate) fn try_take(&self, bytes: u64) -> bool {
        try_add(&self.used.0, bytes, self.effective())
    }

    /// Takes `bytes` in any case, for memory that the store needs to exist and that depends on no
    /// write.
    pub(crate) fn take(&self, bytes: u64) {
        self.used.0.fetch_add(bytes, Relaxed);
    }

    /// Gives `bytes` back.
    #[inline]
    pub(crate) fn give(&self, bytes: u64) {
        if bytes > 0 {
            self.used.0.fetch_sub(bytes, Relaxed);
        }
    }

    /// Takes back bytes that no write uses.
    #[inline]
    pub(crate) fn take_back(&self, freed: Freed) {
        self.give(freed.into_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_part_of_the_limit() {
        let memory = Memory::new(100);
        assert!(memory.try_take(100) && !memory.try_take(1));
        memory.set_reserve(30);
        assert_eq!((memory.excess(), memory.limit(), memory.used()), (30, 100, 100));
        memory.give(50);
        assert!(memory.try_take(20) && !memory.try_take(1));
        memory.set_limit(0);
        assert!(memory.try_take(1 << 40));
        assert_eq!(memory.excess(), 0);
    }
}
