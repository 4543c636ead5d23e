//! Only items with an expiry are evicted.

use super::{at, audit, key, limited};
use crate::{Change, Config, Error, Evictable, Evictor, Pool, Store};
use base::Bytes;

const MIB: u64 = 1 << 20;
const SIZES: [usize; 5] = [20, 90, 400, 1_500, 6_000];

fn name(number: u32) -> [u8; 5] {
    let [a, b, c, d] = number.to_le_bytes();
    [b'k', a, b, c, d]
}

/// Values of all sizes come and go beside items that stay, and pages move between their classes.
#[test]
fn what_has_no_expiry_stays() {
    for evictable in [Evictable::Volatile, Evictable::NextToExpire] {
        let store = limited(4 * MIB, 2);
        store.set_evictable(evictable);
        let value = vec![7; 6_000];
        let part = |number: u32| &value[..SIZES[number as usize % SIZES.len()]];
        for number in 0..400 {
            store.set(&key(&store, 0, &name(number)), part(number), None, at(0)).unwrap();
        }
        // The sizes shift, so that pages move from one class to another.
        for number in 400..20_000 {
            let size = SIZES[(number as usize / 2_000 + number as usize % 2) % SIZES.len()];
            let expires = Some(at(u64::from(number) + 100_000).unix_ms);
            let stored = store.set(&key(&store, 0, &name(number)), &value[..size], expires, at(1));
            stored.unwrap();
        }
        for number in 0..400 {
            let read = store.get(&key(&store, 0, &name(number)), at(2), |item| item.value.len());
            assert_eq!(read, Some(part(number).len()), "{number} has no expiry");
        }
        assert!(store.tenant_stats(0).counters.evicted > 5_000);
        audit(&store);
    }
}

/// Once there is nothing left to evict, writes are refused, and the present items are served.
#[test]
fn without_such_items_writes_are_refused() {
    let store = limited(2 * MIB, 2);
    store.set_evictable(Evictable::Volatile);
    let write =
        |number: u32, expires| store.set(&key(&store, 0, &name(number)), &[7; 500], expires, at(0));
    for number in 0..1_000 {
        write(number, Some(at(1_000_000).unix_ms)).unwrap();
    }
    let refused = (1_000..20_000).find(|&number| write(number, None).is_err()).unwrap();
    assert_eq!(write(refused, None), Err(Error::Full));
    assert!(refused > 3_000, "{refused}");
    assert_eq!(store.len(crate::Scope::ALL).expires, 0);
    for number in 1_000..refused {
        assert!(store.peek(&key(&store, 0, &name(number)), at(1), |_| ()).is_some());
    }
    // Items that are given an expiry can be evicted again.
    let dies = |_: Option<&crate::Item>| (Change::Expire(Some(at(1_000_000).unix_ms)), ());
    for number in 1_000..1_500 {
        store.update(&key(&store, 0, &name(number)), at(2), dies).unwrap();
    }
    write(refused, None).unwrap();
    audit(&store);
}

/// Items that expire within a day are evicted before items that expire within a year.
#[test]
fn the_next_to_expire_leaves_first() {
    let store = limited(4 * MIB, 1);
    store.set_evictable(Evictable::NextToExpire);
    let evictor = Evictor { k: 10, ..Evictor::default() };
    store.set_pools(&[Pool { tenants: vec![0], class: None, budget: Bytes(4 * MIB), evictor }]);
    for number in 0..12_000 {
        let expires = Some(at(if number % 2 == 0 { 86_400_000 } else { 31_536_000_000 }).unix_ms);
        store.set(&key(&store, 0, &name(number)), &[7; 500], expires, at(0)).unwrap();
    }
    let is_there =
        |number: &u32| store.peek(&key(&store, 0, &name(*number)), at(1), |_| ()).is_some();
    let left = |odd: u32| (0..12_000).filter(|n| n % 2 == odd).filter(is_there).count();
    let (day, year) = (left(0), left(1));
    assert!(year > 5_500 && day < 2_500, "of a day {day}, of a year {year}");
}

/// Items rank by their last write: an item that is only read is evicted, however often, and a
/// written one stays.
#[test]
fn the_longest_not_written_goes() {
    let evictor = policy::parse("lrm:k=32").unwrap().evictor().unwrap();
    let maxmemory = Bytes(1 << 20);
    let store = Store::new(Config { maxmemory, shards: 1, evictor, ..Config::default() });
    let write = |n: u32| store.set(&key(&store, 0, &name(n)), &[7; 200], None, at(0));
    let read = |n: u32| store.get(&key(&store, 0, &name(n)), at(0), |_| ()).is_some();
    (0..2_000).for_each(|n| write(n).unwrap());
    for step in 0..40_000 {
        let _ = read(step % 1_000);
        write(1_000 + step % 1_000).unwrap();
        if step % 4 == 0 {
            write(1 << 20 | step).unwrap();
        }
    }
    let held = |keys: std::ops::Range<u32>| keys.filter(|&n| read(n)).count();
    let (only_read, written) = (held(0..1_000), held(1_000..2_000));
    assert!(written > 900 && only_read < 100, "{written} written, {only_read} read");
    // Items that are written again stay, because an evicted one returns with its next write.
    let evicted = store.all_stats().iter().map(|stats| stats.counters.evicted).sum::<u64>();
    assert!(evicted < 9_000, "{evicted} evicted of 12 000 keys");
}
