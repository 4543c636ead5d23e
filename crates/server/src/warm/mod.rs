//! Warm restart: a server that ends leaves its items, and what its pilot knows, in a file, and the
//! next one starts with them.
//!
//! ```text
//!   ends: clients are closed ▶ all items to FILE.part ▶ synced ▶ renamed to FILE
//!   starts: FILE opened ▶ removed ▶ clients served ┄ in the background: checked, then restored
//! ```
//!
//! A cache may forget, but it must never answer with what was overwritten or deleted. So:
//!
//! - The file that a start reads was written when no client was left: nothing came after it. It is
//!   removed before the first client is served. Whatever happens then, another start cannot find
//!   a state that has been gone beyond.
//! - What clients write or delete while items come back wins over them (`store::Store::restore`).
//! - Every block has a checksum, and the whole is read and checked before the first item of it is
//!   believed (`file.rs`). A file that was cut short, has been damaged, or is of another version is
//!   refused whole, with one line in the log; the cache then starts empty.
//! - Libraries of functions stand before all items and are there for the first client: a function
//!   that is missing is an error, and no miss. Should the rest of the file be refused, those that
//!   no client has replaced meanwhile are removed again.
//! - Items of tenants that are no longer configured, and keys that now belong to another tenant,
//!   stay behind.
//!
//! SIGUSR1 writes a *copy*, at `FILE.copy`, while clients are served. It is out of date as soon as
//! somebody writes, so no start reads it: whoever wants it, to fill another machine for instance,
//! gives it the name of that machine's file.

pub(crate) mod file;
mod restore;
mod save;

pub(crate) use restore::{open, run};
pub(crate) use save::{copy, save};

use crate::clock::Clock;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use store::{Saved, ScanItem, TREE};
use tune::Known;

/// The state of a server's file.
#[derive(Debug, Default)]
pub(crate) struct Warm {
    /// Where it is; `None` where no setting names one.
    path: Option<PathBuf>,
    /// Items are coming back.
    restoring: AtomicBool,
    /// Items that came back.
    restored: AtomicU64,
    /// The knowledge of an earlier pilot, until this one takes it.
    known: Mutex<Option<Known>>,
    /// The knowledge of this one, once it was asked or has ended.
    left: Mutex<Option<Known>>,
    asked: AtomicBool,
    /// Nothing is to be saved at the end.
    forget: AtomicBool,
    /// Held by whoever saves.
    saving: Mutex<()>,
    /// Saves that succeeded and that failed.
    saved: AtomicU64,
    unsaved: AtomicU64,
    /// The last save failed, or the first will.
    is_failing: AtomicBool,
    /// When the last save succeeded, in Unix seconds.
    saved_unix: AtomicU64,
}

impl Warm {
    pub(crate) fn new(path: &str) -> Self {
        // What cannot be written is told before it is needed.
        let is_failing = !path.is_empty() && !files::is_writable(Path::new(path));
        let path = (!path.is_empty()).then(|| path.into());
        Self { path, is_failing: is_failing.into(), ..Self::default() }
    }

    /// Whether items are coming back just now.
    pub(crate) fn is_restoring(&self) -> bool {
        self.restoring.load(Ordering::Acquire)
    }

    /// Items that came back from an earlier run.
    pub(crate) fn restored(&self) -> u64 {
        self.restored.load(Ordering::Relaxed)
    }

    /// Asks what the pilot knows.
    fn ask(&self) {
        self.asked.store(true, Ordering::Release);
    }

    /// Whether that is not answered yet.
    fn is_asking(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    /// Answers whoever asked.
    pub(crate) fn leave_if_asked(&self, known: impl FnOnce() -> Option<Known>) {
        if self.is_asking() {
            self.leave(known());
        }
    }

    /// Says what the pilot knows.
    pub(crate) fn leave(&self, known: Option<Known>) {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = known;
        self.asked.store(false, Ordering::Release);
    }

    /// The knowledge that the pilot has handed over; once.
    fn take_left(&self) -> Option<Known> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether what the pilot knows will be asked for.
    pub(crate) fn is_wanted(&self) -> bool {
        self.path.is_some()
    }

    /// Saves that succeeded, and saves that failed.
    pub(crate) fn saves(&self) -> (u64, u64) {
        (self.saved.load(Ordering::Relaxed), self.unsaved.load(Ordering::Relaxed))
    }

    /// Whether the last save failed, or the first will.
    pub(crate) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    /// When the last save succeeded, in Unix seconds; `None` where none did.
    pub(crate) fn saved_at(&self) -> Option<u64> {
        Some(self.saved_unix.load(Ordering::Relaxed)).filter(|at| *at > 0)
    }

    /// Counts a save.
    fn note_save(&self, succeeded: bool) {
        let count = if succeeded { &self.saved } else { &self.unsaved };
        count.fetch_add(1, Ordering::Relaxed);
        self.is_failing.store(!succeeded, Ordering::Relaxed);
        if succeeded {
            self.saved_unix.store(Clock::unix_us() / 1_000_000, Ordering::Relaxed);
        }
    }

    /// Whether the data is saved at the end.
    pub(crate) fn saves_at_end(&self) -> bool {
        self.path.is_some() && !self.forget.load(Ordering::Acquire)
    }

    /// Saves nothing at the end.
    pub(crate) fn forget(&self) {
        self.forget.store(true, Ordering::Release);
    }

    /// The knowledge of an earlier pilot; once.
    pub(crate) fn take_known(&self) -> Option<Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The header of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    /// Parts of the store: idleness is counted in accesses to one of them.
    shards: u64,
    /// Accesses to one of them so far.
    tick: u64,
    /// The last number given to a written value.
    cas: u64,
    /// By the numbers that items name.
    tenants: Vec<TenantHead>,
    /// Tenants that clients want to be flushed later, and when.
    flushes: Vec<(u64, Vec<u16>)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct TenantHead {
    name: String,
    /// Items in a part of the store.
    items: u64,
    /// Fetches timed, and their mean in microseconds.
    fetches: f64,
    penalty_us: u64,
}

/// An item in the file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry<'a> {
    tenant: u16,
    pub(crate) db: u8,
    kind: u8,
    penalty_class: u8,
    hits: u8,
    pub(crate) idle: u32,
    pub(crate) in_use: u32,
    expires: Option<u64>,
    #[serde(borrow, with = "serde_bytes")]
    pub(crate) key: &'a [u8],
    #[serde(borrow, with = "serde_bytes")]
    value: &'a [u8],
}

impl<'a> Entry<'a> {
    /// An item that a walk met.
    pub(crate) const fn of(found: &ScanItem<'a>) -> Self {
        Self {
            tenant: found.tenant,
            db: found.db,
            kind: found.item.kind,
            penalty_class: found.item.penalty_class,
            hits: found.item.hits,
            idle: found.item.idle,
            in_use: found.item.in_use,
            expires: found.item.expires,
            key: found.key,
            value: found.item.value,
        }
    }

    /// The same, with another value: a hash in one piece.
    pub(crate) const fn flat(found: &ScanItem<'a>, value: &'a [u8]) -> Self {
        Self { value, kind: found.item.kind & !TREE, ..Self::of(found) }
    }

    /// The item that the store takes back, of a tenant with so many in a shard at least. Idleness
    /// is counted in accesses to one, which `by` turns into those here.
    pub(crate) fn saved(&self, beside: usize, by: impl Fn(u32) -> u32) -> Saved<'a> {
        Saved {
            value: self.value,
            kind: self.kind,
            expires: self.expires,
            idle: by(self.idle),
            in_use: by(self.in_use),
            beside,
            hits: self.hits,
            penalty_class: self.penalty_class,
        }
    }
}

/// The code of functions, as FUNCTION LOAD brought it.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Libraries(Vec<Box<[u8]>>);

/// The trailer of the file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Tail {
    items: u64,
}

/// The file beside `path` with this ending.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
