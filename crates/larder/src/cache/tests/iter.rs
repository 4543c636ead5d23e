//! The walk over entries.

use super::*;
use std::collections::BTreeMap;
use std::thread;

#[test]
fn a_walk_shows_each_entry_of_its_part_once() {
    let cache = cache(4 << 20).parts(["a", "b"]).build().unwrap();
    let (a, b) = (cache.part("a").unwrap(), cache.part("b").unwrap());
    assert_eq!(a.iter().next(), None);
    for n in 0..3_000u32 {
        a.insert(n.to_le_bytes(), n.to_be_bytes()).unwrap();
    }
    b.insert("other", "part").unwrap();
    let all: Vec<_> = a.iter().collect();
    let keys: BTreeMap<_, _> = all.iter().cloned().collect();
    assert_eq!((all.len(), keys.len()), (3_000, 3_000));
    assert!((0..3_000u32).all(|n| keys[&n.to_le_bytes().to_vec()] == n.to_be_bytes()));
    assert_eq!((&b).into_iter().collect::<Vec<_>>(), [(b"other".to_vec(), b"part".to_vec())]);
    let mut over = b.iter();
    assert!(over.next().is_some() && over.next().is_none() && over.next().is_none());
    let counters = a.stats().counters;
    assert_eq!((counters.hits, counters.misses), (0, 0), "to be shown is no use");
}

#[test]
fn a_walk_shows_no_dead_entry() {
    let cache = cache(1 << 20).build().unwrap();
    cache.insert_for("short", "x", Duration::from_millis(10)).unwrap();
    cache.insert("long", "y").unwrap();
    cache.advance(Duration::from_millis(11));
    assert_eq!(cache.iter().map(|(key, _)| key).collect::<Vec<_>>(), [b"long"]);
}

/// Tables grow, split and merge under the walk; each entry that stays is shown once.
#[test]
fn a_walk_beside_writers_misses_nothing_that_stays() {
    let cache = cache(64 << 20).build().unwrap();
    let stays = |n: u32| [&b"stays"[..], &n.to_le_bytes()].concat();
    for n in 0..2_000 {
        cache.insert(stays(n), "x").unwrap();
    }
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let keys = (0..20_000u32).cycle();
            for (n, key) in keys.enumerate() {
                if is_over.load(Relaxed) {
                    return;
                }
                if n / 20_000 % 2 == 0 {
                    cache.insert(key.to_le_bytes(), [0; 40]).unwrap();
                } else {
                    cache.remove(key.to_le_bytes());
                }
            }
        });
        for round in 0..20 {
            let mut seen = BTreeMap::new();
            for (key, _) in cache.iter().filter(|(key, _)| key.starts_with(b"stays")) {
                *seen.entry(key).or_insert(0) += 1;
            }
            is_over.store(seen.len() != 2_000 || round == 19, Relaxed);
            assert_eq!(seen.len(), 2_000);
            assert!(seen.values().all(|&times| times == 1), "{seen:?}");
        }
    });
}
