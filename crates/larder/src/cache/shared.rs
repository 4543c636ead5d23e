//! The store of a cache and its companions, which all handles share.

use super::flight::Flights;
use super::{Clock, Removals};
use crate::plant::Loop;
use base::Micros;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::{Now, Store};

/// The most buckets that one call of [`Cache::maintain`] sweeps.
const SWEEP: usize = 4096;

/// The longest time in nanoseconds that one call of [`Cache::maintain`] compresses.
const COMPRESS_NANOS: u64 = 20_000_000;

/// The store and its companions, which all handles of a cache share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: Store,
    /// The names of the parts, in the order of their tenant ids.
    pub(crate) names: Vec<String>,
    pub(crate) clock: Clock,
    pub(crate) is_timed: AtomicBool,
    pub(crate) cost: Option<Cost>,
    pub(crate) removals: Option<Removals>,
    pub(crate) flights: Box<Flights>,
    pub(crate) looping: Mutex<Option<Loop>>,
}

type CostOf = dyn Fn(&[u8], &[u8]) -> Duration + Send + Sync;

/// The caller's function that states the cost of a miss of an entry.
pub(crate) struct Cost(pub(crate) Box<CostOf>);

impl fmt::Debug for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cost")
    }
}

impl Shared {
    pub(crate) fn maintain(&self) {
        self.store.sweep(self.clock.now(), SWEEP);
        self.store.compress(self.clock.now(), COMPRESS_NANOS);
        if let Some(looping) = &mut *self.looping() {
            looping.tick(&self.store, self.clock.now());
        }
        self.tell();
    }

    pub(super) fn looping(&self) -> MutexGuard<'_, Option<Loop>> {
        self.looping.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    pub(super) fn now(&self) -> Now {
        if self.is_timed.load(Relaxed) { self.clock.now() } else { Now::default() }
    }

    /// Tells the listener, if there is one, of the entries that this thread has removed.
    #[inline]
    pub(super) fn tell(&self) {
        if let Some(removals) = &self.removals {
            removals.tell(&self.names);
        }
    }
}

/// The cost of an entry, as the store measures it: at least one microsecond, because zero means
/// unknown.
pub(super) fn micros(duration: Duration) -> Micros {
    Micros(duration.as_micros().clamp(1, u128::from(u64::MAX)) as u64)
}
