//! Collections: a tree of small packed nodes.
//!
//! ```text
//!                 ┌───────────────┐        a branch: its first rank, how many entries, when the
//!                 │ branch │ …    │        first of them dies
//!                 └──┬────────┬───┘
//!        ┌───────────┴─┐    ┌─┴───────────┐
//!        │ branch │ …  │    │ …           │
//!        └──┬──────────┘    └─────────────┘
//!   ┌───────┴───────────┐
//!   │ entry entry entry │ …                 leaves of up to a kilobyte (leaf.rs)
//!   └───────────────────┘
//! ```
//!
//! Entries are in the order of a *rank* of 32 bits, and where ranks are equal in that of their
//! bodies, which the caller knows how to compare: of a hash or a set the rank is a hash of the
//! field, of a sorted set it is made of the score, in a list all are equal and the position alone
//! counts, which branches know as they count. All work on one entry is O(log n): a search in each
//! of three or four inner nodes, and a look through one leaf. Nothing is ever copied that is longer
//! than a node, but for an entry that is: it has a leaf of its own.
//!
//! Leaves take the memory that their entries need, by the allocator's sizes, so that a tree which
//! grew at random is as dense as one that was written in order. Where entries come in order, the
//! leaves behind are left full.
//!
//! Each branch knows when its first entry dies, so that the dead are found without a walk.

mod branch;
mod leaf;
#[cfg(test)]
mod tests;

use branch::{Branch, INNER_MAX, Node};
use leaf::{HEAD_MAX, LEAF_MAX, allocated};
use std::cmp::Ordering;
use std::fmt;

/// Children of an inner node.
const FANOUT: usize = 32;
/// The end of what does not die.
const NEVER: u64 = u64::MAX;

/// An entry of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The key it is ordered by first.
    pub rank: u32,
    /// When it dies, in Unix milliseconds; no more alive at that very millisecond.
    pub dies: Option<u64>,
    /// The value.
    pub body: &'a [u8],
}

impl Entry<'_> {
    /// Whether it is dead by now.
    pub fn is_dead(&self, now_ms: u64) -> bool {
        self.dies.is_some_and(|dies| dies <= now_ms)
    }
}

/// An entry that is looked for.
#[derive(Clone, Copy)]
pub struct Probe<'a> {
    /// Its rank.
    pub rank: u32,
    /// How a body of the same rank compares with what is looked for.
    pub order: &'a dyn Fn(&[u8]) -> Ordering,
}

impl Probe<'_> {
    fn order_of(&self, entry: &Entry<'_>) -> Ordering {
        entry.rank.cmp(&self.rank).then_with(|| (self.order)(entry.body))
    }
}

impl fmt::Debug for Probe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probe").field("rank", &self.rank).finish_non_exhaustive()
    }
}

/// An entry to be written, where its probe finds its place.
#[derive(Clone, Copy, Debug)]
struct New<'a> {
    probe: &'a Probe<'a>,
    dies: Option<u64>,
    body: &'a [u8],
}

/// A collection.
#[derive(Debug)]
pub struct Tree {
    root: Branch,
    /// Bytes of all nodes.
    nodes: u64,
    /// Levels of inner nodes.
    height: u32,
    /// Entries that die.
    mortal: u64,
    /// No entry dies later.
    latest: u64,
    /// Differs after every change, and from that of any other tree of the same owner and part.
    pub(crate) stamp: u64,
}

/// Bytes of a tree beside its nodes: itself, and its place among others.
const FIXED: u64 = (allocated(size_of::<Tree>()) + 2 * size_of::<(usize, u32)>()) as u64;

impl Default for Tree {
    fn default() -> Self {
        Self { root: Branch::empty(), nodes: 0, height: 0, mortal: 0, latest: 0, stamp: 0 }
    }
}

impl Tree {
    /// How many entries it has, the dead that nobody has taken out among them.
    pub const fn len(&self) -> u64 {
        self.root.count
    }

    /// Whether it has none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes it takes.
    pub const fn bytes(&self) -> u64 {
        FIXED + self.nodes
    }

    /// A number that differs after every change.
    pub const fn stamp(&self) -> u64 {
        self.stamp
    }

    /// When the first of its entries dies.
    pub fn next_death(&self) -> Option<u64> {
        Some(self.root.dies).filter(|&dies| dies < NEVER)
    }

    /// Whether an entry is dead.
    pub const fn has_dead(&self, now_ms: u64) -> bool {
        self.root.dies <= now_ms
    }

    /// By when all entries are dead; none while one of them lives for ever. Where the last to die
    /// was removed it tells of that one still.
    pub fn ends(&self) -> Option<u64> {
        (self.mortal > 0 && self.mortal == self.len()).then_some(self.latest)
    }

    /// Bytes by which it grows at most, for a moment, while an entry of this body is written.
    pub(crate) fn put_cost(&self, body: usize) -> u64 {
        let levels = self.height as usize + 2;
        (allocated(body + HEAD_MAX + LEAF_MAX) + allocated(LEAF_MAX) + levels * INNER_MAX) as u64
    }

    /// The entry that is looked for.
    pub fn get(&self, probe: &Probe<'_>) -> Option<Entry<'_>> {
        let mut node = &self.root.node;
        loop {
            match node {
                Node::Leaf(bytes) => {
                    let found = leaf::find(bytes, probe);
                    found.old?;
                    return leaf::take(&mut &bytes[found.at..]);
                }
                Node::Inner(children) => node = &children[Branch::child(children, probe)].node,
            }
        }
    }

    /// The entry before which there are so many.
    pub fn at(&self, position: u64) -> Option<Entry<'_>> {
        let (mut branch, mut left) = (&self.root, position);
        loop {
            match &branch.node {
                Node::Leaf(bytes) => return leaf::entries(bytes).nth(left as usize),
                Node::Inner(children) => {
                    branch = children.iter().find(|child| {
                        let is_here = left < child.count;
                        left -= if is_here { 0 } else { child.count };
                        is_here
                    })?;
                }
            }
        }
    }

    /// The entries of this rank and above, in their order.
    pub fn from_rank(&self, rank: u32) -> impl Iterator<Item = Entry<'_>> {
        let before = |_: &[u8]| Ordering::Greater;
        let probe = Probe { rank, order: &before };
        let (mut above, mut node) = (vec![], &self.root.node);
        let mut rest = loop {
            match node {
                Node::Leaf(bytes) => break &bytes[leaf::find(bytes, &probe).at..],
                Node::Inner(children) => {
                    let at = Branch::child(children, &probe);
                    above.push(children[at + 1..].iter());
                    node = &children[at].node;
                }
            }
        };
        std::iter::from_fn(move || {
            loop {
                if let Some(entry) = leaf::take(&mut rest) {
                    return Some(entry);
                }
                let mut branch = loop {
                    match above.last_mut()?.next() {
                        Some(branch) => break branch,
                        None => _ = above.pop(),
                    }
                };
                rest = loop {
                    match &branch.node {
                        Node::Leaf(bytes) => break bytes,
                        Node::Inner(children) => {
                            let mut below = children.iter();
                            branch = below.next()?;
                            above.push(below);
                        }
                    }
                };
            }
        })
    }

    /// Writes an entry, in the place of one that the probe finds. Whether there was one.
    pub fn put(&mut self, probe: &Probe<'_>, dies: Option<u64>, body: &[u8]) -> bool {
        let (old, split) = self.root.put(&New { probe, dies, body }, true, &mut self.nodes);
        if let Some(split) = split {
            let left = std::mem::replace(&mut self.root, Branch::empty());
            self.root = Branch::inner(vec![left, split]);
            self.nodes += self.root.bytes();
            self.height += 1;
        }
        self.mortal += u64::from(dies.is_some());
        self.latest = self.latest.max(dies.unwrap_or(0));
        if let Some(old) = old {
            self.forget_mortal(u64::from(old.is_some()));
        }
        old.is_some()
    }

    /// Takes an entry out. Whether there was one.
    pub(crate) fn remove(&mut self, probe: &Probe<'_>) -> bool {
        let Some(old) = self.root.remove(probe, &mut self.nodes) else { return false };
        self.forget_mortal(u64::from(old.is_some()));
        self.lower();
        true
    }

    /// Takes out dead entries, of at most so many leaves; how many they were.
    pub(crate) fn remove_dead(&mut self, now_ms: u64, mut leaves: usize) -> u64 {
        let dead = self.root.remove_dead(now_ms, &mut leaves, &mut self.nodes);
        self.forget_mortal(dead);
        self.lower();
        dead
    }

    fn forget_mortal(&mut self, gone: u64) {
        self.mortal -= gone;
        if self.mortal == 0 {
            self.latest = 0;
        }
    }

    /// Takes roots away that have one child or none.
    fn lower(&mut self) {
        while let Node::Inner(children) = &mut self.root.node
            && children.len() <= 1
        {
            let child = children.pop().unwrap_or_else(Branch::empty);
            self.nodes -= self.root.bytes();
            self.height = if matches!(child.node, Node::Leaf(_)) { 0 } else { self.height - 1 };
            self.root = child;
        }
    }

    /// Takes so many leaves apart, whatever they hold; the bytes that are free now. What is left is
    /// good for nothing but that.
    pub(crate) fn take_apart(&mut self, leaves: usize) -> u64 {
        let mut freed = 0;
        for _ in 0..leaves {
            if self.is_empty() {
                break;
            }
            freed += self.root.drop_last();
        }
        if self.is_empty() {
            freed += std::mem::replace(&mut self.root, Branch::empty()).bytes();
        }
        self.nodes -= freed;
        freed
    }
}
