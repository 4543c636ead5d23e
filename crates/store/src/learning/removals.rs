//! Removals of items and their causes, for callers that poll and for a *removal listener*.
//!
//! A caller that polls by [`Store::take_removals`] learns of items that were evicted or expired.
//! Each tenant of each shard keeps its removals since the last call, under the lock that the
//! removal holds anyway. A list that is not fetched in time stays at its maximum length, and
//! further removals are only counted. A *listener* is called at once, under the same lock, for
//! every removed item. So it misses none, and sees the value. Without either, a removal costs one
//! check of a pointer.

use crate::compression::counts::Compressed;
use crate::compression::form::plain_len;
use crate::items::item::Ref;
use base::TenantId;
use std::sync::Arc;

/// Most removals kept per tenant and shard.
const KEPT_MAX: usize = 4_096;

/// Why an item was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RemovalCause {
    /// It was evicted to make room.
    Evicted,
    /// It reached its time to live.
    Expired,
    /// A request removed it.
    Removed,
    /// Another value of the same key replaced it.
    Replaced,
}

/// A function that receives the tenant, key and value of a removed item, and the cause.
pub type RemovalListener = dyn Fn(TenantId, &[u8], &[u8], RemovalCause) + Send + Sync;

/// An item that was evicted or expired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The tenant that owned it.
    pub tenant: TenantId,
    /// Its database.
    pub db: u8,
    /// Its key.
    pub key: Vec<u8>,
    /// Evicted or expired.
    pub cause: RemovalCause,
    /// If it was evicted: accesses to its shard since its own last one.
    pub idle: u32,
    /// Reads and overwrites of the item, up to 255.
    pub hits: u8,
    /// Bytes of its value.
    pub size: usize,
    /// Its expiry, in Unix milliseconds.
    pub expires: Option<u64>,
}

/// Removals of one tenant's items in one shard that are to be reported.
#[derive(Default)]
pub(crate) struct Removals {
    /// The number of the tenant, for the listener.
    pub(crate) tenant: TenantId,
    pub(crate) listener: Option<Arc<RemovalListener>>,
    /// Items removed since the last call, while a caller polls.
    pub(crate) list: Option<Vec<Removal>>,
    pub(crate) lost: u64,
}

/// Reports an item that is removed at `tick`.
#[inline]
pub(crate) fn leaves(
    removals: &mut Option<Box<Removals>>,
    item: Ref,
    cause: RemovalCause,
    tick: u64,
    compressed: &Compressed,
) {
    if let Some(removals) = removals {
        removals.report(item, cause, tick, compressed);
    }
}

/// Whether a listener must be called for replaced values.
#[inline]
pub(crate) fn listens(removals: Option<&Removals>) -> bool {
    removals.is_some_and(|removals| removals.listener.is_some())
}

/// A copy of the value of an item that may be replaced, if there is a listener.
#[inline]
pub(crate) fn value_before(
    removals: Option<&Removals>,
    item: Ref,
    compressed: &Compressed,
) -> Option<Vec<u8>> {
    let copy = || with_plain(item, compressed, <[u8]>::to_vec);
    if listens(removals) { Some(copy()) } else { None }
}

/// Shows the plain value of an item, or nothing if it is corrupt.
fn with_plain<R>(item: Ref, compressed: &Compressed, show: impl FnOnce(&[u8]) -> R) -> R {
    if !item.is_compressed() {
        return show(item.value());
    }
    let plain = compressed.plain(item.value());
    show(plain.as_deref().unwrap_or_default())
}

impl Removals {
    #[cold]
    fn report(&mut self, item: Ref, cause: RemovalCause, tick: u64, compressed: &Compressed) {
        if let Some(listener) = &self.listener {
            let tell = |value: &[u8]| listener(self.tenant, item.key(), value, cause);
            with_plain(item, compressed, tell);
        }
        let Some(list) = &mut self.list else { return };
        if !matches!(cause, RemovalCause::Evicted | RemovalCause::Expired) {
            return;
        }
        if list.len() >= KEPT_MAX {
            self.lost += 1;
            return;
        }
        list.push(Removal {
            tenant: self.tenant,
            db: item.db(),
            key: item.key().to_vec(),
            cause,
            idle: if cause == RemovalCause::Evicted { item.stamps().age(tick) } else { 0 },
            hits: item.stamps().hits,
            size: if item.is_compressed() { plain_len(item.value()) } else { item.value().len() },
            expires: item.expires(),
        });
    }

    /// Reports a replaced value from its copy.
    #[cold]
    pub(crate) fn replaced(&self, key: &[u8], value: &[u8]) {
        if let Some(listener) = &self.listener {
            listener(self.tenant, key, value, RemovalCause::Replaced);
        }
    }
}
