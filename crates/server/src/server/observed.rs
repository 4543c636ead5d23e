//! The server's view of its own work: the pilot's status, the history, the last report, and past
//! accesses.

use crate::services::idle_time::IdleClock;
use crate::services::published::{PublishedStatus, Reports};
use crate::services::thread_times::ThreadTimes;
use report::History;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The results of threads that observe the server.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// The status that the pilot publishes.
    pub(crate) pilot: PublishedStatus,
    /// Past accesses, from which the idle times of items are computed.
    pub(crate) idle_clock: IdleClock,
    /// The history of the server, at several resolutions.
    history: Mutex<History>,
    reports: Mutex<Reports>,
    /// The processor time of each thread.
    pub(crate) threads: ThreadTimes,
}

impl Observed {
    /// Locks the history.
    pub(crate) fn lock_history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the last report.
    pub(crate) fn lock_reports(&self) -> MutexGuard<'_, Reports> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
