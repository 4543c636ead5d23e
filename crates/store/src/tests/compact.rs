//! Compaction copies items, and that must not show.

use super::{at, audit};
use crate::{Config, Store};
use base::{Bytes, Prng};

/// Every item must be there still, byte for byte, whatever lay where, and be charged once.
#[test]
fn what_is_copied_stays_what_it_is() {
    let store = Store::new(Config { shards: 4, seed: 5, ..Config::default() });
    let name = |n: u64| format!("key:{n}:{}", "x".repeat(n as usize % 50));
    let count = if cfg!(miri) { 200 } else { 20_000 };
    let expires = |n: u64| n.is_multiple_of(3).then_some(1 << 40 | n);
    for n in 0..count {
        let name = name(n);
        let value = vec![n as u8; 7 * n as usize % 3_000];
        store.set(&store.key(0, 0, name.as_bytes()), &value, expires(n), at(0)).unwrap();
    }
    let mut prng = Prng::new(1);
    let stays: Vec<_> = (0..count).map(|_| prng.below(10) == 0).collect();
    for n in (0..count).filter(|&n| !stays[n as usize]) {
        assert!(store.delete(&store.key(0, 0, name(n).as_bytes()), at(0)));
    }
    let addresses = || {
        let mut all = vec![];
        store.each_shard(|shard| {
            shard.tenants[0].table.each(|item| all.push(item.base().addr().get()));
        });
        all
    };
    let (before, used) = (addresses(), store.used());
    for _ in 0..10_000 {
        store.compact(Bytes(1));
    }
    assert!(store.compacted().pass > 64, "{:?}", store.compacted());
    let after = addresses();
    let moved = before.iter().zip(&after).filter(|(before, after)| before != after).count();
    assert!(2 * moved > before.len(), "{moved} of {} were moved", before.len());
    assert_eq!(store.used(), used);
    for n in 0..count {
        let name = name(n);
        let key = store.key(0, 0, name.as_bytes());
        let found = store.peek(&key, at(0), |item| (item.value.to_vec(), item.expires));
        let value = (vec![n as u8; 7 * n as usize % 3_000], expires(n));
        assert_eq!(found, stays[n as usize].then_some(value), "{n}");
    }
    audit(&store);
}
