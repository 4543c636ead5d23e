//! The settings in force, and the lock under which they change.

use super::view::View;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;

/// The settings in force.
#[derive(Debug)]
pub(crate) struct Views {
    now: RwLock<Arc<View>>,
    /// The generation of the settings in force, so that a worker sees a change at one load.
    generation: AtomicU64,
    /// Locked while settings change.
    changing: Mutex<()>,
    /// The thread that deletes the items of slots that moved to other servers.
    emptying: Mutex<Option<JoinHandle<()>>>,
}

impl Views {
    pub(super) fn new(view: View) -> Self {
        let generation = AtomicU64::new(view.generation);
        let (changing, emptying) = (Mutex::new(()), Mutex::default());
        Self { now: RwLock::new(Arc::new(view)), generation, changing, emptying }
    }

    /// The settings in force.
    pub(crate) fn now(&self) -> Arc<View> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The settings in force, if they are newer than `known`.
    #[inline]
    pub(crate) fn newer(&self, known: &View) -> Option<Arc<View>> {
        (self.generation.load(Ordering::Acquire) != known.generation).then(|| self.now())
    }

    /// Prevents changes of settings while the guard is held.
    pub(crate) fn lock_changes(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts new settings in force.
    pub(super) fn publish(&self, new: Arc<View>) {
        let generation = new.generation;
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = new;
        self.generation.store(generation, Ordering::Release);
    }

    /// The thread that deletes the items of slots that moved to other servers.
    pub(super) fn emptying(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.emptying.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
