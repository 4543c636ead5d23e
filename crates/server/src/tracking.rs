//! Client side caches: who is told when a key changes.
//!
//! A client that tracks is told of each key that it has read, once, when that is written, removed,
//! evicted, or dies. It is remembered *before* it reads, so that a write that comes between is told
//! rather than lost. With BCAST nothing is remembered: the client hears of every key that begins
//! with one of its prefixes.
//!
//! Whether anybody tracks is asked once for a batch of commands. A batch that began before the
//! first client did may have written what that client has read since: at its end everybody is told
//! to forget everything. So is everybody where more keys are remembered than
//! `tracking-table-max-keys`.
//!
//! Keys are told to those alone that could have read them: a key belongs to a tenant.

use crate::shared::Shared;
use crate::worker::Message;
use base::TenantId;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use wire::resp::{Encoder, Protocol};

/// Where a version 2 client listens for what another is told.
const CHANNEL: &[u8] = b"__redis__:invalidate";

/// How a client tracks.
#[derive(Clone, Debug)]
pub(crate) struct Tracker {
    /// The client that is told instead; 0 for the client itself.
    pub(crate) redirect: u64,
    /// Its own writes are not told.
    pub(crate) no_loop: bool,
    /// It is told of every key with one of these prefixes.
    pub(crate) prefixes: Option<Vec<Vec<u8>>>,
    /// Whose keys it can come by.
    pub(crate) tenants: Vec<TenantId>,
}

#[derive(Debug, Default)]
struct Inner {
    trackers: BTreeMap<u64, Tracker>,
    /// Who has read a key.
    readers: HashMap<(TenantId, Vec<u8>), Vec<u64>>,
}

/// All who track.
#[derive(Debug, Default)]
pub(crate) struct Tracking {
    active: AtomicBool,
    inner: Mutex<Inner>,
}

impl Tracking {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether anybody tracks.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed)
    }

    /// A client tracks from here on.
    pub(crate) fn join(&self, id: u64, tracker: Tracker) {
        self.lock().trackers.insert(id, tracker);
        self.active.store(true, Ordering::Relaxed);
    }

    /// A client tracks no more.
    pub(crate) fn leave(&self, id: u64) {
        if !self.is_active() {
            return;
        }
        let mut inner = self.lock();
        if inner.trackers.remove(&id).is_some() && inner.trackers.is_empty() {
            inner.readers = HashMap::new();
            self.active.store(false, Ordering::Relaxed);
        }
    }

    /// A client is about to read a key; of which so many are remembered (0 for no limit).
    pub(crate) fn remember(
        &self,
        shared: &Shared,
        max: usize,
        id: u64,
        tenant: TenantId,
        key: &[u8],
    ) {
        let mut inner = self.lock();
        if max > 0 && inner.readers.len() >= max {
            tracing::debug!("clients forget what they track: above tracking-table-max-keys, {max}");
            inner.forget_all(shared, None);
        }
        let readers = inner.readers.entry((tenant, key.to_vec())).or_default();
        if !readers.contains(&id) {
            readers.push(id);
        }
    }

    /// Tells that a key has changed, by the client `by` or by itself (0).
    pub(crate) fn changed(&self, shared: &Shared, by: u64, tenant: TenantId, key: &[u8]) {
        let mut inner = self.lock();
        let readers = inner.readers.remove(&(tenant, key.to_vec())).unwrap_or_default();
        for (&id, tracker) in &inner.trackers {
            let hears = match &tracker.prefixes {
                None => readers.contains(&id),
                Some(prefixes) => {
                    let begins = prefixes.iter().any(|prefix| key.starts_with(prefix));
                    begins && tracker.tenants.contains(&tenant)
                }
            };
            if hears && !(tracker.no_loop && id == by) {
                tell(shared, id, tracker.redirect, Some(key));
            }
        }
    }

    /// Tells everybody, but the client `by`, to forget everything.
    pub(crate) fn forget_all(&self, shared: &Shared, by: Option<u64>) {
        if self.is_active() {
            self.lock().forget_all(shared, by);
        }
    }
}

impl Inner {
    fn forget_all(&mut self, shared: &Shared, by: Option<u64>) {
        self.readers.clear();
        for (&id, tracker) in self.trackers.iter().filter(|(id, _)| Some(**id) != by) {
            tell(shared, id, tracker.redirect, None);
        }
    }
}

/// Sends the client with this id, or the one it names instead, that a key changed, or that all did.
fn tell(shared: &Shared, id: u64, redirect: u64, key: Option<&[u8]>) {
    let heard_by = if redirect > 0 { redirect } else { id };
    let Some(client) = shared.clients.get(heard_by) else {
        if redirect > 0
            && let Some(client) = shared.clients.get(id)
        {
            let mut bytes = vec![];
            let mut out = Encoder::new(&mut bytes, client.protocol());
            out.push(2);
            out.bulk(b"tracking-redir-broken");
            out.integer(redirect as i64);
            send(shared, &client, bytes);
        }
        return;
    };
    let mut bytes = vec![];
    let protocol = client.protocol();
    let mut out = Encoder::new(&mut bytes, protocol);
    if protocol == Protocol::Resp3 {
        out.push(2);
        out.bulk(b"invalidate");
    } else if redirect > 0 && client.channels.load(Ordering::Relaxed) > 0 {
        out.array(3);
        out.bulk(b"message");
        out.bulk(CHANNEL);
    } else {
        return;
    }
    match key {
        Some(key) => {
            out.array(1);
            out.bulk(key);
        }
        None => out.null(),
    }
    send(shared, &client, bytes);
}

fn send(shared: &Shared, client: &crate::clients::Client, bytes: Vec<u8>) {
    let place = client.place;
    shared.mailboxes[place.worker].send(Message::Line(place.at, client.id, bytes));
}
