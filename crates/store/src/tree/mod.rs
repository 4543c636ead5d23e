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
//! field, of a sorted set it is made of the score, in a list all are 0 and the position alone
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

use branch::{Branch, Edges, INNER_MAX, Node};
use leaf::{HEAD_MAX, LEAF_MAX, allocated};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::fmt;
use std::slice::Iter;

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

/// Where an entry is looked for.
#[derive(Clone, Copy, Debug)]
enum Spot<'a> {
    /// Where this finds it.
    Probe(&'a Probe<'a>),
    /// Where so many stand before it.
    Position(u64),
    /// Behind so many, where there is none yet.
    Before(u64),
}

/// An entry to be written, in the place of one that is found at its spot.
#[derive(Clone, Copy, Debug)]
struct New<'a> {
    spot: Spot<'a>,
    rank: u32,
    dies: Option<u64>,
    body: &'a [u8],
}

/// What is left to be walked of each inner node on the way down: of few levels.
type Above<'t> = SmallVec<[Iter<'t, Branch>; 6]>;

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

    /// The entry before which there are so many.
    pub fn at(&self, position: u64) -> Option<Entry<'_>> {
        self.from(position).next()
    }

    /// How many entries stand before the one that is looked for, or before its place.
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

    /// The entries of this rank and above, in their order.
    pub fn from_rank(&self, rank: u32) -> impl Iterator<Item = Entry<'_>> {
        let before = |_: &[u8]| Ordering::Greater;
        self.beyond(Spot::Probe(&Probe { rank, order: &before }))
    }

    /// The entries behind so many, in their order.
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

    /// The entries from the one behind so many on, backwards; from the last where there are fewer.
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

    /// Writes an entry, in the place of one that the probe finds. Whether there was one.
    pub fn put(&mut self, probe: &Probe<'_>, dies: Option<u64>, body: &[u8]) -> bool {
        self.write(&New { spot: Spot::Probe(probe), rank: probe.rank, dies, body })
    }

    /// Writes an entry of rank 0 behind so many, or at the end where there are fewer.
    pub fn insert(&mut self, position: u64, body: &[u8]) {
        let spot = Spot::Before(position.min(self.len()));
        self.write(&New { spot, rank: 0, dies: None, body });
    }

    /// Writes an entry behind all others; its rank is no lower than theirs.
    pub(crate) fn push(&mut self, entry: Entry<'_>) {
        let Entry { rank, dies, body } = entry;
        self.write(&New { spot: Spot::Before(self.len()), rank, dies, body });
    }

    /// Writes an entry of rank 0 in the place of the one behind so many, if there is one.
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

    /// Takes an entry out. Whether there was one.
    pub(crate) fn remove(&mut self, probe: &Probe<'_>) -> bool {
        self.take(Spot::Probe(probe), |_| ())
    }

    /// Takes the entry out behind so many, and shows its body before. Whether there was one.
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

    /// Takes out dead entries, of at most so many leaves; how many they were.
    pub(crate) fn remove_dead(&mut self, now_ms: u64, mut leaves: usize) -> u64 {
        let dead = self.root.remove_dead(now_ms, &mut leaves, &mut self.nodes);
        self.forget_mortal(dead);
        self.lower();
        dead
    }

    /// Takes out so many entries behind so many, the last ones first and of at most so many leaves;
    /// how many they were.
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
