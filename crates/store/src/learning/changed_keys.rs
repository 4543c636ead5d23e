//! Keys and scopes that clients changed during a restore (`store/restore.rs`).

use crate::{Key, Scope};

/// Bits of all shards together, as a power of two: four megabytes.
const CHANGED_KEYS: u32 = 25;

/// Keys written or removed since the store was made.
#[derive(Debug)]
pub(crate) struct ChangedKeys {
    bits: Box<[u64]>,
    pub(crate) flushed: Vec<Scope>,
}

impl ChangedKeys {
    pub(crate) fn new(shards: usize) -> Self {
        let words = (1 << (CHANGED_KEYS - 6)) / shards;
        Self { bits: vec![0; words].into(), flushed: vec![] }
    }

    /// The word and the bit of a hash. Its low half has not chosen the shard.
    fn place(&self, hash: u64) -> (usize, u64) {
        ((hash >> 6) as usize & (self.bits.len() - 1), 1 << (hash & 63))
    }

    pub(crate) fn add(&mut self, hash: u64) {
        let (word, bit) = self.place(hash);
        self.bits[word] |= bit;
    }

    pub(crate) fn has(&self, key: &Key) -> bool {
        let (word, bit) = self.place(key.hash);
        let is_flushed = |scope: &Scope| {
            scope.tenant.is_none_or(|tenant| tenant == key.tenant)
                && scope.db.is_none_or(|db| db == key.db)
        };
        self.bits[word] & bit != 0 || self.flushed.iter().any(is_flushed)
    }
}
