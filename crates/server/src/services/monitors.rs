//! Monitors: clients that watch other clients, by MONITOR or memcached's `watch`.
//!
//! Without a monitor, a batch of commands pays one load. Otherwise each line goes through the
//! mailbox of the monitor's worker. A monitor that reads too slowly is disconnected at the limit of
//! its output, like any subscriber.

use super::mail::{Mailbox, Message};
use super::pubsub::Subscriber;
use base::Filter;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Every command of Redis' protocol.
pub(crate) const MONITOR: u8 = 1;
/// Accesses to sampled keys.
pub(crate) const TRACE: u8 = 2;
/// Reads by memcached's protocol.
pub(crate) const FETCHERS: u8 = 4;
/// Writes by memcached's protocol.
pub(crate) const MUTATIONS: u8 = 8;
/// Removals by memcached's protocol.
pub(crate) const DELETIONS: u8 = 16;
/// New and closed connections of memcached's protocol.
pub(crate) const CONNEVENTS: u8 = 32;
/// Evicted items of all clients.
pub(crate) const EVICTIONS: u8 = 64;

#[derive(Debug)]
struct Watcher {
    id: u64,
    place: Subscriber,
    wants: u8,
    /// The sample of keys that a trace shows.
    filter: Filter,
}

/// All clients that watch.
#[derive(Debug, Default)]
pub(crate) struct Monitors {
    wanted: AtomicU8,
    all: Mutex<Vec<Watcher>>,
    /// The number of lines so far.
    lines: AtomicU64,
}

impl Monitors {
    fn lock(&self) -> MutexGuard<'_, Vec<Watcher>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether any client watches any of these.
    #[inline]
    pub(crate) fn is_wanted(&self, wants: u8) -> bool {
        self.wanted.load(Ordering::Relaxed) & wants != 0
    }

    fn publish(&self, all: &[Watcher]) {
        let wanted = all.iter().fold(0, |sum, watcher| sum | watcher.wants);
        self.wanted.store(wanted, Ordering::Relaxed);
    }

    /// Makes a client watch these; a trace shows the keys that `filter` keeps.
    pub(crate) fn join(&self, id: u64, place: Subscriber, wants: u8, filter: Filter) {
        let mut all = self.lock();
        all.retain(|watcher| watcher.id != id);
        all.push(Watcher { id, place, wants, filter });
        self.publish(&all);
    }

    /// Ends the watching of a client.
    pub(crate) fn leave(&self, id: u64) {
        if self.is_wanted(u8::MAX) {
            let mut all = self.lock();
            all.retain(|watcher| watcher.id != id);
            self.publish(&all);
        }
    }

    /// Whether the client with this id watches anything.
    pub(crate) fn has(&self, id: u64) -> bool {
        self.is_wanted(u8::MAX) && self.lock().iter().any(|watcher| watcher.id == id)
    }

    /// The number of clients that watch by memcached's protocol.
    pub(crate) fn watchers(&self) -> usize {
        self.lock().iter().filter(|watcher| watcher.wants & (MONITOR | TRACE) == 0).count()
    }

    /// The number of the next line.
    pub(crate) fn next_line(&self) -> u64 {
        self.lines.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Shows a line to the clients that watch any of `wants`. With the hash of a key, their filters
    /// decide.
    pub(crate) fn show(&self, mailboxes: &[Mailbox], wants: u8, hash: Option<u64>, line: &[u8]) {
        for watcher in self.lock().iter().filter(|watcher| watcher.wants & wants != 0) {
            if hash.is_none_or(|hash| watcher.filter.keeps(hash)) {
                let place = watcher.place;
                let message = Message::Line(place.at, watcher.id, line.to_vec());
                mailboxes[place.worker].send(message);
            }
        }
    }
}
