//! The clock, for a store that does not read the time itself.
//!
//! One reading of the monotonic clock serves a batch of commands. Unix time is that reading plus an
//! offset, which housekeeping refreshes. So the server follows a step of the machine's clock within
//! a fraction of a second, without a second reading.

use base::Micros;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use store::Now;

/// The time between two sweeps for expired items.
pub(crate) const SWEEP_PERIOD: Duration = Duration::from_millis(100);

/// The clock of a server.
#[derive(Debug)]
pub(crate) struct Clock {
    start: Instant,
    /// Unix time at `start`, in microseconds.
    offset: AtomicU64,
}

impl Clock {
    pub(crate) fn new() -> Self {
        let clock = Self { start: Instant::now(), offset: AtomicU64::new(0) };
        clock.refresh();
        clock
    }

    /// The current time.
    #[inline]
    pub(crate) fn now(&self) -> Now {
        let micros = self.micros();
        let unix_us = self.offset.load(Ordering::Relaxed) + micros.0;
        Now { unix_ms: unix_us / 1_000, micros }
    }

    /// Microseconds since the server started.
    #[inline]
    pub(crate) fn micros(&self) -> Micros {
        Micros(self.start.elapsed().as_micros() as u64)
    }

    /// The monotonic clock in nanoseconds, which times the store's pauses. It begins at its first
    /// reading.
    pub(crate) fn nanos() -> u64 {
        static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
        BEGAN.elapsed().as_nanos() as u64
    }

    /// Unix time in microseconds, as TIME replies it.
    pub(crate) fn unix_us() -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
    }

    /// Sets the offset anew from the machine's clock.
    pub(crate) fn refresh(&self) {
        let offset = Self::unix_us().saturating_sub(self.micros().0);
        self.offset.store(offset, Ordering::Relaxed);
    }
}
