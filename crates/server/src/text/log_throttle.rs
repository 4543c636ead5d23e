//! A log line at most once a minute for an event that may happen a thousand times a second, with
//! the count of events.

use std::sync::atomic::{AtomicU64, Ordering};

/// The least time between two lines of the log, in milliseconds.
const QUIET_MS: u64 = 60_000;

/// Counts one kind of event, and decides when to log it.
#[derive(Debug, Default)]
pub(crate) struct LogThrottle {
    all: AtomicU64,
    reported: AtomicU64,
    next_ms: AtomicU64,
}

impl LogThrottle {
    /// Counts an event. Returns the count since the last line and the total count if a line is due.
    pub(crate) fn count(&self, now_ms: u64) -> Option<(u64, u64)> {
        let (relaxed, all) = (Ordering::Relaxed, self.all.fetch_add(1, Ordering::Relaxed) + 1);
        let next_ms = self.next_ms.load(relaxed);
        let is_due = now_ms >= next_ms;
        let later = now_ms + QUIET_MS;
        if !is_due || self.next_ms.compare_exchange(next_ms, later, relaxed, relaxed).is_err() {
            return None;
        }
        Some((all - self.reported.swap(all, relaxed), all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_a_minute_tells_of_all() {
        let quiet = LogThrottle::default();
        let lines: Vec<_> = (0..200).filter_map(|second| quiet.count(second * 1_000)).collect();
        assert_eq!(lines, [(1, 1), (60, 61), (60, 121), (60, 181)]);
    }
}
