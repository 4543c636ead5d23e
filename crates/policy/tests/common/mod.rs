//! Requests for the tests, made with whole numbers only so that every machine makes the same.

use base::hash::mix;
use base::{Micros, Prng, Size, Tick};
use policy::{Access, Cache, Outcome};
use std::collections::HashMap;

/// Few keys with many requests and many with few: a number below n, three times in a row.
fn skewed(prng: &mut Prng, keys: u64) -> u64 {
    let within = prng.below(keys) + 1;
    let within = prng.below(within) + 1;
    prng.below(within)
}

/// A size from 1 to 512 bytes, always the same for a key.
fn size_of(key: u64) -> u32 {
    let hash = mix(key);
    1 + (hash >> 32) as u32 % (1 << (hash % 10))
}

fn get(key: u64) -> Access {
    Access::get(mix(key), size_of(key))
}

/// Reads of skewed popularity and different sizes.
pub(crate) fn popular(requests: usize) -> Vec<Access> {
    let mut prng = Prng::new(11);
    (0..requests).map(|_| get(skewed(&mut prng, 4_000))).collect()
}

/// A loop among popular keys, with a scan at intervals.
pub(crate) fn loops_and_scans(requests: usize) -> Vec<Access> {
    let mut prng = Prng::new(12);
    let mut fresh = 1 << 40;
    let mut turn = 0;
    (0..requests)
        .map(|at| {
            if at % 5_000 > 4_300 {
                fresh += 1;
                get(fresh)
            } else if at % 2 == 0 {
                turn = (turn + 1) % 900;
                get(1 << 30 | turn)
            } else {
                get(skewed(&mut prng, 2_000))
            }
        })
        .collect()
}

/// All kinds of requests: writes that resize, removals, times to live, tenants, penalties.
pub(crate) fn mixed(requests: usize) -> Vec<Access> {
    let mut prng = Prng::new(13);
    (0..requests)
        .map(|at| {
            let key = skewed(&mut prng, 3_000);
            let size = size_of(key);
            let access = match prng.below(20) {
                0 => Access::delete(mix(key)),
                1..=3 => Access::set(mix(key), size + prng.below(64) as u32),
                _ => get(key),
            };
            Access {
                time: Micros(at as u64 * 100),
                ttl: Micros(if key.is_multiple_of(3) { 5_000 } else { 0 }),
                tenant: (key % 5) as u16,
                penalty: Micros(100 << (key % 7)),
                ..access
            }
        })
        .collect()
}

/// Sets the time of the next request to the same key in each access, in requests from 1.
pub(crate) fn with_foresight(mut trace: Vec<Access>) -> Vec<Access> {
    let mut next: HashMap<u64, u64> = HashMap::new();
    for (at, access) in trace.iter_mut().enumerate().rev() {
        access.next = next.insert(access.key, at as u64 + 1).map_or(Tick::NEVER, Tick);
    }
    trace
}

/// The sum over keys of the largest size.
pub(crate) fn footprint(trace: &[Access]) -> u64 {
    let mut sizes: HashMap<u64, Size> = HashMap::new();
    for access in trace {
        let size = sizes.entry(access.key).or_default();
        *size = access.size.max(*size);
    }
    sizes.values().map(|&size| u64::from(size)).sum()
}

/// Plays the trace and counts the reads that miss.
pub(crate) fn play(cache: &mut Cache, trace: &[Access]) -> u64 {
    trace.iter().map(|access| u64::from(cache.access(access) == Outcome::Miss)).sum()
}
