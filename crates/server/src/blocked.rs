//! Blocked clients: who waits for what others write, for each key in the order they came.
//!
//! A command such as BLPOP that finds nothing to take enters its client in the queue of each of its
//! keys. A write that makes a key a list or a sorted set, or may have, wakes the first client in
//! the key's queue that waits for such a value: the client's own worker carries the command out
//! anew. If that finds something the client leaves all of its queues, and wakes the next of each;
//! if not, for others may come between, it keeps its place. So one thread more is never needed, and
//! clients are served in order, one after the other.
//!
//! ```text
//!   a client that waits               a write
//!   tries, finds nothing              changes the key, under its lock
//!   enters the queues, counts         does anybody wait? looks at the count alone
//!   tries again, under the lock       wakes the first in the queue
//! ```
//!
//! No wake-up is lost, though the count is read without a fence: either the second try comes after
//! the write, in the order of the key's lock, and finds what was written; or before, and then the
//! count was raised before the lock was taken for the write.

use crate::pubsub::Place;
use crate::worker::{Mailbox, Message};
use base::TenantId;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::Key;

/// A key that clients wait for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Awaited {
    tenant: TenantId,
    db: u8,
    bytes: Vec<u8>,
}

/// A client in the queue of a key.
#[derive(Debug)]
struct Waiter {
    client: u64,
    place: Place,
    /// The kind of value it waits for.
    kind: u8,
    /// It was told to try, and has not yet.
    woken: bool,
}

type Queues = BTreeMap<Awaited, VecDeque<Waiter>>;

/// The queues of all keys that clients wait for.
#[derive(Debug, Default)]
pub(crate) struct Blocked {
    /// Keys with a queue.
    keys: AtomicUsize,
    queues: Mutex<Queues>,
}

/// A command that waits, kept with its client.
#[derive(Debug)]
pub(crate) struct Wait {
    /// The command as it came.
    pub(crate) command: Vec<u8>,
    pub(crate) keys: Vec<Awaited>,
    /// When it ends, in milliseconds of the server's clock; `u64::MAX` for never.
    pub(crate) until_ms: u64,
    /// The client does not want its reply.
    pub(crate) is_muted: bool,
    /// Microseconds that its attempts took.
    pub(crate) took_us: u64,
}

impl Awaited {
    pub(crate) fn new(key: &Key<'_>) -> Self {
        Self { tenant: key.tenant, db: key.db, bytes: key.bytes.to_vec() }
    }

    /// The key's name.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The key in a store.
    pub(crate) fn key<'a>(&'a self, store: &store::Store) -> Key<'a> {
        store.key(self.tenant, self.db, &self.bytes)
    }
}

impl Blocked {
    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether anybody waits for any key.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.keys.load(Ordering::Relaxed) > 0
    }

    /// Keys that clients wait for.
    pub(crate) fn keys(&self) -> usize {
        self.keys.load(Ordering::Relaxed)
    }

    /// A client waits for a value of this kind at any of these keys. Whether others wait longer for
    /// one at each of them.
    pub(crate) fn enter(&self, keys: &[Awaited], client: u64, place: Place, kind: u8) -> bool {
        let (mut queues, mut is_behind) = (self.lock(), true);
        for key in keys {
            let queue = queues.entry(key.clone()).or_default();
            is_behind &= queue.iter().any(|waiter| waiter.kind == kind);
            queue.push_back(Waiter { client, place, kind, woken: false });
        }
        // The lock of the key orders it before every later write.
        self.keys.store(queues.len(), Ordering::Relaxed);
        is_behind
    }

    /// A client waits for these keys no more.
    pub(crate) fn leave(&self, keys: &[Awaited], client: u64) {
        let mut queues = self.lock();
        for key in keys {
            if let Some(queue) = queues.get_mut(key) {
                queue.retain(|waiter| waiter.client != client);
                if queue.is_empty() {
                    queues.remove(key);
                }
            }
        }
        self.keys.store(queues.len(), Ordering::Relaxed);
    }

    /// A client tries: what is written from here on wakes it again.
    pub(crate) fn tries(&self, keys: &[Awaited], client: u64) {
        let mut queues = self.lock();
        for key in keys {
            let queue = queues.get_mut(key).into_iter().flatten();
            let mine = queue.filter(|waiter| waiter.client == client);
            mine.for_each(|waiter| waiter.woken = false);
        }
    }

    /// Wakes the first client that waits for a value of this kind at a key, unless it is awake.
    pub(crate) fn wake(&self, mailboxes: &[Mailbox], key: &Awaited, kind: u8) {
        let mut queues = self.lock();
        let Some(queue) = queues.get_mut(key) else { return };
        let first = queue.iter_mut().find(|waiter| waiter.kind == kind);
        if let Some(waiter) = first.filter(|waiter| !waiter.woken) {
            waiter.woken = true;
            let Place { worker, at } = waiter.place;
            mailboxes[worker].send(Message::Ready(at, waiter.client));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Place = Place { worker: 0, at: 0 };

    fn key(name: &str) -> Awaited {
        Awaited { tenant: 0, db: 0, bytes: name.into() }
    }

    /// The queues of keys with who is in them, a `!` behind those that are awake.
    fn shown(blocked: &Blocked) -> String {
        let shown =
            |waiter: &Waiter| format!(" {}{}", waiter.client, if waiter.woken { "!" } else { "" });
        let queue = |(key, queue): (&Awaited, &VecDeque<Waiter>)| {
            String::from_utf8_lossy(&key.bytes).into_owned()
                + &queue.iter().map(shown).collect::<String>()
        };
        blocked.lock().iter().map(queue).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn the_first_that_waits_for_the_kind_is_woken_once() {
        let poll = mio::Poll::new().unwrap();
        let mailboxes = [Mailbox::new(poll.registry()).unwrap()];
        let blocked = Blocked::default();
        assert!(!blocked.any());
        assert!(!blocked.enter(&[key("a"), key("b")], 1, HERE, 3));
        assert!(!blocked.enter(&[key("a")], 2, HERE, 5), "the first waits for something else");
        assert!(blocked.enter(&[key("b")], 3, HERE, 3));
        assert!(!blocked.enter(&[key("b"), key("c")], 4, HERE, 3), "nobody waits for c");
        for _ in 0..2 {
            blocked.wake(&mailboxes, &key("a"), 5);
            blocked.wake(&mailboxes, &key("b"), 3);
            blocked.wake(&mailboxes, &key("d"), 3);
            assert_eq!(shown(&blocked), "a 1 2!, b 1! 3 4, c 4");
        }
        assert_eq!((mailboxes[0].len(), blocked.keys()), (2, 3));
        blocked.tries(&[key("a"), key("b")], 1);
        assert_eq!(shown(&blocked), "a 1 2!, b 1 3 4, c 4");
        blocked.leave(&[key("a"), key("b")], 1);
        blocked.wake(&mailboxes, &key("b"), 3);
        assert_eq!(shown(&blocked), "a 2!, b 3! 4, c 4");
        for (client, keys) in [(2, &["a"][..]), (3, &["b"]), (4, &["b", "c"])] {
            blocked.leave(&keys.iter().map(|name| key(name)).collect::<Vec<_>>(), client);
        }
        assert!(!blocked.any());
    }
}
