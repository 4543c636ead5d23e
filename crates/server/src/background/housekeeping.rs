//! The housekeeping thread: expired items, a lowered memory limit, the clock's offset, rates.

use super::removal_events;
use crate::server::Server;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The time between two rounds.
pub(crate) const PERIOD: Duration = Duration::from_millis(100);
/// The number of entries and buckets that one sweep visits.
const SWEEP_BUCKETS: usize = 16 << 10;
/// The largest number of sweeps in a row, while the store is above a lowered limit or more items
/// have expired than one sweep removes. This bounds the time, and allows for a million expired
/// items a second.
const SWEEPS_MAX: usize = 8;
/// Runs the rounds until the server ends.
pub(crate) fn run(server: &Arc<Server>) {
    let mut second = Instant::now();
    let mut last = rates(server);
    while !server.is_stopping() {
        std::thread::park_timeout(PERIOD);
        server.clock.refresh();
        let began = Instant::now();
        for _ in 0..SWEEPS_MAX {
            let swept = server.store.sweep(server.clock.now(), SWEEP_BUCKETS);
            if swept.evicted == 0 && swept.expired < SWEEP_BUCKETS / 2 {
                break;
            }
        }
        let swept = began.elapsed().as_micros() as u64;
        server.stats.expire_us.fetch_add(swept, Ordering::Relaxed);
        removal_events::tell(server);
        let elapsed = second.elapsed();
        if elapsed < Duration::from_secs(1) {
            continue;
        }
        second = Instant::now();
        crate::settings::memory_limit::follow(server);
        let now = rates(server);
        for at in 0..now.len() {
            let rate = (now[at] - last[at]) as f64 / elapsed.as_secs_f64();
            server.stats.per_second[at].store(rate as u64, Ordering::Relaxed);
        }
        last = now;
    }
}

/// Commands, bytes received and bytes sent since the start.
fn rates(server: &Server) -> [u64; 3] {
    let mut sum = [0; 3];
    for worker in &server.stats.workers {
        sum[0] += worker.commands.iter().map(|command| command.calls.get()).sum::<u64>();
        sum[1] += worker.net_in.get();
        sum[2] += worker.net_out.get();
    }
    sum
}

/// The number behind `name`, in bytes, in a file of lines `name: number kB`.
fn kilobytes(path: &str, name: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let number = line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok());
    number.unwrap_or(0) << 10
}

/// Resident memory of the process in bytes; zero if the system does not tell.
pub(crate) fn resident() -> u64 {
    // Reads the shortest file with this number: it is read up to 200 times a second.
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

/// Memory of the machine in bytes; zero if the system does not tell.
pub(crate) fn machine_memory() -> u64 {
    kilobytes("/proc/meminfo", "MemTotal:")
}

/// User and system time of the process, in seconds.
pub(crate) fn cpu_seconds() -> (f64, f64) {
    let seconds = |time: TimeVal| time.num_microseconds() as f64 / 1e6;
    let used = getrusage(UsageWho::RUSAGE_SELF);
    used.map_or((0.0, 0.0), |used| (seconds(used.user_time()), seconds(used.system_time())))
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
}
