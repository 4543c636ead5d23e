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
//! Entries are ordered by a *rank* of 32 bits, and those of equal rank by their bodies, which the
//! caller compares. In a hash or a set the rank is a hash of the field; in a sorted set it is
//! computed from the score. In a list all ranks are 0 and only the position counts, which branches
//! know from their counts. Every operation on one entry is O(log n): a search in each of three or
//! four inner nodes, and a scan of one leaf. Nothing longer than a node is ever copied, except an
//! entry that is longer: it has a leaf of its own.
//!
//! Leaves take the memory that their entries need, by the allocator's sizes. So a tree that grew at
//! random is as dense as one that was written in order. If entries are added in order, the leaves
//! behind them are left full.
//!
//! Each branch knows the first expiry of its entries, so that dead entries are found without a
//! walk.

use crate::items::trees::branch::{Branch, Edges, INNER_MAX, Node};
use crate::items::trees::entry::{Entry, NEVER, New, Probe, Spot};
use crate::items::trees::leaf;
use crate::items::trees::leaf::{HEAD_MAX, LEAF_MAX, allocated};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::slice::Iter;

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

/// The remaining children of each inner node on the path down, for the few levels of a tree.
type Above<'t> = SmallVec<[Iter<'t, Branch>; 6]>;

/// A collection.
#[derive(Debug)]
pub struct Tree {
    root: Branch,
    /// Bytes of all nodes.
    nodes: u64,
    /// Levels of inner nodes.
    height: u32,
    /// Number of entries with an expiry.
    mortal: u64,
    /// A bound on expiries: no entry has a later one.
    latest: u64,
    /// Differs after every change, and from the stamps of all other trees of the same owner and
    /// shard.
    pub(crate) stamp: u64,
}

/// Bytes of a tree without its nodes: the tree itself, and its place in the list of trees.
const FIXED: u64 = (allocated(size_of::<Tree>()) + 2 * size_of::<(usize, u32)>()) as u64;

impl Default for Tree {
    fn default() -> Self {
        Self { root: Branch::empty(), nodes: 0, height: 0, mortal: 0, latest: 0, stamp: 0 }
    }
}

impl Tree {
    /// The number of entries, including dead ones that have not been removed yet.
    pub const fn len(&self) -> u64 {
        self.root.count
    }

    /// Whether it has no entries.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the tree and its nodes.
    pub const fn bytes(&self) -> u64 {
        FIXED + self.nodes
    }

    /// A number that differs after every change.
    pub const fn stamp(&self) -> u64 {
        self.stamp
    }

    /// The first expiry of its entries.
    pub fn next_death(&self) -> Option<u64> {
        Some(self.root.dies).filter(|&dies| dies < NEVER)
    }

    /// Whether an entry is dead by `now_ms`.
    pub const fn has_dead(&self, now_ms: u64) -> bool {
        self.root.dies <= now_ms
    }

    /// A time by which all entries are dead; `None` if any has no expiry. After the entry with the
    /// last expiry is removed, its time may still be returned.
    pub fn ends(&self) -> Option<u64> {
        (self.mortal > 0 && self.mortal == self.len()).then_some(self.latest)
    }

    /// Most bytes by which the tree grows, even for a moment, while an entry with this body is
    /// written.
    pub(crate) fn put_cost(&self, body: usize) -> u64 {
        let levels = self.height as usize + 2;
        (allocated(body + HEAD_MAX + LEAF_MAX) + allocated(LEAF_MAX) + levels * INNER_MAX) as u64
    }

    /// The entry that the probe finds.
    pub fn get(&self, probe: &Probe<'_>) -> Option<Entry<'_>> {
        let mut node = &self.root.node;
        loop {
            match node {
                Node::Leaf(bytes) => {
                    let found = leaf::find(bytes, Spot::Probe(probe));
                    found.old?;
                    return leaf::take(&mut &bytes[found.at..]);
                }
                Node::Inner(children) => {
                    node = &children[Branch::child(children, Spot::Probe(probe)).0].node;
                }
            }
        }
    }

    /// The entry after `position` others.
    pub fn at(&self, position: u64) -> Option<Entry<'_>> {
        self.from(position).next()
    }

    /// The number of entries before the one that the probe finds, or before its place.
    pub fn position(&self, probe: &Probe<'_>) -> u64 {
        let (mut node, mut before) = (&self.root.node, 0);
        loop {
            match node {
                Node::Leaf(bytes) => return before + leaf::position(bytes, Spot::Probe(probe)),
                Node::Inner(children) => {
                    let (at, _) = Branch::child(children, Spot::Probe(probe));
                    before += children[..at].iter().map(|child| child.count).sum::<u64>();
                    node = &children[at].node;
                }
            }
        }
    }

    /// The entries of this rank and above, in order.
    pub fn from_rank(&self, rank: u32) -> impl Iterator<Item = Entry<'_>> {
        let before = |_: &[u8]| Ordering::Greater;
        self.beyond(Spot::Probe(&Probe { rank, order: &before }))
    }

    /// The entries from the one that the probe finds on, or from its place on, in order.
    pub fn from_place(&self, probe: &Probe<'_>) -> impl Iterator<Item = Entry<'_>> + use<'_> {
        self.beyond(Spot::Probe(probe))
    }

    /// The entries after the first `position` ones, in order.
    pub fn from(&self, position: u64) -> impl Iterator<Item = Entry<'_>> {
        self.beyond(Spot::Position(position))
    }

    fn beyond(&self, mut spot: Spot<'_>) -> impl Iterator<Item = Entry<'_>> + use<'_> {
        let (mut above, mut node) = (Above::new(), &self.root.node);
        let mut rest = loop {
            match node {
                Node::Leaf(bytes) => break &bytes[leaf::find(bytes, spot).at..],
                Node::Inner(children) => {
                    let (at, within) = Branch::child(children, spot);
                    above.push(children[at + 1..].iter());
                    (node, spot) = (&children[at].node, within);
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

    /// The entries backwards, starting with the one after `position` others, or with the last if
    /// there are fewer.
    pub fn back_from(&self, position: u64) -> impl Iterator<Item = Entry<'_>> {
        let (mut above, mut node, mut left) = (Above::new(), &self.root.node, position);
        let mut held: SmallVec<[Entry<'_>; 64]> = loop {
            match node {
                Node::Leaf(bytes) => {
                    let most = usize::try_from(left).unwrap_or(usize::MAX).saturating_add(1);
                    break leaf::entries(bytes).take(most).collect();
                }
                Node::Inner(children) => {
                    let (at, within) = Branch::child(children, Spot::Position(left));
                    if let Spot::Position(within) = within {
                        left = within;
                    }
                    above.push(children[..at].iter());
                    node = &children[at].node;
                }
            }
        };
        std::iter::from_fn(move || {
            loop {
                if let Some(entry) = held.pop() {
                    return Some(entry);
                }
                let mut branch = loop {
                    match above.last_mut()?.next_back() {
                        Some(branch) => break branch,
                        None => _ = above.pop(),
                    }
                };
                held = loop {
                    match &branch.node {
                        Node::Leaf(bytes) => break leaf::entries(bytes).collect(),
                        Node::Inner(children) => {
                            let mut below = children.iter();
                            branch = below.next_back()?;
                            above.push(below);
                        }
                    }
                };
            }
        })
    }

    /// Writes an entry, in place of the one that the probe finds. Returns whether there was one.
    pub fn put(&mut self, probe: &Probe<'_>, dies: Option<u64>, body: &[u8]) -> bool {
        self.write(&New { spot: Spot::Probe(probe), rank: probe.rank, dies, body })
    }

    /// Inserts an entry of rank 0 after `position` others, or at the end if there are fewer.
    pub fn insert(&mut self, position: u64, body: &[u8]) {
        let spot = Spot::Before(position.min(self.len()));
        self.write(&New { spot, rank: 0, dies: None, body });
    }

    /// Adds an entry after all others; its rank is no lower than theirs.
    pub(crate) fn push(&mut self, entry: Entry<'_>) {
        let Entry { rank, dies, body } = entry;
        self.write(&New { spot: Spot::Before(self.len()), rank, dies, body });
    }

    /// Replaces the entry after `position` others by one of rank 0, if there is one.
    pub fn replace(&mut self, position: u64, body: &[u8]) {
        if position < self.len() {
            self.write(&New { spot: Spot::Position(position), rank: 0, dies: None, body });
        }
    }

    fn write(&mut self, new: &New<'_>) -> bool {
        let edges = Edges { first: true, last: true };
        let (old, split) = self.root.put(new, edges, &mut self.nodes);
        if let Some(split) = split {
            let left = std::mem::replace(&mut self.root, Branch::empty());
            self.root = Branch::inner(vec![left, split]);
            self.nodes += self.root.bytes();
            self.height += 1;
        }
        self.mortal += u64::from(new.dies.is_some());
        self.latest = self.latest.max(new.dies.unwrap_or(0));
        if let Some(old) = old {
            self.forget_mortal(u64::from(old.is_some()));
        }
        old.is_some()
    }

    /// Removes an entry. Returns whether there was one.
    pub(crate) fn remove(&mut self, probe: &Probe<'_>) -> bool {
        self.take(Spot::Probe(probe), |_| ())
    }

    /// Removes the entry after `position` others, after showing its body to `visit`. Returns
    /// whether there was one.
    pub(crate) fn remove_at(&mut self, position: u64, visit: impl FnMut(&[u8])) -> bool {
        self.take(Spot::Position(position), visit)
    }

    fn take(&mut self, spot: Spot<'_>, mut visit: impl FnMut(&[u8])) -> bool {
        let old = self.root.remove(spot, &mut self.nodes, &mut visit);
        let Some(old) = old else { return false };
        self.forget_mortal(u64::from(old.is_some()));
        self.lower();
        true
    }

    /// Removes dead entries from at most `leaves` leaves, and returns how many.
    pub(crate) fn remove_dead(&mut self, now_ms: u64, mut leaves: usize) -> u64 {
        let dead = self.root.remove_dead(now_ms, &mut leaves, &mut self.nodes);
        self.forget_mortal(dead);
        self.lower();
        dead
    }

    /// Removes up to `count` entries after `position` others, the last ones first, from at most
    /// `leaves` leaves. Returns how many.
    pub(crate) fn remove_span(&mut self, position: u64, count: u64, mut leaves: usize) -> u64 {
        let end = position.saturating_add(count).min(self.len());
        if position >= end || leaves == 0 {
            return 0;
        }
        let span = position..end;
        let (gone, mortal) = self.root.remove_span(span, &mut leaves, &mut self.nodes);
        self.forget_mortal(mortal);
        self.lower();
        gone
    }

    fn forget_mortal(&mut self, gone: u64) {
        self.mortal -= gone;
        if self.mortal == 0 {
            self.latest = 0;
        }
    }

    /// Removes roots with one child or none.
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

    /// Frees up to `leaves` leaves, whatever they hold, and returns the bytes that are free now.
    /// After that, the tree may only be freed further.
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
