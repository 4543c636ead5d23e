//! The index of a tenant's dumped items in one shard. `store/dump.rs` explains dumps.

use crate::Key;
use base::hash::KeyMap;

/// Bytes per place of the index.
const PLACE: u64 = (size_of::<(u64, u64)>() + 1) as u64;

/// The outcome of bringing a copy back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// The copy is an item again.
    Back,
    /// The item is still resident.
    Here,
    /// The copy is invalid: it has expired, or a client has written or removed its key since.
    Outdated,
}

/// The valid copies of a tenant's items in one shard.
#[derive(Debug, Default)]
pub(crate) struct DumpIndex {
    /// By hash: the block shifted by eight bits, and the database.
    pub(crate) index: KeyMap<u64>,
    /// Bytes charged for the index.
    pub(crate) bytes: u64,
}

impl DumpIndex {
    /// Bytes of an index with room for `capacity` entries.
    pub(crate) fn bytes_for(capacity: usize) -> u64 {
        (capacity * 8).div_ceil(7).next_power_of_two() as u64 * PLACE
    }

    /// Invalidates the copy of a key that a client has changed.
    #[inline]
    pub(crate) fn outdate(&mut self, hash: u64) {
        self.index.remove(&hash);
    }

    pub(crate) fn has(&self, key: &Key, block: u64) -> bool {
        self.index.get(&key.hash) == Some(&(block << 8 | u64::from(key.db)))
    }

    pub(crate) fn take(&mut self, key: &Key, block: u64) -> bool {
        let has = self.has(key, block);
        if has {
            self.index.remove(&key.hash);
        }
        has
    }
}
