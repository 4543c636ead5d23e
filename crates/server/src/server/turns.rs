//! Turns of the workers: batches, exclusive sections, the script that holds the gate, pauses, and
//! clients that wait for a key.

use crate::services::blocked_clients::{Blocked, WaitKey};
use crate::services::clock::Clock;
use crate::services::exclusive::Gate;
use crate::services::mail::Mailbox;
use crate::services::pause::Pause;
use crate::services::running_script::UNKILLABLE;
use crate::settings::config::Settings;
use store::{Alone, Entered, Key, Now, Store, TREE};

/// The order in which commands run.
#[derive(Debug)]
pub(crate) struct Turns {
    /// Whether commands wait (CLIENT PAUSE).
    pub(crate) pause: Pause,
    /// Clients that are blocked until another client writes.
    pub(crate) blocked: Blocked,
    /// The gate through which one worker runs alone.
    pub(crate) gate: Gate,
}

impl Turns {
    pub(super) fn new(workers: usize) -> Self {
        let (pause, blocked) = (Pause::default(), Blocked::default());
        Self { pause, blocked, gate: Gate::new(workers) }
    }

    /// Begins a batch of a worker. It waits while another worker runs alone, but not for a script
    /// that has held the gate for too long.
    #[inline]
    pub(crate) fn enter(&self, worker: usize, settings: &Settings, clock: &Clock) -> Entered {
        self.gate.enter(worker, || self.is_busy(settings, clock))
    }

    /// Waits until this worker is the only one that runs; `None` while a script has held the gate
    /// for too long.
    pub(crate) fn close(
        &self,
        worker: usize,
        settings: &Settings,
        clock: &Clock,
    ) -> Option<Alone<'_>> {
        self.gate.close(worker, || self.is_busy(settings, clock))
    }

    /// Whether a script has held the gate for so long that other clients get BUSY.
    pub(crate) fn is_busy(&self, settings: &Settings, clock: &Clock) -> bool {
        let most = settings.busy_reply_threshold;
        let since = self.gate.script().since_ms().filter(|_| most > 0);
        let now_ms = || clock.micros().0 / 1_000;
        since.is_some_and(|since| now_ms().saturating_sub(since) >= most)
    }

    /// Ends the running script (or function), unless it has written.
    pub(crate) fn kill_script(&self) -> Result<(), &'static str> {
        if self.gate.script().kill() { Ok(()) } else { Err(UNKILLABLE) }
    }

    /// Wakes the first client that waits for the kind of value that a key holds.
    #[cold]
    pub(crate) fn wake_first(&self, mail: &[Mailbox], store: &Store, key: &Key<'_>, now: Now) {
        if let Some(kind) = store.glance(key, now, |item| item.kind & !TREE) {
            self.blocked.wake(mail, &WaitKey::new(key), kind);
        }
    }

    /// Ends a client's wait for these keys, and wakes the next client of each.
    pub(crate) fn end_wait(
        &self,
        mail: &[Mailbox],
        store: &Store,
        keys: &[WaitKey],
        client: u64,
        now: Now,
    ) {
        self.blocked.leave(keys, client);
        if self.blocked.any() {
            for key in keys {
                self.wake_first(mail, store, &key.key(store), now);
            }
        }
    }
}
