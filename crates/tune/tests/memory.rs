//! Models stay within the memory that they are given, for any recipe.

use base::{Bytes, Filter, Micros, Sample, Sighting, hash::mix};
use tune::plant::Part;
use tune::{Pilot, Plant, Reading, Recipe, Step, TenantReading, recipe};

const LOOK: Micros = Micros::from_millis(100);
const READS_OF_A_LOOK: u64 = 250;
const KEYS: u64 = 80_000;

/// Penalties in microseconds, chosen by the key.
const PENALTIES: [u64; 5] = [5, 150, 700, 3_000, 20_000];

/// Two tenants whose reads miss and are filled, as in a cache without a size limit.
struct Fills {
    now: Micros,
    at: u64,
    memory: Option<Bytes>,
    keys_min: Option<usize>,
    filters: [Filter; 2],
}

impl Plant for Fills {
    fn read(&mut self) -> Reading {
        let mut samples = vec![];
        for at in self.at..self.at + READS_OF_A_LOOK {
            let (name, tenant) = (mix(at) % KEYS, (at % 2) as u16);
            let key = mix(name);
            if self.filters[usize::from(tenant)].keeps(key) {
                let penalty = Micros(PENALTIES[(name % 5) as usize]);
                let miss = Sample {
                    time: self.now,
                    key,
                    tenant,
                    sighting: Sighting::Miss,
                    size: 500,
                    ttl: Micros(0),
                    penalty: Micros(0),
                };
                samples.extend([miss, Sample { sighting: Sighting::Write, penalty, ..miss }]);
            }
        }
        self.at += READS_OF_A_LOOK;
        self.now += LOOK;
        let gets = self.at / 2;
        let part = |class| Part { class, gets: gets / 5, sets: gets / 5, ..Part::default() };
        let tenant = |id| TenantReading {
            id,
            name: format!("tenant{id}"),
            gets,
            sets: gets,
            weight: 1.0,
            classes: PENALTIES.map(|cost| part(base::penalty::class_of(Micros(cost)))).into(),
            ..TenantReading::default()
        };
        Reading {
            now: self.now,
            limit: Bytes(16 << 20),
            model_memory: self.memory,
            model_keys_min: self.keys_min,
            tenants: [0, 1].map(tenant).into(),
            samples,
            ..Reading::default()
        }
    }

    fn apply(&mut self, step: &Step) {
        self.filters = [Filter::NONE; 2];
        for pool in &step.pools {
            for &tenant in &pool.tenants {
                let widest = &mut self.filters[usize::from(tenant)];
                if pool.filter.threshold() > widest.threshold() {
                    *widest = pool.filter;
                }
            }
        }
    }
}

/// Keys of a pool that are watched at least.
const WATCHED: u64 = 4_096;

/// A model of ages keeps histograms beside its keys.
const HISTOGRAMS: u64 = 300 << 10;

/// Bytes of the keys remembered for the causes of misses, at the bound of this test.
const CAUSES: u64 = 160 << 10;

/// Bytes of the tape from which a division of memory is compared with one pool, and of its copy
/// while that is played, at the bound of this test.
const TAPE: u64 = 1 << 20;

/// Bytes of models and observer after two minutes.
fn taken(recipe: Recipe, memory: Option<Bytes>, keys_min: Option<usize>) -> (Bytes, Pilot) {
    let mut pilot = Pilot::new(recipe, 1);
    let filters = [Filter::NONE; 2];
    let mut fills = Fills { now: Micros(0), at: 0, memory, keys_min, filters };
    for _ in 0..1_200 {
        pilot.tick(&mut fills);
    }
    let status = pilot.status();
    (status.model_bytes + status.observer_bytes, pilot)
}

/// For each recipe, models without a limit take as much memory as helps. With a limit they stay
/// within it, or within the need of some thousands of keys a pool, and still have curves.
#[test]
fn models_keep_to_their_memory() {
    for text in ["kredis", "kredis:model=kaet", "kredis:k=5", "predis", "predis:model=krr"] {
        let recipe = recipe::parse(text).unwrap();
        let (free, _) = taken(recipe, None, None);
        let (bounded, pilot) = taken(recipe, Some(Bytes(1 << 20)), None);
        let pools = &pilot.history().back().unwrap().pools;
        let models = (pools.len() * recipe.evictors.len()) as u64;
        let of_ages = recipe.model.is_some_and(|model| model != "krr");
        let least = WATCHED * pools.len() as u64 * (90 + 100 * recipe.evictors.len() as u64);
        let given = Bytes(CAUSES + TAPE + least + if of_ages { models * HISTOGRAMS } else { 0 });
        println!("{text}: {bounded} of {given}, {free} without a bound");
        assert!(bounded < given, "{text}: {bounded} of {given}");
        assert!(free.0 > bounded.0 / 4 * 5, "{text}: {free} without a bound");
        let known = pools.iter().filter(|pool| pool.forecast.is_some()).count();
        assert!(known >= 2, "{text}: {known} pools have a forecast");
    }
}

/// If the plant accepts fewer keys, models stay within their memory, and have curves.
#[test]
fn a_plant_may_be_content_with_fewer_keys() {
    let recipe = recipe::parse("kredis").unwrap();
    let (bounded, pilot) = taken(recipe, Some(Bytes(640 << 10)), Some(512));
    let given = Bytes(CAUSES + (640 << 10));
    println!("{bounded} of {given}");
    assert!(bounded <= given, "{bounded} of {given}");
    let pools = &pilot.history().back().unwrap().pools;
    assert!(pools.iter().all(|pool| pool.forecast.is_some()));
}
