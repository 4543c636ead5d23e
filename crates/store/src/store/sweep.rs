//! The sweep, and evictions in another shard than the one that needs the room.

use crate::Store;
use crate::bytes::account::Account;
use crate::bytes::freed::Freed;
use crate::bytes::memory::Memory;
use crate::items::trees::tree::Tree;
use crate::items::trees::trees::LEAVES;
use crate::sync::shim::{lock, yield_now};
use crate::victims::budget::{OtherShards, RoomRequest};
use crate::{Now, Swept};
use base::TenantId;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Buckets swept while one shard is locked.
const SWEEP_STEP: usize = 32;

/// A shard gives a page to another that holds less by more than this part.
const SLACK: u64 = 32;

/// Shards that are compared to find the one that holds most.
const LOOKED_AT: usize = 16;

impl Store {
    /// Removes dead items, then evicts if the store or a tenant is above a lowered limit, and
    /// learns if a rank does. This is bounded work, to be called again and again. It looks at about
    /// `budget` entries and buckets. It evicts up to `budget` pages, one per lock of a shard.
    pub fn sweep(&self, now: Now, budget: usize) -> Swept {
        let mut swept = Swept::default();
        let rounds = budget.div_ceil(SWEEP_STEP).max(self.shards.len());
        let above = lock(&self.admin).accounts.iter().position(|account| account.excess() > 0);
        let above = above.map(|at| at as TenantId);
        for _ in 0..rounds {
            let left = budget - swept.buckets.min(budget);
            let trims = budget - swept.evicted.min(budget);
            if left == 0 && (trims == 0 || self.budget.memory.excess() == 0) {
                break;
            }
            let at = self.sweep_at.fetch_add(1, Relaxed) % self.shards.len();
            let mut shard = self.shards[at].write_drained();
            let (contents, room) = shard.parts();
            let memory = &self.budget.memory;
            let step = room.sweep(contents, memory, now, left.min(SWEEP_STEP));
            self.expiring[at].store(contents.has_wheels, Relaxed);
            swept.buckets += step.buckets;
            swept.expired += step.expired;
            let is_trimmed = trims > 0 && room.trim(contents, memory, above, now);
            swept.evicted += usize::from(is_trimmed);
            swept.moved += usize::from(self.move_page(&mut shard, now));
            let dying = shard.contents_mut().take_dying();
            drop(shard);
            self.take_apart(dying);
        }
        // Otherwise a budget that always ends with the same shard would always begin with the same
        // one.
        self.sweep_at.fetch_add(1, Relaxed);
        self.arena.maintain();
        if self.learns.load(Relaxed) {
            self.learn();
            self.watch(now);
        }
        swept
    }
}

impl OtherShards for Store {
    fn richer(&self, at: usize, first: usize) -> Option<usize> {
        let shards = self.shards.len();
        let looked_at = (first..first + shards.min(LOOKED_AT)).map(|shard| shard % shards);
        let held = |shard: usize| self.held[shard].load(Relaxed);
        let (most, richest) = looked_at.map(|shard| (held(shard), shard)).max()?;
        let own = held(at);
        (most > own + own / SLACK + self.page().0).then_some(richest)
    }

    fn try_evict_at(&self, other: usize, want: &RoomRequest) -> Freed {
        let shard = self.shards[other].try_write_drained();
        shard.map_or(Freed::NOTHING, |mut shard| {
            let (contents, room) = shard.parts();
            room.evict_page(contents, &RoomRequest { pinned: 0, ..*want })
        })
    }

    fn evict_elsewhere(&self, at: usize, first: usize, want: &RoomRequest) -> Freed {
        let want = RoomRequest { pinned: 0, ..*want };
        self.waiting.fetch_add(1, Relaxed);
        let turn = lock(&self.elsewhere);
        self.waiting.fetch_sub(1, Relaxed);
        let mut quiet = 0;
        loop {
            let mut locked = 0;
            let others = (0..self.shards.len()).map(|i| (first + i) % self.shards.len());
            for other in others.filter(|&other| other != at) {
                let Some(mut shard) = self.shards[other].try_write_drained() else {
                    locked += 1;
                    continue;
                };
                let (contents, room) = shard.parts();
                let freed = room.evict_page(contents, &want);
                if !freed.is_nothing() {
                    return freed;
                }
            }
            if locked <= self.waiting.load(Relaxed) {
                // A shard may have changed its holder between the try and the count.
                quiet += 1;
                if locked == 0 || quiet == 3 {
                    drop(turn);
                    return Freed::NOTHING;
                }
            }
            yield_now();
        }
    }
}

impl Store {
    /// Frees trees that no item owns any more.
    pub(crate) fn take_apart(&self, dying: Vec<(Arc<Account>, Vec<Tree>)>) {
        let give = |account: &Account, memory: &Memory, bytes| {
            account.give(bytes);
            memory.give(bytes);
        };
        for (account, trees) in dying {
            for mut tree in trees {
                while !tree.is_empty() {
                    give(&account, &self.budget.memory, tree.take_apart(LEAVES));
                }
                give(&account, &self.budget.memory, tree.bytes());
                account.trees_are_freed(1);
            }
        }
    }
}
