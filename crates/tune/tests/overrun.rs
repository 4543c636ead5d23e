//! The pilot samples no more than its models need, however the load changes.

use base::{Bytes, Filter, Micros, Sample, Sighting, hash::mix};
use tune::{Pilot, Plant, Reading, Step, TenantReading, recipe};

const LOOK: Micros = Micros::from_millis(100);

/// The keys that the tenant reads one after the other, where a test needs no others.
const KEYS: u64 = 8_000;

/// One tenant whose reads all hit.
struct Reads {
    now: Micros,
    keys: u64,
    gets: u64,
    filter: Filter,
    per_s: u64,
    /// Samples of the last look.
    sampled: usize,
}

impl Plant for Reads {
    fn read(&mut self) -> Reading {
        let reads = self.per_s * LOOK.0 / 1_000_000;
        let keys = (self.gets..self.gets + reads).map(|at| mix(at % self.keys));
        let keys = keys.filter(|&key| self.filter.keeps(key));
        let time = self.now;
        let sample = |key| Sample {
            time,
            key,
            tenant: 0,
            sighting: Sighting::Hit,
            size: 100,
            ttl: Micros(0),
            penalty: Micros(0),
        };
        let samples: Vec<_> = keys.map(sample).collect();
        self.gets += reads;
        self.now += LOOK;
        self.sampled = samples.len();
        let tenant = TenantReading { gets: self.gets, weight: 1.0, ..TenantReading::default() };
        Reading {
            now: self.now,
            limit: Bytes(1 << 30),
            tenants: vec![tenant],
            samples,
            ..Reading::default()
        }
    }

    fn apply(&mut self, step: &Step) {
        self.filter = step.pools[0].filter;
    }
}

impl Reads {
    const fn of(keys: u64) -> Self {
        Self { now: Micros(0), keys, gets: 0, filter: Filter::NONE, per_s: 0, sampled: 0 }
    }

    /// Runs the pilot for some seconds. Returns the samples of each look.
    fn run(&mut self, pilot: &mut Pilot, per_s: u64, seconds: u64) -> Vec<usize> {
        self.per_s = per_s;
        let looks = 0..seconds * 1_000_000 / LOOK.0;
        let look = |_| {
            pilot.tick(self);
            self.sampled
        };
        looks.map(look).collect()
    }
}

#[test]
fn a_burst_is_sampled_for_what_it_is_within_a_look() {
    let mut pilot = Pilot::new(recipe::parse("kredis").unwrap(), 1);
    let mut reads = Reads::of(KEYS);
    reads.run(&mut pilot, 1_000, 60);
    assert!(reads.filter.rate() > 0.5, "there is time to look at nearly everything");
    let burst = reads.run(&mut pilot, 1_000_000, 5);
    let budget = 2_000 / 10;
    assert!(burst[0] > 50 * budget, "no burst: {burst:?}");
    assert!(burst[2..].iter().all(|&samples| samples < 3 * budget), "{burst:?}");
    assert!(burst[20..].iter().all(|&samples| samples > budget / 8), "{burst:?}");
}

#[test]
fn a_lull_is_no_reason_to_sample_more() {
    let mut pilot = Pilot::new(recipe::parse("kredis").unwrap(), 1);
    let mut reads = Reads::of(KEYS);
    reads.run(&mut pilot, 500_000, 30);
    let busy = reads.filter.rate();
    for _ in 0..5 {
        reads.run(&mut pilot, 0, 20);
        reads.run(&mut pilot, 1, 20);
        assert_eq!(reads.filter.rate(), busy);
    }
    reads.run(&mut pilot, 100, 600);
    assert!(reads.filter.rate() > 10.0 * busy, "after ten quiet minutes all can be looked at");
}

/// Models keep their number of keys by watching a smaller share of them. A plant that goes on
/// sampling the share of the beginning does so in vain.
#[test]
fn a_plant_samples_no_more_keys_than_the_models_watch() {
    let mut pilot = Pilot::new(recipe::parse("auto").unwrap(), 1);
    let mut reads = Reads::of(200_000);
    reads.run(&mut pilot, 2_000, 100);
    let watched = pilot.status().rate;
    assert!(watched < 0.25, "the models narrowed nothing: {watched}");
    assert!(reads.filter.rate() < 1.2 * watched, "{} for {watched}", reads.filter.rate());
}
