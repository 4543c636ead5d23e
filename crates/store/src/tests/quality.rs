//! Compares the store's miss ratio with the simulator's, for the same accesses and sizes, and the
//! same bytes for items. Draws that are not uniform, wrong ages or stale pools would show here.

use super::{at, key, limited};
use crate::items::sizes::layout::TAG;
use crate::tenant::tenant::TenantShard;
use crate::{Bounds, Config, Counters, Evictor, Pool, Slab, Store, charge};
use base::{Access, Bytes, Prng, TenantId, hash};
use policy::rank::lhd::{Learner, Lived};
use policy::{Cache, parse};

const ACCESSES: u64 = 200_000;
const MAXMEMORY: Bytes = Bytes(1 << 20);

/// Keys by rank, with probabilities falling as rank^-0.9. The store holds a third of them.
fn zipf() -> Vec<u64> {
    let mut sum = 0.0;
    let cumulative: Vec<f64> = (1..=25_000)
        .map(|rank| {
            sum += f64::from(rank).powf(-0.9);
            sum
        })
        .collect();
    let mut prng = Prng::new(9);
    (0..ACCESSES)
        .map(|_| {
            let u = prng.unit() * sum;
            cumulative.partition_point(|&below| below < u) as u64
        })
        .collect()
}

/// All keys in a cycle. The store holds nine tenths of them, which LRU cannot keep and random
/// replacement can.
fn cycle() -> Vec<u64> {
    (0..ACCESSES).map(|i| i % 9_200).collect()
}

fn value_len(key: u64) -> usize {
    (hash::mix(key) % 150) as usize
}

/// Bytes of a page that the item of a key takes.
fn size(store: &Store, key: u64) -> u32 {
    let class = store.sizes.of(charge(8, value_len(key), false) - TAG);
    store.sizes.share(class) as u32
}

/// Bytes of all pages.
fn pages(store: &Store) -> Bytes {
    let mut bytes = 0;
    store.each_shard(|shard| {
        bytes += shard.contents().tenants.iter().map(|tenant| tenant.pages.bytes()).sum::<u64>();
    });
    Bytes(bytes)
}

/// The miss ratio of a store whose tenants each have a part of the keys, and that of the simulator
/// with the same memory.
fn live(accesses: &[u64], k: u8, pool: bool, shards: usize, tenants: u64, seed: u64) -> (f64, f64) {
    let evictor = Evictor { k, pool, ..Evictor::default() };
    // The configured number of shards, although the store is small.
    let slab = Slab { page: if shards > 1 { 4 << 10 } else { 0 }, ..Slab::default() };
    let config = Config { maxmemory: MAXMEMORY, shards, evictor, seed, slab, ..Config::default() };
    let bounds = vec![Bounds::default(); tenants as usize];
    let store = Store::new(Config { tenants: bounds, ..config });
    let value = [7; 150];
    for number in accesses {
        let text = number.to_le_bytes();
        let key = key(&store, (hash::mix(*number) % tenants) as TenantId, &text);
        if store.get(&key, at(0), |_| ()).is_none() {
            store.set(&key, &value[..value_len(*number)], None, at(0)).unwrap();
        }
    }
    let mut counters = Counters::default();
    (0..tenants).for_each(|at| counters += store.tenant_stats(at as TenantId).counters);
    let policy = format!("klru:k={k}:pool={}", if pool { 16 } else { 0 });
    (counters.misses as f64 / counters.gets() as f64, simulated(&store, accesses, &policy))
}

/// The miss ratio of the simulator with as many bytes as the store has in pages.
fn simulated(store: &Store, accesses: &[u64], policy: &str) -> f64 {
    let mut cache = Cache::new(&parse(policy).unwrap(), pages(store), 4);
    for &number in accesses {
        cache.access(&Access::get(hash::mix(number), size(store, number)));
    }
    cache.stats().miss_ratio()
}

/// Compares with one shard, and with eight shards the mean of five seeds, because each seed assigns
/// other keys to the shards. The store's miss ratio may be higher by `more` and lower by `less`.
fn compare(name: &str, accesses: &[u64], more: f64, less: f64) {
    for (k, pool) in [(1, false), (5, false), (16, false), (5, true), (16, true)] {
        for (shards, seeds) in [(1, 1), (8, 5)] {
            let apart = |seed| {
                let (live, simulated) = live(accesses, k, pool, shards, 1, seed);
                println!("{name} k={k} pool={pool} shards={shards}: {live:.4} {simulated:.4}");
                live - simulated
            };
            let apart = (0..seeds).map(apart).sum::<f64>() / seeds as f64;
            assert!(
                -less < apart && apart < more,
                "{name}, K = {k}, pool {pool}, {shards} shards: {apart:.4} more live"
            );
        }
    }
}

#[test]
fn zipf_misses_as_simulated() {
    compare("zipf", &zipf(), 0.01, 0.01);
}

#[test]
fn a_loop_misses_as_simulated() {
    // Shards that hold nearly all of their part of the loop miss less than the mean, and others
    // miss more: the curve is a cliff.
    compare("loop", &cycle(), 0.08, 1.0);
}

/// Ages are counted in accesses to a shard. A store that did not count reads would be FIFO.
#[test]
fn what_is_read_stays() {
    let store = limited(1 << 20, 4);
    let hot = key(&store, 0, b"hot");
    store.set(&hot, b"value", None, at(0)).unwrap();
    for n in 0..100_000u32 {
        store.set(&key(&store, 0, &n.to_le_bytes()), &[0; 100], None, at(0)).unwrap();
        assert!(n % 100 != 0 || store.get(&hot, at(0), |_| ()).is_some(), "gone after {n}");
    }
}

/// Compares LHD, which learns as it runs, with the simulator's. The cases vary shards, candidates,
/// whether good candidates are kept, and tenants that each have a part of the keys. If candidates
/// are kept, the simulator draws twice as many.
fn compare_lhd(name: &str, accesses: &[u64], room: Bytes, tolerance: f64) {
    let all =
        [(1, 32, false, 1), (8, 32, false, 1), (8, 16, false, 5), (8, 8, true, 1), (8, 8, true, 5)];
    for (shards, k, pool, tenants) in all {
        let evictor = Evictor { pool, ..Evictor::lhd(k) };
        let bounds = vec![Bounds::default(); tenants];
        let reader_slots = 2;
        let lessons = Learner::bytes(tenants) + reader_slots as u64 * Lived::bytes(tenants);
        // In a small store not all of the lessons are charged.
        let maxmemory = Bytes((room.0 + lessons).min(room.0 * 32 / 31));
        let config = Config {
            maxmemory,
            shards,
            reader_slots,
            evictor,
            tenants: bounds,
            ..Config::default()
        };
        let store = Store::new(config);
        let value = [7; 150];
        for (at_access, number) in accesses.iter().enumerate() {
            let text = number.to_le_bytes();
            let tenant = (hash::mix(*number) % tenants as u64) as TenantId;
            let key = key(&store, tenant, &text);
            if store.get(&key, at(0), |_| ()).is_none() {
                store.set(&key, &value[..value_len(*number)], None, at(0)).unwrap();
            }
            if at_access % 1_000 == 0 {
                store.sweep(at(0), 8);
            }
        }
        audit_but_lessons(&store, tenants);
        let mut counters = Counters::default();
        (0..tenants).for_each(|at| counters += store.tenant_stats(at as TenantId).counters);
        let live = counters.misses as f64 / counters.gets() as f64;
        let drawn = k << u32::from(pool);
        let simulated = simulated(&store, accesses, &format!("lhd:k={drawn}"));
        println!(
            "{name} lhd k={k} pool={pool} shards={shards} tenants={tenants}: {live:.4} \
             {simulated:.4}"
        );
        assert!(live < simulated + tolerance, "{name}: {live:.4} live, {simulated:.4} not");
    }
}

/// The memory for learning is charged.
fn audit_but_lessons(store: &Store, tenants: usize) {
    let with = store.used();
    store.set_pools(&[]);
    assert_eq!(store.used(), with, "no pools change nothing");
    let mut bytes = store.budget.fixed_bytes(tenants);
    store.each_shard(|shard| {
        for TenantShard { table, pages, .. } in &shard.contents().tenants {
            bytes += table.bytes() + pages.bytes();
        }
    });
    assert!(with.0 >= bytes + store.limit().0 / 40, "the model is charged");
}

#[test]
fn live_lhd_misses_no_more_than_simulated() {
    let zipf = [zipf(), zipf()].concat();
    compare_lhd("zipf", &zipf, MAXMEMORY, 0.01);
    // A third of a loop fits: LRU misses every access. With fewer classes, less is known about each
    // age, and items that one shard holds in excess are missing in another.
    let cycle: Vec<_> = (0..600_000).map(|i| i % 60_000).collect();
    compare_lhd("loop", &cycle, Bytes(5 << 19), 0.04);
}

#[test]
fn what_was_learnt_is_forgotten_with_its_rank() {
    let (maxmemory, reader_slots) = (Bytes(64 << 20), 2);
    let config = Config { maxmemory, reader_slots, evictor: Evictor::lhd(32), ..Config::default() };
    let store = Store::new(config);
    let with = store.used();
    let klru =
        Pool { tenants: vec![0], class: None, budget: maxmemory, evictor: Evictor::default() };
    store.set_pools(std::slice::from_ref(&klru));
    super::audit(&store);
    let lessons = Learner::bytes(1) + reader_slots as u64 * Lived::bytes(1);
    assert_eq!(store.used().0 + lessons, with.0);
    store.set_pools(&[Pool { evictor: Evictor::lhd(8), ..klru }]);
    assert_eq!(store.used(), with);
}

/// Each shard has the same share of the keys and should have the same share of the memory. Large
/// items, which take pages from any class, must not empty one shard and fill another.
#[test]
fn shards_hold_alike() {
    let slab = Slab { page: 32 << 10, ..Slab::default() };
    let maxmemory = Bytes(16 << 20);
    let config =
        Config { maxmemory, shards: 4, slab, evictor: Evictor::lhd(32), ..Config::default() };
    let store = Store::new(config);
    let (value, mut prng) = (vec![7; 96 << 10], Prng::new(3));
    for turn in 0..60_000u64 {
        let number = (prng.unit().powi(3) * 20_000.0) as u64;
        let text = number.to_le_bytes();
        let key = key(&store, 0, &text);
        if store.get(&key, at(0), |_| ()).is_none() {
            let len = if hash::mix(number).is_multiple_of(5) {
                (hash::mix(number) >> 8) as usize % (96 << 10)
            } else {
                4_000
            };
            store.set(&key, &value[..len], None, at(0)).unwrap();
        }
        if turn % 1_000 == 0 {
            store.sweep(at(0), 8);
        }
    }
    let mut held = vec![];
    store.each_shard(|shard| held.push(shard.contents().tenants[0].pages.bytes()));
    let (least, most) = (held.iter().min().unwrap(), held.iter().max().unwrap());
    assert!(most * 10 < least * 12, "{held:?}");
}
