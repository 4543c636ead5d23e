//! Warm restart: a server that ends saves its items and its pilot's knowledge to a file, and the
//! next one starts with them.
//!
//! ```text
//!   ends: clients are closed ▶ all items to FILE.part ▶ synced ▶ renamed to FILE
//!   starts: FILE opened ▶ removed ▶ clients served ┄ in the background: checked, then restored
//! ```
//!
//! A cache may forget, but it must never answer with data that was overwritten or deleted. So:
//!
//! - The file that a start reads was written after the last client was gone, so no later write
//!   exists. It is removed before the first client is served. Whatever happens then, another start
//!   cannot find stale data.
//! - Writes and deletions by clients during the restore win over restored items
//!   (`store::Store::restore`).
//! - Every block has a checksum, and the whole file is read and checked before its first item is
//!   used (`file.rs`). A file that is incomplete, damaged or of another version is refused as a
//!   whole, with one line in the log. The cache then starts empty.
//! - Libraries of functions come before all items and are loaded before the first client, because a
//!   missing function is an error, not a miss. If the rest of the file is refused, the libraries
//!   that no client has replaced meanwhile are removed again.
//! - Items of tenants that are no longer configured are dropped, and so are keys that now belong to
//!   another tenant.
//!
//! SIGUSR1 writes a *copy* to `FILE.copy` while clients are served. The copy is out of date as soon
//! as a client writes, so no start reads it. To use it, for instance to fill another machine, give
//! it the name of that machine's file.

pub(crate) mod file;
mod restore;
mod save;

pub(crate) use restore::{open, run};
pub(crate) use save::{copy, save};

use crate::services::clock::Clock;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use store::{Saved, ScanItem, TREE};
use tune::Known;

/// The state of a server's file.
#[derive(Debug, Default)]
pub(crate) struct Warm {
    /// The path of the file; `None` if no setting names one.
    path: Option<PathBuf>,
    /// Whether items are being restored.
    restoring: AtomicBool,
    /// The number of restored items.
    restored: AtomicU64,
    /// The knowledge of an earlier pilot, until this one takes it.
    known: Mutex<Option<Known>>,
    /// The knowledge of this pilot, after it was asked for or the pilot has ended.
    left: Mutex<Option<Known>>,
    asked: AtomicBool,
    /// Whether the end of the server saves nothing.
    forget: AtomicBool,
    /// Locked during a save.
    saving: Mutex<()>,
    /// The numbers of saves that succeeded and failed.
    saved: AtomicU64,
    unsaved: AtomicU64,
    /// Whether the last save failed, or the first one will.
    is_failing: AtomicBool,
    /// The time of the last successful save, in Unix seconds.
    saved_unix: AtomicU64,
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
    fn ask(&self) {
        self.asked.store(true, Ordering::Release);
    }

    /// Whether that request is still open.
    fn is_asking(&self) -> bool {
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
    fn take_left(&self) -> Option<Known> {
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
    fn note_save(&self, succeeded: bool) {
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

/// The header of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    /// The number of shards: idle times are counted in accesses to one of them.
    shards: u64,
    /// The accesses to one of them so far.
    tick: u64,
    /// The last cas given to a written value.
    cas: u64,
    /// The tenants, by the numbers that the items use.
    tenants: Vec<TenantHead>,
    /// The later flushes of clients: their time, and their tenants.
    flushes: Vec<(u64, Vec<u16>)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct TenantHead {
    name: String,
    /// The number of items in a shard.
    items: u64,
    /// The number of timed fetches, and their mean in microseconds.
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
    /// The entry of an item that a walk found.
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

    /// The entry of a collection, with its value in one piece.
    pub(crate) const fn flat(found: &ScanItem<'a>, value: &'a [u8]) -> Self {
        Self { value, kind: found.item.kind & !TREE, ..Self::of(found) }
    }

    /// The item for the store, of a tenant with at least `beside` items in a shard. Idle times are
    /// counted in accesses to a shard; `by` converts them to the shards of this server.
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

/// The code of the libraries, as FUNCTION LOAD got it.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Libraries(Vec<Box<[u8]>>);

/// The trailer of the file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Tail {
    items: u64,
}

/// The path of the file beside `path` with this ending.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
