//! A pilot after a restart continues where the last one ended.

use base::{Bytes, Micros, Prng, Sample, Sighting, hash::mix};
use tune::{Part, Pilot, Plant, PoolStep, Reading, Step, TenantReading, recipe};

const LOOK: Micros = Micros::from_millis(100);
const READS: u64 = 400;

/// Two tenants: one reads 20 000 random keys, one 4 000.
struct Two {
    now: Micros,
    prng: Prng,
    gets: [u64; 2],
    pools: Vec<PoolStep>,
}

impl Two {
    fn new() -> Self {
        Self { now: Micros(0), prng: Prng::new(3), gets: [0; 2], pools: vec![] }
    }

    fn run(&mut self, pilot: &mut Pilot, seconds: u64) {
        for _ in 0..seconds * 10 {
            pilot.tick(self);
        }
    }

    fn division(&self) -> Vec<(u64, u8)> {
        self.pools.iter().map(|pool| (pool.budget.0, pool.evictor.k)).collect()
    }
}

impl Plant for Two {
    fn read(&mut self) -> Reading {
        let mut samples = vec![];
        for (tenant, keys) in [(0u16, 20_000), (1, 4_000)] {
            for _ in 0..READS {
                let key = mix(u64::from(tenant) << 32 | self.prng.below(keys));
                let pool = self.pools.get(usize::from(tenant));
                if pool.is_some_and(|pool| pool.filter.keeps(key)) {
                    let (time, sighting) = (self.now, Sighting::Hit);
                    let (ttl, penalty) = (Micros(0), Micros(0));
                    samples.push(Sample { time, key, tenant, sighting, size: 100, ttl, penalty });
                }
            }
            self.gets[usize::from(tenant)] += READS;
        }
        self.now += LOOK;
        let tenant = |id: u16| TenantReading {
            id,
            name: ["wide", "narrow"][usize::from(id)].to_owned(),
            gets: self.gets[usize::from(id)],
            weight: 1.0,
            ..TenantReading::default()
        };
        let tenants = vec![tenant(0), tenant(1)];
        Reading { now: self.now, limit: Bytes(1_000_000), tenants, samples, ..Reading::default() }
    }

    fn apply(&mut self, step: &Step) {
        self.pools.clone_from(&step.pools);
    }
}

#[test]
fn it_goes_on_with_what_was_known() {
    let recipe = recipe::parse("kredis").unwrap();
    let (mut plant, mut pilot) = (Two::new(), Pilot::new(recipe, 1));
    plant.run(&mut pilot, 240);
    let mut known = pilot.known();
    assert!(known.pools.iter().all(|pool| pool.curves.len() == 4), "nothing was learned");
    // A division with which no pilot begins.
    (known.pools[0].budget, known.pools[1].budget) = (900_000, 100_000);
    known.pools[1].evictor = "klru:k=16".to_owned();
    for pool in &mut known.pools {
        pool.goal = None;
    }

    let (mut plant, mut next) = (Two::new(), Pilot::new(recipe, 1));
    next.recall(known.clone());
    next.tick(&mut plant);
    let division = plant.division();
    assert!(division[0].0.abs_diff(900_000) < 10_000, "{division:?}");
    assert!(division[1].0.abs_diff(100_000) < 10_000 && division[1].1 == 16, "{division:?}");
    for (tenant, pool) in known.pools.iter().enumerate() {
        let curves = next.curves(tenant as u16);
        assert_eq!(curves.len(), pool.curves.len());
        assert_eq!(curves[0].curve, pilot.curves(tenant as u16)[0].curve);
    }
    // In the end the new models' curves replace the old ones.
    plant.run(&mut next, 300);
    assert_ne!(next.curves(0)[0].curve, pilot.curves(0)[0].curve);
}

/// The models receive the memory of the last ones: they have its keys at once, and their curves are
/// not those of a new model.
#[test]
fn the_models_go_on() {
    let recipe = recipe::parse("kredis").unwrap();
    let (mut plant, mut pilot) = (Two::new(), Pilot::new(recipe, 1));
    plant.run(&mut pilot, 240);
    let known = pilot.known();
    let keys = |known: &tune::Known| -> Vec<usize> {
        let models = known.pools.iter().filter_map(|pool| pool.models.as_ref());
        models.map(|(_, all)| all[0].objects.len()).collect()
    };
    let before = keys(&known);
    assert!(before.len() == 2 && before.iter().all(|&keys| keys > 200), "{before:?}");
    let mut next = Pilot::new(recipe, 1);
    next.recall(known);
    plant.run(&mut next, 10);
    let after = keys(&next.known());
    assert!(after.iter().zip(&before).all(|(after, before)| after >= before), "{after:?}");
    for tenant in 0..2 {
        let (old, new) = (&pilot.curves(tenant)[0].curve, &next.curves(tenant)[0].curve);
        assert_ne!(old, new, "the models speak after an epoch or two");
        for size in (1..20).map(|at| Bytes(at * 50_000)) {
            assert!((old.at(size).0 - new.at(size).0).abs() < 0.05, "{tenant} {size}");
        }
    }
}

/// An interval cut by a restart is one interval, with the misses of both parts.
#[test]
fn an_interval_goes_on() {
    let recipe = recipe::parse("dlru:interval=40000:rate=0.25:keep=0").unwrap();
    let (mut plant, mut pilot) = (Two::new(), Pilot::new(recipe, 1));
    // 800 reads a look: two and a half epochs.
    (0..126).for_each(|_| _ = pilot.tick(&mut plant));
    pilot.end(&mut plant);
    let known = pilot.known();
    assert_eq!((known.epoch, known.pools.len()), (2, 1));
    assert!(known.reads > 19_000 && known.reads < 22_000, "{}", known.reads);
    let (_, models) = known.pools[0].models.as_ref().unwrap();
    let missed = |model: &curve::Remembered| model.missed.iter().sum::<f64>();
    assert!(models.len() == 5 && models.iter().all(|model| missed(model) > 500.0));
    assert!(models.iter().all(|model| model.objects.len() > 1_000), "as many fit");
    let (mut plant, mut next) = (Two::new(), Pilot::new(recipe, 1));
    next.recall(known.clone());
    let ends = (1..100).find(|_| next.tick(&mut plant)).unwrap();
    let looks = (40_000 - known.reads) / 800;
    assert!((looks..looks + 3).contains(&ends), "{ends} looks, not {looks}");
    let groups = next.curves(0)[0].groups.unwrap().iter().sum::<f64>();
    let first = pilot.curves(0)[0].groups.unwrap().iter().sum::<f64>();
    assert!((groups / first - 1.0).abs() < 0.3, "{groups} misses, {first} in the interval before");
}

#[test]
fn another_recipe_begins_anew() {
    let mut pilot = Pilot::new(recipe::parse("kredis").unwrap(), 1);
    let (mut plant, mut next) = (Two::new(), Pilot::new(recipe::parse("predis").unwrap(), 1));
    plant.run(&mut pilot, 20);
    next.recall(pilot.known());
    next.tick(&mut plant);
    assert!(next.curves(0).is_empty());
}

/// A cache whose items return step by step: the number counts the penalty classes present.
struct Returning(usize, Vec<PoolStep>);

const CLASSES: [u8; 3] = [4, 7, 9];

impl Plant for Returning {
    fn read(&mut self) -> Reading {
        let part = |&class: &u8| Part { class, used: Bytes(100_000), ..Part::default() };
        let classes: Vec<_> = CLASSES[..self.0].iter().map(part).collect();
        let used = classes.iter().map(|part| part.used).sum();
        let tenant = TenantReading { used, weight: 1.0, classes, ..TenantReading::default() };
        Reading { limit: Bytes(1_000_000), tenants: vec![tenant], ..Reading::default() }
    }

    fn apply(&mut self, step: &Step) {
        self.1.clone_from(&step.pools);
    }
}

/// Classes that return after others get their earlier memory, and the others keep theirs.
#[test]
fn pools_may_come_back_one_by_one() {
    let recipe = recipe::parse("predis").unwrap();
    let mut pilot = Pilot::new(recipe, 1);
    pilot.tick(&mut Returning(3, vec![]));
    let mut known = pilot.known();
    let had = [50_000, 500_000, 350_000, 100_000];
    for (pool, budget) in known.pools.iter_mut().zip(had) {
        pool.budget = budget;
    }
    let (mut plant, mut next) = (Returning(0, vec![]), Pilot::new(recipe, 1));
    next.recall(known);
    for there in 0..=3 {
        plant.0 = there;
        next.tick(&mut plant);
        assert_eq!(plant.1.len(), 1 + there);
    }
    for (pool, had) in plant.1.iter().zip(had) {
        assert!(pool.budget.0.abs_diff(had) < 1_000, "{:?}", plant.1);
    }
}
