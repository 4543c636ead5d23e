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

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use store::{Saved, ScanItem, TREE};

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
