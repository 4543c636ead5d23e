//! Keys that clients have changed during a restore. `store/restore.rs` explains restores.

use crate::items::view::Saved;
use crate::shard::shard::Shard;
use crate::{Key, Now, Scope};

/// Bits of all shards together, as a power of two: four megabytes.
const CHANGED_KEYS: u32 = 25;

/// Keys written or removed since the store was made.
#[derive(Debug)]
pub(crate) struct ChangedKeys {
    bits: Box<[u64]>,
    flushed: Vec<Scope>,
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

    fn add(&mut self, hash: u64) {
        let (word, bit) = self.place(hash);
        self.bits[word] |= bit;
    }

    fn has(&self, key: &Key) -> bool {
        let (word, bit) = self.place(key.hash);
        let is_flushed = |scope: &Scope| {
            scope.tenant.is_none_or(|tenant| tenant == key.tenant)
                && scope.db.is_none_or(|db| db == key.db)
        };
        self.bits[word] & bit != 0 || self.flushed.iter().any(is_flushed)
    }
}

impl Shard {
    /// Records that a client wrote or removed this key, or tried to.
    #[inline]
    pub(crate) fn note_change(&mut self, key: &Key) {
        if let Some(changed) = &mut self.changed {
            changed.add(key.hash);
        }
        if let Some(away) = &mut self.tenants[usize::from(key.tenant)].away {
            away.outdate(key.hash);
        }
    }

    /// Whether an item of an earlier run may be restored: no client has changed it, and it has not
    /// expired.
    pub(crate) fn takes_back(&self, key: &Key, saved: &Saved, now: Now) -> bool {
        let is_newer = self.changed.as_ref().is_none_or(|changed| changed.has(key));
        !is_newer && saved.expires.is_none_or(|expires| expires >= now.unix_ms)
    }

    /// Records that a client removed all items of `scope`.
    pub(crate) fn note_flush(&mut self, scope: Scope) {
        if let Some(changed) = &mut self.changed
            && !changed.flushed.contains(&scope)
        {
            changed.flushed.push(scope);
        }
    }
}
