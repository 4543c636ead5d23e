//! The thread that keeps house: dead items, the clock's offset, rates, resident memory.
//!
//! `maxmemory` bounds what the store takes, and what it charges is what it asks of the allocator.
//! The allocator takes a little more from the machine: pages half used, caches of its own. The
//! *reserve* keeps that within bounds. Once a second resident memory is compared with the limit;
//! above 5 % over it, half of the excess is set aside, so that the store holds less; below 2 % the
//! reserve melts slowly. A step is taken only after the last had time to show.

use crate::shared::Shared;
use base::Bytes;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often.
const PERIOD: Duration = Duration::from_millis(100);
/// Buckets looked at each time: at 10 times a second, all of a million items in a second.
const SWEEP_BUCKETS: usize = 16 << 10;
/// Sweeps one after another while the store is above a lowered limit: bounds the time taken.
const SWEEPS_MAX: usize = 8;
/// Resident memory may be so much of the limit before the reserve grows, and must be below so much
/// before it shrinks.
const GROW_ABOVE: f64 = 1.05;
const SHRINK_BELOW: f64 = 1.02;
/// The reserve is never more than this share of the limit: beyond that it is not the allocator.
const RESERVE_MAX: f64 = 0.25;
/// Resident memory of the empty server that is not held against the limit.
const BASE_MAX: u64 = 16 << 20;

/// Keeps house until the server ends.
pub(crate) fn run(shared: &Arc<Shared>) {
    let base = resident().min(BASE_MAX);
    let mut second = Instant::now();
    let mut last = rates(shared);
    while !shared.is_stopping() {
        std::thread::park_timeout(PERIOD);
        shared.clock.refresh();
        for _ in 0..SWEEPS_MAX {
            if shared.store.sweep(shared.clock.now(), SWEEP_BUCKETS).evicted == 0 {
                break;
            }
        }
        let (used, limit) = shared.memory();
        shared.stats.used_peak.fetch_max(used.0, Ordering::Relaxed);
        let elapsed = second.elapsed();
        if elapsed < Duration::from_secs(1) {
            continue;
        }
        second = Instant::now();
        let now = rates(shared);
        for at in 0..now.len() {
            let rate = (now[at] - last[at]) as f64 / elapsed.as_secs_f64();
            shared.stats.per_second[at].store(rate as u64, Ordering::Relaxed);
        }
        last = now;
        let resident = resident();
        shared.stats.resident.store(resident, Ordering::Relaxed);
        if !shared.owns_process.load(Ordering::Relaxed) {
            shared.store.set_reserve(Bytes(0));
            continue;
        }
        let reserve = shared.store.reserve();
        let next = next_reserve(reserve, resident.saturating_sub(base), limit);
        if next != reserve {
            shared.store.set_reserve(next);
        }
    }
}

/// The reserve that follows from resident memory and the limit.
fn next_reserve(reserve: Bytes, resident: u64, limit: Bytes) -> Bytes {
    let (limit, resident) = (limit.as_f64(), resident as f64);
    let excess = resident - GROW_ABOVE * limit;
    let next = if excess > 0.0 {
        reserve.as_f64() + excess / 2.0
    } else if resident < SHRINK_BELOW * limit {
        reserve.as_f64() * 63.0 / 64.0 - 1.0
    } else {
        reserve.as_f64()
    };
    Bytes(next.clamp(0.0, RESERVE_MAX * limit) as u64)
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
    kilobytes("/proc/self/status", "VmRSS:")
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

    /// An allocator that takes 20 % more than it is asked for must end below 10 % over the limit.
    #[test]
    fn the_reserve_finds_its_level() {
        let limit = Bytes(1_000 << 20);
        let mut reserve = Bytes(0);
        for _ in 0..60 {
            let held = limit.0 - reserve.0;
            reserve = next_reserve(reserve, held * 12 / 10, limit);
        }
        let resident = (limit.0 - reserve.0) * 12 / 10;
        assert!(resident < limit.0 * 110 / 100, "{resident}");
        assert!(resident > limit.0, "more was set aside than needed");
        for _ in 0..2_000 {
            reserve = next_reserve(reserve, limit.0 / 2, limit);
        }
        assert_eq!(reserve, Bytes(0), "what is no longer needed is given back");
        assert_eq!(next_reserve(Bytes(0), 1 << 30, Bytes(0)), Bytes(0), "no limit, no reserve");
    }
}
