//! What the server's thread and the pilot's thread tell each other.
//!
//! ```text
//!   server's thread                                     pilot's thread
//!   filter ── samples, through a bounded queue ───────▶ Plant::read
//!   cron   ── what there is to see, ten times a second ▶
//!   cron   ◀─ the step in force ─────────────────────── Plant::apply
//!   LARDER.*, INFO ◀─ what there is to show ─────────── once an epoch, and once a second
//! ```
//!
//! The server's thread never waits: a queue that is full drops, and what is locked is looked at
//! the next time. The pilot holds a lock only to copy.

use base::{Bytes, Sample};
use report::{History, Report};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tune::pilot::Status;
use tune::{Goal, Recipe, Step, TenantReading};

/// Samples that wait for the pilot at most: half a second of as many as models see, and three times
/// what comes in a tenth of a second before the pilot knows how busy the server is.
const SAMPLES_MAX: usize = 2_048;

/// What the server's thread saw.
#[derive(Clone, Debug, Default)]
pub(crate) struct Look {
    /// Goes up with every change of tenants or recipe.
    pub(crate) generation: u64,
    pub(crate) recipe: Option<Recipe>,
    /// What tenants can have of `maxmemory`.
    pub(crate) limit: Bytes,
    pub(crate) server: crate::server::ServerMemory,
    pub(crate) tenants: Vec<TenantReading>,
    pub(crate) goals: Vec<Goal>,
    /// Keys of each tenant that the module evicted.
    pub(crate) evicted: Vec<u64>,
    /// What the module does, in a sentence without a full stop.
    pub(crate) state: String,
    /// Whether it carries plans out; else they are proposals.
    pub(crate) acts: bool,
}

/// What there is to show.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) report: Report,
    pub(crate) status: Option<Status>,
    pub(crate) step: Option<Step>,
    /// Of the tenants, by their numbers.
    pub(crate) names: Vec<String>,
    pub(crate) state: String,
}

/// The meeting place.
#[derive(Debug)]
pub(crate) struct Exchange {
    sender: SyncSender<Sample>,
    receiver: Mutex<Receiver<Sample>>,
    pub(crate) dropped: AtomicU64,
    pub(crate) stop: AtomicBool,
    /// Why the module does nothing any more: a panic, which is a bug.
    pub(crate) broken: AtomicBool,
    look: Mutex<Look>,
    step: Mutex<Option<Step>>,
    shown: Mutex<Arc<Shown>>,
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
    /// Hands a sample to the pilot, or counts that it could not.
    pub(crate) fn send(&self, sample: Sample) {
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
            self.sender.try_send(sample)
        {
            self.dropped.fetch_add(1, Relaxed);
        }
    }

    /// The samples that came since the last time.
    pub(crate) fn samples(&self) -> Vec<Sample> {
        lock(&self.receiver).try_iter().collect()
    }

    /// Shows the pilot what there is, unless it is looking right now.
    pub(crate) fn publish_look(&self, look: Look) {
        if let Ok(mut place) = self.look.try_lock() {
            *place = look;
        }
    }

    /// What the server's thread showed last.
    pub(crate) fn look(&self) -> Look {
        lock(&self.look).clone()
    }

    /// Asks for a step.
    pub(crate) fn ask(&self, step: Option<Step>) {
        *lock(&self.step) = step;
    }

    /// Looks at the step asked for last, unless the pilot is asking right now.
    pub(crate) fn with_step(&self, see: impl FnOnce(Option<Step>)) {
        if let Ok(step) = self.step.try_lock() {
            see(step.clone());
        }
    }

    /// Shows what there is to show.
    pub(crate) fn show(&self, shown: Shown) {
        *lock(&self.shown) = Arc::new(shown);
    }

    /// What there is to show.
    pub(crate) fn shown(&self) -> Arc<Shown> {
        lock(&self.shown).clone()
    }

    /// What happened so far.
    pub(crate) fn history(&self) -> MutexGuard<'_, History> {
        lock(&self.history)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Micros, Sighting};

    /// A pilot that does not keep up costs samples, and never the server's time.
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
