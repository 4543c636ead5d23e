//! The thread that keeps resident memory near the limit.
//!
//! `maxmemory` bounds what the store takes, and what it charges is what it asks of the allocator.
//! The allocator takes more from the machine: pages half used, caches of its own. Two things are
//! done about it, both as much as measured resident memory asks for.
//!
//! *Compaction* empties pages that are half used (`store::Store::compact`), in the heap layout. It
//! begins where resident memory comes to the limit, and soon takes all the time of this
//! thread. Writers that are faster still must help: a worker that read so many bytes of commands
//! frees up to 16 times as many before it reads on. This thread comes tenths of a second late where
//! others want the processors, so workers measure too, by what they read. After a pass that found
//! next to nothing to win there is a rest, unless resident memory grows. Where even that is too
//! slow, as where all sizes change within a second or two, what lies in the pages is evicted.
//!
//! The *reserve* is what is set aside for what remains. Ten times a second resident memory is
//! compared with what is used: if the store were as full as it may be and the ratio stayed, would
//! it be within 4 % of the limit? If not, the reserve grows; otherwise it melts.

use crate::housekeeping::resident;
use crate::shared::Shared;
use base::Bytes;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use store::Spare;

/// How often resident memory is measured while it is near what it may be.
const BEAT: Duration = Duration::from_millis(5);
/// Above this share of the limit it is near.
const NEAR: f64 = 0.5;
/// How often it is measured otherwise, and the reserve is set.
const PERIOD: Duration = Duration::from_millis(100);
/// Resident memory may be so much of the limit, that of the server itself not counted.
const RESIDENT_MAX: f64 = 1.04;
/// In the slab layout, where nothing is lost between items, the server itself is counted.
const RESIDENT_MAX_SLAB: f64 = 1.03;
/// A limit of less than so many times what the empty server takes is small. Under one that is, the
/// server itself is not counted in the slab layout either, and compaction evicts nothing.
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

/// Resident memory, as a share of the limit, above which memory is compacted, and how far above it
/// this is all that the thread does.
const COMPACT_FROM: f64 = 0.99;
const COMPACT_RANGE: f64 = 0.03;
/// Where workers begin to help, and how far above it they do so the most.
const HELP_FROM: f64 = 1.0;
const HELP_RANGE: f64 = 0.04;
/// Bytes that they then free for each that they read.
const HELP_MAX: f64 = 16.0;
/// After a pass that won nothing, so many times as long as it took nothing is done, unless resident
/// memory has grown by this share of the limit.
const RESTS: u32 = 10;
const FUTILE_RISE: f64 = 0.005;
/// Above this share of the limit there are no rests, and what is in the way is evicted, unless the
/// reserve is so large already that it is not the allocator.
const EVICT_FROM: f64 = 1.05;
/// A worker that read so many bytes measures too.
const UNSEEN: u64 = 256 << 10;
/// The limit divided by this is what is to be freed between two looks at the clock.
const STEPS: u64 = 16 << 10;

/// Watches until the server ends.
pub(crate) fn run(shared: &Arc<Shared>) {
    let empty = resident().min(BASE_MAX);
    shared.stats.empty.store(empty, Relaxed);
    let owns_process = shared.owns_process.load(Relaxed);
    if owns_process {
        // Until there is something to measure, the first filling must not overshoot.
        shared.store.set_reserve(Bytes(shared.memory().1.0 / RESERVE_FIRST));
    }
    let compacts = compacts(shared);
    let (mut period, mut last, mut pass) = (Instant::now(), (Bytes(0), 0), 0);
    let (mut rests_until, mut rests_below, mut pass_began) = (period, 0.0, period);
    let mut futile_at = None;
    while !shared.is_stopping() {
        let begun = Instant::now();
        if begun >= period {
            watch_memory(shared, empty);
            period = begun + PERIOD;
        }
        let (used, limit) = shared.memory();
        // A store that is full uses as much as it may, whatever is written.
        let seen = (used, shared.stats.net_in());
        let (mut work, mut share, mut asked) = (0.0, 0.0, (0, Spare::All));
        if compacts && limit.0 > 0 {
            let resident = resident();
            share = share_of(limit, resident, empty);
            let compacted = shared.store.compacted();
            if compacted.pass != pass {
                if compacted.is_futile() {
                    let rest = PERIOD.max(RESTS * (begun.saturating_duration_since(pass_began)));
                    (rests_until, rests_below) =
                        (begun + rest, EVICT_FROM.min(share + FUTILE_RISE));
                    futile_at = Some((used, resident));
                }
                (pass, pass_began) = (compacted.pass, begun.max(rests_until));
            }
            // Where nothing is written nothing is left behind.
            let is_rested = begun >= rests_until && futile_at != Some((used, resident));
            if is_rested || share > rests_below {
                work = ((share - COMPACT_FROM) / COMPACT_RANGE).clamp(0.0, 1.0);
                asked = help_at(shared, share, empty);
            }
        }
        ask(shared, asked);
        while work > 0.0 && begun.elapsed() < BEAT.mul_f64(work) {
            shared.store.compact(Bytes(limit.0 / STEPS), asked.1, shared.clock.now());
            if shared.store.compacted().pass != pass {
                break;
            }
        }
        // Where nothing is sent nothing grows, and half of the limit is not filled in a period.
        let is_near = share > NEAR && (seen != last || work > 0.0);
        let next = if is_near { begun + BEAT } else { period };
        last = seen;
        std::thread::park_timeout(next.saturating_duration_since(Instant::now()));
    }
}

/// What becomes of items in the way, at this share of the limit.
fn spare_at(share: f64, used: Bytes, limit: Bytes, reserve: Bytes) -> Spare {
    // A limit that was lowered is reached by evicting what is worth least.
    let is_within = used <= limit;
    let is_allocator = reserve < reserve_max(limit);
    if share > EVICT_FROM && is_within && is_allocator { Spare::Nothing } else { Spare::All }
}

fn reserve_max(limit: Bytes) -> Bytes {
    Bytes((RESERVE_MAX * limit.as_f64()) as u64)
}

/// Whether memory is compacted at all.
fn compacts(shared: &Shared) -> bool {
    shared.owns_process.load(Relaxed) && shared.store.page().0 == 0
}

/// Resident memory that is held against the limit, as a share of it.
fn share_of(limit: Bytes, resident: u64, empty: u64) -> f64 {
    resident.saturating_sub(empty + MODELS) as f64 / limit.as_f64()
}

/// The bytes that workers are to free for each KB that they read where resident memory is this
/// share of the limit, and what becomes of items in the way.
fn help_at(shared: &Shared, share: f64, empty: u64) -> (u64, Spare) {
    let (used, limit) = shared.memory();
    let help = ((share - HELP_FROM) / HELP_RANGE).clamp(0.0, 1.0);
    // In less the buffers of a few clients would be taken for the allocator's fault.
    let is_small = limit.0 < SMALL * empty;
    let reserve = shared.store.reserve();
    let spare = if is_small { Spare::All } else { spare_at(share, used, limit, reserve) };
    ((help * HELP_MAX * 1024.0) as u64, spare)
}

fn ask(shared: &Shared, (help, spare): (u64, Spare)) {
    shared.stats.help.store(help, Relaxed);
    shared.stats.compaction_evicts.store(spare == Spare::Nothing, Relaxed);
}

/// Lets a worker that read so many bytes help; `unseen` are those since it last measured.
#[inline]
pub(crate) fn help(shared: &Shared, read: usize, unseen: &mut u64) {
    *unseen += read as u64;
    if *unseen >= UNSEEN {
        *unseen = 0;
        look(shared);
    }
    let help = shared.stats.help.load(Relaxed);
    if help > 0 {
        let evicts = shared.stats.compaction_evicts.load(Relaxed);
        let spare = if evicts { Spare::Nothing } else { Spare::All };
        shared.store.compact(Bytes(help * read as u64 / 1024), spare, shared.clock.now());
    }
}

/// Asks for help at once where there is no time to wait for the thread that watches.
#[cold]
fn look(shared: &Shared) {
    let limit = shared.memory().1;
    if limit.0 == 0 || !compacts(shared) {
        return;
    }
    let empty = shared.stats.empty.load(Relaxed);
    let share = share_of(limit, resident(), empty);
    if share > EVICT_FROM {
        ask(shared, help_at(shared, share, empty));
    }
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
    shared.stats.used_peak.fetch_max(used.0, Relaxed);
    let resident = resident();
    shared.stats.resident.store(resident, Relaxed);
    let reserve = shared.store.reserve();
    let next = if shared.owns_process.load(Relaxed) {
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
            reserve = next_reserve(reserve, used.0 * 12 / 10, used, limit, RESIDENT_MAX);
        }
        let resident = (limit - reserve).0 * 12 / 10;
        assert!(resident < limit.0 * 108 / 100, "{resident}");
        assert!(resident > limit.0 * 103 / 100, "more was set aside than needed: {resident}");
        for _ in 0..2_000 {
            reserve = next_reserve(reserve, limit.0 / 2, Bytes(limit.0 / 2), limit, RESIDENT_MAX);
        }
        assert_eq!(reserve, Bytes(0), "what is no longer needed is given back");
        let unlimited = next_reserve(Bytes(0), 1 << 30, Bytes(1 << 30), Bytes(0), 1.06);
        assert_eq!(unlimited, Bytes(0), "no limit, no reserve");
    }

    /// Where it is not the allocator that takes the memory evicting would never end.
    #[test]
    fn nothing_is_evicted_in_vain() {
        for limit in [100 << 20, 256 << 20, 1 << 30].map(Bytes) {
            let spare = |share, used, reserve| spare_at(share, used, limit, reserve);
            assert_eq!(spare(1.06, limit, Bytes(0)), Spare::Nothing);
            assert_eq!(spare(1.04, limit, Bytes(0)), Spare::All, "copying is enough");
            assert_eq!(spare(1.5, limit + Bytes(1), Bytes(0)), Spare::All, "the limit was lowered");
            let (mut reserve, mut used) = (Bytes(0), limit);
            for _ in 0..100 {
                used = used.min(limit - reserve);
                reserve = next_reserve(reserve, 2 * limit.0, used, limit, RESIDENT_MAX);
            }
            assert_eq!(spare(2.0, used, reserve), Spare::All, "clients' buffers, say");
        }
    }
}
