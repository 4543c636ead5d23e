//! Facts that the operating system tells: memory of the machine and the process, and CPU time.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::time::Duration;

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

/// Processor time of this thread.
pub(crate) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
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
