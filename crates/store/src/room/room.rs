//! The state of a shard that makes room for writes: `reserve.rs` is the one way to it.

use crate::contents::contents::Contents;
use crate::victims::choose::Candidates;
use crate::victims::eviction_time::{EvictionTimes, Pauses};
use crate::victims::pools::{OverdraftOrder, Pools};
use crate::{Evictable, Now};
use std::sync::Arc;

/// The pools of a shard, and the state of its evictions.
pub(crate) struct Room {
    /// The shard's number.
    pub(super) at: usize,
    nanos: fn() -> u64,
    pub(super) pools: Arc<Pools>,
    /// The items that may be evicted.
    pub(super) evictable: Evictable,
    /// The order in which pools give.
    pub(super) order: OverdraftOrder,
    /// Memory for the candidates of an eviction.
    pub(super) candidates: Candidates,
    /// When ranks were last balanced, and the earliest time for the next balancing.
    pub(super) balanced: u64,
    pub(super) balance_at: u64,
    /// Time that operations took to make room.
    pub(super) eviction_times: EvictionTimes,
    pub(super) sweeper: Sweeper,
}

/// The position and the state of a shard's sweep.
#[derive(Debug, Default)]
pub(crate) struct Sweeper {
    pub(super) tenant: usize,
    pub(super) position: u64,
    /// Start of this walk through all tables, in accesses to the shard.
    pub(super) begun: u64,
    /// Whether the walk visits every table, to refresh stamps.
    pub(super) for_stamps: bool,
    /// Start of the last such walk.
    pub(super) stamped: u64,
    /// The tenant whose dead items the next round removes first.
    pub(super) first: usize,
}

/// How often a collection is evicted when memory is needed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeTurn {
    /// In proportion to the share of collections in the tenant's memory.
    ByShare,
    /// Always, because nothing else may be evicted.
    Always,
}

impl Room {
    /// The room of the shard with this number, which measures evictions by the clock `nanos`.
    pub(crate) fn new(at: usize, nanos: fn() -> u64, pools: Arc<Pools>) -> Self {
        Self {
            at,
            nanos,
            pools,
            evictable: Evictable::Any,
            order: OverdraftOrder::default(),
            candidates: Candidates::default(),
            balanced: 0,
            balance_at: 0,
            eviction_times: EvictionTimes::default(),
            sweeper: Sweeper::default(),
        }
    }

    /// Changes which items may be evicted.
    pub(crate) const fn set_evictable(&mut self, evictable: Evictable) {
        self.evictable = evictable;
    }

    /// Replaces the pools. Known victims are forgotten where their worth has another unit now: a
    /// worth per byte cannot be compared with an age.
    pub(crate) fn set_pools(&mut self, contents: &mut Contents, pools: &Arc<Pools>) {
        self.order.forget();
        let before = std::mem::replace(&mut self.pools, Arc::clone(pools));
        for (at, tenant) in (0..).zip(&mut contents.tenants) {
            if !pools.ranks_like(&before, at) {
                tenant.pages.forget_victims();
            }
        }
    }

    /// The times of the operations so far. The last one is over.
    pub(crate) fn pauses(&mut self) -> &Pauses {
        self.begin_operation();
        &self.eviction_times.all
    }

    /// Clears the list of long pauses.
    pub(crate) fn forget_spikes(&mut self) {
        self.eviction_times.all.spikes.clear();
    }

    /// Ends the last operation, although the next one is not an access.
    pub(crate) fn begin_operation(&mut self) {
        self.eviction_times.close();
    }

    /// The shard's number.
    pub(crate) const fn at(&self) -> usize {
        self.at
    }

    /// Makes room by `make`, and measures the time.
    pub(super) fn timed<R>(
        &mut self,
        contents: &mut Contents,
        now: Now,
        make: impl FnOnce(&mut Self, &mut Contents) -> R,
    ) -> R {
        if !self.eviction_times.begin(contents.clock.tick) {
            return make(self, contents);
        }
        let began = (self.nanos)();
        let made = make(self, contents);
        let nanos = (self.nanos)().saturating_sub(began);
        self.eviction_times.end(nanos, now);
        made
    }
}
