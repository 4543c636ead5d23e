//! Makes requests of what happened.
//!
//! A cache that is looked aside shows a miss as two commands: a read, and the write of what the
//! backend answered. To another cache, which may hold the key, only the read is a request. So a
//! write that *answers* a read is folded into it, and the time between the two is the penalty.
//!
//! The rule, for a server that does not say whether a read hit: a write answers the last read of
//! its key by the same connection; where that connection read nothing, the only read by the same
//! host, for clients share connections. The read is at most ten seconds old, and the key was not
//! removed between them. Where the server says that a read hit, no write answers it. Clients that
//! read a value and write it back look the same, and the number of misses that the server counts
//! tells them apart: see [`Recorder::fills`].
//!
//! Everything is kept until the end, some 60 bytes a request and 150 a key, for what is learned of
//! a key later (its size, its penalty, its life) belongs to its earlier requests too.

use super::{Deed, Event, Recorded};
use crate::{Micros, Op, TenantId};
use base::hash;
use std::collections::HashMap;

/// Whose a key is, by name; asked once a key.
pub type Owner = Box<dyn FnMut(&Event<'_>) -> String + Send>;
/// A key of the capture.
pub type KeyNumber = u32;

/// A write that comes later answers no read.
const FETCH_US_MAX: u64 = 10_000_000;
/// Reads of a key that may still be answered; of more the oldest is forgotten.
const OPEN_MAX: usize = 32;
/// Bytes of keys and of tenants' names; a server that tells more is recorded no further.
const TEXT_MAX: usize = 1 << 30;

/// A read that a write may answer.
#[derive(Clone, Copy, Debug)]
struct Open {
    time_us: u64,
    connection: u64,
    host: u64,
    request: u32,
}

/// A request as it was told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) time_us: u64,
    pub(super) key: KeyNumber,
    pub(super) op: Op,
    pub(super) size: Option<u64>,
    pub(super) ttl: Option<Micros>,
    /// What was measured.
    pub(super) fetch: Option<Micros>,
    pub(super) missed: bool,
}

/// A key, as it was last known.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) text: Box<[u8]>,
    pub(super) db: u32,
    pub(super) tenant: TenantId,
    /// The size of its first value that was told.
    pub(super) size: Option<u64>,
    /// What the server answered when it was asked.
    pub(super) asked: Option<u64>,
    /// Bytes that changes brought.
    pub(super) changed: u64,
    pub(super) ttl: Option<Micros>,
    pub(super) fetched: Micros,
    pub(super) fetches: u32,
    /// The penalty that the server tells.
    pub(super) told: Micros,
    is_read: bool,
    /// The request that wrote the value that it holds.
    written: Option<u32>,
}

/// How writes were found to answer reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fills {
    /// By the connection of the read.
    pub by_connection: u64,
    /// By the host of the only read.
    pub by_host: u64,
    /// Reads that the server said to have missed.
    pub told_misses: u64,
    /// Reads of which it said that they hit.
    pub told_hits: u64,
}

/// Everything that was told.
pub struct Recorder {
    owner: Owner,
    pub(super) keys: Vec<Key>,
    numbers: HashMap<u64, KeyNumber>,
    pub(super) requests: Vec<Request>,
    open: HashMap<KeyNumber, Vec<Open>>,
    pub(super) names: Vec<String>,
    fills: Fills,
    limit: usize,
    /// Bytes of keys and names so far.
    text: usize,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("requests", &self.requests.len()).finish_non_exhaustive()
    }
}

impl Recorder {
    /// Records up to `limit` requests.
    pub fn new(owner: Owner, limit: usize) -> Self {
        Self {
            owner,
            keys: vec![],
            numbers: HashMap::new(),
            requests: vec![],
            open: HashMap::new(),
            names: vec![],
            fills: Fills::default(),
            limit: limit.min(u32::MAX as usize),
            text: 0,
        }
    }

    /// Requests so far.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Whether no more is recorded.
    pub fn is_full(&self) -> bool {
        self.requests.len() >= self.limit || self.text > TEXT_MAX
    }

    /// What was found to be a miss, and how.
    pub const fn fills(&self) -> Fills {
        self.fills
    }

    /// Nobody looked for a while: no write answers a read from before.
    pub fn pause(&mut self) {
        self.open.clear();
    }

    /// Takes note of a request.
    pub fn see(&mut self, event: &Event<'_>) {
        if self.is_full() {
            return;
        }
        let number = self.number(event);
        match event.deed {
            Deed::Read => self.read(number, event),
            Deed::Write | Deed::Change => self.write(number, event),
            Deed::Delete => {
                self.open.remove(&number);
                self.keys[number as usize].written = None;
                self.push(number, event, Op::Delete);
            }
            Deed::Expire => self.expire(number, event),
        }
    }

    fn number(&mut self, event: &Event<'_>) -> KeyNumber {
        let hash = hash::bytes(u64::from(event.db), event.key);
        if let Some(&number) = self.numbers.get(&hash) {
            return number;
        }
        let name = (self.owner)(event);
        self.text += event.key.len();
        let tenant = self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            if self.names.len() <= usize::from(TenantId::MAX) {
                self.text += name.len();
                self.names.push(name);
            }
            self.names.len() - 1
        });
        let number = self.keys.len() as KeyNumber;
        self.keys.push(Key {
            text: event.key.into(),
            db: event.db,
            tenant: TenantId::try_from(tenant).unwrap_or(TenantId::MAX),
            size: None,
            asked: None,
            changed: 0,
            ttl: None,
            fetched: Micros(0),
            fetches: 0,
            told: Micros(0),
            is_read: false,
            written: None,
        });
        self.numbers.insert(hash, number);
        number
    }

    fn push(&mut self, key: KeyNumber, event: &Event<'_>, op: Op) -> u32 {
        let Event { time_us, size, ttl, .. } = *event;
        let number = self.requests.len() as u32;
        let size = size.filter(|_| event.deed != Deed::Change);
        self.requests.push(Request { time_us, key, op, size, ttl, fetch: None, missed: false });
        number
    }

    fn read(&mut self, number: KeyNumber, event: &Event<'_>) {
        let request = self.push(number, event, Op::Get);
        let key = &mut self.keys[number as usize];
        key.is_read = true;
        key.size = key.size.or(event.size);
        if event.penalty > Micros(0) {
            key.told = event.penalty;
        }
        match event.found {
            Some(true) => {
                self.fills.told_hits += 1;
                return;
            }
            Some(false) => {
                self.fills.told_misses += 1;
                self.requests[request as usize].missed = true;
            }
            None => {}
        }
        let Event { time_us, connection, host, .. } = *event;
        let open = self.open.entry(number).or_default();
        open.retain(|one| one.connection != connection || connection == 0);
        if open.len() == OPEN_MAX {
            open.remove(0);
        }
        open.push(Open { time_us, connection, host, request });
    }

    fn write(&mut self, number: KeyNumber, event: &Event<'_>) {
        let answered = self.answered(number, event);
        let request = match answered {
            Some((request, took)) => {
                let asked = &mut self.requests[request as usize];
                (asked.fetch, asked.missed) = (Some(took), true);
                asked.size = event.size.filter(|_| event.deed == Deed::Write);
                asked.ttl = event.ttl;
                request
            }
            None => self.push(number, event, Op::Set),
        };
        let key = &mut self.keys[number as usize];
        if let Some((_, took)) = answered {
            key.fetched = Micros(key.fetched.0.saturating_add(took.0));
            key.fetches += 1;
        }
        key.written = Some(request);
        if event.deed == Deed::Change {
            key.changed = key.changed.saturating_add(event.size.unwrap_or(0));
        } else {
            key.size = key.size.or(event.size);
        }
        key.ttl = event.ttl.or(key.ttl);
    }

    /// The read that a write answers, and how long it took.
    fn answered(&mut self, number: KeyNumber, event: &Event<'_>) -> Option<(u32, Micros)> {
        let open = self.open.get_mut(&number)?;
        open.retain(|one| event.time_us.saturating_sub(one.time_us) <= FETCH_US_MAX);
        let told = event.connection == 0;
        let of_host = || open.iter().filter(|one| one.host == event.host).count();
        let at = match open.iter().rposition(|one| one.connection == event.connection) {
            // Without connections the first miss starts the watch, as in the server.
            Some(_) if told => 0,
            Some(at) => {
                self.fills.by_connection += 1;
                at
            }
            None if event.host != 0 && of_host() == 1 => {
                self.fills.by_host += 1;
                open.iter().position(|one| one.host == event.host)?
            }
            None => return None,
        };
        // Others who read meanwhile may have missed as well, and their writes are still to come.
        let read = open.remove(at);
        if told {
            self.fills.by_connection += 1;
            open.clear();
        }
        Some((read.request, Micros(event.time_us.saturating_sub(read.time_us))))
    }

    fn expire(&mut self, number: KeyNumber, event: &Event<'_>) {
        let key = &mut self.keys[number as usize];
        let Some(written) = key.written else { return };
        let request = &mut self.requests[written as usize];
        let age = event.time_us.saturating_sub(request.time_us);
        let life = event.ttl.map(|ttl| match ttl {
            Micros(0) => ttl,
            ttl => Micros(ttl.0.saturating_add(age)),
        });
        request.ttl = life.or(request.ttl);
        key.ttl = event.ttl.or(key.ttl);
    }

    /// Keys that are read and whose size nobody told, up to `most` of them drawn by their hash:
    /// number, database and text.
    pub fn unsized_keys(&self, most: usize) -> Vec<(KeyNumber, u32, Vec<u8>)> {
        let lacks = |key: &Key| key.is_read && key.size.is_none() && key.asked.is_none();
        let mut all: Vec<_> = (0..).zip(&self.keys).filter(|(_, key)| lacks(key)).collect();
        all.sort_unstable_by_key(|(_, key)| hash::bytes(u64::from(key.db) ^ 0x5a, &key.text));
        let shown = |(number, key): (KeyNumber, &Key)| (number, key.db, key.text.to_vec());
        all.into_iter().take(most).map(shown).collect()
    }

    /// What the server said the size of a key's value is.
    pub fn set_size(&mut self, number: KeyNumber, size: u64) {
        if let Some(key) = self.keys.get_mut(number as usize) {
            key.asked = Some(size);
        }
    }

    /// Ends the capture.
    pub fn finish(self) -> Recorded {
        Recorded::of(self)
    }
}
