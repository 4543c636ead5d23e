//! The ACL log: each refusal with the client and user. Equal refusals within a minute are counted
//! in one entry.

use crate::settings::acl::Denied;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The longest time between two equal refusals that share an entry, in milliseconds.
const SAME_MS: u64 = 60_000;

/// A refusal, as the log keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct What {
    /// `command`, `database`, `key`, `channel` or `auth`.
    pub(crate) reason: &'static str,
    /// `toplevel` or `multi`.
    pub(crate) context: &'static str,
    /// The command, key or channel.
    pub(crate) object: Vec<u8>,
    pub(crate) user: String,
}

/// A refusal, and how often it was repeated.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) id: u64,
    pub(crate) count: u64,
    pub(crate) what: What,
    pub(crate) client: String,
    pub(crate) created_ms: u64,
    pub(crate) updated_ms: u64,
}

/// The last refusals, and the number of refusals of each kind.
#[derive(Debug, Default)]
pub(crate) struct Log {
    entries: Mutex<Entries>,
    counts: [AtomicU64; REASONS.len()],
}

/// The kinds of refusals, and the names of their counts in INFO.
const REASONS: [(&str, &str); 5] = [
    ("auth", "acl_access_denied_auth"),
    ("command", "acl_access_denied_cmd"),
    ("key", "acl_access_denied_key"),
    ("channel", "acl_access_denied_channel"),
    ("database", "acl_access_denied_db"),
];

#[derive(Debug, Default)]
struct Entries {
    next: u64,
    /// All entries, the newest first.
    all: VecDeque<Entry>,
}

impl Denied {
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Database(_) => "database",
            Self::Key(_) => "key",
            Self::Channel(_) => "channel",
        }
    }
}

impl Log {
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a refusal of a client (its line as in CLIENT LIST). The log keeps at most `max`
    /// entries.
    pub(crate) fn add(&self, what: What, client: String, unix_ms: u64, max: usize) {
        let counted = REASONS.iter().position(|(reason, _)| *reason == what.reason);
        if let Some(count) = counted.and_then(|at| self.counts.get(at)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let mut entries = self.lock();
        let same = entries.all.iter().position(|entry| {
            entry.what == what && unix_ms.saturating_sub(entry.updated_ms) <= SAME_MS
        });
        if let Some(mut entry) = same.and_then(|at| entries.all.remove(at)) {
            entry.count += 1;
            entry.updated_ms = unix_ms;
            entry.client = client;
            entries.all.push_front(entry);
        } else {
            let id = entries.next;
            entries.next += 1;
            let (created_ms, updated_ms) = (unix_ms, unix_ms);
            let entry = Entry { id, count: 1, what, client, created_ms, updated_ms };
            entries.all.push_front(entry);
        }
        entries.all.truncate(max);
    }

    /// The number of refusals of each kind, by their names in INFO.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed));
        REASONS.iter().map(|(_, name)| *name).zip(counts)
    }

    /// Sets the counts of all kinds to zero.
    pub(crate) fn reset_counts(&self) {
        self.counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
    }

    /// The newest entries, at most `count`.
    pub(crate) fn newest(&self, count: usize) -> Vec<Entry> {
        self.lock().all.iter().take(count).cloned().collect()
    }

    pub(crate) fn reset(&self) {
        self.lock().all.clear();
    }
}
