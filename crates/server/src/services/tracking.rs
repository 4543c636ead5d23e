//! Client-side caches: invalidations for clients that track keys.
//!
//! A tracking client gets one message for each key that it has read, when the key is written,
//! removed, evicted or expired. The expiry of one of its fields counts as well. The key is
//! remembered *before* the read, so a write in between is reported, not lost. With BCAST no key is
//! remembered: the client hears of every changed key with one of its prefixes, in one message for
//! each batch.
//!
//! Whether any client tracks is checked once for a batch of commands. A batch that began before the
//! first client tracked may have written keys that the client has read since. At its end all
//! tracking clients are told to forget everything. If more keys are remembered than
//! `tracking-table-max-keys`, some are forgotten, and their readers are told as if the keys had
//! changed.
//!
//! A message about a key goes only to clients that could have read it, because a key belongs to a
//! tenant.

use super::mail::{Mail, Message};
use crate::settings::acl::User;
use base::TenantId;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::Key;
use wire::resp::{Encoder, Protocol};

/// The channel on which a RESP2 client gets the invalidations of another client.
const CHANNEL: &[u8] = b"__redis__:invalidate";

/// The way in which a client tracks.
#[derive(Clone, Debug)]
pub(crate) struct Tracker {
    /// The client that gets the messages instead; 0 for the client itself.
    pub(crate) redirect: u64,
    /// The client gets no messages about its own writes.
    pub(crate) no_loop: bool,
    /// The client gets messages about every key with one of these prefixes.
    pub(crate) prefixes: Option<Vec<Vec<u8>>>,
    /// The tenants whose keys the client can reach.
    pub(crate) tenants: Vec<TenantId>,
}

/// A key with its tenant and its database.
type Whole = (TenantId, u8, Vec<u8>);

#[derive(Debug, Default)]
struct Inner {
    trackers: BTreeMap<u64, Tracker>,
    /// The clients that have read a key.
    readers: HashMap<(TenantId, Vec<u8>), Vec<u64>>,
    /// The keys that BCAST clients are told at the end of a batch, by client and prefix.
    pending: BTreeMap<(u64, usize), BTreeSet<Vec<u8>>>,
    /// The next expiry of a field in each noted hash, in Unix milliseconds; below, the same sorted
    /// by time.
    deaths: HashMap<Whole, u64>,
    by_time: BTreeSet<(u64, Whole)>,
}

/// The numbers of tracking, for INFO.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) clients: usize,
    pub(crate) keys: usize,
    /// The number of pairs of a key and a client.
    pub(crate) items: usize,
    pub(crate) prefixes: usize,
}

/// All tracking clients.
#[derive(Debug, Default)]
pub(crate) struct Tracking {
    active: AtomicBool,
    /// Whether any messages are pending.
    pending: AtomicBool,
    inner: Mutex<Inner>,
}

/// When the table is full, one key in this many is forgotten at a time.
const FORGOTTEN_SHARE: usize = 64;

impl Tracking {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether any client tracks.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed)
    }

    /// Makes a client track from here on.
    pub(crate) fn join(&self, id: u64, tracker: Tracker) {
        self.lock().trackers.insert(id, tracker);
        self.active.store(true, Ordering::Relaxed);
    }

    /// Ends the tracking of a client.
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

    /// Notes that a client is about to read a key. At most `max` keys are remembered (0 for no
    /// limit).
    pub(crate) fn remember(
        &self,
        mail: Mail<'_>,
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
        inner.limit(mail, max);
    }

    /// Limits the remembered keys to `max` from here on.
    pub(crate) fn limit(&self, mail: Mail<'_>, max: usize) {
        if self.is_active() {
            self.lock().limit(mail, max);
        }
    }

    /// Reports a change of a key by the client `by`, or without a client (0). BCAST clients hear of
    /// it at the next [`Self::tell_pending`].
    pub(crate) fn changed(&self, mail: Mail<'_>, by: u64, tenant: TenantId, key: &[u8]) {
        if self.tell_others(mail, by, tenant, key) {
            tell(mail, by, 0, Some(&[key]));
        }
    }

    /// [`Self::changed`] without the message to the client `by`. Returns whether that client must
    /// be told as well, which its worker does with [`tell_of`].
    pub(crate) fn tell_others(
        &self,
        mail: Mail<'_>,
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
                None => tell(mail, id, tracker.redirect, Some(&[key])),
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

    /// Tells BCAST clients the changes since the last call, in one message for each prefix. A
    /// client is not told of keys that its user may not read.
    pub(crate) fn tell_pending(&self, mail: Mail<'_>, user: impl Fn(&str) -> Option<Arc<User>>) {
        if !self.pending.load(Ordering::Relaxed) || !self.pending.swap(false, Ordering::Relaxed) {
            return;
        }
        let mut inner = self.lock();
        for ((id, _), mut keys) in std::mem::take(&mut inner.pending) {
            let Some(tracker) = inner.trackers.get(&id) else {
                continue;
            };
            let Some(client) = mail.clients.get(id) else {
                continue;
            };
            let user = user(&client.labels().user);
            match user {
                Some(user) if user.is_unlimited() => {}
                Some(user) => keys.retain(|key| user.may_read(key)),
                None => keys.clear(),
            }
            let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            if !keys.is_empty() {
                tell(mail, id, tracker.redirect, Some(&keys));
            }
        }
    }

    /// Notes that a field of a hash expires at `at`. At most `max` hashes are noted (0 for no
    /// limit).
    pub(crate) fn dies(&self, mail: Mail<'_>, max: usize, at: u64, key: &Key<'_>) {
        let mut inner = self.lock();
        if max > 0 && inner.deaths.len() >= max {
            inner.forget_all(mail, None);
        }
        let whole = (key.tenant, key.db, key.bytes.to_vec());
        if let Some(before) = inner.deaths.insert(whole.clone(), at) {
            inner.by_time.remove(&(before, whole.clone()));
        }
        inner.by_time.insert((at, whole));
    }

    /// Forgets all noted expiries of fields.
    pub(crate) fn forget_deaths(&self) {
        let mut inner = self.lock();
        inner.deaths.clear();
        inner.by_time.clear();
    }

    /// Takes out the hashes of which a field must have expired by now.
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

    /// Tells all tracking clients except `by` to forget everything.
    pub(crate) fn forget_all(&self, mail: Mail<'_>, by: Option<u64>) {
        if self.is_active() {
            self.lock().forget_all(mail, by);
        }
    }

    /// The numbers of tracking.
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
    /// Forgets keys until at most `max` are left, and tells their readers.
    fn limit(&mut self, mail: Mail<'_>, max: usize) {
        if max == 0 || self.readers.len() <= max {
            return;
        }
        let mut excess = self.readers.len() - max + max / FORGOTTEN_SHARE;
        tracing::debug!("stopped tracking {excess} keys: tracking-table-max-keys is {max}");
        let any = |_: &(TenantId, Vec<u8>), _: &mut Vec<u64>| {
            let goes = excess > 0;
            excess = excess.saturating_sub(1);
            goes
        };
        for ((_, key), readers) in self.readers.extract_if(any) {
            for id in readers {
                let redirect = self.trackers.get(&id).map_or(0, |tracker| tracker.redirect);
                tell(mail, id, redirect, Some(&[&key]));
            }
        }
    }

    fn forget_all(&mut self, mail: Mail<'_>, by: Option<u64>) {
        self.readers.clear();
        self.pending.clear();
        self.deaths.clear();
        self.by_time.clear();
        for (&id, tracker) in self.trackers.iter().filter(|(id, _)| Some(**id) != by) {
            tell(mail, id, tracker.redirect, None);
        }
    }
}

/// Tells a client about one key that it changed itself: in `out` among its replies if possible,
/// otherwise by its mailbox.
pub(crate) fn tell_of(mail: Mail<'_>, id: u64, key: &[u8], out: Option<&mut Encoder<'_>>) {
    match out {
        Some(out) => invalidate(out, Some(&[key])),
        None => tell(mail, id, 0, Some(&[key])),
    }
}

/// Writes the RESP3 message that these keys changed, or all keys for `None`.
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

/// Tells the client with this id, or the client to which it redirects, that these keys changed, or
/// all keys for `None`.
fn tell(mail: Mail<'_>, id: u64, redirect: u64, keys: Option<&[&[u8]]>) {
    let heard_by = if redirect > 0 { redirect } else { id };
    let Some(client) = mail.clients.get(heard_by) else {
        if redirect > 0
            && let Some(client) = mail.clients.get(id)
        {
            let mut bytes = vec![];
            let mut out = Encoder::new(&mut bytes, client.protocol());
            out.push(2);
            out.bulk(b"tracking-redir-broken");
            out.integer(redirect as i64);
            send(mail, &client, bytes);
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
    send(mail, &client, bytes);
}

fn send(mail: Mail<'_>, client: &crate::services::clients::Client, bytes: Vec<u8>) {
    let place = client.place;
    mail.mailboxes[place.worker].send(Message::Told(place.at, client.id, bytes));
}
