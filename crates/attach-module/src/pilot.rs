//! The thread of the pilot: it reads the looks of the server's thread, and publishes steps. It
//! never calls the server. So the server does not wait for it, and goes on as before without it.

use crate::exchange::{Exchange, Look, PilotResults};
use crate::facts::{Recorder, report};
use base::Micros;
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
    step: &'a mut Option<Step>,
}

impl Plant for Attached<'_> {
    fn read(&mut self) -> Reading {
        Reading {
            now: self.now,
            limit: self.look.limit,
            model_memory: Some(base::Bytes(self.look.server.limit / MODELS)),
            model_keys_min: Some(KEYS_MIN),
            tenants: self.look.tenants.clone(),
            samples: self.exchange.samples(),
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

fn run(exchange: &Exchange) {
    let started = Instant::now();
    let mut flown: Option<(u64, Pilot)> = None;
    let mut step = None;
    let mut recorder = Recorder::default();
    while !exchange.stop.load(Relaxed) {
        std::thread::park_timeout(LOOK);
        let look = exchange.look();
        let Some(recipe) = look.recipe else { continue };
        if flown.as_ref().is_none_or(|(generation, _)| *generation != look.generation) {
            step = None;
            exchange.ask(None);
            flown = Some((look.generation, Pilot::new(recipe, SEED)));
        }
        let now = Micros(started.elapsed().as_micros() as u64);
        let mut ended = false;
        let steers = recipe.steers();
        let pilot = flown.as_mut().map(|(_, pilot)| pilot).filter(|_| steers);
        let pilot = pilot.map(|pilot| {
            pilot.only_watch(!look.acts);
            ended = pilot.tick(&mut Attached { exchange, look: &look, now, step: &mut step });
            &*pilot
        });
        if recorder.look(exchange, &look, pilot, step.as_ref()) || ended {
            let tenants = 0..look.tenants.len();
            let curves =
                |pilot: &Pilot| tenants.map(|at| pilot.curves(at as u16).to_vec()).collect();
            let curves: Vec<_> = pilot.map_or_else(Vec::new, curves);
            exchange.show(PilotResults {
                report: report(exchange, &look, pilot, step.as_ref(), &curves, now),
                status: pilot.map(Pilot::status),
                step: step.clone(),
                names: look.tenants.iter().map(|tenant| tenant.name.clone()).collect(),
                state: look.state,
            });
        }
    }
}
