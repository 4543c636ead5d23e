//! State learnt about keys, for a later run: lifetimes, watched keys, and the evicted keys that
//! shards remember.
//!
//! The evicted keys of a shard may take a hundredth of its memory. They are copied piece by piece,
//! each while the shard is locked for some microseconds. Neither hashes nor ages, which count
//! accesses to one shard, are valid for another number of shards. So the state is only for a store
//! with the same number.

use crate::learning::watching::{PART, costs};
use crate::store::store::Admin;
use crate::sync::shim::lock;
use crate::{Now, Store};
use base::TenantId;
use policy::rank::gittins::{Indices, LearnerState, Memory};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Approximate bytes of a piece.
const PIECE: usize = 64 << 10;

/// Results of learning from watched keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LearntState {
    pub(crate) learnt: LearnerState,
    /// Items of each tenant per shard, and their mean size.
    items: Vec<usize>,
    mean_size: f32,
}

/// A piece of a shard's memory of evicted keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvictedKeys {
    shard: usize,
    /// Its first bucket, and the number of all buckets.
    at: usize,
    buckets: usize,
    bytes: Vec<u8>,
}

impl EvictedKeys {
    /// The shard and the bucket at which the next piece begins.
    pub const fn next(&self) -> (usize, usize) {
        let end = self.at + self.bytes.len() / Memory::BUCKET;
        if end < self.buckets { (self.shard, end) } else { (self.shard + 1, 0) }
    }
}

impl Store {
    /// The results of learning from watched keys; `None` if no rank learns from them.
    pub fn known_keys(&self) -> Option<LearntState> {
        let (learnt, mean_size) = {
            let admin = lock(&self.admin);
            let watching = admin.watching.as_ref()?;
            (watching.learner.known(), watching.indices.mean_size())
        };
        let (items, _) = self.items_by_shard(self.tenants());
        Some(LearntState { learnt, items, mean_size })
    }

    /// Continues with the results of an earlier run, if a rank learns from watched keys.
    /// `number_of` maps a tenant of that run to its number here. The store must have the same
    /// number of shards.
    pub fn recall_keys(
        &self,
        known: &LearntState,
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

    /// A piece of the evicted keys that shards remember, from a shard and a bucket on: first (0,
    /// 0), and then [`EvictedKeys::next`].
    pub fn evicted_keys(&self, (first, at): (usize, usize)) -> Option<EvictedKeys> {
        (first..self.shards.len()).find_map(|shard| {
            let at = if shard == first { at } else { 0 };
            let shard_at = self.shards[shard].write_drained();
            let memory = &shard_at.contents().ghosts.as_ref()?.memory;
            let bytes = memory.piece(at, PIECE / Memory::BUCKET);
            Some(EvictedKeys { shard, at, buckets: memory.buckets(), bytes })
        })
    }

    /// Restores a piece of the evicted keys that a shard of an earlier run remembered, as far as
    /// its part of the memory allows. To be called while items are restored, in a store with the
    /// same number of shards.
    pub fn recall_evicted(&self, piece: &EvictedKeys, now: Now) {
        let Some(shard) = self.shards.get(piece.shard) else { return };
        let bytes = (piece.buckets * Memory::BUCKET) as u64;
        let most = self.budget.memory.limit() / PART / self.shards.len() as u64;
        // The number of buckets is a power of two, some of which may be unused.
        if lock(&self.admin).watching.is_none() || bytes > 2 * most {
            return;
        }
        let before =
            shard.write_drained().contents().ghosts.as_ref().map_or(0, |ghosts| ghosts.bytes);
        self.take_for_lessons(bytes.saturating_sub(before), now);
        let mut shard = shard.write_drained();
        let ghosts = shard.contents_mut().ghosts.get_or_insert_default();
        ghosts.memory.recall(piece.at, piece.buckets, &piece.bytes);
        ghosts.bytes = before.max(bytes);
    }
}
