//! The keys of the server under a recipe that ranks them: their stamps, and the cost of their
//! fetches.
//!
//! The filter sees a command before its execution, so it does not know whether a key exists that
//! has no entry in the table. Such a key waits. If the server then reports a miss, a fetch begins.
//! If it reports a birth, the key enters. Without either the key was there, and enters as well,
//! when the next command comes.
//!
//! The table learns of a command with one key a few commands later (`ahead.rs`).

use crate::ahead::{Ahead, AheadRequest};
use crate::stamps::{Past, Stamps, code_of};
use crate::verbs::Deed;
use base::{Micros, penalty};
use std::cell::{Cell, RefCell};

/// The most segments by which the table grows at once.
const SEGMENTS_AT_ONCE: usize = 32;

/// The keys.
#[derive(Debug, Default)]
pub(crate) struct SeenKeys {
    /// Whether requests are counted.
    is_on: Cell<bool>,
    /// Requests to keys, while there is no table.
    tick: Cell<u64>,
    table: RefCell<Option<Stamps>>,
    /// Requests that the table does not know yet.
    ahead: Ahead,
    /// Keys of the last command without an entry, with its client.
    waiting: RefCell<Vec<(u64, u64)>>,
    waits: Cell<bool>,
    /// The fetch that the last command ended.
    fetched: Cell<Option<(u64, u8)>>,
    /// Whether a command wrote since the last question.
    wrote: Cell<bool>,
    /// Bytes of the last value written, and those from which on a value is large.
    pub(crate) length: Cell<usize>,
    pub(crate) large_from: Cell<usize>,
}

impl SeenKeys {
    /// Counts requests from now on, or no longer.
    pub(crate) fn count(&self, is_on: bool) {
        self.is_on.set(is_on);
    }

    /// Whether requests are counted.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.get()
    }

    /// Whether there is a table.
    pub(crate) fn is_stamped(&self) -> bool {
        self.table.borrow().is_some()
    }

    /// The number of requests to keys so far.
    pub(crate) fn tick(&self) -> u64 {
        self.table.borrow().as_ref().map_or(self.tick.get(), Stamps::tick)
    }

    /// Bytes of the table.
    pub(crate) fn bytes(&self) -> u64 {
        self.table.borrow().as_ref().map_or(0, Stamps::bytes)
    }

    /// Makes a table for a server with `keys` keys and room for those of `room` keys, or adapts
    /// the one there is.
    pub(crate) fn stamp(&self, keys: u64, room: u64) {
        let mut table = self.table.borrow_mut();
        let table = table.get_or_insert_with(|| Stamps::new(self.tick.get()));
        for _ in 0..SEGMENTS_AT_ONCE {
            if !table.fit(room as usize, keys as usize) {
                break;
            }
        }
    }

    /// Drops the table.
    pub(crate) fn unstamp(&self) {
        if let Some(table) = self.table.take() {
            self.tick.set(table.tick());
            self.ahead.take();
            self.waiting.take();
            self.waits.set(false);
            self.fetched.set(None);
        }
    }

    /// Notes a request of a command with one key, before its execution.
    #[inline]
    pub(crate) fn see(&self, hash: u64, deed: Deed, client: impl FnOnce() -> u64) {
        if self.waits.get() {
            self.settle();
        }
        let mut table = self.table.borrow_mut();
        let Some(table) = table.as_mut() else {
            self.tick.set(self.tick.get() + 1);
            return;
        };
        table.pass();
        let reads = match deed {
            Deed::Remove => return,
            Deed::Read => true,
            Deed::Write(_) | Deed::Change => {
                self.wrote.set(true);
                false
            }
        };
        table.prefetch(hash);
        let oldest = self.ahead.push(AheadRequest { hash, client: client(), reads });
        if let Some(AheadRequest { hash, reads, .. }) = oldest
            && !note(table, hash, reads)
        {
            table.enters(hash);
        }
    }

    /// Ends the commands before one with several keys.
    pub(crate) fn begin_several(&self) {
        self.catch_up();
        self.settle();
    }

    /// Notes a request of a command with several keys, before its execution.
    pub(crate) fn see_one_of_several(&self, hash: u64, deed: Deed, client: impl FnOnce() -> u64) {
        let mut table = self.table.borrow_mut();
        let Some(table) = table.as_mut() else {
            self.tick.set(self.tick.get() + 1);
            return;
        };
        table.pass();
        self.wrote.set(self.wrote.get() || matches!(deed, Deed::Write(_) | Deed::Change));
        if deed != Deed::Remove && !note(table, hash, deed == Deed::Read) {
            self.waiting.borrow_mut().push((hash, client()));
            self.waits.set(true);
        }
    }

    /// Tells the table of all requests. The last one may not be executed yet: without an entry its
    /// key waits.
    fn catch_up(&self) {
        let mut table = self.table.borrow_mut();
        let Some(table) = table.as_mut() else { return };
        let requests = self.ahead.take();
        let [.., last] = requests;
        for AheadRequest { hash, client, reads } in requests.into_iter().flatten() {
            if note(table, hash, reads) {
                continue;
            }
            if last.is_some_and(|last| last.hash == hash) {
                self.waiting.borrow_mut().push((hash, client));
                self.waits.set(true);
            } else {
                table.enters(hash);
            }
        }
    }

    /// Enters the keys of the last command that were there without an entry.
    #[cold]
    fn settle(&self) {
        self.waits.set(false);
        if let Some(table) = self.table.borrow_mut().as_mut() {
            self.waiting.borrow_mut().drain(..).for_each(|(hash, _)| table.enters(hash));
        }
    }

    /// Takes the request of the command in execution, and returns its client.
    fn take(&self, hash: u64) -> Option<u64> {
        if let Some(request) = self.ahead.take_last(hash) {
            return Some(request.client);
        }
        let mut waiting = self.waiting.borrow_mut();
        let at = waiting.iter().position(|(waits, _)| *waits == hash)?;
        Some(waiting.swap_remove(at).1)
    }

    /// Notes a miss, and returns the client that met it.
    pub(crate) fn missed(&self, hash: u64) -> Option<u64> {
        self.take(hash)
    }

    /// Notes that the write of a key, which comes next, ends a fetch.
    pub(crate) fn fetched(&self, hash: u64, took: Micros) {
        self.fetched.set(Some((hash, code_of(penalty::class_of(took)))));
    }

    /// Notes a birth.
    pub(crate) fn born(&self, hash: u64) {
        self.take(hash);
        if let Some(table) = self.table.borrow_mut().as_mut() {
            table.enters(hash);
            if let Some((_, code)) = self.fetched.take().filter(|(fetched, _)| *fetched == hash) {
                table.fetched(hash, code);
            }
        }
    }

    /// Notes the end of a key: evicted, or gone for good.
    pub(crate) fn died(&self, hash: u64, is_evicted: bool) {
        self.catch_up();
        if let Some(table) = self.table.borrow_mut().as_mut() {
            table.leaves(hash, is_evicted);
        }
    }

    /// The past of a key that the server holds.
    pub(crate) fn past(&self, hash: u64) -> Option<Past> {
        self.catch_up();
        self.table.borrow_mut().as_mut()?.past(hash)
    }

    /// Whether a command wrote since the last question.
    #[inline]
    pub(crate) fn wrote(&self) -> bool {
        self.wrote.replace(false)
    }

    /// Whether the last value written is large.
    pub(crate) fn is_large(&self) -> bool {
        self.is_stamped() && self.length.take() >= self.large_from.get()
    }
}

/// Notes a request in the table; false if the table does not know the key as held.
#[inline]
fn note(table: &mut Stamps, hash: u64, reads: bool) -> bool {
    if reads { table.hit(hash) } else { table.wrote(hash) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::hash::mix;

    fn keys() -> SeenKeys {
        let keys = SeenKeys::default();
        keys.count(true);
        keys.stamp(1_000, 2_000);
        keys
    }

    fn see(keys: &SeenKeys, key: u64, deed: Deed) {
        keys.see(mix(key), deed, || 7);
    }

    #[test]
    fn a_key_enters_by_birth_or_because_it_was_there() {
        let keys = keys();
        see(&keys, 1, Deed::Read);
        assert_eq!(keys.missed(mix(1)), Some(7));
        see(&keys, 1, Deed::Write(2));
        assert_eq!(keys.past(mix(1)), None, "it is not yet written");
        keys.fetched(mix(1), Micros(5_000));
        keys.born(mix(1));
        assert_eq!(keys.past(mix(1)).unwrap().penalty, 5);
        see(&keys, 2, Deed::Read);
        assert_eq!(keys.past(mix(2)), None);
        see(&keys, 1, Deed::Read);
        assert_eq!(keys.past(mix(2)).unwrap().hits, 0, "it was there all the time");
        assert_eq!((keys.past(mix(1)).unwrap().hits, keys.tick()), (1, 4));
        keys.died(mix(1), true);
        keys.born(mix(1));
        assert_eq!(keys.past(mix(1)).unwrap().hits, 2);
        keys.died(mix(1), false);
        assert_eq!(keys.past(mix(1)), None);
        keys.unstamp();
        see(&keys, 1, Deed::Read);
        assert_eq!(keys.tick(), 5);
        assert!(keys.wrote() && !keys.wrote());
    }
}
