//! The compression thread: it shrinks items while memory is short, and reports corrupt ones.
//!
//! The store decides which items are worth it. The thread works for a few milliseconds, and then
//! rests at least as long, so that it never takes more than half of a processor.

use crate::server::ProcessInfo;
use crate::services::clock::Clock;
use std::time::{Duration, Instant};
use store::Store;

/// Longest time of one call, in nanoseconds.
const WORK_NANOS: u64 = 5_000_000;
/// Length of a rest while there is more to do, and while there is not.
const REST: Duration = Duration::from_millis(5);
const IDLE: Duration = Duration::from_millis(50);
/// Shortest time between two lines about corrupt values.
const REPORTS_APART: Duration = Duration::from_secs(1);

/// Runs the rounds until the server ends.
pub(crate) fn run(process: &ProcessInfo, clock: &Clock, store: &Store) {
    let (mut reported, mut known) = (Instant::now(), 0);
    while !process.is_stopping() {
        let began = Instant::now();
        let has_more = store.compress(clock.now(), WORK_NANOS);
        std::thread::park_timeout(if has_more { REST.max(began.elapsed()) } else { IDLE });
        if reported.elapsed() >= REPORTS_APART {
            reported = Instant::now();
            let corrupt = store.corrupt_values();
            if corrupt > known {
                let new = corrupt - known;
                tracing::error!("{new} compressed values were corrupt: they became misses");
                known = corrupt;
            }
        }
    }
}
