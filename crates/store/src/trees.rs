//! Items that are collections: the ownership of their trees, and the charges for them.
//!
//! The value of an item whose kind has the bit [`TREE`] is only the number of a [`Tree`], followed
//! by the caller's note. The tree's nodes are on the heap, not in pages. They have every size up to
//! a kilobyte, none is worth more than another, and they are removed together with their item.
//! Their bytes are charged to the item's tenant, by the allocator's sizes. As with pages, they are
//! reserved before they are allocated, and given back when they are free.
//!
//! A large tree is not freed under the lock when its item is removed. It waits among the *dying*
//! trees, still charged. The sweep frees them without the lock. A write that needs room frees a few
//! leaves at a time, before it evicts anything.
//!
//! For the pages, a collection is one of the smallest items. So when memory is needed, trees are
//! evicted in proportion to their share of it. Of some trees drawn at random, the one whose item
//! has the lowest rank is evicted; the rank counts all of its bytes.

use crate::evict::Exit;
use crate::item::Ref;
use crate::memory::Memory;
use crate::pools::Want;
use crate::shard::Shard;
use crate::store::Store;
use crate::table::Place;
use crate::tenant::{Account, TenantShard};
use crate::tree::Tree;
use base::{Prng, TenantId, Tick};
use std::sync::Arc;

/// The bit of an item's kind which says that the value is the number of a tree.
pub const TREE: u8 = 8;

/// Trees up to this many bytes are short work: they may be copied or freed under a lock.
pub const SMALL_TREE: u64 = 64 << 10;
/// Leaves that a write frees when it needs room, and that the sweep frees per step.
const LEAVES: usize = 64;

/// Whether an item of this kind is a collection.
#[inline]
pub(crate) const fn has_tree(kind: u8) -> bool {
    kind & TREE != 0
}

/// The tree's number at the start of a collection's value.
pub(crate) fn number(value: &[u8]) -> u32 {
    value.first_chunk().map_or(u32::MAX, |bytes| u32::from_le_bytes(*bytes))
}

/// How often a collection is evicted when memory is needed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Often {
    /// In proportion to the share of collections in the tenant's memory.
    ByShare,
    /// Always, because nothing else may be evicted.
    Always,
}

/// The trees of a tenant in a shard.
#[derive(Debug, Default)]
pub(crate) struct Trees {
    /// Trees by number, each with the lower half of its key's hash.
    places: Vec<Option<(Box<Tree>, u32)>>,
    vacant: Vec<u32>,
    /// Bytes of the trees in `places`.
    held: u64,
    /// Trees whose items were removed.
    dying: Vec<Tree>,
    /// Number of changes to all trees.
    changes: u64,
}

impl Trees {
    /// The tree of an item, if it is a collection.
    #[inline]
    pub(crate) fn of(&self, item: Ref<'_>) -> Option<&Tree> {
        if has_tree(item.kind()) { self.get(number(item.value())) } else { None }
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Tree> {
        self.places.get(number as usize)?.as_ref().map(|(tree, _)| &**tree)
    }

    /// Bytes of an item's tree.
    #[inline]
    pub(crate) fn bytes_of(&self, item: Ref<'_>) -> u64 {
        self.of(item).map_or(0, Tree::bytes)
    }

    /// Stores the tree of a key, and returns its number.
    pub(crate) fn add(&mut self, mut tree: Box<Tree>, hash: u64) -> u32 {
        self.changes += 1;
        tree.stamp = self.changes;
        self.held += tree.bytes();
        let placed = Some((tree, hash as u32));
        if let Some(number) = self.vacant.pop() {
            self.places[number as usize] = placed;
            return number;
        }
        self.places.push(placed);
        self.places.len() as u32 - 1
    }

    /// Removes and returns a tree.
    pub(crate) fn take(&mut self, number: u32) -> Option<Box<Tree>> {
        let (tree, _) = self.places.get_mut(number as usize)?.take()?;
        self.vacant.push(number);
        self.held -= tree.bytes();
        Some(tree)
    }

    /// Changes a tree by `f`. Returns the result of `f`, and the tree's bytes before and after.
    pub(crate) fn change<R>(
        &mut self,
        number: u32,
        f: impl FnOnce(&mut Tree) -> R,
    ) -> Option<(R, u64, u64)> {
        let (tree, _) = self.places.get_mut(number as usize)?.as_mut()?;
        let before = tree.bytes();
        let result = f(tree);
        self.changes += 1;
        tree.stamp = self.changes;
        self.held = self.held + tree.bytes() - before;
        Some((result, before, tree.bytes()))
    }

    /// Discards the tree of an item that was removed. Returns the bytes that are free now.
    pub(crate) fn discard(&mut self, number: u32) -> u64 {
        match self.take(number) {
            Some(tree) if tree.bytes() > SMALL_TREE => {
                self.dying.push(*tree);
                0
            }
            Some(tree) => tree.bytes(),
            None => 0,
        }
    }

    /// Bytes of all trees.
    pub(crate) fn bytes(&self) -> u64 {
        self.held + self.dying.iter().map(Tree::bytes).sum::<u64>()
    }

    /// A random number of a tree, with the hash of its key; `None` if the number is vacant.
    fn draw(&self, prng: &mut Prng) -> Option<(u32, u32)> {
        let number = prng.below(self.places.len() as u64) as u32;
        let (_, hash) = self.places[number as usize].as_ref()?;
        Some((number, *hash))
    }

    /// Frees a few leaves of a dying tree, and returns their bytes.
    fn take_apart(&mut self) -> u64 {
        let Some(tree) = self.dying.last_mut() else { return 0 };
        let freed = tree.take_apart(LEAVES);
        if !tree.is_empty() {
            return freed;
        }
        freed + self.dying.pop().map_or(0, |tree| tree.bytes())
    }
}

impl TenantShard {
    /// Updates the class's bytes after the tree of an item has changed.
    pub(crate) fn tree_grows(&mut self, class: u8, before: u64, after: u64) {
        self.class_enters(class, after);
        self.class_leaves(class, before);
    }

    /// Discards the tree of an item of this class; the item stays. Returns the bytes that are free
    /// now.
    pub(crate) fn discard_tree(&mut self, class: u8, number: u32) -> u64 {
        let bytes = self.trees.get(number).map_or(0, Tree::bytes);
        self.class_leaves(class, bytes);
        self.trees.discard(number)
    }
}

impl Shard {
    /// Frees a few leaves of dying trees for a write that needs room. Returns the bytes that are
    /// free now; the account has them back already.
    pub(crate) fn free_leaves(&mut self, want: &Want) -> u64 {
        if !self.has_trees {
            return 0;
        }
        let own = want.tenant.filter(|_| want.own);
        for (at, tenant) in self.tenants.iter_mut().enumerate() {
            if own.is_none_or(|own| usize::from(own) == at) {
                let freed = tenant.trees.take_apart();
                if freed > 0 {
                    tenant.account.give(freed);
                    return freed;
                }
            }
        }
        0
    }

    /// Evicts a collection of the pool that gives first, if one should be evicted. Returns the
    /// bytes that are free now; the account has them back already.
    pub(crate) fn evict_tree(&mut self, want: &Want, often: Often) -> u64 {
        if !self.has_trees {
            return 0;
        }
        let pool = self.pools.first(&mut self.order, want);
        let Some((at, place)) = self.choose_tree(pool, want, often) else { return 0 };
        let freed = self.remove(at, place, Exit::Evicted);
        freed + self.free_leaves(want)
    }

    /// The collection of a pool to evict, if any.
    fn choose_tree(&mut self, pool: usize, want: &Want, often: Often) -> Option<(TenantId, Place)> {
        let Self { pools, tenants, prng, tick, evictable, .. } = self;
        let may_lose = |&tenant: &TenantId| {
            let TenantShard { account, trees, .. } = &tenants[usize::from(tenant)];
            let is_own = want.tenant == Some(tenant);
            let own = is_own && (want.own || !account.is_below_min(0));
            trees.held > 0 && (own || !is_own && !want.own && account.loose() > 0)
        };
        let at = pools.drawn_from(pool, prng).find(may_lose)?;
        let TenantShard { table, trees, pages, account, .. } = &tenants[usize::from(at)];
        let evictor = pools.evictor(at);
        if often == Often::ByShare && prng.below(trees.held + pages.bytes()) >= trees.held {
            return None;
        }
        let mut lowest: Option<(f32, Place)> = None;
        for _ in 0..usize::from(evictor.k) << u32::from(evictor.pool) {
            let Some((number, hash)) = trees.draw(prng) else { continue };
            let is_it =
                |item: Ref<'_>| has_tree(item.kind()) && self::number(item.value()) == number;
            let Some(place) = table.find_beside(hash, is_it) else { continue };
            let (item, bytes) = (table.get(place), trees.get(number).map_or(0, Tree::bytes));
            let is_kept = want.tenant != Some(at) && account.loose() < bytes;
            if is_kept || evictable.spare(item.expires()) || table.word(place) == want.spare {
                continue;
            }
            let (stamps, size) = (item.stamps(), u32::try_from(bytes).unwrap_or(u32::MAX));
            let (class, meta) = (stamps.hit_class(), stamps.meta(size, *tick));
            let rank = evictor.rank.rank_in(at, class, &meta, Tick(*tick));
            if lowest.is_none_or(|(least, _)| rank < least) {
                lowest = Some((rank, place));
            }
        }
        lowest.map(|(_, place)| (at, place))
    }

    /// Takes the dying trees out, to be freed without the lock.
    pub(crate) fn take_dying(&mut self) -> Vec<(Arc<Account>, Vec<Tree>)> {
        if !self.has_trees {
            return vec![];
        }
        let of = |tenant: &mut TenantShard| {
            (Arc::clone(&tenant.account), std::mem::take(&mut tenant.trees.dying))
        };
        let dying = self.tenants.iter_mut().filter(|tenant| !tenant.trees.dying.is_empty());
        let dying = dying.map(of).collect();
        self.has_trees = self.tenants.iter().any(|tenant| tenant.trees.held > 0);
        dying
    }

    /// The penalty class of a collection's item, the number of its tree, and its word in the table.
    pub(crate) fn collection(&self, tenant: TenantId, place: Place) -> Option<(u8, u32, usize)> {
        let table = &self.tenants[usize::from(tenant)].table;
        let item = table.get(place);
        let is_one = has_tree(item.kind());
        is_one.then(|| (item.stamps().penalty_class(), number(item.value()), table.word(place)))
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
                    give(&account, &self.memory, tree.take_apart(LEAVES));
                }
                give(&account, &self.memory, tree.bytes());
            }
        }
    }
}

#[cfg(test)]
impl Trees {
    /// Bytes of all trees, after a recount of the sum.
    pub(crate) fn audit(&self) -> u64 {
        let held: u64 = self.places.iter().flatten().map(|(tree, _)| tree.bytes()).sum();
        assert_eq!(held, self.held);
        self.bytes()
    }

    /// Number of trees in `places`.
    pub(crate) fn count(&self) -> usize {
        self.places.iter().flatten().count()
    }
}
