//! What the threads share memory by: the standard library's, or loom's under `--cfg loom`, which
//! plays every order in which two threads may come (`tests/loom.rs`). The layouts stay those of
//! production.

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
