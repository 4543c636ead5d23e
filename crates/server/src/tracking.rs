//! Client side caches: who is told when a key changes.
//!
//! A client that tracks is told of each key that it has read, once, when that is written, removed,
//! evicted, or dies, or when a field of it does. The key is remembered *before* it is read, so that
//! a write that comes between is told rather than lost. With BCAST nothing is remembered: the
//! client hears of every key that begins with one of its prefixes, of all that a batch changed in
//! one message.
//!
//! Whether anybody tracks is asked once for a batch of commands. A batch that began before the
//! first client did may have written what that client has read since: at its end everybody is told
//! to forget everything. Where more keys are remembered than `tracking-table-max-keys`, some are
//! forgotten, and their readers are told as if they had changed.
//!
//! Keys are told to those alone that could have read them: a key belongs to a tenant.

use crate::shared::Shared;
use crate::worker::Message;
use base::TenantId;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::Key;
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
    /// The tenants whose keys it can come by.
    pub(crate) tenants: Vec<TenantId>,
}

/// The tenant of a key, and its database.
type Whole = (TenantId, u8, Vec<u8>);

#[derive(Debug, Default)]
struct Inner {
    trackers: BTreeMap<u64, Tracker>,
    /// Clients that have read a key.
    readers: HashMap<(TenantId, Vec<u8>), Vec<u64>>,
    /// Keys that clients of BCAST are told at the end of a batch: by client and prefix, the keys.
    pending: BTreeMap<(u64, usize), BTreeSet<Vec<u8>>>,
    /// The next death of a field in each hash that was read or written, in Unix milliseconds; and
    /// the same by time.
    deaths: HashMap<Whole, u64>,
    by_time: BTreeSet<(u64, Whole)>,
}

/// How much is tracked, as INFO shows it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) clients: usize,
    pub(crate) keys: usize,
    /// Pairs of a key and a client.
    pub(crate) items: usize,
    pub(crate) prefixes: usize,
}

/// All who track.
#[derive(Debug, Default)]
pub(crate) struct Tracking {
    active: AtomicBool,
    /// Whether anything is pending.
    pending: AtomicBool,
    inner: Mutex<Inner>,
}

/// Of a full table one key in so many is forgotten at a time.
const FORGOTTEN_SHARE: usize = 64;

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
            inner.readers.clear();
            self.active.store(false, Ordering::Relaxed);
        }
        inner.pending.retain(|(client, _), _| *client != id);
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
        let readers = inner.readers.entry((tenant, key.to_vec())).or_default();
        if !readers.contains(&id) {
            readers.push(id);
        }
        inner.limit(shared, max);
    }

    /// So many keys are remembered at most from here on.
    pub(crate) fn limit(&self, shared: &Shared, max: usize) {
        if self.is_active() {
            self.lock().limit(shared, max);
        }
    }

    /// Tells that a key has changed, by the client `by` or by itself (0). Clients of BCAST hear of
    /// it with [`Self::tell_pending`].
    pub(crate) fn changed(&self, shared: &Shared, by: u64, tenant: TenantId, key: &[u8]) {
        if self.tell_others(shared, by, tenant, key) {
            tell(shared, by, 0, Some(&[key]));
        }
    }

    /// The same, without telling the client that did it: whether that is to be told as well, which
    /// its worker does with [`tell_of`].
    pub(crate) fn tell_others(
        &self,
        shared: &Shared,
        by: u64,
        tenant: TenantId,
        key: &[u8],
    ) -> bool {
        let (mut inner, mut tells_itself) = (self.lock(), false);
        let Inner { trackers, readers, pending, .. } = &mut *inner;
        let readers = readers.remove(&(tenant, key.to_vec())).unwrap_or_default();
        for (&id, tracker) in &*trackers {
            if tracker.no_loop && id == by {
                continue;
            }
            match &tracker.prefixes {
                None if !readers.contains(&id) => {}
                None if id == by && tracker.redirect == 0 => tells_itself = true,
                None => tell(shared, id, tracker.redirect, Some(&[key])),
                Some(prefixes) if tracker.tenants.contains(&tenant) => {
                    let begins = prefixes.iter().position(|prefix| key.starts_with(prefix));
                    if let Some(at) = begins {
                        pending.entry((id, at)).or_default().insert(key.to_vec());
                        self.pending.store(true, Ordering::Relaxed);
                    }
                }
                Some(_) => {}
            }
        }
        tells_itself
    }

    /// Tells clients of BCAST what has changed since the last time: a message for each prefix.
    /// Nobody is told of a key that its user may not read.
    pub(crate) fn tell_pending(&self, shared: &Shared) {
        if !self.pending.load(Ordering::Relaxed) || !self.pending.swap(false, Ordering::Relaxed) {
            return;
        }
        let mut inner = self.lock();
        let view = shared.view();
        for ((id, _), mut keys) in std::mem::take(&mut inner.pending) {
            let Some(tracker) = inner.trackers.get(&id) else { continue };
            let Some(client) = shared.clients.get(id) else { continue };
            let user = view.settings.user(&client.labels().user).cloned();
            match user {
                Some(user) if user.is_unlimited() => {}
                Some(user) => keys.retain(|key| user.may_read(key)),
                None => keys.clear(),
            }
            let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            if !keys.is_empty() {
                tell(shared, id, tracker.redirect, Some(&keys));
            }
        }
    }

    /// The next field of a hash to die does so at `at`. At most `max` hashes are known, any number
    /// for 0.
    pub(crate) fn dies(&self, shared: &Shared, max: usize, at: u64, key: &Key<'_>) {
        let mut inner = self.lock();
        if max > 0 && inner.deaths.len() >= max {
            inner.forget_all(shared, None);
        }
        let whole = (key.tenant, key.db, key.bytes.to_vec());
        if let Some(before) = inner.deaths.insert(whole.clone(), at) {
            inner.by_time.remove(&(before, whole.clone()));
        }
        inner.by_time.insert((at, whole));
    }

    /// Nobody hears of the deaths of fields any more.
    pub(crate) fn forget_deaths(&self) {
        let mut inner = self.lock();
        inner.deaths.clear();
        inner.by_time.clear();
    }

    /// The hashes of which a field should be dead by now.
    pub(crate) fn due(&self, now_ms: u64) -> Vec<Whole> {
        let mut inner = self.lock();
        let later = inner.by_time.split_off(&(now_ms + 1, (0, 0, vec![])));
        let due = std::mem::replace(&mut inner.by_time, later);
        let due: Vec<Whole> = due.into_iter().map(|(_, whole)| whole).collect();
        for whole in &due {
            inner.deaths.remove(whole);
        }
        due
    }

    /// Tells everybody, but the client `by`, to forget everything.
    pub(crate) fn forget_all(&self, shared: &Shared, by: Option<u64>) {
        if self.is_active() {
            self.lock().forget_all(shared, by);
        }
    }

    /// How much is tracked.
    pub(crate) fn counts(&self) -> Counts {
        let inner = self.lock();
        let prefixes = inner.trackers.values().filter_map(|tracker| tracker.prefixes.as_ref());
        Counts {
            clients: inner.trackers.len(),
            keys: inner.readers.len(),
            items: inner.readers.values().map(Vec::len).sum(),
            prefixes: prefixes.flatten().collect::<BTreeSet<_>>().len(),
        }
    }
}

impl Inner {
    /// Forgets keys, and says so to their readers, until no more than `max` are left.
    fn limit(&mut self, shared: &Shared, max: usize) {
        if max == 0 || self.readers.len() <= max {
            return;
        }
        let mut excess = self.readers.len() - max + max / FORGOTTEN_SHARE;
        tracing::debug!("{excess} keys are tracked no more: above tracking-table-max-keys, {max}");
        let any = |_: &(TenantId, Vec<u8>), _: &mut Vec<u64>| {
            let goes = excess > 0;
            excess = excess.saturating_sub(1);
            goes
        };
        for ((_, key), readers) in self.readers.extract_if(any) {
            for id in readers {
                let redirect = self.trackers.get(&id).map_or(0, |tracker| tracker.redirect);
                tell(shared, id, redirect, Some(&[&key]));
            }
        }
    }

    fn forget_all(&mut self, shared: &Shared, by: Option<u64>) {
        self.readers.clear();
        self.pending.clear();
        self.deaths.clear();
        self.by_time.clear();
        for (&id, tracker) in self.trackers.iter().filter(|(id, _)| Some(**id) != by) {
            tell(shared, id, tracker.redirect, None);
        }
    }
}

/// Tells a client of one key that it has changed itself: at once in `out`, where its replies go and
/// what is told may stand, else by its mailbox.
pub(crate) fn tell_of(shared: &Shared, id: u64, key: &[u8], out: Option<&mut Encoder<'_>>) {
    match out {
        Some(out) => invalidate(out, Some(&[key])),
        None => tell(shared, id, 0, Some(&[key])),
    }
}

/// The message of version 3 that keys changed, or that all did.
fn invalidate(out: &mut Encoder<'_>, keys: Option<&[&[u8]]>) {
    out.push(2);
    out.bulk(b"invalidate");
    name(out, keys);
}

fn name(out: &mut Encoder<'_>, keys: Option<&[&[u8]]>) {
    match keys {
        Some(keys) => {
            out.array(keys.len());
            for key in keys {
                out.bulk(key);
            }
        }
        None => out.null(),
    }
}

/// Sends the client with this id, or the one it names instead, that keys changed, or that all did.
fn tell(shared: &Shared, id: u64, redirect: u64, keys: Option<&[&[u8]]>) {
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
        invalidate(&mut out, keys);
    } else if redirect > 0 && client.channels.load(Ordering::Relaxed) > 0 {
        out.array(3);
        out.bulk(b"message");
        out.bulk(CHANNEL);
        name(&mut out, keys);
    } else {
        return;
    }
    send(shared, &client, bytes);
}

fn send(shared: &Shared, client: &crate::clients::Client, bytes: Vec<u8>) {
    let place = client.place;
    shared.mailboxes[place.worker].send(Message::Told(place.at, client.id, bytes));
}
