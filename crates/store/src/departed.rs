//! Items that leave, and why: for callers that ask now and then, and for a listener.
//!
//! A caller that asks, by [`Store::departed`], wants to know of items that left by themselves:
//! evicted, or dead of age. Each tenant of each shard keeps what left since the last call, under
//! the lock that the departure holds anyway; a list that nobody fetches in time stays as long as it
//! is, and counts the rest. A *listener* is called at once, under that very lock, of every item
//! that leaves; so it misses none, and sees the value. Without either an item that leaves costs one
//! look at a pointer.

use crate::Store;
use crate::item::Ref;
use base::TenantId;
use std::sync::Arc;

/// Departures kept by a tenant of a shard.
const KEPT_MAX: usize = 4_096;

/// Why an item left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
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
pub type Listener = dyn Fn(TenantId, &[u8], &[u8], Cause) + Send + Sync;

/// An item that left by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departed {
    /// Whose it was.
    pub tenant: TenantId,
    /// Its database.
    pub db: u8,
    /// Its key.
    pub key: Vec<u8>,
    /// Evicted or expired.
    pub cause: Cause,
    /// Accesses to its part of the store since its own last one, where it was evicted.
    pub idle: u32,
    /// Reads and overwrites while it was there, up to 255.
    pub hits: u8,
    /// Bytes of its value.
    pub size: usize,
    /// When it was to die, in Unix milliseconds.
    pub expires: Option<u64>,
}

/// What is to be told of the items of one tenant in one shard.
#[derive(Default)]
pub(crate) struct Departures {
    /// The number of the tenant, for the listener.
    tenant: TenantId,
    listener: Option<Arc<Listener>>,
    /// Items that left since the last call, while somebody asks.
    list: Option<Vec<Departed>>,
    lost: u64,
}

/// Tells of an item that leaves at `tick`.
#[inline]
pub(crate) fn leaves(departures: &mut Option<Box<Departures>>, item: Ref, cause: Cause, tick: u64) {
    if let Some(departures) = departures {
        departures.tell(item, cause, tick);
    }
}

/// Whether a listener wants to hear of values that are replaced.
#[inline]
pub(crate) fn listens(departures: Option<&Departures>) -> bool {
    departures.is_some_and(|departures| departures.listener.is_some())
}

/// A copy of the value of an item that may be replaced, for a listener.
#[inline]
pub(crate) fn value_before(departures: Option<&Departures>, item: Ref) -> Option<Vec<u8>> {
    listens(departures).then(|| item.value().to_vec())
}

impl Departures {
    #[cold]
    fn tell(&mut self, item: Ref, cause: Cause, tick: u64) {
        if let Some(listener) = &self.listener {
            listener(self.tenant, item.key(), item.value(), cause);
        }
        let Some(list) = &mut self.list else { return };
        if !matches!(cause, Cause::Evicted | Cause::Expired) {
            return;
        }
        if list.len() >= KEPT_MAX {
            self.lost += 1;
            return;
        }
        list.push(Departed {
            tenant: self.tenant,
            db: item.db(),
            key: item.key().to_vec(),
            cause,
            idle: if cause == Cause::Evicted { item.stamps().age(tick) } else { 0 },
            hits: item.stamps().hits,
            size: item.value().len(),
            expires: item.expires(),
        });
    }

    /// Tells of a value that was replaced, by the copy of it.
    #[cold]
    pub(crate) fn replaced(&self, key: &[u8], value: &[u8]) {
        if let Some(listener) = &self.listener {
            listener(self.tenant, key, value, Cause::Replaced);
        }
    }
}

impl Store {
    /// Moves what left by itself since the last call to the end of `all`; returns how many were
    /// lost because nobody asked in time. From the first call on departures are noted.
    pub fn departed(&self, all: &mut Vec<Departed>) -> u64 {
        let mut lost = 0;
        self.each_departures(|departures| {
            lost += std::mem::take(&mut departures.lost);
            all.append(departures.list.get_or_insert_default());
        });
        lost
    }

    /// Departures are noted no more.
    pub fn forget_departed(&self) {
        self.each_departures(|departures| (departures.list, departures.lost) = (None, 0));
    }

    /// Has `listener` called of every item of the tenants there are that leaves from now on: each
    /// once, when it has left or is just about to, on the thread whose call makes it leave and
    /// under the lock of its shard. So it should be short, and must not call the store. Not told
    /// are items that [`Store::flush`] takes, and values that grow by an append.
    pub fn listen(&self, listener: &Arc<Listener>) {
        self.each_departures(|departures| departures.listener = Some(Arc::clone(listener)));
    }

    fn each_departures(&self, mut change: impl FnMut(&mut Departures)) {
        for shard in &self.shards {
            for (at, tenant) in shard.settle().tenants.iter_mut().enumerate() {
                let departures = tenant.departures.get_or_insert_default();
                departures.tenant = at as TenantId;
                change(departures);
                let is_idle = departures.listener.is_none() && departures.list.is_none();
                tenant.departures.take_if(|_| is_idle);
            }
        }
    }
}
