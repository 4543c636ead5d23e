//! Resident memory, kept near the limit by a *reserve*: what is set aside of `maxmemory` for memory
//! that the store does not charge.
//!
//! Pages lose nothing between items, so what is left is the server itself, its models and the
//! buffers of its clients. Ten times a second resident memory is compared with what is used: if the
//! store were as full as it may be and the ratio stayed, would it be within 3 % of the limit? If
//! not, the reserve grows; otherwise it melts.

use crate::housekeeping::resident;
use crate::shared::Shared;
use base::Bytes;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// How often resident memory is measured, and the reserve set.
const PERIOD: Duration = Duration::from_millis(100);
/// Resident memory may be so much of the limit.
const RESIDENT_MAX: f64 = 1.03;
/// A limit of less than so many times what the empty server takes is small: there the server itself
/// is not counted.
const SMALL: u64 = 16;
/// The reserve is never more than this share of the limit: beyond that it is not the allocator.
const RESERVE_MAX: f64 = 0.4;
/// The part left of a reserve that is not needed, each time: half of it in five seconds.
const MELT: f64 = 0.986;
/// Resident memory that is not held against the limit: that of the empty server, and so much for
/// models and buffers.
const BASE_MAX: u64 = 16 << 20;
const MODELS: u64 = 8 << 20;

/// Watches until the server ends.
pub(crate) fn run(shared: &Arc<Shared>) {
    let empty = resident().min(BASE_MAX);
    while !shared.is_stopping() {
        watch_memory(shared, empty);
        std::thread::park_timeout(PERIOD);
    }
}

fn reserve_max(limit: Bytes) -> Bytes {
    Bytes((RESERVE_MAX * limit.as_f64()) as u64)
}

/// Measures resident memory, and sets the reserve that follows.
fn watch_memory(shared: &Shared, empty: u64) {
    let (used, limit) = shared.memory();
    let base = if limit.0 >= SMALL * empty { 0 } else { empty + MODELS };
    shared.stats.used_peak.fetch_max(used.0, Relaxed);
    let resident = resident();
    shared.stats.resident.store(resident, Relaxed);
    let reserve = shared.store.reserve();
    let next = if shared.owns_process.load(Relaxed) {
        next_reserve(reserve, resident.saturating_sub(base), used, limit)
    } else {
        Bytes(0)
    };
    if next != reserve {
        shared.store.set_reserve(next);
    }
}

/// The reserve that follows from resident memory, of which `used` is accounted, and the limit.
fn next_reserve(reserve: Bytes, resident: u64, used: Bytes, limit: Bytes) -> Bytes {
    let (limit, resident) = (limit.as_f64(), resident as f64);
    let (bound, room) = (RESIDENT_MAX * limit, limit - reserve.as_f64());
    // What would be resident with all of the room in use.
    let expected = resident + (room - used.as_f64()).max(0.0);
    let needed = if expected > bound { limit - room * bound / expected } else { 0.0 };
    let melted = reserve.as_f64() * MELT - 1.0;
    Bytes(needed.max(melted).max(0.0) as u64).min(reserve_max(Bytes(limit as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An allocator that takes 20 % more than it is asked for must end at what the limit allows.
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
