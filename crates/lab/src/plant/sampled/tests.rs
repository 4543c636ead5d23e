//! Tests of the plant: misses beside the policies' own simulator, budgets, bounds, classes and
//! copies.

use super::SampledPlant;
use crate::plant::{Bounds, SimulatedStore};
use base::{Access, Bytes, Filter, Micros, Op, Sighting, TenantId};
use policy::Outcome;
use tune::{Evictor, Plant, PoolStep, Step};

fn get(tenant: TenantId, key: u64, size: u32) -> Access {
    Access { tenant, ..Access::get(base::hash::mix(key), size) }
}

fn fill(plant: &mut SampledPlant, tenant: TenantId, keys: u64) {
    for key in 0..keys {
        plant.access(&get(tenant, key, 1));
    }
}

/// The plant must miss as the policies' own simulator does. Otherwise a pilot tuned on it is tuned
/// on another cache.
#[test]
fn one_pool_misses_as_the_simulator_does() {
    let text = "synth:zipf:keys=20000:skew=0.8:requests=400000:size=const/100";
    for (evictor, band) in [(Evictor::klru(1), 0.003), (Evictor::klru_pool(5), 0.003)] {
        let limit = Bytes(400_000);
        let mut plant = SampledPlant::new(limit, &[Bounds::none("a")], 1);
        let pools = vec![PoolStep {
            tenants: vec![0],
            class: None,
            budget: limit,
            evictor,
            filter: Filter::NONE,
        }];
        plant.apply(&Step { pools, prices: vec![] });
        let choice = policy::parse(&evictor.to_string()).unwrap();
        let mut cache = policy::Cache::new(&choice, limit, 1);
        let mut source = trace::synth::open(text, &trace::ReadOptions::default()).unwrap();
        while let Some(access) = source.next() {
            let access = access.unwrap();
            plant.access(&access);
            cache.access(&access);
        }
        let counts = plant.counts(0);
        let ratio = counts.misses as f64 / counts.gets as f64;
        let simulated = cache.stats().miss_ratio();
        assert!((ratio - simulated).abs() < band, "{evictor}: {ratio} {simulated}");
    }
}

/// Nothing is evicted while there is room, whatever the budgets. Then the pool above its budget
/// evicts first.
#[test]
fn budgets_bind_only_when_memory_is_full() {
    let tenants = [Bounds::none("a"), Bounds::none("b")];
    let mut plant = SampledPlant::new(Bytes(100), &tenants, 1);
    let pool = |tenant, budget| PoolStep {
        tenants: vec![tenant],
        class: None,
        budget: Bytes(budget),
        evictor: Evictor::klru(5),
        filter: Filter::NONE,
    };
    plant.apply(&Step { pools: vec![pool(0, 30), pool(1, 70)], prices: vec![] });
    fill(&mut plant, 0, 100);
    assert_eq!(plant.used_by(0), Bytes(100));
    fill(&mut plant, 1, 1000);
    assert_eq!((plant.used_by(0), plant.used_by(1)), (Bytes(30), Bytes(70)));
}

#[test]
fn bounds_of_tenants_hold_in_a_shared_pool() {
    let tenants = [
        Bounds { min: Bytes(40), ..Bounds::none("safe") },
        Bounds { max: Some(Bytes(10)), ..Bounds::none("small") },
        Bounds::none("greedy"),
    ];
    let mut plant = SampledPlant::new(Bytes(100), &tenants, 1);
    fill(&mut plant, 0, 60);
    for key in 0..1000 {
        plant.access(&get(1, key, 1));
        plant.access(&get(2, key, 1));
        assert!(plant.used() <= Bytes(100) && plant.used_by(1) <= Bytes(10));
    }
    assert!(plant.used_by(0) >= Bytes(40), "{}", plant.used_by(0));
}

/// A trace may state any time to live and any penalty. A moment beyond the largest time means for
/// ever.
#[test]
fn what_lasts_beyond_all_time_lasts() {
    let mut plant = SampledPlant::new(Bytes(100), &[Bounds::none("a")], 1);
    let (ttl, penalty) = (Micros(u64::MAX), Micros(u64::MAX - 5));
    let write = Access { op: Op::Set, ttl, time: Micros(10), ..get(0, 1, 1) };
    plant.access(&write);
    let read = Access { penalty, time: Micros(1 << 60), ..get(0, 1, 1) };
    assert_eq!(plant.access(&read), Outcome::Hit);
    let others = [get(0, 2, 1), get(0, 3, 1)];
    for other in others {
        assert_eq!(plant.access(&Access { key: other.key, ..read }), Outcome::Miss);
    }
    assert_eq!(plant.counts(0).waited, Micros(u64::MAX));
}

/// Dumped items come back, within the limit, unless they were written or removed meanwhile.
#[test]
fn the_disk_is_older_than_any_write() {
    let mut plant = SampledPlant::new(Bytes(100), &[Bounds::none("a"), Bounds::none("b")], 1);
    fill(&mut plant, 0, 100);
    plant.dump(0);
    plant.access(&Access::delete(base::hash::mix(1)));
    plant.access(&Access { op: Op::Set, size: 2.into(), ..get(0, 2, 2) });
    fill(&mut plant, 1, 1_000);
    assert!(plant.used_by(0) < Bytes(20), "{}", plant.used_by(0));
    while plant.load(Bytes(10)) {}
    assert!(plant.used() <= Bytes(100) && plant.used_by(0) > Bytes(40));
    let has = |plant: &SampledPlant, key| plant.members[0].item(base::hash::mix(key)).copied();
    assert!(has(&plant, 1).is_none(), "it was removed");
    assert!(has(&plant, 2).is_none_or(|item| item.size == 2), "it was written");
}

/// A class is a pool like any other: it keeps its budget and evicts what is above, whichever tenant
/// owns the items. A key whose fill takes longer than before belongs to another class from then on.
#[test]
fn classes_of_penalties_are_pools() {
    let tenants = [Bounds::none("a"), Bounds::none("b")];
    let mut plant = SampledPlant::new(Bytes(100), &tenants, 1);
    let pool = |class, budget| PoolStep {
        tenants: vec![0, 1],
        class: Some(class),
        budget: Bytes(budget),
        evictor: Evictor::klru(5),
        filter: Filter::ALL,
    };
    plant.apply(&Step { pools: vec![pool(0, 0), pool(4, 30), pool(7, 70)], prices: vec![] });
    let read = |plant: &mut SampledPlant, tenant, key, penalty| {
        plant.access(&Access { penalty: Micros(penalty), ..get(tenant, key, 1) })
    };
    for key in 0..1_000 {
        read(&mut plant, (key % 2) as TenantId, key, 120);
        read(&mut plant, (key % 3 % 2) as TenantId, 10_000 + key, 1_000);
    }
    let of = |plant: &mut SampledPlant, class| {
        let reading = plant.read();
        let parts = || reading.tenants.iter().map(|tenant| tenant.part(Some(class)));
        let misses: u64 = parts().map(|part| part.misses).sum();
        (parts().map(|part| part.used).sum::<Bytes>(), misses)
    };
    assert_eq!(of(&mut plant, 4), (Bytes(30), 1_000));
    assert_eq!(of(&mut plant, 7), (Bytes(70), 1_000));
    // The newest item is resident: a hit keeps its class, and a new fetch changes it.
    assert_eq!(read(&mut plant, 1, 999, 1_000), Outcome::Hit);
    assert_eq!(of(&mut plant, 7).1, 1_000);
    plant.access(&Access { tenant: 1, ..Access::delete(base::hash::mix(999)) });
    assert_eq!(read(&mut plant, 1, 999, 1_000), Outcome::Miss);
    // One slow fetch is not yet the new class, but it is no longer the old one.
    assert_eq!((of(&mut plant, 7).1, of(&mut plant, 5).1), (1_000, 1));
    // The hint counts, not the measurement.
    let hinted = Access { penalty: Micros(1_000), ..get(0, 77_777, 1) };
    plant.access_with_hint(&hinted, Some(4));
    assert_eq!(of(&mut plant, 4).1, 1_001);
}

#[test]
fn samples_say_what_happened() {
    let mut plant = SampledPlant::new(Bytes(100), &[Bounds::none("a")], 1);
    let step = PoolStep {
        tenants: vec![0],
        class: None,
        budget: Bytes(100),
        evictor: Evictor::klru(5),
        filter: Filter::ALL,
    };
    plant.apply(&Step { pools: vec![step], prices: vec![] });
    let miss = Access { penalty: Micros(500), time: Micros(10), ..get(0, 1, 7) };
    assert_eq!(plant.access(&miss), Outcome::Miss);
    assert_eq!(plant.access(&Access { time: Micros(600), ..miss }), Outcome::Hit);
    let reading = plant.read();
    let seen: Vec<_> = reading.samples.iter().map(|s| (s.sighting, s.time.0, s.size)).collect();
    let expected = [(Sighting::Miss, 10, 0), (Sighting::Write, 510, 7), (Sighting::Hit, 600, 7)];
    assert_eq!(seen, expected);
    assert_eq!(reading.tenants[0].penalty, Some(Micros(500)));
    assert!(plant.read().samples.is_empty());
}
