//! The compression thread: it shrinks items while memory is short, and reports corrupt ones.
//!
//! The store decides which items are worth it. The thread works for a few milliseconds, and then
//! rests at least as long, so that it never takes more than half of a processor. Without work its
//! rests double, up to a second.

use crate::server::ProcessInfo;
use crate::services::clock::Clock;
use std::time::{Duration, Instant};
use store::Store;

/// Longest time of one call, in nanoseconds.
const WORK_NANOS: u64 = 5_000_000;
/// Length of a rest while there is more to do.
const REST: Duration = Duration::from_millis(5);
/// Length of the first rest without work, and of the longest one.
const IDLE: Duration = Duration::from_millis(50);
const IDLE_MOST: Duration = Duration::from_secs(1);
/// Shortest time between two lines about corrupt values.
const REPORTS_APART: Duration = Duration::from_secs(1);

/// Runs the rounds until the server ends.
pub(crate) fn run(process: &ProcessInfo, clock: &Clock, store: &Store) {
    let (mut reported, mut known, mut idle) = (Instant::now(), 0, IDLE);
    while !process.is_stopping() {
        let began = Instant::now();
        let has_more = store.compress(clock.now(), WORK_NANOS);
        let rest = if has_more { REST.max(began.elapsed()) } else { idle };
        idle = if has_more { IDLE } else { IDLE_MOST.min(2 * idle) };
        std::thread::park_timeout(rest);
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
