//! Blocked clients: a queue for each key, in the order in which clients began to wait.
//!
//! A command such as BLPOP that finds nothing to take enters its client in the queue of each of its
//! keys. A write that makes a key a list or a sorted set, or may have, wakes a client. It is the
//! first one in the key's queue that waits for such a value. The client's own worker then repeats
//! the command. If the command succeeds, the client leaves all of its queues and wakes the next
//! client of each. If it fails, because another client was faster, the client keeps its place. So
//! this needs no extra thread, and clients are served one after the other, in order.
//!
//! ```text
//!   a client that waits               a write
//!   tries, finds nothing              changes the key, under its lock
//!   enters the queues, counts         does anybody wait? looks at the count alone
//!   tries again, under the lock       wakes the first in the queue
//! ```
//!
//! No wake-up is lost, although the count is read without a fence. The second try may come after
//! the write, in the order of the key's lock; then it finds the written value. Or it comes before
//! the write; then the count was raised before the write took the lock.

use super::mail::{Mailbox, Message};
use super::pubsub::Subscriber;
use base::TenantId;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::Key;

/// A key that clients wait for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WaitKey {
    tenant: TenantId,
    db: u8,
    bytes: Vec<u8>,
}

/// A client in the queue of a key.
#[derive(Debug)]
struct Waiter {
    client: u64,
    place: Subscriber,
    /// The kind of value that the client waits for.
    kind: u8,
    /// It was woken, and has not tried since.
    woken: bool,
}

type Queues = BTreeMap<WaitKey, VecDeque<Waiter>>;

/// The queues of all keys that clients wait for.
#[derive(Debug, Default)]
pub(crate) struct Blocked {
    /// The number of keys with a queue.
    keys: AtomicUsize,
    queues: Mutex<Queues>,
}

/// A command that waits, kept with its client.
#[derive(Debug)]
pub(crate) struct BlockedCommand {
    /// The command as the client sent it.
    pub(crate) command: Vec<u8>,
    pub(crate) keys: Vec<WaitKey>,
    /// The end of the wait, in milliseconds of the server's clock; `u64::MAX` for never.
    pub(crate) until_ms: u64,
    /// The client does not want a reply.
    pub(crate) is_muted: bool,
    /// Microseconds that the attempts took so far.
    pub(crate) took_us: u64,
}

impl WaitKey {
    pub(crate) fn new(key: &Key<'_>) -> Self {
        Self { tenant: key.tenant, db: key.db, bytes: key.bytes.to_vec() }
    }

    /// The name of the key.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The key as `store` addresses it.
    pub(crate) fn key<'a>(&'a self, store: &store::Store) -> Key<'a> {
        store.key(self.tenant, self.db, &self.bytes)
    }
}

impl Blocked {
    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether any client waits for any key.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.keys.load(Ordering::Relaxed) > 0
    }

    /// The number of keys that clients wait for.
    pub(crate) fn keys(&self) -> usize {
        self.keys.load(Ordering::Relaxed)
    }

    /// Enters a client in the queues of these keys, to wait for a value of this kind. Returns
    /// whether at each of the keys another client waits longer for that kind.
    pub(crate) fn enter(&self, keys: &[WaitKey], client: u64, place: Subscriber, kind: u8) -> bool {
        let (mut queues, mut is_behind) = (self.lock(), true);
        for key in keys {
            let queue = queues.entry(key.clone()).or_default();
            is_behind &= queue.iter().any(|waiter| waiter.kind == kind);
            queue.push_back(Waiter { client, place, kind, woken: false });
        }
        // The lock of the key orders this store before every later write.
        self.keys.store(queues.len(), Ordering::Relaxed);
        is_behind
    }

    /// Removes a client from the queues of these keys.
    pub(crate) fn leave(&self, keys: &[WaitKey], client: u64) {
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

    /// Notes that a client tries again: from here on a write wakes it anew.
    pub(crate) fn tries(&self, keys: &[WaitKey], client: u64) {
        let mut queues = self.lock();
        for key in keys {
            let queue = queues.get_mut(key).into_iter().flatten();
            let mine = queue.filter(|waiter| waiter.client == client);
            mine.for_each(|waiter| waiter.woken = false);
        }
    }

    /// Wakes the first client that waits for a value of this kind at a key, unless it is awake.
    pub(crate) fn wake(&self, mailboxes: &[Mailbox], key: &WaitKey, kind: u8) {
        let mut queues = self.lock();
        let Some(queue) = queues.get_mut(key) else {
            return;
        };
        let first = queue.iter_mut().find(|waiter| waiter.kind == kind);
        if let Some(waiter) = first.filter(|waiter| !waiter.woken) {
            waiter.woken = true;
            let Subscriber { worker, at } = waiter.place;
            mailboxes[worker].send(Message::Ready(at, waiter.client));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Subscriber = Subscriber { worker: 0, at: 0 };

    fn key(name: &str) -> WaitKey {
        WaitKey { tenant: 0, db: 0, bytes: name.into() }
    }

    /// The clients in the queue of each key; a `!` marks a client that is awake.
    fn shown(blocked: &Blocked) -> String {
        let shown =
            |waiter: &Waiter| format!(" {}{}", waiter.client, if waiter.woken { "!" } else { "" });
        let queue = |(key, queue): (&WaitKey, &VecDeque<Waiter>)| {
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
