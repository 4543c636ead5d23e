//! Reads of one key. The plain value of a compressed item is made here, under the lock that the
//! read holds; an item whose value turns out to be corrupt is a miss, and is removed.

use crate::contents::shared_reads::SharedRead;
use crate::sync::shim::thread_number;
use crate::{Change, Error, Item, Key, Now, Store};

/// Whether a call counts as a read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Peek,
}

impl Store {
    /// Reads an item: counts a hit or a miss, refreshes the item and informs the tap. A miss starts
    /// the stopwatch.
    #[inline]
    pub fn get<R>(&self, key: &Key, now: Now, read: impl FnOnce(&Item) -> R) -> Option<R> {
        self.look_up(Access::Read, key, now, read)
    }

    /// Looks at an item without any effect on recency, counters or tap.
    #[inline]
    pub fn peek<R>(&self, key: &Key, now: Now, read: impl FnOnce(&Item) -> R) -> Option<R> {
        self.look_up(Access::Peek, key, now, read)
    }

    /// Shows an item with its plain value. The callers fix the kind of access, so that each has its
    /// own short code.
    #[inline]
    fn look_up<R>(
        &self,
        access: Access,
        key: &Key,
        now: Now,
        read: impl FnOnce(&Item) -> R,
    ) -> Option<R> {
        let mut reader = self.shard_of(key.hash).read(thread_number());
        let (shard, buffer) = reader.parts();
        let contents = shard.contents();
        let found = match access {
            Access::Read => contents.read_shared(buffer, key, now),
            Access::Peek => contents.peek(buffer, key, now),
        };
        match found {
            SharedRead::Hit(item) if item.is_compressed => {
                if let Ok(plain) = contents.tenant(key.tenant).compressed.plain(item.value) {
                    return Some(read(&item.with_plain(Some(&plain))));
                }
                drop(reader);
                self.remove_corrupt(key, now, access);
                return None;
            }
            SharedRead::Hit(item) => return Some(read(&item)),
            SharedRead::Miss => return None,
            SharedRead::NeedsExclusive => drop(reader),
        }
        // A copy, so that the key needs no address in the common case.
        let key = &{ *key };
        let mut shard = self.shard(key);
        let contents = shard.contents_mut();
        let (place, plain) = match access {
            Access::Read => contents.read_open(key, now, &self.budget.memory),
            Access::Peek => {
                let found = contents.find(key, now, &self.budget.memory);
                contents.open(key, found, &self.budget.memory)
            }
        };
        Some(read(&contents.view(key, place?).with_plain(plain.as_ref())))
    }

    /// Looks at an item like [`Store::peek`], but does not decompress its value: a compressed value
    /// is empty here, and only [`Item::value_len`] tells its length.
    #[inline]
    pub fn glance<R>(&self, key: &Key, now: Now, read: impl FnOnce(&Item) -> R) -> Option<R> {
        let mut reader = self.shard_of(key.hash).read(thread_number());
        let (shard, buffer) = reader.parts();
        match shard.contents().peek(buffer, key, now) {
            SharedRead::Hit(item) => return Some(read(&item.without_plain())),
            SharedRead::Miss => return None,
            SharedRead::NeedsExclusive => drop(reader),
        }
        let mut shard = self.shard(key);
        let place = shard.contents_mut().find(key, now, &self.budget.memory)?;
        Some(read(&shard.contents().view(key, place).without_plain()))
    }

    /// Removes an item whose value turned out to be corrupt, unless it was written since.
    #[cold]
    fn remove_corrupt(&self, key: &Key, now: Now, access: Access) {
        let mut shard = self.shard(key);
        let contents = shard.contents_mut();
        let found = contents.find(key, now, &self.budget.memory);
        _ = contents.open(key, found, &self.budget.memory);
        if access == Access::Read {
            contents.read_was_a_miss(key.tenant);
        }
    }

    /// Like [`Store::update`], for a command that also reads, such as GETEX: counts a hit or a
    /// miss.
    pub fn get_and_update<'v, R>(
        &self,
        key: &Key,
        now: Now,
        f: impl FnOnce(Option<&Item>) -> (Change<'v>, R),
    ) -> Result<R, Error> {
        let mut shard = self.shard(key);
        let contents = shard.contents_mut();
        let (found, plain) = contents.read_open(key, now, &self.budget.memory);
        let item = found.map(|place| contents.view(key, place).with_plain(plain.as_ref()));
        let (change, result) = f(item.as_ref());
        shard.apply(&self.around(), key, found, &change, now)?;
        Ok(result)
    }
}
