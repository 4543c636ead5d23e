//! Removals of items and their causes: for callers that ask now and then, and for a *removal
//! listener*.
//!
//! A caller that asks, by [`Store::take_removals`], wants to know of items that left by themselves:
//! evicted, or dead of age. Each tenant of each shard keeps what left since the last call, under
//! the lock that the removal holds anyway; a list that nobody fetches in time stays as long as it
//! is, and counts the rest. A *listener* is called at once, under that very lock, of every item
//! that leaves; so it misses none, and sees the value. Without either an item that leaves costs one
//! look at a pointer.

use crate::Store;
use crate::item::Ref;
use base::TenantId;
use std::sync::Arc;

/// Removals kept by a tenant of a shard.
const KEPT_MAX: usize = 4_096;

/// Why an item left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RemovalCause {
    /// It had to make room.
    Evicted,
    /// Its time was over.
    Expired,
    /// It was removed on request.
    Removed,
    /// Its value made way for another one of the same key.
    Replaced,
}

/// Is called with the tenant, key and value of an item that leaves, and why it does.
pub type RemovalListener = dyn Fn(TenantId, &[u8], &[u8], RemovalCause) + Send + Sync;

/// An item that left by itself.
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
    /// Accesses to its part of the store since its own last one, where it was evicted.
    pub idle: u32,
    /// Reads and overwrites while it was there, up to 255.
    pub hits: u8,
    /// Bytes of its value.
    pub size: usize,
    /// When it was to die, in Unix milliseconds.
    pub expires: Option<u64>,
}

/// Removals of the items of one tenant in one shard that are to be reported.
#[derive(Default)]
pub(crate) struct Removals {
    /// The number of the tenant, for the listener.
    tenant: TenantId,
    listener: Option<Arc<RemovalListener>>,
    /// Items that left since the last call, while somebody asks.
    list: Option<Vec<Removal>>,
    lost: u64,
}

/// Reports an item that leaves at `tick`.
#[inline]
pub(crate) fn leaves(
    removals: &mut Option<Box<Removals>>,
    item: Ref,
    cause: RemovalCause,
    tick: u64,
) {
    if let Some(removals) = removals {
        removals.report(item, cause, tick);
    }
}

/// Whether a listener wants to hear of values that are replaced.
#[inline]
pub(crate) fn listens(removals: Option<&Removals>) -> bool {
    removals.is_some_and(|removals| removals.listener.is_some())
}

/// A copy of the value of an item that may be replaced, for a listener.
#[inline]
pub(crate) fn value_before(removals: Option<&Removals>, item: Ref) -> Option<Vec<u8>> {
    listens(removals).then(|| item.value().to_vec())
}

impl Removals {
    #[cold]
    fn report(&mut self, item: Ref, cause: RemovalCause, tick: u64) {
        if let Some(listener) = &self.listener {
            listener(self.tenant, item.key(), item.value(), cause);
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
            size: item.value().len(),
            expires: item.expires(),
        });
    }

    /// Reports a value that was replaced, by the copy of it.
    #[cold]
    pub(crate) fn replaced(&self, key: &[u8], value: &[u8]) {
        if let Some(listener) = &self.listener {
            listener(self.tenant, key, value, RemovalCause::Replaced);
        }
    }
}

impl Store {
    /// Moves what left by itself since the last call to the end of `all`; returns how many were
    /// lost because nobody asked in time. From the first call on removals are kept.
    pub fn take_removals(&self, all: &mut Vec<Removal>) -> u64 {
        let mut lost = 0;
        self.each_removals(|removals| {
            lost += std::mem::take(&mut removals.lost);
            all.append(removals.list.get_or_insert_default());
        });
        lost
    }

    /// Removals are kept no more.
    pub fn stop_removals(&self) {
        self.each_removals(|removals| (removals.list, removals.lost) = (None, 0));
    }

    /// Has `listener` called of every item of the tenants there are that leaves from now on: each
    /// once, when it has left or is just about to, on the thread whose call makes it leave and
    /// under the lock of its shard. So it should be short, and must not call the store. Not
    /// reported are items that [`Store::flush`] takes, and values that grow by an append.
    pub fn listen(&self, listener: &Arc<RemovalListener>) {
        self.each_removals(|removals| removals.listener = Some(Arc::clone(listener)));
    }

    fn each_removals(&self, mut change: impl FnMut(&mut Removals)) {
        for shard in &self.shards {
            for (at, tenant) in shard.write_drained().tenants.iter_mut().enumerate() {
                let removals = tenant.removals.get_or_insert_default();
                removals.tenant = at as TenantId;
                change(removals);
                let is_idle = removals.listener.is_none() && removals.list.is_none();
                tenant.removals.take_if(|_| is_idle);
            }
        }
    }
}
