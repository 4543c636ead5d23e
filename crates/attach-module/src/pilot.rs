//! The thread of the pilot: it reads the looks of the server's thread, and publishes steps. It
//! never calls the server. So the server does not wait for it, and goes on as before without it.

use crate::exchange::{Exchange, Look, PilotResults, Seen};
use crate::facts::{Recorder, report};
use crate::learn::{self, Learning};
use crate::proposal;
use base::{Filter, Micros, Sample};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tune::{Pilot, Plant, Reading, Step};

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// Memory that the models may use, as a divisor of the limit. With all its other memory, the module
/// uses about a hundredth of 70 MB.
const MODELS: u64 = 160;

/// Memory of the models where keys are ranked: they only judge the rank, and what the rank learns
/// takes as much.
const MODELS_OF_A_RANK: u64 = 400;

/// Minimum number of keys that the models of a pool watch, even beyond the limit of [`MODELS`]. The
/// memory is taken from the keys of clients. With half as many keys no curve is drawn.
const KEYS_MIN: usize = 512;

/// Seed of the models, so that the sample is the same in every run.
const SEED: u64 = 1;

/// The server, as the pilot sees and sets it.
struct Attached<'a> {
    exchange: &'a Exchange,
    look: &'a Look,
    now: Micros,
    samples: Vec<Sample>,
    /// Memory of the models, as a divisor of the limit.
    models: u64,
    step: &'a mut Option<Step>,
}

impl Plant for Attached<'_> {
    fn read(&mut self) -> Reading {
        Reading {
            now: self.now,
            limit: self.look.limit,
            model_memory: Some(base::Bytes(self.look.server.limit / self.models)),
            model_keys_min: Some(KEYS_MIN),
            tenants: self.look.tenants.clone(),
            samples: std::mem::take(&mut self.samples),
            dropped: self.exchange.dropped.load(Relaxed),
            goals: self.look.goals.clone(),
            ..Reading::default()
        }
    }

    fn apply(&mut self, step: &Step) {
        *self.step = Some(step.clone());
        self.exchange.ask(Some(step.clone()));
    }
}

/// Starts the thread of the pilot.
///
/// # Errors
/// The system starts no thread.
pub(crate) fn start(exchange: Arc<Exchange>) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("larder-pilot".to_owned()).spawn(move || {
        let run = std::panic::AssertUnwindSafe(|| run(&exchange));
        if std::panic::catch_unwind(run).is_err() {
            exchange.broken.store(true, Relaxed);
            exchange.ask(None);
        }
    })
}

/// The samples that the models of a step ask for: the rank learns from more keys.
fn samples_of(seen: &[Seen], step: Option<&Step>) -> Vec<Sample> {
    let is_of = |sample: &Sample| {
        let mut pools = step.iter().flat_map(|step| &step.pools);
        pools.any(|pool| pool.tenants.contains(&sample.tenant) && pool.filter.keeps(sample.key))
    };
    let live = seen.iter().filter(|seen| !seen.is_expiry);
    live.map(|seen| seen.sample).filter(is_of).collect()
}

/// Narrows the filters of a step to the widest that the models use now, for they watch fewer keys
/// as they meet more. Returns whether any was wider.
fn narrow(step: &mut Step, widest: f64) -> bool {
    let widest = Filter::with_rate(widest);
    let mut is_narrower = false;
    for pool in &mut step.pools {
        if pool.filter.threshold() > widest.threshold() {
            (pool.filter, is_narrower) = (widest, true);
        }
    }
    is_narrower
}

fn run(exchange: &Exchange) {
    let started = Instant::now();
    let mut flown: Option<(u64, Pilot, Option<Learning>)> = None;
    let mut step = None;
    let mut recorder = Recorder::default();
    while !exchange.stop.load(Relaxed) {
        std::thread::park_timeout(LOOK);
        let look = exchange.look();
        let Some(recipe) = look.recipe else { continue };
        if flown.as_ref().is_none_or(|(generation, ..)| *generation != look.generation) {
            step = None;
            exchange.ask(None);
            exchange.teach(None, Filter::NONE);
            let learning = learn::ranks(&recipe).then(|| Learning::new(&recipe));
            flown = Some((look.generation, Pilot::new(recipe, SEED), learning));
        }
        let now = Micros(started.elapsed().as_micros() as u64);
        let mut ended = false;
        let seen = exchange.samples();
        let (pilot, learning) = match &mut flown {
            Some((_, pilot, learning)) => (Some(pilot), learning.as_mut()),
            None => (None, None),
        };
        let (watched, learning) = learning.map_or((0, 0), |learning| {
            learning.take(&seen, &look, now);
            let rank = learning.look(&look, step.as_ref());
            let keys = look.tenants.iter().map(|tenant| tenant.items).sum();
            exchange.teach(rank, learning.filter(keys));
            (learning.watched(), learning.bytes())
        });
        let samples = samples_of(&seen, step.as_ref());
        let pilot = pilot.filter(|_| recipe.steers()).map(|pilot| {
            pilot.only_watch(!look.acts);
            let models = if learn::ranks(&recipe) { MODELS_OF_A_RANK } else { MODELS };
            let mut attached =
                Attached { exchange, look: &look, now, samples, models, step: &mut step };
            ended = pilot.tick(&mut attached);
            if !look.acts && learn::ranks(&recipe) {
                // The miniatures behind the claim; acting needs none.
                pilot.play(Micros(0));
            }
            &*pilot
        });
        if let (true, Some(pilot), Some(step)) = (ended, pilot, &mut step)
            && narrow(step, pilot.status().rate)
        {
            exchange.ask(Some(step.clone()));
        }
        if recorder.look(exchange, &look, pilot, step.as_ref()) || ended {
            let tenants = 0..look.tenants.len();
            let curves =
                |pilot: &Pilot| tenants.map(|at| pilot.curves(at as u16).to_vec()).collect();
            let curves: Vec<_> = pilot.map_or_else(Vec::new, curves);
            let report = report(exchange, &look, pilot, step.as_ref(), &curves, now);
            exchange.show(PilotResults {
                claim: pilot.and_then(|pilot| proposal::claim(&report, &look, pilot)),
                report,
                status: pilot.map(Pilot::status),
                step: step.clone(),
                names: look.tenants.iter().map(|tenant| tenant.name.clone()).collect(),
                state: look.state,
                work: look.work,
                watched,
                learning,
            });
        }
    }
}
