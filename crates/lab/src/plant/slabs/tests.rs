//! Tests of pages, classes and their readings.

use super::{SlabPlant, Slabs};
use crate::plant::{Bounds, SimulatedStore, Simulation};
use base::hash::mix;
use base::{Access, Bytes, Filter, Micros, Op, TenantId};
use policy::Outcome;
use tune::{Evictor, Plant, PoolStep, SlabClass, Step};

/// Pages of 1 000 bytes and chunks of 104, 200, 384 and 1 000.
const SMALL: Slabs = Slabs { page: 1_000, least: 100, factor: 1.9 };

fn get(key: u64, size: u32) -> Access {
    Access::get(mix(key), size)
}

fn step(budgets: &[(u8, u64)]) -> Step {
    let pool = |&(class, pages): &(u8, u64)| PoolStep {
        tenants: vec![0],
        class: Some(class),
        budget: Bytes(1_000 * pages),
        evictor: Evictor::LRU,
        filter: Filter::ALL,
    };
    Step { pools: budgets.iter().map(pool).collect(), prices: vec![] }
}

#[test]
fn sizes_grow_by_the_factor() {
    assert_eq!(SMALL.chunks(), [104, 200, 384, 1_000]);
    let memcached = Slabs::default().chunks();
    assert_eq!(memcached[..5], [96, 120, 152, 192, 240]);
    assert_eq!(memcached.last(), Some(&(1 << 20)));
    assert!(memcached.len() < 48);
}

/// First come, first served: small items take all pages and keep all but one, however many requests
/// large items get. (Large items take a first page, because no class can be without.)
#[test]
fn pages_are_taken_first_come() {
    let mut plant = SlabPlant::new(Bytes(4_000), SMALL, &[Bounds::none("a")]);
    for key in 0..1_000 {
        plant.access(&get(key, 100));
    }
    assert_eq!(plant.pages_of(0), [4, 0, 0, 0]);
    for key in 0..1_000 {
        plant.access(&get(5_000 + key, 200));
    }
    assert_eq!(plant.pages_of(0), [3, 1, 0, 0]);
    // The page that moved held the oldest items and, behind them, the newest: 26 of the newest are
    // left.
    let mut hits = |keys: std::ops::Range<u64>, size| {
        let hit = |key: &u64| plant.access(&get(*key, size)) == Outcome::Hit;
        keys.filter(hit).count()
    };
    assert_eq!(hits(5_995..6_000, 200), 5);
    assert_eq!(hits(980..999, 100), 19);
    assert_eq!(hits(0..100, 100), 0);
}

/// A class is an LRU list of its own: it agrees with the policies' own simulator, request by
/// request.
#[test]
fn a_class_evicts_as_lru_does() {
    let mut plant = SlabPlant::new(Bytes(4_000), SMALL, &[Bounds::none("a")]);
    let mut lru = policy::Cache::new(&policy::parse("lru").unwrap(), Bytes(36), 1);
    let mut prng = base::Prng::new(4);
    for _ in 0..20_000 {
        let key = prng.below(60);
        let outcome = plant.access(&get(key, 90));
        assert_eq!(outcome, lru.access(&get(key, 1)));
    }
}

/// A page moves when the receiver needs it and not before. Its items are evicted, and no others.
#[test]
fn budgets_move_pages_on_demand() {
    let mut plant = SlabPlant::new(Bytes(4_000), SMALL, &[Bounds::none("a")]);
    for key in 0..1_000 {
        plant.access(&get(key, 100));
        plant.access(&get(5_000 + key % 5, 200));
    }
    assert_eq!(plant.pages_of(0), [3, 1, 0, 0]);
    plant.apply(&step(&[(0, 2), (1, 2)]));
    assert_eq!((plant.pages_of(0), plant.moves()), (vec![3, 1, 0, 0], 0));
    plant.access(&get(7_000, 200));
    assert_eq!((plant.pages_of(0), plant.moves()), (vec![2, 2, 0, 0], 1));
    let reading = plant.read();
    let [small, large] = &reading.slabs[..] else { panic!("two classes") };
    assert_eq!((small.pages, small.free, large.pages, large.free), (2, 0, 2, 4));
    assert_eq!(reading.tenants[0].items, 18 + 6);
    assert_eq!(reading.tenants[0].part(Some(1)).used, Bytes(2_000));
    // Pages move as far as the budgets say, and no further.
    for key in 0..100 {
        plant.access(&get(8_000 + key, 200));
    }
    assert_eq!(plant.pages_of(0), [2, 2, 0, 0]);
}

#[test]
fn what_is_read_adds_up() {
    let tenants = [Bounds::none("a"), Bounds { min: Bytes(2_000), ..Bounds::none("b") }];
    let mut plant = SlabPlant::new(Bytes(8_000), SMALL, &tenants);
    let mut prng = base::Prng::new(7);
    let mut counts = [0u64; 2];
    for at in 0..30_000u64 {
        let tenant = prng.below(2) as TenantId;
        let key = prng.below(100);
        let size = 60 + 97 * (key % 12) as u32;
        let op = match prng.below(10) {
            0 => Op::Set,
            1 => Op::Delete,
            _ => Op::Get,
        };
        let ttl = Micros(if key.is_multiple_of(7) { 500 } else { 0 });
        let time = Micros(at * 10);
        plant.access(&Access { tenant, op, ttl, time, ..get(key, size) });
        counts[usize::from(tenant)] += u64::from(op == Op::Get);
        if at % 1_000 == 999 {
            let pages: Vec<_> = (0..4).map(|class| (class, 1 + prng.below(3))).collect();
            plant.apply(&step(&pages));
            let reading = plant.read();
            let pages: u64 = reading.slabs.iter().map(|slab| slab.pages).sum();
            assert_eq!(Bytes(1_000 * pages), plant.used());
            assert!(plant.used() <= Bytes(8_000));
            for (tenant, gets) in reading.tenants.iter().zip(counts) {
                assert_eq!(tenant.gets, gets);
                let own = reading.slabs.iter().filter(|slab| slab.tenant == tenant.id);
                let chunks = |slab: &SlabClass| slab.pages * (1_000 / slab.chunk.0) - slab.free;
                assert_eq!(tenant.items, own.map(chunks).sum::<u64>());
            }
        }
    }
    assert!(plant.used_by(1) >= Bytes(2_000));
}

/// By worth, the item of least hit density is evicted. Items that are read again and again survive
/// a scan, and move to other pages when their page is given away.
#[test]
fn a_class_evicts_what_is_worth_least() {
    let slabs = Slabs { page: 1 << 14, ..Slabs::default() };
    let hits = |evictor| {
        let mut plant =
            SlabPlant::new(Bytes(8 << 14), slabs, &[Bounds::none("a")]).evicting(evictor, 1);
        let mut hits = 0;
        for at in 0..60_000u64 {
            // Each of 700 keys comes once in 2 100 requests: LRU, which holds 1 360 items, has
            // evicted it by then.
            let key = if at % 3 == 0 { at / 3 % 700 } else { 1_000_000 + at };
            hits += usize::from(plant.access(&get(key, 90)) == Outcome::Hit);
        }
        (hits, plant)
    };
    let ((lru, _), (lhd, mut plant)) = (hits(Evictor::LRU), hits(Evictor::lhd(32)));
    assert!(lru < 100 && lhd > 6_000, "{lru} and {lhd} of 20 000");
    let victims = plant.shown()[0].victims;
    assert!(victims.count > 1_000 && victims.density.is_finite(), "{victims:?}");
    let held = plant.read().tenants[0].items;
    let page = plant.empty_page(0);
    assert!(plant.pages[page as usize].items.is_empty());
    let left = plant.read().tenants[0].items;
    assert!(held - left <= 170 && plant.pages_of(0)[0] == 7, "{held} {left}");
}

/// Without a plan, pages stay with the class that took them. The first look finds one page in each
/// of two classes. Its budgets must not divide the memory once all pages are taken.
#[test]
fn without_a_plan_first_come_is_first_served() {
    let plant = SlabPlant::new(Bytes(40_000), SMALL, &[Bounds::none("a")]);
    let recipe = tune::recipe::parse("lama:planner=memcached:interval=1000000").unwrap();
    let mut simulation = Simulation::over(plant, recipe, 1).every(Micros(10));
    let mut read = |key: u64, size| {
        simulation.access(&Access { time: Micros(key * 10), ..get(key, size) });
    };
    read(0, 100);
    read(1, 200);
    for key in 2..2_000 {
        read(key, 100);
    }
    read(2_000, 900);
    for key in 2_001..4_000 {
        read(key, 100 + 100 * (key % 2) as u32);
    }
    assert_eq!((simulation.plant.pages_of(0), simulation.plant.moves()), (vec![38, 1, 0, 1], 1));
}
