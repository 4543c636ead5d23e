//! Time as a value: code that needs the time takes a clock, and tests pass a virtual one.
//!
//! The clock that reads the machine's time lives in the server and the lab.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::Micros;

/// Measures the time since an agreed start. Never goes backwards.
pub trait Clock: Send + Sync {
    /// The current time.
    fn now(&self) -> Micros;
}

/// A clock that stands still until [`Self::advance`] moves it.
#[derive(Debug, Default)]
pub struct VirtualClock(AtomicU64);

impl VirtualClock {
    /// Moves the clock forward by `step`.
    pub fn advance(&self, step: Micros) {
        self.0.fetch_add(step.0, Ordering::Relaxed);
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Micros {
        Micros(self.0.load(Ordering::Relaxed))
    }
}
