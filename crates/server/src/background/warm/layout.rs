//! The records of the file, before they are encoded.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use store::{Saved, ScanItem, TREE};

/// The header of the file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Head {
    /// The number of shards: idle times are counted in accesses to one of them.
    pub(super) shards: u64,
    /// The accesses to one of them so far.
    pub(super) tick: u64,
    /// The last cas given to a written value.
    pub(super) cas: u64,
    /// The tenants, by the numbers that the items use.
    pub(super) tenants: Vec<TenantHead>,
    /// The later flushes of clients: their time, and their tenants.
    pub(super) flushes: Vec<(u64, Vec<u16>)>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TenantHead {
    pub(super) name: String,
    /// The number of items in a shard.
    pub(super) items: u64,
    /// The number of timed fetches, and their mean in microseconds.
    pub(super) fetches: f64,
    pub(super) penalty_us: u64,
}

/// An item in the file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry<'a> {
    pub(super) tenant: u16,
    pub(crate) db: u8,
    pub(super) kind: u8,
    pub(super) penalty_class: u8,
    pub(super) hits: u8,
    pub(crate) idle: u32,
    pub(crate) in_use: u32,
    pub(super) expires: Option<u64>,
    #[serde(borrow, with = "serde_bytes")]
    pub(crate) key: &'a [u8],
    #[serde(borrow, with = "serde_bytes")]
    pub(crate) value: &'a [u8],
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
            is_compressed: false,
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
pub(super) struct Libraries(pub(super) Vec<Box<[u8]>>);

/// The trailer of the file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Tail {
    pub(super) items: u64,
}

/// The path of the file beside `path` with this ending.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
