//! Resident memory, kept near the limit by a *reserve*: a part of `maxmemory` for memory that the
//! store does not charge.
//!
//! Pages have no gaps between items, so the rest is the server itself, its models and the buffers
//! of its clients. Ten times a second resident memory is compared with the used bytes. Would it
//! stay within 3 % above the limit if the store were full and the ratio the same? If not, the
//! reserve grows; otherwise it shrinks.

use crate::server::ProcessInfo;
use crate::services::stats::Stats;
use crate::text::os::resident;
use base::Bytes;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use store::Store;

/// The time between two measurements.
const PERIOD: Duration = Duration::from_millis(100);
/// The largest ratio of resident memory to the limit.
const RESIDENT_MAX: f64 = 1.03;
/// A limit below this many times the memory of the empty server is small. Then the server itself is
/// not counted.
const SMALL: u64 = 16;
/// The reserve is at most this share of the limit: a larger need has other causes than the
/// allocator.
const RESERVE_MAX: f64 = 0.4;
/// The part of an unneeded reserve that stays after each period: half of it is gone in five
/// seconds.
const MELT: f64 = 0.986;
/// Resident memory that does not count if the limit is small: that of the empty server, up to a
/// bound, and this much for models and buffers. The code of an unoptimised build is twice as large.
const BASE_MAX: u64 = if cfg!(debug_assertions) { 32 << 20 } else { 16 << 20 };
const MODELS: u64 = 8 << 20;

/// Measures until the server ends.
pub(crate) fn run(process: &ProcessInfo, stats: &Stats, store: &Store) {
    let empty = resident().min(BASE_MAX);
    while !process.is_stopping() {
        watch_memory(store, stats, process.is_shared(), empty);
        std::thread::park_timeout(PERIOD);
    }
}

fn reserve_max(limit: Bytes) -> Bytes {
    Bytes((RESERVE_MAX * limit.as_f64()) as u64)
}

/// Measures resident memory, and sets the reserve.
fn watch_memory(store: &Store, stats: &Stats, is_shared: bool, empty: u64) {
    let (used, limit) = (store.used(), store.limit());
    let base = if limit.0 >= SMALL * empty { 0 } else { empty + MODELS };
    stats.used_peak.fetch_max(used.0, Relaxed);
    let resident = resident();
    stats.resident.store(resident, Relaxed);
    let reserve = store.reserve();
    let next = if is_shared {
        Bytes(0)
    } else {
        next_reserve(reserve, resident.saturating_sub(base), used, limit)
    };
    if next != reserve {
        store.set_reserve(next);
    }
}

/// The next reserve. `used` is the part of resident memory that the store charges.
fn next_reserve(reserve: Bytes, resident: u64, used: Bytes, limit: Bytes) -> Bytes {
    let (limit, resident) = (limit.as_f64(), resident as f64);
    let (bound, room) = (RESIDENT_MAX * limit, limit - reserve.as_f64());
    // The resident memory to expect when the whole room is in use.
    let expected = resident + (room - used.as_f64()).max(0.0);
    let needed = if expected > bound { limit - room * bound / expected } else { 0.0 };
    let melted = reserve.as_f64() * MELT - 1.0;
    Bytes(needed.max(melted).max(0.0) as u64).min(reserve_max(Bytes(limit as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With an allocator that takes 20 % more than asked, resident memory must settle at the limit.
    #[test]
    fn the_reserve_finds_its_level() {
        let limit = Bytes(1_000 << 20);
        let mut reserve = Bytes(0);
        for _ in 0..200 {
            let used = limit - reserve;
            reserve = next_reserve(reserve, used.0 * 12 / 10, used, limit);
        }
        let resident = (limit - reserve).0 * 12 / 10;
        assert!(resident < limit.0 * 107 / 100, "{resident}");
        assert!(resident > limit.0 * 102 / 100, "more was set aside than needed: {resident}");
        for _ in 0..2_000 {
            reserve = next_reserve(reserve, limit.0 / 2, Bytes(limit.0 / 2), limit);
        }
        assert_eq!(reserve, Bytes(0), "what is no longer needed is given back");
        let unlimited = next_reserve(Bytes(0), 1 << 30, Bytes(1 << 30), Bytes(0));
        assert_eq!(unlimited, Bytes(0), "no limit, no reserve");
    }
}
