//! What the threads share memory by: the standard library's and a plain lock, or loom's under
//! `--cfg loom`, which plays every order in which threads may come (`tests/loom.rs`). The layouts
//! stay those of production.

#[cfg(loom)]
pub(crate) use loom::{
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize},
    sync::{Mutex, MutexGuard},
    thread::yield_now,
};
#[cfg(not(loom))]
pub(crate) use std::{
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize},
    sync::{Mutex, MutexGuard},
    thread::yield_now,
};

#[cfg(not(loom))]
pub(crate) use plain::{RawLock, Witness, thread_number};
#[cfg(loom)]
pub(crate) use watched::{RawLock, Witness, thread_number};

#[cfg(not(loom))]
mod plain {
    use parking_lot::RawMutex;
    use parking_lot::lock_api::RawMutex as _;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// A lock that guards nothing by itself.
    pub(crate) struct RawLock(RawMutex);

    impl Default for RawLock {
        fn default() -> Self {
            Self(RawMutex::INIT)
        }
    }

    impl RawLock {
        #[inline]
        pub(crate) fn lock(&self) {
            self.0.lock();
        }

        #[inline]
        pub(crate) fn try_lock(&self) -> bool {
            self.0.try_lock()
        }

        /// # Safety
        /// This thread locked it.
        #[inline]
        pub(crate) unsafe fn unlock(&self) {
            // SAFETY: the caller's promise.
            unsafe { self.0.unlock() }
        }
    }

    /// Sees nothing.
    pub(crate) struct Witness;

    impl Witness {
        pub(crate) const fn new() -> Self {
            Self
        }

        #[inline]
        #[expect(clippy::unused_self, reason = "loom's has something to see")]
        pub(crate) const fn reads(&self) {}

        #[inline]
        #[expect(clippy::unused_self, reason = "loom's has something to see")]
        pub(crate) const fn writes(&self) {}
    }

    /// The number of this thread: those that come after each other have consecutive ones.
    #[inline]
    pub(crate) fn thread_number() -> usize {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        thread_local!(static NUMBER: usize = NEXT.fetch_add(1, Relaxed));
        NUMBER.with(|number| *number)
    }
}

#[cfg(loom)]
mod watched {
    use loom::cell::UnsafeCell;
    use loom::sync::atomic::{AtomicBool, Ordering};
    use loom::thread::yield_now;

    /// A lock that guards nothing by itself.
    #[derive(Default)]
    pub(crate) struct RawLock(AtomicBool);

    impl RawLock {
        pub(crate) fn lock(&self) {
            while !self.try_lock() {
                yield_now();
            }
        }

        pub(crate) fn try_lock(&self) -> bool {
            self.0.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
        }

        pub(crate) unsafe fn unlock(&self) {
            self.0.store(false, Ordering::Release);
        }
    }

    /// Sees that nobody reads what another writes.
    pub(crate) struct Witness(UnsafeCell<()>);

    impl Witness {
        pub(crate) fn new() -> Self {
            Self(UnsafeCell::new(()))
        }

        pub(crate) fn reads(&self) {
            self.0.with(|_| ());
        }

        pub(crate) fn writes(&self) {
            self.0.with_mut(|_| ());
        }
    }

    /// All threads read in one lane; `tests/loom.rs` says where lanes are watched.
    pub(crate) fn thread_number() -> usize {
        0
    }
}
