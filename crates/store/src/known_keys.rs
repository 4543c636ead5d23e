//! What was learnt of keys, for another run: lifetimes and watched keys, and what shards remember
//! of keys that they evicted.
//!
//! What a shard remembers may be a hundredth of its memory, so it goes piece by piece, each copied
//! while the shard is locked for some microseconds. Hashes say nothing of another number of shards,
//! nor do ages, which are counted in accesses to one: what was known is for a store with as many.

use crate::store::{Admin, lock};
use crate::watch::{PART, costs};
use crate::{Now, Store};
use base::TenantId;
use policy::rank::gittins::{Indices, Known, Memory};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Bytes of a piece, about.
const PIECE: usize = 64 << 10;

/// What was learnt from watched keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KnownKeys {
    pub(crate) learnt: Known,
    /// Items of each tenant in a shard, and their mean size.
    items: Vec<usize>,
    mean_size: f32,
}

/// A piece of what a shard remembers of evicted keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvictedKeys {
    shard: usize,
    /// Its first bucket, of so many.
    at: usize,
    buckets: usize,
    bytes: Vec<u8>,
}

impl EvictedKeys {
    /// The shard and the bucket that the next piece begins with.
    pub const fn next(&self) -> (usize, usize) {
        let end = self.at + self.bytes.len() / Memory::BUCKET;
        if end < self.buckets { (self.shard, end) } else { (self.shard + 1, 0) }
    }
}

impl Store {
    /// What was learnt from watched keys, where a rank learns from such.
    pub fn known_keys(&self) -> Option<KnownKeys> {
        let (learnt, mean_size) = {
            let admin = lock(&self.admin);
            let watching = admin.watching.as_ref()?;
            (watching.learner.known(), watching.indices.mean_size())
        };
        let (items, _) = self.items_by_shard(self.tenants());
        Some(KnownKeys { learnt, items, mean_size })
    }

    /// Goes on with what an earlier run learnt, where a rank learns from watched keys: a tenant of
    /// that run has the number here that `number_of` says. To be called for a store with as many
    /// shards.
    pub fn recall_keys(
        &self,
        known: &KnownKeys,
        number_of: impl Fn(TenantId) -> Option<TenantId>,
        now: Now,
    ) {
        let mut admin = lock(&self.admin);
        let Admin { watching: Some(watching), accounts, prices, .. } = &mut *admin else { return };
        watching.learner.set_tenants(accounts.len());
        watching.learner.recall(&known.learnt, &number_of);
        let mut items = vec![0; accounts.len()];
        for (then, of) in (0..).zip(&known.items) {
            if let Some(now) = number_of(then).and_then(|now| items.get_mut(usize::from(now))) {
                *now = *of;
            }
        }
        let costs = costs(&watching.learner, accounts, prices);
        let table = watching.learner.table();
        watching.indices = Arc::new(Indices::new(table, &items, known.mean_size, &costs));
        self.charge_watching(&mut admin, now);
        self.publish(&mut admin);
    }

    /// A piece of what shards remember of evicted keys: from a shard and a bucket on, (0, 0) first
    /// and then [`EvictedKeys::next`].
    pub fn evicted_keys(&self, (first, at): (usize, usize)) -> Option<EvictedKeys> {
        (first..self.shards.len()).find_map(|shard| {
            let at = if shard == first { at } else { 0 };
            let pasts = &self.shards[shard].write_drained().pasts;
            let memory = &pasts.as_ref()?.memory;
            let bytes = memory.piece(at, PIECE / Memory::BUCKET);
            Some(EvictedKeys { shard, at, buckets: memory.buckets(), bytes })
        })
    }

    /// Remembers a piece of what a shard of an earlier run did, as far as its part of the memory
    /// allows. To be called while items come back, in a store with as many shards.
    pub fn recall_evicted(&self, piece: &EvictedKeys, now: Now) {
        let Some(shard) = self.shards.get(piece.shard) else { return };
        let bytes = (piece.buckets * Memory::BUCKET) as u64;
        let most = self.memory.limit() / PART / self.shards.len() as u64;
        // The buckets are a power of two, some of which may not be used.
        if lock(&self.admin).watching.is_none() || bytes > 2 * most {
            return;
        }
        let before = shard.write_drained().pasts.as_ref().map_or(0, |pasts| pasts.bytes);
        self.take_for_lessons(bytes.saturating_sub(before), now);
        let mut shard = shard.write_drained();
        let pasts = shard.pasts.get_or_insert_default();
        pasts.memory.recall(piece.at, piece.buckets, &piece.bytes);
        pasts.bytes = before.max(bytes);
    }
}
