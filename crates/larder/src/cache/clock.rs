//! The time since a cache was made, from the machine or from a test.

use base::Micros;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use store::Now;

/// A source of the time since the cache was made.
#[derive(Debug)]
pub(crate) enum Clock {
    Real(Instant),
    /// Virtual time, in microseconds.
    Virtual(AtomicU64),
}

impl Clock {
    pub(crate) const fn virtual_time() -> Self {
        Self::Virtual(AtomicU64::new(0))
    }

    /// The clock that measures pauses; in virtual time every pause takes zero.
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

    /// Advances virtual time; a real clock ignores the call.
    pub(crate) fn advance(&self, time: Duration) {
        if let Self::Virtual(us) = self {
            us.fetch_add(time.as_micros() as u64, Relaxed);
        }
    }
}
