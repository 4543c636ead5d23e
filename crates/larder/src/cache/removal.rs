//! The removal listener: who is told of an entry that leaves, when, and on which thread.
//!
//! The store tells of an entry under the lock of its shard, where nothing of the caller's may run.
//! So what it tells is copied into a queue of the thread whose call it is, and that call empties
//! the queue once it holds no lock:
//!
//! ```text
//!   insert ──▶ store: locks ─▶ evicts a, b ─▶ unlocks ──▶ listener(a), listener(b) ──▶ returns
//!                                 └─▶ queue of this thread ─┘
//! ```
//!
//! Copies outlive their entries until the call is over. They take no more than the entries gave
//! back, so the bytes of a cache and its queues stay within what the cache had.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use store::{RemovalCause, RemovalListener, Store};
use thread_local::ThreadLocal;

/// An entry that left: what a [removal listener](crate::Builder::removal_listener) is told.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Removal<'a> {
    /// The name of its [part](crate::Builder::parts): `main` in a cache without parts.
    pub part: &'a str,
    /// Its key.
    pub key: Vec<u8>,
    /// The value it had.
    pub value: Vec<u8>,
    /// Why it left.
    pub cause: RemovalCause,
}

type Hear = dyn Fn(Removal<'_>) + Send + Sync;

/// The caller's function.
pub(crate) struct Callback(pub(crate) Box<Hear>);

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RemovalListener")
    }
}

/// Entries that one thread has made leave, and that are not told yet.
#[derive(Debug, Default)]
struct Queue {
    left: RefCell<VecDeque<Left>>,
    /// Whether the thread is telling of them: calls that the listener makes only add to them.
    is_told: Cell<bool>,
}

#[derive(Debug)]
struct Left {
    part: usize,
    key: Vec<u8>,
    value: Vec<u8>,
    cause: RemovalCause,
}

/// The listener, and the queues of the threads.
#[derive(Debug)]
pub(crate) struct Removals {
    listener: Callback,
    queues: Arc<ThreadLocal<Queue>>,
}

impl Removals {
    /// Has the store tell of what leaves from now on.
    pub(crate) fn new(listener: Callback, store: &Store) -> Self {
        let queues = Arc::new(ThreadLocal::<Queue>::new());
        let all = Arc::clone(&queues);
        let note: Arc<RemovalListener> = Arc::new(move |part, key, value, cause| {
            let (key, value) = (key.to_vec(), value.to_vec());
            let left = Left { part: part.into(), key, value, cause };
            all.get_or_default().left.borrow_mut().push_back(left);
        });
        store.listen(&note);
        Self { listener, queues }
    }

    /// Tells of what this thread has made leave, oldest first. Called without a lock.
    pub(crate) fn tell(&self, parts: &[String]) {
        /// Ends the telling, also where the listener panics.
        struct End<'a>(&'a Cell<bool>);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.set(false);
            }
        }

        let Some(queue) = self.queues.get() else { return };
        if queue.is_told.replace(true) {
            return;
        }
        let _end = End(&queue.is_told);
        loop {
            // A statement of its own, so that the queue is free while the listener runs.
            let left = queue.left.borrow_mut().pop_front();
            let Some(Left { part, key, value, cause }) = left else { return };
            self.listener.0(Removal { part: &parts[part], key, value, cause });
        }
    }
}
