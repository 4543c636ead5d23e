//! The state of memcached's protocol: cas numbers, later flushes, and counts.

use crate::services::memcached_binary::Binary;
use crate::services::memcached_detail::Detail;
use crate::settings::config::Settings;
use base::TenantId;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Tenants whose items are deleted later, with the time in Unix milliseconds.
type Flushes = Vec<(u64, Vec<TenantId>)>;

/// The state of memcached's protocol.
#[derive(Debug)]
pub(crate) struct MemcachedState {
    /// The counts of `stats detail`.
    pub(crate) detail: Detail,
    /// Clients that used the binary protocol.
    pub(crate) binary: Binary,
    flushes: Mutex<Flushes>,
    /// The last cas given to a written value.
    cas: AtomicU64,
}

impl MemcachedState {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            detail: Detail::new(settings),
            binary: Binary::default(),
            flushes: Mutex::default(),
            cas: AtomicU64::new(0),
        }
    }

    /// A cas that no value had before.
    pub(crate) fn next_cas(&self) -> u64 {
        self.cas.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The last cas.
    pub(crate) fn last_cas(&self) -> u64 {
        self.cas.load(Ordering::Relaxed)
    }

    /// Continues after the last cas of an earlier run.
    pub(crate) fn begin_cas(&self, last: u64) {
        self.cas.fetch_max(last, Ordering::Relaxed);
    }

    /// The flushes that are still to come.
    pub(crate) fn flushes(&self) -> Flushes {
        self.lock_flushes().clone()
    }

    fn lock_flushes(&self) -> MutexGuard<'_, Flushes> {
        self.flushes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes these tenants from all flushes of [`Self::flush_later`].
    pub(crate) fn forget_flushes(&self, tenants: &[TenantId]) {
        let mut flushes = self.lock_flushes();
        for (_, whose) in flushes.iter_mut() {
            whose.retain(|tenant| !tenants.contains(tenant));
        }
        flushes.retain(|(_, whose)| !whose.is_empty());
    }

    /// Plans to delete the items of these tenants once the clock reaches `due_ms` (Unix
    /// milliseconds).
    pub(crate) fn flush_later(&self, due_ms: u64, tenants: Vec<TenantId>) {
        self.lock_flushes().push((due_ms, tenants));
    }

    /// Takes the tenants whose flush is due.
    pub(crate) fn take_due(&self, now_ms: u64) -> Vec<TenantId> {
        let mut flushes = self.lock_flushes();
        let due = flushes.extract_if(.., |(due, _)| *due <= now_ms);
        due.flat_map(|(_, tenants)| tenants).collect()
    }
}
