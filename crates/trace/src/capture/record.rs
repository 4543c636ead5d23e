//! Turns events into requests.
//!
//! A cache-aside client shows a miss as two commands: a read, and the write of the backend's
//! answer. For another cache, which may hold the key, only the read is a request. So a write that
//! *answers* a read is folded into it, and the time between the two is the penalty.
//!
//! This is the rule for a server that does not report whether a read hit. A write answers the last
//! read of its key by the same connection. If that connection read nothing, the write answers the
//! only read by the same host, because clients share connections. The read is at most ten seconds
//! old, and the key was not removed between them. If the server reports a hit, no write answers the
//! read. Clients that read a value and write it back look the same; the server's own count of
//! misses tells them apart: see [`Recorder::fills`].
//!
//! Everything is kept until the end, some 60 bytes a request and 150 a key, because later facts
//! about a key (its size, its penalty, its time to live) apply to its earlier requests too.

use super::{Deed, Event, Recorded};
use base::{Micros, Op, TenantId, hash};
use std::collections::HashMap;

/// Names the tenant of a key; called once for each key.
pub type Owner = Box<dyn FnMut(&Event<'_>) -> String + Send>;
/// The number of a key in the capture.
pub type KeyNumber = u32;

/// Most microseconds between a read and the write that answers it.
const FETCH_US_MAX: u64 = 10_000_000;
/// Most unanswered reads of a key; the oldest one is dropped.
const OPEN_MAX: usize = 32;
/// Most bytes of keys and tenant names; beyond them the recorder stops.
const TEXT_MAX: usize = 1 << 30;

/// A read that a write may answer.
#[derive(Clone, Copy, Debug)]
struct OpenRead {
    time_us: u64,
    connection: u64,
    host: u64,
    request: u32,
}

/// A request as the server reported it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordedRequest {
    pub(super) time_us: u64,
    pub(super) key: KeyNumber,
    pub(super) op: Op,
    pub(super) size: Option<u64>,
    pub(super) ttl: Option<Micros>,
    /// The measured time from the read to the write that answered it.
    pub(super) fetch: Option<Micros>,
    pub(super) missed: bool,
}

/// A key with its latest facts.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) text: Box<[u8]>,
    pub(super) db: u32,
    pub(super) tenant: TenantId,
    /// The first reported size of its value.
    pub(super) size: Option<u64>,
    /// The size that the server answered to a query.
    pub(super) asked: Option<u64>,
    /// Bytes added by changes.
    pub(super) changed: u64,
    pub(super) ttl: Option<Micros>,
    pub(super) fetched: Micros,
    pub(super) fetches: u32,
    /// The penalty that the server reported.
    pub(super) told: Micros,
    is_read: bool,
    /// The request that wrote the current value.
    written: Option<u32>,
}

/// Counts of reads answered by writes, and of reported hits and misses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fills {
    /// Reads answered by a write of the same connection.
    pub by_connection: u64,
    /// Reads answered by a write of the same host.
    pub by_host: u64,
    /// Reads that the server reported as misses.
    pub told_misses: u64,
    /// Reads that the server reported as hits.
    pub told_hits: u64,
}

/// All requests of a capture so far.
pub struct Recorder {
    owner: Owner,
    pub(super) keys: Vec<Key>,
    numbers: HashMap<u64, KeyNumber>,
    pub(super) requests: Vec<RecordedRequest>,
    open: HashMap<KeyNumber, Vec<OpenRead>>,
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
    /// Makes a recorder for up to `limit` requests.
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

    /// Number of requests so far.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Whether nothing has been recorded.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Whether the recorder takes no more requests.
    pub fn is_full(&self) -> bool {
        self.requests.len() >= self.limit || self.text > TEXT_MAX
    }

    /// The misses found so far, by the way they were found.
    pub const fn fills(&self) -> Fills {
        self.fills
    }

    /// Marks a gap in the capture: no later write answers a read from before it.
    pub fn pause(&mut self) {
        self.open.clear();
    }

    /// Records a request.
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
        self.requests.push(RecordedRequest {
            time_us,
            key,
            op,
            size,
            ttl,
            fetch: None,
            missed: false,
        });
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
        open.push(OpenRead { time_us, connection, host, request });
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

    /// The read that a write answers, and the time between them.
    fn answered(&mut self, number: KeyNumber, event: &Event<'_>) -> Option<(u32, Micros)> {
        let open = self.open.get_mut(&number)?;
        open.retain(|one| event.time_us.saturating_sub(one.time_us) <= FETCH_US_MAX);
        let told = event.connection == 0;
        let of_host = || open.iter().filter(|one| one.host == event.host).count();
        let at = match open.iter().rposition(|one| one.connection == event.connection) {
            // If the server reports no connections, the first miss starts the stopwatch, as in the
            // server.
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
        // Other readers may have missed meanwhile, and their writes are still to come.
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

    /// Keys that are read and have no known size, up to `most` of them, sampled by their hash:
    /// number, database and text.
    pub fn unsized_keys(&self, most: usize) -> Vec<(KeyNumber, u32, Vec<u8>)> {
        let lacks = |key: &Key| key.is_read && key.size.is_none() && key.asked.is_none();
        let mut all: Vec<_> = (0..).zip(&self.keys).filter(|(_, key)| lacks(key)).collect();
        all.sort_unstable_by_key(|(_, key)| hash::bytes(u64::from(key.db) ^ 0x5a, &key.text));
        let shown = |(number, key): (KeyNumber, &Key)| (number, key.db, key.text.to_vec());
        all.into_iter().take(most).map(shown).collect()
    }

    /// Records the size of a key's value that the server answered.
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
