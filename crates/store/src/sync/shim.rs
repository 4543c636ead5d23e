//! The primitives by which threads share memory: the standard library's, or loom's under `--cfg
//! loom`, which runs every order of the threads (`tests/loom.rs`). The layouts are those of
//! production.

#[cfg(loom)]
pub(crate) use loom::{
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, fence},
    sync::{Mutex, MutexGuard},
    thread::yield_now,
};
#[cfg(not(loom))]
pub(crate) use plain::{Witness, thread_number};
#[cfg(not(loom))]
pub(crate) use std::{
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, fence},
    sync::{Mutex, MutexGuard},
    thread::yield_now,
};
#[cfg(loom)]
pub(crate) use watched::{Witness, thread_number};

use std::sync::PoisonError;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

#[cfg(not(loom))]
use std::time::Duration;

/// Polls of a lock, some ten nanoseconds each, before the waiter yields. Most holders need less
/// than a microsecond, and a holder that looks for victims up to three.
#[cfg(not(loom))]
const SPINS: u32 = 256;
/// Polls before the waiter sleeps: by then the holder of the lock is not running.
#[cfg(not(loom))]
const PATIENCE: u32 = SPINS + 64;
/// Length of the first sleeps.
#[cfg(not(loom))]
const SLEEP: Duration = Duration::from_micros(50);
/// Number of sleeps of one length, before longer ones.
#[cfg(not(loom))]
const SLEEPS: u32 = 8;
/// Length of the longest sleep.
#[cfg(not(loom))]
const SLEEP_MAX: Duration = Duration::from_millis(1);

/// A lock that guards nothing by itself. It does not notify waiters that it is free, so releasing
/// it is a plain store. A lock that wakes its waiters must check for them, which takes as long as
/// locking it.
#[derive(Default)]
pub(crate) struct RawLock(AtomicBool);

impl RawLock {
    #[inline]
    pub(crate) fn lock(&self) {
        if !self.try_lock() {
            self.wait();
        }
    }

    #[inline]
    pub(crate) fn try_lock(&self) -> bool {
        self.0.compare_exchange(false, true, Acquire, Relaxed).is_ok()
    }

    /// # Safety
    /// This thread holds the lock.
    #[inline]
    pub(crate) unsafe fn unlock(&self) {
        self.0.store(false, Release);
    }

    #[cfg(not(loom))]
    #[cold]
    fn wait(&self) {
        let mut patience = Patience::default();
        while self.0.load(Relaxed) || !self.try_lock() {
            patience.wait();
        }
    }

    #[cfg(loom)]
    fn wait(&self) {
        while !self.try_lock() {
            yield_now();
        }
    }
}

/// The patience of a thread that waits without being notified: it polls, then yields, then sleeps,
/// longer and longer.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    looks: u32,
}

#[cfg(not(loom))]
impl Patience {
    /// Waits a moment.
    pub(crate) fn wait(&mut self) {
        match self.looks {
            ..SPINS => std::hint::spin_loop(),
            SPINS..PATIENCE => yield_now(),
            PATIENCE.. => {
                let longer = 1 + (self.looks - PATIENCE) / SLEEPS;
                std::thread::sleep(SLEEP.saturating_mul(longer).min(SLEEP_MAX));
            }
        }
        self.looks = self.looks.saturating_add(1);
    }

    /// Whether the thread sleeps from now on.
    pub(crate) const fn is_over(&self) -> bool {
        self.looks >= PATIENCE
    }
}

/// The patience for loom, which needs only one poll.
#[cfg(loom)]
impl Patience {
    pub(crate) fn wait(&mut self) {
        self.looks += 1;
        yield_now();
    }

    pub(crate) const fn is_over(&self) -> bool {
        self.looks > 0
    }
}

#[cfg(not(loom))]
mod plain {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Does nothing.
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

    /// The number of this thread. Threads that first call this one after another have consecutive
    /// numbers.
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

    /// Lets loom check that no thread reads while another writes.
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

    /// All threads read in one reader slot; `tests/loom.rs` says where slots are checked.
    pub(crate) fn thread_number() -> usize {
        0
    }
}

/// Pads a value to separate cache lines, to avoid false sharing between threads.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

/// Adds `bytes` if the sum stays within `max`.
#[inline]
pub(crate) fn try_add(counter: &AtomicU64, bytes: u64, max: u64) -> bool {
    let within = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= max);
    counter.fetch_update(Relaxed, Relaxed, within).is_ok()
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A caller's closure that panicked has not changed its item.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
