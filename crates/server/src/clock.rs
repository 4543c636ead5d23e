//! The time, for a store that reads no clock.
//!
//! One reading of the monotone clock serves a batch of commands. Unix time is that reading plus an
//! offset which housekeeping refreshes, so a step of the machine's clock is followed within a
//! fraction of a second and costs no second reading.

use base::Micros;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use store::Now;

/// Tells the time of a server.
#[derive(Debug)]
pub(crate) struct Clock {
    start: Instant,
    /// Unix time of `start`, in microseconds.
    offset: AtomicU64,
}

impl Clock {
    pub(crate) fn new() -> Self {
        let clock = Self { start: Instant::now(), offset: AtomicU64::new(0) };
        clock.refresh();
        clock
    }

    /// Now.
    #[inline]
    pub(crate) fn now(&self) -> Now {
        let micros = self.micros();
        let unix_us = self.offset.load(Ordering::Relaxed) + micros.0;
        Now { unix_ms: unix_us / 1_000, micros }
    }

    /// Since the server started.
    #[inline]
    pub(crate) fn micros(&self) -> Micros {
        Micros(self.start.elapsed().as_micros() as u64)
    }

    /// The monotone clock in nanoseconds, for the store's pauses: a moment of its own begins it.
    pub(crate) fn nanos() -> u64 {
        static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
        BEGAN.elapsed().as_nanos() as u64
    }

    /// Unix time in microseconds, as TIME answers it.
    pub(crate) fn unix_us() -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
    }

    /// Follows the machine's clock.
    pub(crate) fn refresh(&self) {
        let offset = Self::unix_us().saturating_sub(self.micros().0);
        self.offset.store(offset, Ordering::Relaxed);
    }
}
