//! CLIENT PAUSE: commands wait until a point in time, all of them or only writes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The state of the pause.
#[derive(Debug, Default)]
pub(crate) struct Pause {
    /// The end of the pause, in milliseconds of the server's clock; 0 for no pause.
    until_ms: AtomicU64,
    /// Reads wait too.
    all: AtomicBool,
}

impl Pause {
    /// Begins a pause, or makes the current one longer and stricter.
    pub(crate) fn begin(&self, until_ms: u64, all: bool) {
        self.all.fetch_or(all, Ordering::Relaxed);
        self.until_ms.fetch_max(until_ms, Ordering::Relaxed);
    }

    /// Ends the pause.
    pub(crate) fn end(&self) {
        self.until_ms.store(0, Ordering::Relaxed);
        self.all.store(false, Ordering::Relaxed);
    }

    /// The end of the pause; `None` if there is none at `now_ms`.
    pub(crate) fn until(&self, now_ms: u64) -> Option<u64> {
        let until = self.until_ms.load(Ordering::Relaxed);
        if until > 0 && until <= now_ms {
            self.end();
        }
        (until > now_ms).then_some(until)
    }

    /// The milliseconds left, and whether reads wait too; `None` without a pause.
    pub(crate) fn left(&self, now_ms: u64) -> Option<(u64, bool)> {
        self.until(now_ms).map(|until| (until - now_ms, self.holds(false)))
    }

    /// Whether a command waits during the pause; `writes` says whether it writes.
    pub(crate) fn holds(&self, writes: bool) -> bool {
        writes || self.all.load(Ordering::Relaxed)
    }
}
