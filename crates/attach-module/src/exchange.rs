//! Exchange of samples, looks and steps between the server's thread and the pilot's thread.
//!
//! ```text
//!   server's thread                                     pilot's thread
//!   filter ── samples, through a bounded queue ───────▶ Plant::read
//!   cron   ── what there is to see, ten times a second ▶
//!   cron   ◀─ the step in force ─────────────────────── Plant::apply
//!   LARDER.*, INFO ◀─ what there is to show ─────────── once an epoch, and once a second
//! ```
//!
//! The server's thread never waits for the pilot. A full queue drops samples, and a locked look or
//! step is skipped until the next time. The pilot holds a lock only to copy.

use base::{Bytes, Sample};
use report::{History, Report};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tune::pilot::Status;
use tune::{Goal, Recipe, Step, TenantReading};

/// Maximum number of samples that wait for the pilot. They cover half a second at the rate of the
/// models. Before the pilot knows the load, they are three times the samples of a tenth of a
/// second.
const SAMPLES_MAX: usize = 2_048;

/// A look at the server by its own thread, for the pilot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Look {
    /// Increases with every change of tenants or recipe.
    pub(crate) generation: u64,
    pub(crate) recipe: Option<Recipe>,
    /// The part of `maxmemory` that is divided among tenants.
    pub(crate) limit: Bytes,
    pub(crate) server: crate::server::ServerMemory,
    pub(crate) tenants: Vec<TenantReading>,
    pub(crate) goals: Vec<Goal>,
    /// Number of keys of each tenant that the module evicted.
    pub(crate) evicted: Vec<u64>,
    /// A sentence on whether the module acts, without a full stop.
    pub(crate) state: String,
    /// Whether the module carries plans out; otherwise they are proposals.
    pub(crate) acts: bool,
}

/// The pilot's results for the commands of the module and for INFO.
#[derive(Clone, Debug, Default)]
pub(crate) struct PilotResults {
    pub(crate) report: Report,
    pub(crate) status: Option<Status>,
    pub(crate) step: Option<Step>,
    /// Names of the tenants, by tenant number.
    pub(crate) names: Vec<String>,
    pub(crate) state: String,
}

/// The data that the two threads share.
#[derive(Debug)]
pub(crate) struct Exchange {
    sender: SyncSender<Sample>,
    receiver: Mutex<Receiver<Sample>>,
    pub(crate) dropped: AtomicU64,
    pub(crate) stop: AtomicBool,
    /// Whether the pilot's thread has panicked, which is a bug. The module then stops acting.
    pub(crate) broken: AtomicBool,
    look: Mutex<Look>,
    step: Mutex<Option<Step>>,
    shown: Mutex<Arc<PilotResults>>,
    history: Mutex<History>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Default for Exchange {
    fn default() -> Self {
        let (sender, receiver) = sync_channel(SAMPLES_MAX);
        Self {
            sender,
            receiver: Mutex::new(receiver),
            dropped: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            look: Mutex::default(),
            step: Mutex::default(),
            shown: Mutex::default(),
            history: Mutex::default(),
        }
    }
}

impl Exchange {
    /// Sends a sample to the pilot, or counts it as dropped.
    pub(crate) fn send(&self, sample: Sample) {
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
            self.sender.try_send(sample)
        {
            self.dropped.fetch_add(1, Relaxed);
        }
    }

    /// Takes the samples that have arrived since the last call.
    pub(crate) fn samples(&self) -> Vec<Sample> {
        lock(&self.receiver).try_iter().collect()
    }

    /// Publishes a look, unless the pilot is reading the present one.
    pub(crate) fn publish_look(&self, look: Look) {
        if let Ok(mut place) = self.look.try_lock() {
            *place = look;
        }
    }

    /// The last look that the server's thread published.
    pub(crate) fn look(&self) -> Look {
        lock(&self.look).clone()
    }

    /// Publishes the step in force, or `None` to withdraw it.
    pub(crate) fn ask(&self, step: Option<Step>) {
        *lock(&self.step) = step;
    }

    /// Calls `see` with the step in force, unless the pilot is writing it.
    pub(crate) fn with_step(&self, see: impl FnOnce(Option<Step>)) {
        if let Ok(step) = self.step.try_lock() {
            see(step.clone());
        }
    }

    /// Publishes the pilot's results.
    pub(crate) fn show(&self, shown: PilotResults) {
        *lock(&self.shown) = Arc::new(shown);
    }

    /// The results that the pilot published last.
    pub(crate) fn shown(&self) -> Arc<PilotResults> {
        lock(&self.shown).clone()
    }

    /// Locks the history of the server.
    pub(crate) fn history(&self) -> MutexGuard<'_, History> {
        lock(&self.history)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Micros, Sighting};

    /// If the pilot does not keep up, samples are lost, but the server never waits.
    #[test]
    fn a_full_queue_drops_and_counts() {
        let exchange = Exchange::default();
        let sample = Sample {
            time: Micros(1),
            key: 1,
            tenant: 0,
            sighting: Sighting::Hit,
            size: 1,
            ttl: Micros(0),
            penalty: Micros(0),
        };
        (0..SAMPLES_MAX + 10).for_each(|_| exchange.send(sample));
        assert_eq!(exchange.dropped.load(Relaxed), 10);
        assert_eq!(exchange.samples().len(), SAMPLES_MAX);
    }
}
