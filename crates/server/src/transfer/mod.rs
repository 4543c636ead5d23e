//! Dump and load: a tenant whose load comes and goes leaves its memory to others in between, and
//! has it back before it is asked for [1].
//!
//! ```text
//!   requests ──▶ counted ──▶ tune::PeriodicLoad ──┬─▶ valley: items ▶ blocks of a file ▶ leave
//!   LARDER DUMP, LARDER LOAD ─────────────────────┴─▶ peak: blocks ▶ items, warmest first
//! ```
//!
//! One thread does it all, a block at a time, and not more bytes a second than `dump-rate`; no
//! request waits for it longer than for a few items that are copied under their shard's lock. What
//! may come back is the store's to say (`store::Store::load`): a copy that a client has gone
//! beyond is dead from that moment on.
//!
//! In a valley the coldest items are written first. The colder half leaves as soon as its block is
//! on the disk; of the warmer a copy is made, and the item stays until others need its place.
//! Before the peak the last block comes back first, and so the warmest items, also if memory or
//! time does not suffice for all.
//!
//! The files have no names (`file.rs`): whatever becomes of the server, no other one finds them,
//! so nothing can come back that was deleted while none was running.
//!
//! [1] Pan, Luo, Li, Wang, Hu. pRedis: Penalty and Locality Aware Memory Allocation in Redis.
//!     SoCC '19.

mod dump;
mod file;
mod keeper;
mod load;

pub(crate) use keeper::run;

use base::TenantId;
use serde::Serialize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tune::periodic::Turn;

/// Messages between threads about transfers.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    /// Transfers that operators want, until they are begun.
    asked: Mutex<Vec<(TenantId, Turn)>>,
    /// Valleys and peaks that began, until the pilot has seen it.
    turned: Mutex<Vec<(TenantId, Turn)>>,
    /// By tenant.
    shown: Mutex<Vec<Shown>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Transfers {
    /// An operator wants a tenant dumped, as in a valley, or loaded, as before a peak.
    pub(crate) fn ask(&self, tenant: TenantId, turn: Turn) {
        lock(&self.asked).push((tenant, turn));
    }

    /// The valleys and peaks that began since the last call.
    pub(crate) fn take_turned(&self) -> Vec<(TenantId, Turn)> {
        std::mem::take(&mut lock(&self.turned))
    }

    /// The status of a tenant.
    pub(crate) fn shown(&self, tenant: TenantId) -> Shown {
        lock(&self.shown).get(usize::from(tenant)).cloned().unwrap_or_default()
    }
}

/// A tenant's periodic load, and its transfers.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Shown {
    /// The work under way: nothing, `dumping` or `loading`.
    pub(crate) doing: &'static str,
    /// From one peak to the next, where its load has a period.
    pub(crate) period_s: Option<f64>,
    /// Reads in a bucket: in the last one, and in the highest of the period.
    pub(crate) reads: f64,
    pub(crate) reads_peak: Option<f64>,
    /// Bytes of its files.
    pub(crate) disk: u64,
    /// Valleys and peaks that were seen.
    #[serde(rename = "ebbs")]
    pub(crate) valleys: u64,
    #[serde(rename = "floods")]
    pub(crate) peaks: u64,
    /// Dumps and loads that ended, and what they did in all.
    pub(crate) dumps: u64,
    pub(crate) dumped: u64,
    pub(crate) loads: u64,
    pub(crate) loaded: u64,
    /// The last ones.
    pub(crate) dump: Option<Transfer>,
    pub(crate) load: Option<Transfer>,
}

/// A dump or a load that ended.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Transfer {
    /// `ebb`, in a valley, `flood`, before a peak, or `command`.
    pub(crate) by: &'static str,
    /// Since the server started.
    pub(crate) at_s: f64,
    pub(crate) seconds: f64,
    /// Items copied, or brought back, and bytes written or read.
    pub(crate) items: u64,
    pub(crate) bytes: u64,
    /// Items that left memory.
    pub(crate) left: u64,
    /// Copies of items that had not left, that clients had gone beyond, or for which there was no
    /// room.
    pub(crate) here: u64,
    pub(crate) outdated: u64,
    pub(crate) refused: u64,
    /// Blocks that could not be read.
    pub(crate) torn: u64,
    /// Why it ended early.
    pub(crate) because: Option<String>,
}
