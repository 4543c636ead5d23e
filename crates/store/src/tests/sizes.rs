//! Size classes: their counts, and pages that move by a plan or by the worth of victims.

use super::{at, audit, key};
use crate::{Bounds, Config, Evictor, Move, Pool, SizeClass, SizeClassStats, Slab, Store};
use base::{Bytes, Prng, TenantId};

const MIB: u64 = 1 << 20;

fn slabs(tenants: Vec<Bounds>, evictor: Evictor) -> Store {
    let slab = Slab { page: 16 << 10, ..Slab::default() };
    let store = Store::new(Config {
        maxmemory: Bytes(2 * MIB),
        shards: 2,
        slab,
        tenants,
        evictor,
        ..Config::default()
    });
    store.set_stopwatch(true);
    store.count_sizes(true);
    store.balance_pages(false);
    store
}

/// Reads a key, and after a miss writes a value of `len` bytes.
fn ask(store: &Store, tenant: TenantId, number: u64, len: usize) {
    let bytes = number.to_le_bytes();
    let key = key(store, tenant, &bytes);
    if store.get(&key, at(1), |_| ()).is_none() {
        store.set(&key, &vec![1; len], None, at(1)).unwrap();
    }
}

fn of(store: &Store, tenant: TenantId, len: usize) -> (usize, SizeClassStats) {
    let class = store.class_of(Bytes(crate::items::item::HEADER as u64 + 8 + len as u64));
    (class, store.size_class_stats(tenant, at(1))[class])
}

/// A miss counts for the class of the item written after it, and a hit for the class of its item. A
/// miss without a write counts for no class.
#[test]
fn misses_are_of_the_size_of_their_fill() {
    let store = slabs(vec![], Evictor::default());
    for number in 0..100 {
        ask(&store, 0, number, 100);
        ask(&store, 0, 1_000 + number % 10, 3_000);
        store.get(&key(&store, 0, b"nothing"), at(1), |_| ());
    }
    let (small, large) = (of(&store, 0, 100).1, of(&store, 0, 3_000).1);
    assert_eq!((small.counts.gets, small.counts.misses, small.counts.sets), (100, 100, 100));
    assert_eq!((large.counts.gets, large.counts.misses, large.counts.sets), (100, 10, 10));
    let all = store.size_class_stats(0, at(1));
    assert_eq!(all.iter().map(|class| class.counts.gets).sum::<u64>(), 200);
    store.count_sizes(false);
    ask(&store, 0, 1, 100);
    assert_eq!(of(&store, 0, 100).1.counts.gets, 100, "nobody asks any more");
}

/// Pages move by the plan, one page per shard at a time, within the min of one tenant and the max
/// of the other.
#[test]
fn pages_move_between_tenants_within_their_bounds() {
    let mins = [Bytes(MIB), Bytes(0)].map(|min| Bounds { min, max: None });
    let store = slabs(mins.to_vec(), Evictor::default());
    let mut prng = Prng::new(1);
    for _ in 0..40_000 {
        ask(&store, 0, prng.below(20_000), 100);
    }
    ask(&store, 1, 1, 3_000);
    let ((from, had), (to, _)) = (of(&store, 0, 100), of(&store, 1, 3_000));
    let (from, to) = (SizeClass { tenant: 0, class: from }, SizeClass { tenant: 1, class: to });
    store.move_pages(&[Move { from, to, pages: 10 }]);
    let mut shards = vec![];
    for _ in 0..10 {
        store.sweep(at(1), 64);
        store.each_shard(|shard| {
            shards.push(shard.contents().tenants[1].pages.bytes());
        });
    }
    let [.., one, other] = shards[..] else { panic!("two shards") };
    assert!(one.abs_diff(other) <= 32 << 10, "each in its turn: {one} and {other}");
    audit(&store);
    let got = of(&store, 1, 3_000).1.pages;
    assert!((10..=11).contains(&got), "{got} pages");
    assert!(of(&store, 0, 100).1.pages <= had.pages - 10);
    assert_eq!(store.pages_to_move(), 0);
    store.move_pages(&[Move { from, to, pages: 1_000 }]);
    for _ in 0..10 {
        store.sweep(at(1), 1_024);
    }
    audit(&store);
    assert!(store.tenant_stats(0).used >= Bytes(MIB), "{:?}", store.tenant_stats(0));
    store.set_bounds(1, Bounds { min: Bytes(0), max: Some(store.tenant_stats(1).used) });
    store.set_bounds(0, Bounds::default());
    let held = store.tenant_stats(0).used;
    store.sweep(at(1), 1_024);
    assert_eq!(store.tenant_stats(0).used, held, "who cannot get it makes nobody lose it");
}

/// Large items are read once and come first. Then small items are read repeatedly, and memory holds
/// half of them. With balancing, the pages of the large items go to the small ones; without it they
/// stay.
#[test]
fn balanced_pages_go_where_victims_are_worth_most() {
    let run = |is_on| {
        let store = slabs(vec![], Evictor::lhd(32));
        store.balance_pages(is_on);
        assert_eq!(store.balances(), is_on);
        let mut prng = Prng::new(1);
        for step in 0..150_000 {
            if step < 1_000 || step % 4 == 0 {
                ask(&store, 0, 1_000_000 + step, 1_500);
            } else {
                ask(&store, 0, prng.below(15_000), 100);
            }
            if step % 64 == 0 {
                store.sweep(at(1), 1);
            }
        }
        let small = of(&store, 0, 100).1;
        (small.pages, small.counts.misses as f64 / small.counts.gets as f64)
    };
    let ((alone, before), (balanced, after)) = (run(false), run(true));
    assert!(balanced > alone + alone / 2, "{balanced} pages, {alone} without balance");
    assert!(after < 0.7 * before, "{after} of the reads miss, {before} without balance");
}

/// Requests are for large items first, and then for small ones. Under an LRU, which learns nothing,
/// the small items must find memory although the large ones have all of it, because their victims
/// are younger.
#[test]
fn pages_follow_sizes_that_shift() {
    let run = |is_on: bool, is_fresh: bool| {
        let store = slabs(vec![], Evictor::default());
        store.balance_pages(is_on);
        let mut prng = Prng::new(1);
        // The hits of the second half.
        let mut phase = |len: usize, keys: std::ops::Range<u64>| -> f64 {
            let mut before = 0;
            for step in 0..60_000 {
                ask(&store, 0, keys.start + prng.below(keys.end - keys.start), len);
                if step % 64 == 0 {
                    store.sweep(at(1), 64);
                }
                if step == 30_000 {
                    before = store.tenant_stats(0).counters.hits;
                }
            }
            audit(&store);
            (store.tenant_stats(0).counters.hits - before) as f64 / 30_000.0
        };
        if !is_fresh {
            phase(1_500, 1_000_000..1_004_000);
        }
        phase(100, 0..12_000)
    };
    let (fresh, stuck, balanced) = (run(true, true), run(false, false), run(true, false));
    assert!(balanced > fresh - 0.04, "{balanced} of the reads hit, {fresh} in a fresh store");
    assert!(stuck < fresh - 0.2, "{stuck} hit without balance, {fresh} in a fresh store");
}

/// A tenant within its min loses neither pages nor items to others, and does not prevent others
/// from moving pages among themselves. If nothing may be evicted, nothing is.
#[test]
fn balance_keeps_to_bounds_and_to_who_evicts_nothing() {
    let mins = [Bytes(MIB), Bytes(0)].map(|min| Bounds { min, max: None });
    let store = slabs(mins.to_vec(), Evictor::default());
    store.balance_pages(true);
    let mut prng = Prng::new(1);
    let mut play = |steps, from: u64, len| {
        for step in 0..steps {
            ask(&store, 1, from + prng.below(4_000), len);
            if step % 64 == 0 {
                store.sweep(at(1), 64);
            }
        }
    };
    (0..4_000).for_each(|number| ask(&store, 0, number, 100));
    let had = store.tenant_stats(0);
    play(40_000, 0, 1_500);
    play(40_000, 0, 100);
    assert_eq!(store.tenant_stats(0), had, "its items are the oldest of all");
    assert!(of(&store, 1, 100).1.pages > 10, "{:?}", of(&store, 1, 100).1);
    audit(&store);
    // Items of another size have young victims, but nothing may be evicted any more.
    (0..300).for_each(|number| ask(&store, 1, 1_000_000 + number, 3_000));
    let nobody = Evictor { k: 0, ..Evictor::default() };
    let budget = store.limit();
    store.set_pools(&[Pool { tenants: vec![0, 1], class: None, budget, evictor: nobody }]);
    let had = store.tenant_stats(1);
    for number in 0..40_000u64 {
        store.get(&key(&store, 1, &number.to_le_bytes()), at(1), |_| ());
        if number % 64 == 0 {
            store.sweep(at(1), 64);
        }
    }
    assert_eq!(store.tenant_stats(1).len, had.len);
}
