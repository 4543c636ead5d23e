//! Items brought back from an earlier run, while clients already read and write.
//!
//! Whatever a client wrote, changed or removed since the store was made is newer than what is
//! brought back: also where it is gone again by then, evicted, expired or flushed. So as long as
//! items come back every shard remembers the hashes of the keys that were written or removed, and
//! the scopes that were flushed, and takes back nothing of those.
//!
//! The *changed keys* are bits in a bitmap of fixed size, so they take no more memory the longer it
//! lasts. A key that shares its bit with one that was written stays out too: it is a miss, as it
//! would be without a restore. With a million keys written meanwhile that befalls three in a
//! hundred.

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

    /// The low half of a hash has not chosen the shard.
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
    /// A client wrote or removed, or meant to, what has this key.
    #[inline]
    pub(crate) fn note_change(&mut self, key: &Key) {
        if let Some(changed) = &mut self.changed {
            changed.add(key.hash);
        }
        if let Some(away) = &mut self.tenants[usize::from(key.tenant)].away {
            away.outdate(key.hash);
        }
    }

    /// Whether an item of an earlier run may come back: no client has gone beyond it, and it is not
    /// dead.
    pub(crate) fn takes_back(&self, key: &Key, saved: &Saved, now: Now) -> bool {
        let is_newer = self.changed.as_ref().is_none_or(|changed| changed.has(key));
        !is_newer && saved.expires.is_none_or(|expires| expires >= now.unix_ms)
    }

    /// A client removed all of `scope`.
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
    /// When it dies, in Unix milliseconds.
    pub expires: Option<u64>,
    /// Its [`Item::idle`](crate::Item::idle) when it was saved.
    pub idle: u32,
    /// Its [`Item::in_use`](crate::Item::in_use).
    pub in_use: u32,
    /// Its [`Item::hits`](crate::Item::hits).
    pub hits: u8,
    /// Its [`Item::penalty_class`](crate::Item::penalty_class).
    pub penalty_class: u8,
    /// Items of its tenant in a shard, at least.
    pub beside: usize,
}

impl Store {
    /// Accesses to a shard so far, of the one with most, where a rank learns from watched keys: for
    /// what it knows they must go on.
    pub fn tick(&self) -> u64 {
        if lock(&self.admin).watching.is_none() {
            return 0;
        }
        self.shards.iter().map(|shard| shard.write_drained().tick).max().unwrap_or_default()
    }

    /// From here on what clients write and remove is remembered. To be called before there are any.
    /// Accesses to a shard are counted on from [`Store::tick`] of the earlier run.
    pub fn begin_restore(&self, tick: u64) {
        let tick = if lock(&self.admin).watching.is_some() { tick } else { 0 };
        for shard in &self.shards {
            let mut shard = shard.write_drained();
            shard.changed = Some(Box::new(ChangedKeys::new(self.shards.len())));
            shard.tick = shard.tick.max(tick);
        }
    }

    /// No more items come back.
    pub fn end_restore(&self) {
        for shard in &self.shards {
            shard.write_drained().changed = None;
        }
    }

    /// Brings an item back, unless a client wrote, changed or removed it meanwhile, or it is dead,
    /// or no restore is under way. Whether it did. It makes room like any write; it counts as no
    /// request, and is as old as it was.
    pub fn restore(&self, key: &Key, saved: &Saved, now: Now) -> Result<bool, Error> {
        let mut shard = self.shard(key);
        if !shard.takes_back(key, saved, now) {
            return Ok(false);
        }
        // A walk among writers may have met it twice: the second is the newer.
        if let Some(place) = shard.find(key, now, &self.memory) {
            self.memory.give(shard.remove(key.tenant, place, Exit::Flushed));
        }
        shard.bring_back(self, key, saved, now)?;
        Ok(true)
    }

    /// Takes over what fetches of a tenant cost in an earlier run: so many, so long in the mean.
    pub fn restore_penalty(&self, tenant: TenantId, count: f64, mean: Micros) {
        let account = lock(&self.admin).accounts.get(usize::from(tenant)).cloned();
        if let Some(account) = account {
            lock(&account.measured).recall(Fetched::In(mean, 0), count);
        }
    }
}
