//! The compression thread: it shrinks items while memory is short.
//!
//! The store decides which items are worth it. The thread works for a few milliseconds, and then
//! rests at least as long, so that it never takes more than half of a processor. While compression
//! is off, it sleeps.

use crate::services::sleeper::Sleeper;
use std::time::{Duration, Instant};
use store::{Now, Store};

/// Longest time of one call, in nanoseconds.
const WORK_NANOS: u64 = 5_000_000;
/// Length of a rest while there is more to do, and while there is not.
const REST: Duration = Duration::from_millis(5);
const IDLE: Duration = Duration::from_millis(50);

/// Runs the rounds until the server ends.
pub(crate) fn run(
    store: &Store,
    sleeper: &Sleeper,
    now: impl Fn() -> Now,
    is_stopping: impl Fn() -> bool,
) {
    while !is_stopping() {
        sleeper.sleep(|| store.may_compress() || is_stopping());
        if is_stopping() {
            break;
        }
        let began = Instant::now();
        let has_more = store.compress(now(), WORK_NANOS);
        std::thread::park_timeout(if has_more { REST.max(began.elapsed()) } else { IDLE });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use store::{Compression, CompressionSettings, Config};

    #[test]
    fn the_thread_sleeps_while_compression_is_off() {
        let store = Store::new(Config::default());
        let (sleeper, rounds) = (Sleeper::default(), AtomicU64::new(0));
        let is_stopping = AtomicBool::new(false);
        let now = || {
            rounds.fetch_add(1, Ordering::SeqCst);
            Now::default()
        };
        let until = |is_so: &dyn Fn() -> bool| {
            while !is_so() {
                std::thread::yield_now();
            }
        };
        let set = |mode| {
            store.set_compression(CompressionSettings { mode, weight: 1.0 });
            sleeper.wake();
        };
        std::thread::scope(|scope| {
            let thread =
                scope.spawn(|| run(&store, &sleeper, now, || is_stopping.load(Ordering::SeqCst)));
            until(&|| sleeper.is_asleep());
            assert_eq!(rounds.load(Ordering::SeqCst), 0, "there is nothing to do");
            set(Compression::Auto);
            until(&|| rounds.load(Ordering::SeqCst) > 1);
            set(Compression::No);
            until(&|| sleeper.is_asleep());
            is_stopping.store(true, Ordering::SeqCst);
            thread.thread().unpark();
        });
    }
}
