//! Bytes of a resident object, by the allocator: one test, as all tests of a file share the
//! counter.

use policy::{Access, Bytes, Cache, parse};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Numbers of objects: from just after a growth of the tables to just before the next.
const OBJECTS: [u64; 6] = [98_400, 115_000, 131_100, 160_000, 196_700, 1_000_000];

/// Bytes an object of a full cache that has evicted as much as it holds.
fn bytes_by_object(policy: &str, objects: u64) -> f64 {
    let region = Region::new(ALLOCATOR);
    let mut cache = Cache::new(&parse(policy).unwrap(), Bytes(objects), 1);
    for key in 0..2 * objects {
        cache.access(&Access::get(base::hash::mix(key), 1));
    }
    let change = region.change();
    drop(cache);
    (change.bytes_allocated - change.bytes_deallocated) as f64 / objects as f64
}

#[test]
fn a_resident_object_costs_little() {
    let bounds =
        [("lru", 48.0), ("sieve", 48.0), ("klru:5", 80.0), ("lhd", 80.0), ("gittins", 90.0)];
    for (policy, most) in bounds {
        let bytes = OBJECTS.map(|objects| bytes_by_object(policy, objects));
        println!("{policy}: {bytes:.1?} bytes an object at {OBJECTS:?}");
        let worst = bytes.into_iter().fold(0.0, f64::max);
        assert!(worst > 8.0 && worst <= most, "{policy}: {worst:.1} bytes an object");
    }
}
