//! The time that operations take to make room, also while a lowered limit is approached.

use super::{at, audit, key};
use crate::{Config, Pauses, Slab, Store};
use base::{Bytes, Prng};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const FULL: u64 = 64 << 20;

/// CPU time of this thread, which is independent of other work on the machine.
fn nanos() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn store(page: u64) -> Store {
    let slab = Slab { page, ..Slab::default() };
    Store::new(Config { maxmemory: Bytes(FULL), shards: 8, slab, nanos, ..Config::default() })
}

/// Writes `count` items of 50 to 450 bytes, with random keys out of 400 000.
fn write(store: &Store, seed: u64, count: u32) {
    let (mut prng, value) = (Prng::new(seed), [1; 450]);
    for _ in 0..count {
        let (number, len) = (prng.below(400_000), 50 + prng.below(400) as usize);
        store.set(&key(store, 0, &number.to_le_bytes()), &value[..len], None, at(0)).unwrap();
    }
}

/// Microseconds of work that takes no lock and evicts nothing, about as long as a pause. A time far
/// above the median shows that the machine did something else.
fn work(times: u32) -> Vec<u64> {
    let one = |at| {
        let began = nanos();
        let mixed = (0..1_000).fold(at, |sum, _| base::hash::mix(sum));
        std::hint::black_box(mixed);
        (nanos() - began) / 1_000
    };
    (0..u64::from(times)).map(one).collect()
}

/// Operations and victims between two snapshots.
fn since(now: &Pauses, then: &Pauses) -> (u64, u64) {
    (now.count - then.count, now.victims - then.victims)
}

/// Memory is cut to a tenth while two threads write and a third sweeps. The limit is reached. No
/// write has more than a few victims, and none works on them for a millisecond.
#[test]
fn a_cut_to_a_tenth_costs_no_write_much() {
    for (name, page, most) in [("16 KB", 16 << 10, 32), ("by default", 0, 32)] {
        let store = store(page);
        write(&store, 1, 400_000);
        let full = store.pauses();
        assert!(full.count > 10_000, "{name}: memory must be full: {}", full.count);
        store.set_limit(Bytes(FULL / 10));
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    store.sweep(at(0), 4_096);
                    std::thread::yield_now();
                }
            });
            let writers = [2, 3].map(|seed| {
                scope.spawn({
                    let store = &store;
                    move || write(store, seed, 100_000)
                })
            });
            for writer in writers {
                writer.join().unwrap();
            }
            let workers = [0, 1].map(|_| scope.spawn(|| work(75_000)));
            let idle = workers.map(|worker| worker.join().unwrap()).concat();
            is_over.store(true, Relaxed);
            let (lost, most) = (idle.iter().filter(|us| **us >= 1_000), idle.iter().max());
            println!(
                "{name}: of {} pieces of plain work of as long {} took a millisecond, one {} us",
                idle.len(),
                lost.count(),
                most.unwrap_or(&0)
            );
        });
        audit(&store);
        let cut = store.pauses();
        assert!(store.used() <= store.limit(), "{name}: {} in use", store.used());
        let (count, victims) = since(&cut, &full);
        let us = |q: f64| cut.quantile(q) as f64 / 1e3;
        println!(
            "{name}: {count} writes evicted {victims}, at most {} at once; {:.1} us at the median, \
             {:.1} at 99.99 %, {:.1} at most, {} above a millisecond",
            cut.victims_max,
            us(0.5),
            us(0.9999),
            us(1.0),
            cut.spikes.len()
        );
        assert!(cut.victims_max <= most, "{name}: {} victims of one write", cut.victims_max);
        // Interruptions of a thread may count as its work.
        assert!(cut.spikes.len() <= 3, "{name}: {:?}", cut.spikes);
    }
}

/// A write that finds room makes no pause, nor does a read. An operation that needs room twice, for
/// the table and for the item, makes one pause.
#[test]
fn only_what_evicts_is_counted() {
    let store = store(0);
    write(&store, 1, 50_000);
    assert_eq!(store.pauses().count, 0, "there was room");
    write(&store, 2, 400_000);
    let full = store.pauses();
    let evicted = store.tenant_stats(0).counters.evicted;
    assert!(full.count > 40_000 && full.count <= 400_000, "{}", full.count);
    assert!(full.victims >= evicted / 2 && full.victims <= evicted + 10, "{evicted}");
    for number in 0..10_000u64 {
        _ = store.get(&key(&store, 0, &number.to_le_bytes()), at(0), |_| ());
    }
    assert_eq!(store.pauses().count, full.count);
    assert!(full.nanos > 0 && full.nanos_max >= full.quantile(0.99));
}
