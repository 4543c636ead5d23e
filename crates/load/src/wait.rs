//! Waits until a point in time, exact to a few microseconds.
//!
//! Linux wakes a sleeping thread up to 50 µs late on purpose: it groups timers that are close
//! together ("timer slack") to save power. For penalties of 200 µs that is a quarter too much, so
//! each waiting thread requests the least slack first. Spinning would be as exact, but would use a
//! core that client and server share.

use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Asks that timers of the calling thread fire on time. Where the system does not support this,
/// waits take about 50 µs longer than requested. The actual time is measured in any case.
pub(crate) fn sharpen() {
    // The link reads PID/task/TID; the slack of a thread is under its own number.
    let Ok(link) = std::fs::read_link("/proc/thread-self") else { return };
    if let Some(thread) = link.file_name() {
        let file: PathBuf = ["/proc".as_ref(), thread, "timerslack_ns".as_ref()].iter().collect();
        let _ = std::fs::write(file, "1");
    }
}

/// Sleeps until `when`; returns at once if it is past.
pub(crate) fn until(when: Instant) {
    loop {
        let left = when.saturating_duration_since(Instant::now());
        if left == Duration::ZERO {
            return;
        }
        std::thread::sleep(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_returns_early() {
        sharpen();
        for wait in [0, 1, 50, 300] {
            let when = Instant::now() + Duration::from_micros(wait);
            until(when);
            assert!(Instant::now() >= when);
        }
    }
}
