//! The removal listener: which entries it hears of, when, and on which thread.
//!
//! The store reports a removal under the lock of the shard, where no code of the caller may run. So
//! each report is copied into a queue of the calling thread, and that call empties the queue once
//! it holds no lock:
//!
//! ```text
//!   insert ──▶ store: locks ─▶ evicts a, b ─▶ unlocks ──▶ listener(a), listener(b) ──▶ returns
//!                                 └─▶ queue of this thread ─┘
//! ```
//!
//! Copies outlive their entries until the call is over. They take no more memory than the removed
//! entries freed, so the cache and its queues together stay within the former size of the cache.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use store::{RemovalCause, RemovalListener, Store};
use thread_local::ThreadLocal;

/// An entry that was removed: the argument of a [removal
/// listener](crate::Builder::removal_listener).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Removal<'a> {
    /// The name of the entry's [part](crate::Builder::parts): `main` in a cache without parts.
    pub part: &'a str,
    /// The entry's key.
    pub key: Vec<u8>,
    /// The entry's last value.
    pub value: Vec<u8>,
    /// The reason for the removal.
    pub cause: RemovalCause,
}

type Hear = dyn Fn(Removal<'_>) + Send + Sync;

/// The caller's function, which runs once for each removal.
pub(crate) struct Callback(pub(crate) Box<Hear>);

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RemovalListener")
    }
}

/// Entries that one thread has removed, and that the listener has not heard of yet.
#[derive(Debug, Default)]
struct Queue {
    left: RefCell<VecDeque<Left>>,
    /// Whether the thread is running the listener: calls that the listener makes only add to the
    /// queue.
    is_told: Cell<bool>,
}

#[derive(Debug)]
struct Left {
    part: usize,
    key: Vec<u8>,
    value: Vec<u8>,
    cause: RemovalCause,
}

/// The listener, and the queue of each thread.
#[derive(Debug)]
pub(crate) struct Removals {
    listener: Callback,
    queues: Arc<ThreadLocal<Queue>>,
}

impl Removals {
    /// Has the store report every removal from now on.
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

    /// Reports the removals of this thread to the listener, oldest first. The caller holds no lock.
    pub(crate) fn tell(&self, parts: &[String]) {
        /// Ends the reporting, also where the listener panics.
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
            // A statement of its own, so that the queue is not borrowed while the listener runs.
            let left = queue.left.borrow_mut().pop_front();
            let Some(Left { part, key, value, cause }) = left else { return };
            self.listener.0(Removal { part: &parts[part], key, value, cause });
        }
    }
}
