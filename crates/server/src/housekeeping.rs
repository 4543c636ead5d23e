//! The thread that keeps house: dead items, headroom, the clock's offset, rates, resident memory.
//!
//! `maxmemory` bounds what the store takes, and what it charges is what it asks of the allocator.
//! The allocator takes more from the machine: pages half used, caches of its own. The *reserve* is
//! what is set aside for that. Ten times a second resident memory is compared with what is used:
//! if the store were as full as it may be and the ratio stayed, would it be within 6 % of the
//! limit? If not, the reserve jumps to where it would be; otherwise it melts.
//!
//! What the reserve is for are sizes that differ and change: victims lie scattered, and a page of
//! the allocator is free only once the last of its items is. With a smaller store items leave
//! faster. It cannot undo a change of all sizes within a fraction of a second.

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
/// Resident memory may be so much of the limit, that of the server itself not counted.
const RESIDENT_MAX: f64 = 1.06;
/// In the slab layout, where nothing is lost between items, the server itself is counted.
const RESIDENT_MAX_SLAB: f64 = 1.03;
/// It is, where the limit is so many times what the empty server takes.
const SMALL: u64 = 16;
/// The reserve is never more than this share of the limit: beyond that it is not the allocator.
const RESERVE_MAX: f64 = 0.4;
/// The reserve to begin with, as a divisor of the limit: what the C library's allocator takes
/// beyond what is asked for, with values of mixed sizes, is about a tenth.
const RESERVE_FIRST: u64 = 12;
/// What is left of a reserve that is not needed, each time: half of it in five seconds.
const MELT: f64 = 0.986;
/// Resident memory that is not held against the limit: that of the empty server, and so much for
/// models and buffers.
const BASE_MAX: u64 = 16 << 20;
const MODELS: u64 = 8 << 20;

/// The headroom is at most the limit divided by this: 0.8 %.
const HEADROOM_MAX: u64 = 128;
/// The headroom to begin with, once memory is full.
const HEADROOM_MIN: u64 = 64 << 10;

/// Keeps house until the server ends.
pub(crate) fn run(shared: &Arc<Shared>) {
    let empty = resident().min(BASE_MAX);
    if shared.owns_process.load(Ordering::Relaxed) {
        // Until there is something to measure, the first filling must not overshoot.
        shared.store.set_reserve(Bytes(shared.memory().1.0 / RESERVE_FIRST));
    }
    let mut second = Instant::now();
    let mut last = rates(shared);
    let mut noted = false;
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
        departures::tell(shared, &mut noted);
        watch_memory(shared, empty);
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

/// Measures resident memory, and sets the reserve that follows.
fn watch_memory(shared: &Shared, empty: u64) {
    let (used, limit) = shared.memory();
    let is_slab = shared.store.page().0 > 0;
    let (base, most) = if is_slab && limit.0 >= SMALL * empty {
        (0, RESIDENT_MAX_SLAB)
    } else {
        (empty + MODELS, RESIDENT_MAX)
    };
    shared.stats.used_peak.fetch_max(used.0, Ordering::Relaxed);
    let resident = resident();
    shared.stats.resident.store(resident, Ordering::Relaxed);
    let reserve = shared.store.reserve();
    let next = if shared.owns_process.load(Ordering::Relaxed) {
        next_reserve(reserve, resident.saturating_sub(base), used, limit, most)
    } else {
        Bytes(0)
    };
    if next != reserve {
        shared.store.set_reserve(next);
    }
}

/// The reserve that follows from resident memory, of which `used` is accounted, and the limit.
fn next_reserve(reserve: Bytes, resident: u64, used: Bytes, limit: Bytes, most: f64) -> Bytes {
    let (limit, resident) = (limit.as_f64(), resident as f64);
    let (bound, room) = (most * limit, limit - reserve.as_f64());
    // What would be resident with all of the room in use.
    let expected = resident + (room - used.as_f64()).max(0.0);
    let needed = if expected > bound { limit - room * bound / expected } else { 0.0 };
    let melted = reserve.as_f64() * MELT - 1.0;
    Bytes(needed.max(melted).clamp(0.0, RESERVE_MAX * limit) as u64)
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

    /// An allocator that takes 20 % more than it is asked for must end at what the limit allows.
    #[test]
    fn the_reserve_finds_its_level() {
        let limit = Bytes(1_000 << 20);
        let mut reserve = Bytes(0);
        for _ in 0..200 {
            let used = limit - reserve;
            reserve = next_reserve(reserve, used.0 * 12 / 10, used, limit, RESIDENT_MAX);
        }
        let resident = (limit - reserve).0 * 12 / 10;
        assert!(resident < limit.0 * 108 / 100, "{resident}");
        assert!(resident > limit.0 * 104 / 100, "more was set aside than needed: {resident}");
        for _ in 0..2_000 {
            reserve = next_reserve(reserve, limit.0 / 2, Bytes(limit.0 / 2), limit, RESIDENT_MAX);
        }
        assert_eq!(reserve, Bytes(0), "what is no longer needed is given back");
        let unlimited = next_reserve(Bytes(0), 1 << 30, Bytes(1 << 30), Bytes(0), 1.06);
        assert_eq!(unlimited, Bytes(0), "no limit, no reserve");
    }
}
