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
//! leaves at a time, before it evicts anything. `room/evict_tree.rs` evicts collections.

use crate::bytes::account::Account;
use crate::items::item::Ref;
use crate::items::trees::tree::Tree;
use base::Prng;

/// The bit of an item's kind which says that the value is the number of a tree.
pub const TREE: u8 = 8;

/// Trees up to this many bytes are short work: they may be copied or freed under a lock.
pub const SMALL_TREE: u64 = 64 << 10;
/// Leaves that a write frees when it needs room, and that the sweep frees per step.
pub(crate) const LEAVES: usize = 64;

/// Whether an item of this kind is a collection.
#[inline]
pub(crate) const fn has_tree(kind: u8) -> bool {
    kind & TREE != 0
}

/// The tree's number at the start of a collection's value.
pub(crate) fn number(value: &[u8]) -> u32 {
    value.first_chunk().map_or(u32::MAX, |bytes| u32::from_le_bytes(*bytes))
}

/// The trees of a tenant in a shard.
#[derive(Debug, Default)]
pub(crate) struct Trees {
    /// Trees by number, each with the lower half of its key's hash.
    places: Vec<Option<(Box<Tree>, u32)>>,
    vacant: Vec<u32>,
    /// Bytes of the trees in `places`.
    pub(crate) held: u64,
    /// Trees whose items were removed.
    pub(crate) dying: Vec<Tree>,
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
    pub(crate) fn discard(&mut self, number: u32, account: &Account) -> u64 {
        match self.take(number) {
            Some(tree) if tree.bytes() > SMALL_TREE => {
                self.dying.push(*tree);
                account.tree_dies();
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
    pub(crate) fn draw(&self, prng: &mut Prng) -> Option<(u32, u32)> {
        let number = prng.below(self.places.len() as u64) as u32;
        let (_, hash) = self.places[number as usize].as_ref()?;
        Some((number, *hash))
    }

    /// Frees a few leaves of a dying tree, and returns their bytes.
    pub(crate) fn take_apart(&mut self, account: &Account) -> u64 {
        let Some(tree) = self.dying.last_mut() else { return 0 };
        let freed = tree.take_apart(LEAVES);
        if !tree.is_empty() {
            return freed;
        }
        account.trees_are_freed(1);
        freed + self.dying.pop().map_or(0, |tree| tree.bytes())
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
