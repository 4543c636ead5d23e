//! The thread that keeps house: dead items, headroom, the clock's offset, rates.
//!
//! *Headroom* is what is kept free once memory is full, so that writes need not evict for
//! themselves: as much as they took in the last tenth of a second, and a quarter more. What is free
//! holds no items, so it is at most a small share of the limit; beyond that writes evict.

use crate::departures;
use crate::shared::Shared;
use base::Bytes;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often.
pub(crate) const PERIOD: Duration = Duration::from_millis(100);
/// Entries and buckets looked at in one sweep.
const SWEEP_BUCKETS: usize = 16 << 10;
/// Sweeps one after another while the store is above a lowered limit, or more has died than one
/// sweep buries: bounds the time taken, and allows for a million deaths a second.
const SWEEPS_MAX: usize = 8;
/// The headroom is at most the limit divided by this: 0.8 %.
const HEADROOM_MAX: u64 = 128;
/// The headroom to begin with, once memory is full.
const HEADROOM_MIN: u64 = 64 << 10;

/// Keeps house until the server ends.
pub(crate) fn run(shared: &Arc<Shared>) {
    let mut second = Instant::now();
    let mut last = rates(shared);
    let (mut headroom, mut left) = (Bytes(0), shared.store.used());
    while !shared.is_stopping() {
        std::thread::park_timeout(PERIOD);
        shared.clock.refresh();
        let began = Instant::now();
        let taken = Bytes(shared.store.used().0.saturating_sub(left.0));
        headroom = next_headroom(headroom, taken, shared.memory().1);
        shared.store.set_headroom(headroom);
        for _ in 0..SWEEPS_MAX {
            let swept = shared.store.sweep(shared.clock.now(), SWEEP_BUCKETS);
            if swept.evicted == 0 && swept.expired < SWEEP_BUCKETS / 2 {
                break;
            }
        }
        left = shared.store.used();
        let swept = began.elapsed().as_micros() as u64;
        shared.stats.expire_us.fetch_add(swept, Ordering::Relaxed);
        departures::tell(shared);
        let elapsed = second.elapsed();
        if elapsed < Duration::from_secs(1) {
            continue;
        }
        second = Instant::now();
        crate::memory_limit::follow(shared);
        let now = rates(shared);
        for at in 0..now.len() {
            let rate = (now[at] - last[at]) as f64 / elapsed.as_secs_f64();
            shared.stats.per_second[at].store(rate as u64, Ordering::Relaxed);
        }
        last = now;
    }
}

/// The headroom that follows from what writes took while there was the last one. Took they all of
/// it they would have taken more.
fn next_headroom(headroom: Bytes, taken: Bytes, limit: Bytes) -> Bytes {
    let next = if taken >= headroom { 2 * headroom.0 } else { taken.0 + taken.0 / 4 };
    Bytes(next.max(HEADROOM_MIN).min(limit.0 / HEADROOM_MAX))
}

/// Commands, bytes in, bytes out since the start.
fn rates(shared: &Shared) -> [u64; 3] {
    let mut sum = [0; 3];
    for worker in &shared.stats.workers {
        sum[0] += worker.commands.iter().map(|command| command.calls.get()).sum::<u64>();
        sum[1] += worker.net_in.get();
        sum[2] += worker.net_out.get();
    }
    sum
}

/// The number behind `name` in a file of lines `name: number kB`.
fn kilobytes(path: &str, name: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let number = line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok());
    number.unwrap_or(0) << 10
}

/// Bytes of memory the process has; zero where the machine does not tell.
pub(crate) fn resident() -> u64 {
    // The shorter of the files that tell: this is asked up to 200 times a second.
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

/// Bytes of memory the machine has; zero where it does not tell.
pub(crate) fn machine_memory() -> u64 {
    kilobytes("/proc/meminfo", "MemTotal:")
}

/// Seconds of user and system time the process has taken.
pub(crate) fn cpu_seconds() -> (f64, f64) {
    /// Linux counts in hundredths of a second towards programs, whatever it does inside.
    const TICKS: f64 = 100.0;
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name, which may hold blanks and ends with a parenthesis.
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    let mut times = fields.skip(11).map(|ticks| ticks.parse::<f64>().unwrap_or(0.0) / TICKS);
    (times.next().unwrap_or(0.0), times.next().unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_tells() {
        assert!(resident() > 1 << 20);
        assert!(machine_memory() > resident());
        let before = cpu_seconds().0;
        let mut x = 1u64;
        while cpu_seconds().0 <= before {
            x = base::hash::mix(x);
        }
        assert_ne!(x, 0);
    }

    /// Up to the share, the headroom must come to cover what writes take, and not be twice that.
    #[test]
    fn the_headroom_covers_the_writes_of_a_period() {
        let limit = Bytes(1 << 30);
        let settled = |taken: u64| {
            // Writes take no more from it than there is.
            let next = |last: Bytes| next_headroom(last, Bytes(taken.min(last.0)), limit);
            (0..40).fold(Bytes(0), |last, _| next(last)).0
        };
        for taken in [1 << 20, 3 << 20, 5 << 20] {
            assert!((taken..=2 * taken).contains(&settled(taken)), "{}", settled(taken));
        }
        assert_eq!(settled(1 << 28), limit.0 / HEADROOM_MAX);
        assert_eq!(settled(0), HEADROOM_MIN);
        assert_eq!(next_headroom(Bytes(1 << 20), Bytes(0), Bytes(0)), Bytes(0), "no limit, none");
    }
}
