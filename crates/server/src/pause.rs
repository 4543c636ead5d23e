//! CLIENT PAUSE: until a moment commands wait, all of them or those that write.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Whether commands wait, and which.
#[derive(Debug, Default)]
pub(crate) struct Pause {
    /// On the server's clock; 0 for no pause.
    until_ms: AtomicU64,
    /// Reads wait too.
    all: AtomicBool,
}

impl Pause {
    /// Begins a pause, or makes one longer and stricter.
    pub(crate) fn begin(&self, until_ms: u64, all: bool) {
        self.all.fetch_or(all, Ordering::Relaxed);
        self.until_ms.fetch_max(until_ms, Ordering::Relaxed);
    }

    /// Ends it.
    pub(crate) fn end(&self) {
        self.until_ms.store(0, Ordering::Relaxed);
        self.all.store(false, Ordering::Relaxed);
    }

    /// Until when commands wait, if they do.
    pub(crate) fn until(&self, now_ms: u64) -> Option<u64> {
        let until = self.until_ms.load(Ordering::Relaxed);
        if until > 0 && until <= now_ms {
            self.end();
        }
        (until > now_ms).then_some(until)
    }

    /// The milliseconds that are left, and whether reads wait too, while commands wait.
    pub(crate) fn left(&self, now_ms: u64) -> Option<(u64, bool)> {
        self.until(now_ms).map(|until| (until - now_ms, self.holds(false)))
    }

    /// Whether a command waits that writes, or does not.
    pub(crate) fn holds(&self, writes: bool) -> bool {
        writes || self.all.load(Ordering::Relaxed)
    }
}
