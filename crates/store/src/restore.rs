//! Restoring items of an earlier run, while clients already read and write.
//!
//! Every client write, change or removal since the store was made is newer than the restored data.
//! This holds even if the new value has been evicted, expired or flushed again. So during a restore
//! every shard remembers the hashes of the keys that were written or removed, and the scopes that
//! were flushed, and restores none of them.
//!
//! The *changed keys* are bits in a bitmap of fixed size, so they take no more memory the longer
//! the restore lasts. A key that shares its bit with a written one is not restored either: it is a
//! miss, as it would be without a restore. With a million keys written meanwhile, this affects
//! three in a hundred.

use crate::evict::Exit;
use crate::penalty::Fetched;
use crate::shard::Shard;
use crate::store::lock;
use crate::{Error, Key, Now, Scope, Store};
use base::{Micros, TenantId};

/// Bits of all shards together, as a power of two: four megabytes.
const CHANGED_KEYS: u32 = 25;

/// Keys written or removed since the store was made.
#[derive(Debug)]
pub(crate) struct ChangedKeys {
    bits: Box<[u64]>,
    flushed: Vec<Scope>,
}

impl ChangedKeys {
    fn new(shards: usize) -> Self {
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

/// An item of an earlier run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved<'a> {
    /// The value.
    pub value: &'a [u8],
    /// The caller's kind of value, below 16.
    pub kind: u8,
    /// Its expiry, in Unix milliseconds.
    pub expires: Option<u64>,
    /// Its [`Item::idle`](crate::Item::idle) when it was saved.
    pub idle: u32,
    /// Its [`Item::in_use`](crate::Item::in_use).
    pub in_use: u32,
    /// Its [`Item::hits`](crate::Item::hits).
    pub hits: u8,
    /// Its [`Item::penalty_class`](crate::Item::penalty_class).
    pub penalty_class: u8,
    /// A lower bound of its tenant's items per shard.
    pub beside: usize,
}

impl Store {
    /// The most accesses to any shard so far, or 0 if no rank learns from watched keys. Its state
    /// needs this count to continue in a later run.
    pub fn tick(&self) -> u64 {
        if lock(&self.admin).watching.is_none() {
            return 0;
        }
        self.shards.iter().map(|shard| shard.write_drained().tick).max().unwrap_or_default()
    }

    /// Begins to record the keys that clients write and remove. To be called before there are
    /// clients. The shards' counts of accesses continue from `tick`, the result of [`Store::tick`]
    /// in the earlier run.
    pub fn begin_restore(&self, tick: u64) {
        let tick = if lock(&self.admin).watching.is_some() { tick } else { 0 };
        for shard in &self.shards {
            let mut shard = shard.write_drained();
            shard.changed = Some(Box::new(ChangedKeys::new(self.shards.len())));
            shard.tick = shard.tick.max(tick);
        }
    }

    /// Ends the restore.
    pub fn end_restore(&self) {
        for shard in &self.shards {
            shard.write_drained().changed = None;
        }
    }

    /// Restores an item. Returns false if a client has written, changed or removed it meanwhile, if
    /// it has expired, or if no restore is under way. It makes room like any write, does not count
    /// as a request, and keeps its age.
    pub fn restore(&self, key: &Key, saved: &Saved, now: Now) -> Result<bool, Error> {
        let mut shard = self.shard(key);
        if !shard.takes_back(key, saved, now) {
            return Ok(false);
        }
        // A walk during writes may have saved the item twice: the second copy is the newer one.
        if let Some(place) = shard.find(key, now, &self.memory) {
            self.memory.give(shard.remove(key.tenant, place, Exit::Flushed));
        }
        shard.bring_back(self, key, saved, now)?;
        Ok(true)
    }

    /// Takes over the penalties of a tenant in an earlier run: the number of fetches, and their
    /// mean.
    pub fn restore_penalty(&self, tenant: TenantId, count: f64, mean: Micros) {
        let account = lock(&self.admin).accounts.get(usize::from(tenant)).cloned();
        if let Some(account) = account {
            lock(&account.measured).recall(Fetched::In(mean, 0), count);
        }
    }
}
