//! The time since a cache was made: a machine's, or a test's.

use base::Micros;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use store::Now;

/// The time since the cache was made.
#[derive(Debug)]
pub(crate) enum Clock {
    Real(Instant),
    /// In microseconds.
    Virtual(AtomicU64),
}

impl Clock {
    pub(crate) const fn virtual_time() -> Self {
        Self::Virtual(AtomicU64::new(0))
    }

    /// The clock that pauses are taken with: in virtual time they take none.
    pub(crate) fn nanos(&self) -> fn() -> u64 {
        static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
        match self {
            Self::Real(_) => || BEGAN.elapsed().as_nanos() as u64,
            Self::Virtual(_) => || 0,
        }
    }

    pub(crate) fn now(&self) -> Now {
        let us = match self {
            Self::Real(begun) => begun.elapsed().as_micros() as u64,
            Self::Virtual(us) => us.load(Relaxed),
        };
        Now { unix_ms: us / 1_000, micros: Micros(us) }
    }

    /// Moves virtual time on.
    pub(crate) fn advance(&self, time: Duration) {
        if let Self::Virtual(us) = self {
            us.fetch_add(time.as_micros() as u64, Relaxed);
        }
    }
}
