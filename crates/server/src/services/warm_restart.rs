//! The state of a warm restart: the file's path, what is being restored, and the pilot's knowledge.

use super::clock::Clock;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use tune::Known;

/// The state of a server's file.
#[derive(Debug, Default)]
pub(crate) struct Warm {
    /// The path of the file; `None` if no setting names one.
    pub(crate) path: Option<PathBuf>,
    /// Whether items are being restored.
    pub(crate) restoring: AtomicBool,
    /// The number of restored items.
    pub(crate) restored: AtomicU64,
    /// The knowledge of an earlier pilot, until this one takes it.
    pub(crate) known: Mutex<Option<Known>>,
    /// The knowledge of this pilot, after it was asked for or the pilot has ended.
    pub(crate) left: Mutex<Option<Known>>,
    pub(crate) asked: AtomicBool,
    /// Whether the end of the server saves nothing.
    pub(crate) forget: AtomicBool,
    /// Locked during a save.
    pub(crate) saving: Mutex<()>,
    /// The numbers of saves that succeeded and failed.
    pub(crate) saved: AtomicU64,
    pub(crate) unsaved: AtomicU64,
    /// Whether the last save failed, or the first one will.
    pub(crate) is_failing: AtomicBool,
    /// The time of the last successful save, in Unix seconds.
    pub(crate) saved_unix: AtomicU64,
}

impl Warm {
    pub(crate) fn new(path: &str) -> Self {
        // An unwritable path is reported before the save is needed.
        let is_failing = !path.is_empty() && !files::is_writable(Path::new(path));
        let path = (!path.is_empty()).then(|| path.into());
        Self { path, is_failing: is_failing.into(), ..Self::default() }
    }

    /// Whether items are being restored.
    pub(crate) fn is_restoring(&self) -> bool {
        self.restoring.load(Ordering::Acquire)
    }

    /// The number of items restored from an earlier run.
    pub(crate) fn restored(&self) -> u64 {
        self.restored.load(Ordering::Relaxed)
    }

    /// Asks for the pilot's knowledge.
    pub(crate) fn ask(&self) {
        self.asked.store(true, Ordering::Release);
    }

    /// Whether that request is still open.
    pub(crate) fn is_asking(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    /// Answers an open request.
    pub(crate) fn leave_if_asked(&self, known: impl FnOnce() -> Option<Known>) {
        if self.is_asking() {
            self.leave(known());
        }
    }

    /// Hands over the pilot's knowledge.
    pub(crate) fn leave(&self, known: Option<Known>) {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = known;
        self.asked.store(false, Ordering::Release);
    }

    /// Takes the knowledge that the pilot has handed over. It can be taken once.
    pub(crate) fn take_left(&self) -> Option<Known> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether a save will need the pilot's knowledge.
    pub(crate) fn is_wanted(&self) -> bool {
        self.path.is_some()
    }

    /// The numbers of saves that succeeded and failed.
    pub(crate) fn saves(&self) -> (u64, u64) {
        (self.saved.load(Ordering::Relaxed), self.unsaved.load(Ordering::Relaxed))
    }

    /// Whether the last save failed, or the first one will.
    pub(crate) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    /// The time of the last successful save, in Unix seconds; `None` if there was none.
    pub(crate) fn saved_at(&self) -> Option<u64> {
        Some(self.saved_unix.load(Ordering::Relaxed)).filter(|at| *at > 0)
    }

    /// Counts a save, and notes whether it succeeded.
    pub(crate) fn note_save(&self, succeeded: bool) {
        let count = if succeeded { &self.saved } else { &self.unsaved };
        count.fetch_add(1, Ordering::Relaxed);
        self.is_failing.store(!succeeded, Ordering::Relaxed);
        if succeeded {
            self.saved_unix.store(Clock::unix_us() / 1_000_000, Ordering::Relaxed);
        }
    }

    /// Whether the end of the server saves the data.
    pub(crate) fn saves_at_end(&self) -> bool {
        self.path.is_some() && !self.forget.load(Ordering::Acquire)
    }

    /// Makes the end of the server save nothing.
    pub(crate) fn forget(&self) {
        self.forget.store(true, Ordering::Release);
    }

    /// Takes the knowledge of an earlier pilot. It can be taken once.
    pub(crate) fn take_known(&self) -> Option<Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
