//! A background thread that sleeps while it has nothing to do, until another thread wakes it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;

/// The thread, once it has slept.
#[derive(Debug, Default)]
pub(crate) struct Sleeper {
    thread: OnceLock<Thread>,
    is_asleep: AtomicBool,
}

impl Sleeper {
    /// Sleeps until another thread wakes this one, unless `has_work`, which a waker changes first.
    pub(crate) fn sleep(&self, has_work: impl Fn() -> bool) {
        self.thread.get_or_init(std::thread::current);
        self.is_asleep.store(true, Ordering::SeqCst);
        while self.is_asleep.load(Ordering::SeqCst) && !has_work() {
            std::thread::park();
        }
        self.is_asleep.store(false, Ordering::SeqCst);
    }

    /// Wakes the thread.
    pub(crate) fn wake(&self) {
        self.is_asleep.store(false, Ordering::SeqCst);
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// Whether the thread sleeps.
    #[cfg(test)]
    pub(crate) fn is_asleep(&self) -> bool {
        self.is_asleep.load(Ordering::SeqCst)
    }
}
