//! Dumps and loads, as threads see them: the requests of operators, the valleys and peaks that
//! began, and the state of each tenant.

use base::TenantId;
use serde::Serialize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tune::periodic::Turn;

/// Messages between threads about transfers.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    /// The transfers that operators asked for, until they begin.
    pub(crate) asked: Mutex<Vec<(TenantId, Turn)>>,
    /// The valleys and peaks that began, until the pilot takes them.
    pub(crate) turned: Mutex<Vec<(TenantId, Turn)>>,
    /// The status of each tenant.
    pub(crate) shown: Mutex<Vec<TransferState>>,
}

/// Locks a list of messages.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Transfers {
    /// Asks for a dump of a tenant as in a valley, or for a load as before a peak.
    pub(crate) fn ask(&self, tenant: TenantId, turn: Turn) {
        lock(&self.asked).push((tenant, turn));
    }

    /// The valleys and peaks that began since the last call.
    pub(crate) fn take_turned(&self) -> Vec<(TenantId, Turn)> {
        std::mem::take(&mut lock(&self.turned))
    }

    /// The status of a tenant.
    pub(crate) fn shown(&self, tenant: TenantId) -> TransferState {
        lock(&self.shown).get(usize::from(tenant)).cloned().unwrap_or_default()
    }
}

/// A tenant's periodic load, and its transfers.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct TransferState {
    /// The work in progress: empty, `dumping` or `loading`.
    pub(crate) doing: &'static str,
    /// The time from one peak to the next, if its load has a period.
    pub(crate) period_s: Option<f64>,
    /// The reads in the last bucket, and in the highest bucket of the period.
    pub(crate) reads: f64,
    pub(crate) reads_peak: Option<f64>,
    /// The bytes of its files.
    pub(crate) disk: u64,
    /// The numbers of valleys and peaks.
    #[serde(rename = "ebbs")]
    pub(crate) valleys: u64,
    #[serde(rename = "floods")]
    pub(crate) peaks: u64,
    /// The numbers of completed dumps and loads, and of their items.
    pub(crate) dumps: u64,
    pub(crate) dumped: u64,
    pub(crate) loads: u64,
    pub(crate) loaded: u64,
    /// The last dump and the last load.
    pub(crate) dump: Option<Transfer>,
    pub(crate) load: Option<Transfer>,
}

/// A completed dump or load.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Transfer {
    /// The cause: `ebb` (a valley), `flood` (before a peak), or `command`.
    pub(crate) by: &'static str,
    /// Its begin, in seconds since the server started.
    pub(crate) at_s: f64,
    pub(crate) seconds: f64,
    /// The items copied or loaded, and the bytes written or read.
    pub(crate) items: u64,
    pub(crate) bytes: u64,
    /// The number of items that left memory.
    pub(crate) left: u64,
    /// The copies not loaded: of items still in memory, of items that clients have changed or
    /// deleted, and for lack of room.
    pub(crate) here: u64,
    pub(crate) outdated: u64,
    pub(crate) refused: u64,
    /// The number of blocks that could not be read.
    pub(crate) torn: u64,
    /// The reason why it ended early.
    pub(crate) because: Option<String>,
}
