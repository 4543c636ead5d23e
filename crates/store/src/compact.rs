//! Compaction of the heap layout: items are copied away from memory that is to be given back.
//!
//! Victims of evictions lie scattered, and an allocator gives memory back by runs of pages. So
//! where sizes change, what the old ones took stays taken: without compaction resident memory
//! comes to 1.4 times the limit (`cargo x soak 130 shift`). Compaction empties a few *blocks* of
//! addresses at a time. Good allocators put the copies into the holes of what is oldest, if their
//! caches of freed memory are off, which would hand out again what was freed a moment ago.
//!
//! Nothing else is asked of an allocator, not even where it looks for holes first: a block to which
//! copies come is being filled, so the next blocks to be emptied are those to which none came for
//! the longest time.
//!
//! Where all blocks are nearly full, many items must be copied for each page that is won: at nine
//! parts in ten, ten bytes for one. Where memory is needed sooner than that ([`Spare::Nothing`]),
//! the items of a block are evicted instead, and all of it is won at once. Those that may not leave
//! are copied still.
//!
//! A *pass* looks at every entry of every table once. The address stands in the entry, so that what
//! lies elsewhere costs a nanosecond or two. Meanwhile the blocks that hold anything are noted for
//! the next choice. What a pass met in its blocks tells whether it was worth while.

use crate::item::{Owned, Ref};
use crate::lanes::Lanes;
use crate::shard::Shard;
use crate::sizes::heap_class;
use crate::sync::yield_now;
use crate::{Now, Store};
use base::{Bytes, TenantId};

/// Blocks told apart; addresses that lie further off share one.
const BLOCKS: usize = 4096;
/// The limit has so many blocks.
const OF_LIMIT: u64 = 1024;
/// A block is at least so large: many runs of pages of any class.
const BLOCK_MIN: u64 = 64 << 10;
/// One block in so many is emptied in a pass. The copies take memory before the blocks give it, so
/// this is also what a pass may add to resident memory.
const PARTS: usize = 64;
/// Above this size allocators give an item pages of its own.
const SMALL_MAX: u64 = 14 << 10;
/// Buckets looked at, and items moved, while a shard is locked: some ten microseconds each.
const LOOKS: usize = 256;
const ITEMS: usize = 64;
/// Blocks that are full but for one part in so many give nothing that is worth the copies.
const FULL_BUT: u64 = 32;

/// What becomes of items in memory that is to be given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spare {
    /// They are copied to elsewhere.
    All,
    /// They are evicted if they may leave, and copied otherwise.
    Nothing,
}

#[derive(Clone, Copy, Debug, Default)]
struct Block {
    /// Whether this pass met an item in it.
    is_used: bool,
    /// Whether this pass empties it.
    leaves: bool,
    /// The last pass that filled or emptied it.
    changed: u32,
}

/// What the last pass met in the blocks that it emptied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Which pass that was.
    pub pass: u32,
    /// Bytes of the items in the blocks that were not evicted.
    pub held: Bytes,
    /// Bytes of the blocks.
    pub blocks: Bytes,
}

impl Compacted {
    /// Whether there was next to nothing to win.
    pub const fn is_futile(&self) -> bool {
        self.held.0 >= self.blocks.0 - self.blocks.0 / FULL_BUT
    }
}

/// Where compaction stands.
#[derive(Debug, Default)]
pub(crate) struct Compactor {
    /// None before the first pass.
    blocks: Box<[Block]>,
    /// Of the size of a block.
    shift: u32,
    shard: usize,
    tenant: usize,
    bucket: usize,
    /// Buckets looked at in this pass, and in the whole of the one before.
    looked: usize,
    looked_before: usize,
    pass: u32,
    leaving: u64,
    held: u64,
    last: Compacted,
}

impl Compactor {
    fn block(&mut self, item: Ref) -> &mut Block {
        &mut self.blocks[(item.base().addr().get() >> self.shift) % BLOCKS]
    }

    /// Whether memory is won if the item goes.
    fn is_in_the_way(&mut self, item: Ref) -> bool {
        self.block(item).leaves && heap_class(item.contents()) <= SMALL_MAX
    }

    /// The copy of an item that lies in a block to be emptied.
    #[inline]
    fn copy(&mut self, item: Ref) -> Option<Owned> {
        let block = self.block(item);
        block.is_used = true;
        if !block.leaves {
            return None;
        }
        let class = heap_class(item.contents());
        self.held += class;
        if class > SMALL_MAX {
            return None;
        }
        let copy = Owned::new(&item.parts([item.value(), b""], item.expires()), item.stamps());
        let pass = self.pass;
        self.block(copy.view()).changed = pass;
        Some(copy)
    }

    /// Ends a pass and chooses the blocks of the next.
    fn next_pass(&mut self, limit: u64) {
        let (held, blocks) = (Bytes(self.held), Bytes(self.leaving << self.shift));
        self.last = Compacted { pass: self.pass, held, blocks };
        let shift = (limit / OF_LIMIT).max(BLOCK_MIN).next_power_of_two().ilog2();
        if self.blocks.is_empty() || self.shift != shift {
            self.blocks = vec![Block::default(); BLOCKS].into();
            self.shift = shift;
        }
        let mut used: Vec<_> = (0..BLOCKS).filter(|&at| self.blocks[at].is_used).collect();
        used.sort_unstable_by_key(|&at| self.blocks[at].changed);
        used.truncate(used.len().div_ceil(PARTS));
        let pass = self.pass.wrapping_add(1);
        for block in &mut self.blocks {
            (block.is_used, block.leaves) = (false, false);
        }
        for &at in &used {
            let block = &mut self.blocks[at];
            (block.leaves, block.changed) = (true, pass);
        }
        (self.shard, self.tenant, self.bucket, self.pass) = (0, 0, 0, pass);
        (self.leaving, self.held) = (used.len() as u64, 0);
        (self.looked_before, self.looked) = (self.looked, 0);
    }
}

impl Store {
    /// Takes items of the heap layout away from memory that is to be given back, as `spare` says:
    /// as much of a pass as should free so many bytes, or to its end. Looks at a few items for each
    /// time that a shard is locked.
    pub fn compact(&self, bytes: Bytes, spare: Spare, now: Now) {
        if self.slab.is_some() {
            return;
        }
        // A request may wait for its turn to help, behind who compacts all the time: this lock is
        // handed on to who has waited for half a millisecond or so.
        self.compact_by(&mut self.compactor.lock(), bytes, spare, now);
    }

    fn compact_by(&self, compactor: &mut Compactor, bytes: Bytes, spare: Spare, now: Now) {
        if compactor.blocks.is_empty() {
            // The first pass is as long as any other, though none told how long that is.
            let buckets = |shard: &Lanes<Shard>| -> usize {
                shard.settle().tenants.iter().map(|tenant| tenant.table.buckets()).sum()
            };
            compactor.looked = self.shards.iter().map(buckets).sum();
            compactor.next_pass(self.memory.limit());
        }
        let pass = u128::from((self.memory.limit() / PARTS as u64).max(1));
        let buckets = compactor.looked_before.max(LOOKS) as u128;
        let mut left = (u128::from(bytes.0) * buckets / pass) as usize + 1;
        while left > 0 {
            if compactor.shard == self.shards.len() {
                compactor.next_pass(self.memory.limit());
                return;
            }
            left -= self.compact_some(compactor, left.min(LOOKS), spare, now);
            // The shard stays free for as long as this takes: who waits for it may have it.
            yield_now();
        }
    }

    /// Looks at up to `looks` buckets of one table; returns at how many.
    fn compact_some(
        &self,
        compactor: &mut Compactor,
        looks: usize,
        spare: Spare,
        now: Now,
    ) -> usize {
        let shard = &mut *self.shards[compactor.shard].settle();
        let at = compactor.tenant;
        if at == shard.tenants.len() {
            (compactor.shard, compactor.tenant) = (compactor.shard + 1, 0);
            return 0;
        }
        let evicts = spare == Spare::Nothing && shard.pools.evicts(at as TenantId);
        let (mut looked, mut moved) = (0, 0);
        while looked < looks && moved < ITEMS {
            while evicts
                && let table = &shard.tenants[at].table
                && let Some(place) =
                    table.find_nth(compactor.bucket, |item| compactor.is_in_the_way(item))
                && let Some(freed) = shard.evict_at(at as TenantId, place, now)
            {
                self.memory.give(freed);
                moved += 1;
            }
            let is_there = shard.tenants[at].table.renew(compactor.bucket, |item| {
                let copy = compactor.copy(item);
                moved += usize::from(copy.is_some());
                copy
            });
            if !is_there {
                (compactor.tenant, compactor.bucket) = (at + 1, 0);
                break;
            }
            compactor.bucket += 1;
            looked += 1;
        }
        compactor.looked += looked;
        looked
    }

    /// What the last pass of [`Store::compact`] came to.
    pub fn compacted(&self) -> Compacted {
        self.compactor.lock().last
    }
}
