//! Time as a value: whoever needs it is handed a clock, and a test hands it a virtual one.
//!
//! The clock that reads the machine lives in the server and the lab.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::Micros;

/// Tells the time since an agreed start. Never goes backwards.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Micros;
}

/// A clock that stands still until it is told to move.
#[derive(Debug, Default)]
pub struct VirtualClock(AtomicU64);

impl VirtualClock {
    /// Moves the clock on by `step`.
    pub fn advance(&self, step: Micros) {
        self.0.fetch_add(step.0, Ordering::Relaxed);
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Micros {
        Micros(self.0.load(Ordering::Relaxed))
    }
}
