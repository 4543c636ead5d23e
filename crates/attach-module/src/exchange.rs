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

use crate::learn::Costs;
use base::{Bytes, Filter, Sample};
use policy::rank::Rank;
use report::claim::Claim;
use report::{History, Report};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tune::pilot::Status;
use tune::{Goal, Recipe, Step, TenantReading};

/// Maximum number of samples that wait for the pilot. They cover half a second at the rate of the
/// models. Before the pilot knows the load, some are dropped.
const SAMPLES_MAX: usize = 1_024;

/// A sampled request, with what the rank learns from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) sample: Sample,
    /// Requests to keys until then.
    pub(crate) tick: u64,
    /// The penalty class of the fetch that this write ended; 0 without one.
    pub(crate) fetched: u8,
    /// Whether the key expired, which the models foresee.
    pub(crate) is_expiry: bool,
}

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
    /// Requests to keys so far, where the recipe ranks them.
    pub(crate) tick: u64,
    /// Keys evicted so far by the module and by the server.
    pub(crate) evictions: u64,
    /// Costs of misses by tenant.
    pub(crate) costs: Vec<Costs>,
    /// The part that the server takes in the evictions, if the module ranks keys.
    pub(crate) work: Option<Work>,
}

/// Keys evicted in the last minutes, by each side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    pub(crate) module: f64,
    pub(crate) server: f64,
}

impl Work {
    /// With fewer evictions nothing is said about them.
    const KEYS_MIN: f64 = 100.0;

    /// Whether there were enough evictions to speak of.
    pub(crate) fn is_known(self) -> bool {
        self.module + self.server >= Self::KEYS_MIN
    }

    /// The server's share of the evictions.
    pub(crate) fn share(self) -> f64 {
        self.server / (self.module + self.server).max(1.0)
    }
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
    /// Evictions by each side, if the module ranks keys.
    pub(crate) work: Option<Work>,
    /// The waiting that acting would save, while the module observes.
    pub(crate) claim: Option<Claim>,
    /// Keys that the rank learns from, and the bytes of what it learnt.
    pub(crate) watched: usize,
    pub(crate) learning: u64,
}

/// The data that the two threads share.
#[derive(Debug)]
pub(crate) struct Exchange {
    sender: SyncSender<Seen>,
    receiver: Mutex<Receiver<Seen>>,
    pub(crate) dropped: AtomicU64,
    /// Samples sent since the pilot took some.
    sent: AtomicUsize,
    pub(crate) stop: AtomicBool,
    /// Whether the pilot's thread has panicked, which is a bug. The module then stops acting.
    pub(crate) broken: AtomicBool,
    look: Mutex<Look>,
    step: Mutex<Option<Step>>,
    /// The newest rank that was learnt, until the server's thread takes it.
    rank: Mutex<Option<Arc<dyn Rank>>>,
    /// The threshold of the filter for the keys that the rank learns from.
    watch: AtomicU64,
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
            sent: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            look: Mutex::default(),
            step: Mutex::default(),
            rank: Mutex::default(),
            watch: AtomicU64::new(0),
            shown: Mutex::default(),
            history: Mutex::default(),
        }
    }
}

impl Exchange {
    /// Whether the queue takes another sample; otherwise counts one as dropped, so that nobody
    /// looks up a key for it.
    pub(crate) fn has_room(&self) -> bool {
        let has_room = self.sent.load(Relaxed) < SAMPLES_MAX;
        self.dropped.fetch_add(u64::from(!has_room), Relaxed);
        has_room
    }

    /// Sends a sample to the pilot, or counts it as dropped.
    pub(crate) fn send(&self, seen: Seen) {
        self.sent.fetch_add(1, Relaxed);
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
            self.sender.try_send(seen)
        {
            self.dropped.fetch_add(1, Relaxed);
        }
    }

    /// Takes the samples that have arrived since the last call.
    pub(crate) fn samples(&self) -> Vec<Seen> {
        let samples = lock(&self.receiver).try_iter().collect();
        self.sent.store(0, Relaxed);
        samples
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

    /// Publishes a rank, and the filter for the keys that it learns from.
    pub(crate) fn teach(&self, rank: Option<Arc<dyn Rank>>, watch: Filter) {
        self.watch.store(watch.threshold(), Relaxed);
        if rank.is_some() {
            *lock(&self.rank) = rank;
        }
    }

    /// Takes the newest rank, if there is one and the pilot is not writing it.
    pub(crate) fn take_rank(&self) -> Option<Arc<dyn Rank>> {
        self.rank.try_lock().ok()?.take()
    }

    /// The filter for the keys that the rank learns from.
    pub(crate) fn watch(&self) -> Filter {
        Filter::below(self.watch.load(Relaxed))
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
        let seen = Seen { sample, tick: 1, fetched: 0, is_expiry: false };
        (0..SAMPLES_MAX + 10).for_each(|_| exchange.send(seen));
        assert_eq!(exchange.dropped.load(Relaxed), 10);
        assert!(!exchange.has_room());
        assert_eq!(exchange.dropped.load(Relaxed), 11);
        assert_eq!(exchange.samples().len(), SAMPLES_MAX);
        assert!(exchange.has_room());
    }
}
