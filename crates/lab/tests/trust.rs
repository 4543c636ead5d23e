//! A pilot with deceived models: their forecasts do not come true, and the pilot goes back to the
//! last division that kept its word.
//!
//! Two tenants have the same load, and each is due half of the memory. Then the samples of one are
//! falsified: all its requests seem to be for a few keys, for which hardly any memory is enough.

use base::hash::mix;
use base::{Access, Bytes, Micros, Prng, Sample};
use lab::plant::{Bounds, SampledPlant, SimulatedStore};
use tune::pilot::Decision;
use tune::{Pilot, Plant, Reading, Step, recipe};

const KEYS: u64 = 20_000;
const SIZE: u32 = 100;
const TICK: Micros = Micros::from_millis(100);

/// A plant that can falsify the samples of the first tenant.
struct Deceiver {
    plant: SampledPlant,
    is_lying: bool,
    shown: Vec<u64>,
}

impl Deceiver {
    fn falsify(&mut self, sample: &mut Sample) {
        if self.shown.len() < 40 && !self.shown.contains(&sample.key) {
            self.shown.push(sample.key);
        }
        if self.is_lying {
            sample.key = self.shown[(mix(sample.key) % self.shown.len() as u64) as usize];
        }
    }
}

impl Plant for Deceiver {
    fn read(&mut self) -> Reading {
        let mut reading = self.plant.read();
        for sample in reading.samples.iter_mut().filter(|sample| sample.tenant == 0) {
            self.falsify(sample);
        }
        reading
    }

    fn apply(&mut self, step: &Step) {
        self.plant.apply(step);
    }
}

/// Runs the pilot for some seconds, with falsified samples from second `lies_from` on. Returns the
/// pilot, and the share of the deceived tenant in each epoch.
fn run(seconds: u64, lies_from: u64) -> (Pilot, Vec<f64>) {
    let tenants = [Bounds::none("deceived"), Bounds::none("other")];
    let limit = Bytes(KEYS * u64::from(SIZE));
    let plant = SampledPlant::new(limit, &tenants, 1);
    let mut plant = Deceiver { plant, is_lying: false, shown: vec![] };
    let mut pilot = Pilot::new(recipe::parse("kredis").unwrap(), 1);
    let (mut prng, mut tick, mut shares) = (Prng::new(1), Micros(0), vec![]);
    for at in 0..seconds * 8_000 {
        let time = Micros(at * 125);
        if time >= tick {
            plant.is_lying = time >= Micros::from_secs(lies_from);
            plant.plant.advance(tick);
            if pilot.tick(&mut plant) {
                let own = plant.plant.pools().next().map_or(Bytes(0), |pool| pool.budget);
                shares.push(own.as_f64() / limit.as_f64());
            }
            tick += TICK;
        }
        let tenant = (at % 2) as u16;
        let key = mix(prng.below(KEYS) + KEYS * u64::from(tenant));
        let access = Access { tenant, time, penalty: Micros(1_000), ..Access::get(key, SIZE) };
        plant.plant.access(&access);
    }
    (pilot, shares)
}

#[test]
fn a_plan_that_breaks_its_word_is_given_up() {
    let (pilot, shares) = run(100, 30);
    let history = pilot.history();
    let fell = history.iter().position(|epoch| epoch.decision == Decision::FellBack);
    let fell = fell.unwrap_or_else(|| panic!("it never fell back: {shares:.2?}"));
    assert!(fell > 30, "{fell}: before there was anything wrong");
    let (before, worst) = (shares[28], shares[fell - 1]);
    assert!((before - 0.5).abs() < 0.15 && worst < before - 0.1, "{before} {worst}");
    // The last epoch shows the error, and the pilot goes back to the division whose forecasts came
    // true.
    let last = &history[fell - 1];
    let (forecast, outcome) = (last.forecast.unwrap(), last.outcome.unwrap());
    assert!(outcome > forecast + last.band.unwrap(), "{last:?}");
    let back = shares[fell..fell + 11].iter().copied().fold(0.0, f64::max);
    assert!((back - before).abs() < 0.1, "{back} after {worst}, {before} before");
    // There is no new plan while the pilot rests.
    let rest = history.iter().skip(fell + 1).take(11);
    assert!(rest.clone().all(|epoch| epoch.decision == Decision::Cooling));
    let json = serde_json::to_value(pilot.status()).unwrap();
    assert_eq!(json["history"][fell]["decision"], "fell_back");
}

/// Without falsified samples, no plan is given up.
#[test]
fn a_plan_that_keeps_its_word_stays() {
    let (pilot, _) = run(60, 1_000);
    let fell = |epoch: &tune::pilot::Epoch| epoch.decision == Decision::FellBack;
    assert!(!pilot.history().iter().any(fell));
}
