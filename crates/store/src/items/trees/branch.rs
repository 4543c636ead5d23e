//! A node of the tree, and the summary of it that its parent has.

use crate::items::trees::entry::{Entry, NEVER, New, Probe, Spot};
use crate::items::trees::leaf;
use crate::items::trees::leaf::{Grows, LEAF_MAX, allocated};
use std::cmp::Ordering;
use std::ops::Range;

/// Most children of an inner node.
pub(crate) const FANOUT: usize = 32;
/// Bytes of the largest inner node.
pub(crate) const INNER_MAX: usize = inner_bytes(FANOUT + 1);

/// Bytes of an inner node with room for `children` children.
const fn inner_bytes(children: usize) -> usize {
    allocated(size_of::<Vec<Branch>>()) + allocated(children * size_of::<Branch>())
}

#[derive(Debug)]
pub(crate) enum Node {
    Leaf(Vec<u8>),
    #[expect(clippy::box_collection, reason = "a leaf, of which there are more, has no tag so")]
    Inner(Box<Vec<Branch>>),
}

/// A node with the summary that its parent needs.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(super) node: Node,
    /// The first expiry of its entries.
    pub(super) dies: u64,
    pub(super) count: u64,
    /// The rank of its first entry.
    pub(super) rank: u32,
}

/// Whether a branch is on the path to the first entry of all, and to the last one. If entries are
/// added there one after another, the nodes behind them are left full.
#[derive(Clone, Copy)]
pub(crate) struct Edges {
    pub(super) first: bool,
    pub(super) last: bool,
}

/// The expiry of an entry that was replaced or removed; `None` if there was no such entry.
pub(super) type Old = Option<Option<u64>>;

impl Branch {
    pub(super) const fn empty() -> Self {
        Self { node: Node::Leaf(vec![]), dies: NEVER, count: 0, rank: 0 }
    }

    fn leaf(bytes: Vec<u8>) -> Self {
        let mut branch = Self { node: Node::Leaf(bytes), ..Self::empty() };
        branch.recompute();
        branch
    }

    pub(super) fn inner(children: Vec<Self>) -> Self {
        let mut branch = Self { node: Node::Inner(Box::new(children)), ..Self::empty() };
        branch.recompute();
        branch
    }

    /// Bytes of the node, without the nodes below.
    pub(super) fn bytes(&self) -> u64 {
        (match &self.node {
            Node::Leaf(bytes) => allocated(bytes.capacity()),
            Node::Inner(children) => inner_bytes(children.capacity()),
        }) as u64
    }

    /// Recomputes the summary from the node.
    fn recompute(&mut self) {
        (self.rank, self.count, self.dies) = match &self.node {
            Node::Leaf(bytes) => {
                let rank = leaf::entries(bytes).next().map_or(0, |entry| entry.rank);
                (rank, leaf::entries(bytes).count() as u64, leaf::next_death(bytes))
            }
            Node::Inner(children) => (
                children.first().map_or(0, |child| child.rank),
                children.iter().map(|child| child.count).sum(),
                children.iter().map(|child| child.dies).min().unwrap_or(NEVER),
            ),
        };
    }

    /// The first entry.
    fn first(&self) -> Option<Entry<'_>> {
        let mut node = &self.node;
        loop {
            match node {
                Node::Leaf(bytes) => return leaf::entries(bytes).next(),
                Node::Inner(children) => node = &children.first()?.node,
            }
        }
    }

    /// The child in which an entry is or would be, and its spot there.
    pub(super) fn child<'p>(children: &[Self], spot: Spot<'p>) -> (usize, Spot<'p>) {
        match spot {
            Spot::Probe(probe) => (Self::child_of(children, probe), spot),
            Spot::Position(position) => {
                let (at, before) = Self::child_at(children, position, |left, count| left < count);
                (at, Spot::Position(position - before))
            }
            Spot::Before(position) => {
                let (at, before) = Self::child_at(children, position, |left, count| left <= count);
                (at, Spot::Before(position - before))
            }
        }
    }

    fn child_of(children: &[Self], probe: &Probe<'_>) -> usize {
        let is_not_above = |child: &Self| match child.rank.cmp(&probe.rank) {
            // The entries themselves are compared only if the ranks are equal.
            Ordering::Equal => {
                child.first().is_none_or(|first| probe.order_of(&first) != Ordering::Greater)
            }
            order => order == Ordering::Less,
        };
        children.partition_point(is_not_above).saturating_sub(1)
    }

    /// The child with a position, or the last child, and the number of entries before it.
    fn child_at(
        children: &[Self],
        position: u64,
        is_here: impl Fn(u64, u64) -> bool,
    ) -> (usize, u64) {
        let mut before = 0;
        for (at, child) in children.iter().enumerate() {
            if is_here(position - before, child.count) || at + 1 == children.len() {
                return (at, before);
            }
            before += child.count;
        }
        (0, 0)
    }

    /// Puts an entry in its place. Returns the old entry's expiry, and the branch that was split
    /// off. `edges` says whether this branch is on the path to the first and to the last entry of
    /// all. `total` is kept equal to the bytes of all nodes.
    pub(super) fn put(
        &mut self,
        new: &New<'_>,
        edges: Edges,
        total: &mut u64,
    ) -> (Old, Option<Self>) {
        let before = self.bytes();
        let mut split = None;
        let old = match &mut self.node {
            Node::Leaf(bytes) => {
                let found = match new.spot {
                    // The end is known without a search.
                    Spot::Before(position) if position == self.count => {
                        leaf::Found { at: bytes.len(), old: None }
                    }
                    spot => leaf::find(bytes, spot),
                };
                let grows = match found.at {
                    at if edges.last && at == bytes.len() => Grows::AtEnd,
                    0 if edges.first => Grows::AtFront,
                    _ => Grows::Within,
                };
                leaf::replace(bytes, found.at, found.old.map_or(0, |(len, _)| len), new);
                let count = self.count + u64::from(found.old.is_none());
                if bytes.len() > LEAF_MAX && count > 1 {
                    split = Some(Self::leaf(leaf::split(bytes, grows)));
                }
                found.old.map(|(_, dies)| dies)
            }
            Node::Inner(children) => {
                let (at, spot) = Self::child(children, new.spot);
                let edges = Edges {
                    first: edges.first && at == 0,
                    last: edges.last && at + 1 == children.len(),
                };
                let (replaced, beside) = children[at].put(&New { spot, ..*new }, edges, total);
                if let Some(beside) = beside {
                    if children.len() == children.capacity() {
                        let most = FANOUT + 1 - children.len();
                        children.reserve_exact(children.len().min(most));
                    }
                    children.insert(at + 1, beside);
                }
                if children.len() > FANOUT {
                    let cut = match edges {
                        Edges { last: true, .. } => FANOUT,
                        Edges { first: true, .. } => 1,
                        _ => FANOUT / 2,
                    };
                    let mut right = Vec::with_capacity(children.len() - cut);
                    right.extend(children.drain(cut..));
                    children.shrink_to(cut);
                    split = Some(Self::inner(right));
                }
                replaced
            }
        };
        self.recompute_after(old, new, split.is_some());
        *total = *total + self.bytes() + split.as_ref().map_or(0, Self::bytes) - before;
        (old, split)
    }

    /// Does the work of [`Branch::recompute`], faster if little has changed.
    fn recompute_after(&mut self, old: Old, new: &New<'_>, is_split: bool) {
        let was_mortal = old.is_some_and(|dies| dies.is_some());
        if is_split || was_mortal {
            return self.recompute();
        }
        self.count += u64::from(old.is_none());
        self.dies = self.dies.min(new.dies.unwrap_or(NEVER));
        self.rank = self.first_rank();
    }

    /// Updates the summary after `gone` entries were removed, of which `mortal` had an expiry.
    fn recompute_without(&mut self, gone: u64, mortal: u64) {
        if mortal > 0 {
            return self.recompute();
        }
        self.count -= gone;
        self.rank = self.first_rank();
    }

    /// The rank of the first entry, from the node itself.
    fn first_rank(&self) -> u32 {
        match &self.node {
            Node::Leaf(bytes) => leaf::take(&mut &bytes[..]).map_or(0, |entry| entry.rank),
            Node::Inner(children) => children.first().map_or(0, |child| child.rank),
        }
    }

    /// Removes an entry, after showing its body to `visit`. Returns the entry's expiry.
    pub(super) fn remove(
        &mut self,
        spot: Spot<'_>,
        total: &mut u64,
        visit: &mut dyn FnMut(&[u8]),
    ) -> Old {
        let before = self.bytes();
        let old = match &mut self.node {
            Node::Leaf(bytes) => {
                let found = leaf::find(bytes, spot);
                let (len, dies) = found.old?;
                if let Some(entry) = leaf::take(&mut &bytes[found.at..]) {
                    visit(entry.body);
                }
                leaf::remove(bytes, found.at, len);
                dies
            }
            Node::Inner(children) => {
                let (at, spot) = match (spot, children.last()) {
                    // The last entry is known without a search.
                    (Spot::Position(position), Some(last)) if position + 1 == self.count => {
                        (children.len() - 1, Spot::Position(last.count.saturating_sub(1)))
                    }
                    _ => Self::child(children, spot),
                };
                let old = children.get_mut(at)?.remove(spot, total, visit)?;
                Self::tidy(children, at, total);
                old
            }
        };
        self.recompute_without(1, u64::from(old.is_some()));
        *total = *total + self.bytes() - before;
        Some(old)
    }

    /// Removes dead entries from at most `leaves` leaves, and returns how many.
    pub(super) fn remove_dead(&mut self, now_ms: u64, leaves: &mut usize, total: &mut u64) -> u64 {
        if self.dies > now_ms || *leaves == 0 {
            return 0;
        }
        let before = self.bytes();
        let dead = match &mut self.node {
            Node::Leaf(bytes) => {
                *leaves -= 1;
                leaf::remove_dead(bytes, now_ms)
            }
            Node::Inner(children) => {
                let mut dead = 0;
                for at in (0..children.len()).rev() {
                    let gone = children[at].remove_dead(now_ms, leaves, total);
                    if gone > 0 {
                        Self::tidy(children, at, total);
                    }
                    dead += gone;
                }
                dead
            }
        };
        self.recompute();
        *total = *total + self.bytes() - before;
        dead
    }

    /// Removes the entries of a span of positions, the last ones first, from at most `leaves`
    /// leaves. Returns how many, and how many of them had an expiry.
    pub(super) fn remove_span(
        &mut self,
        span: Range<u64>,
        leaves: &mut usize,
        total: &mut u64,
    ) -> (u64, u64) {
        let before = self.bytes();
        let (mut gone, mut mortal) = (0, 0);
        match &mut self.node {
            Node::Leaf(bytes) => {
                *leaves -= 1;
                (gone, mortal) = (span.end - span.start, leaf::remove_span(bytes, span));
            }
            Node::Inner(children) => {
                let (mut end, mut touched) = (self.count, 0..0);
                for at in (0..children.len()).rev() {
                    let begin = end - children[at].count;
                    let (from, to) = (span.start.max(begin), span.end.min(end));
                    end = begin;
                    if from < to && *leaves > 0 {
                        let within = from - begin..to - begin;
                        let (these, mortals) = children[at].remove_span(within, leaves, total);
                        (gone, mortal) = (gone + these, mortal + mortals);
                        touched = at..touched.end.max(at + 1);
                    }
                }
                // Positions are valid until all entries are removed.
                for at in touched.rev() {
                    if at < children.len() {
                        Self::tidy(children, at, total);
                    }
                }
            }
        }
        self.recompute_without(gone, mortal);
        *total = *total + self.bytes() - before;
        (gone, mortal)
    }

    /// Removes an empty child, or joins a small one with its neighbour.
    fn tidy(children: &mut Vec<Self>, at: usize, total: &mut u64) {
        if children[at].count == 0 {
            *total -= children.remove(at).bytes();
            return;
        }
        let size = |child: &Self| match &child.node {
            Node::Leaf(bytes) => (bytes.len(), LEAF_MAX),
            Node::Inner(children) => (children.len(), FANOUT),
        };
        let ((own, max), left) = (size(&children[at]), at.saturating_sub(1));
        if own >= max / 4 || left + 1 >= children.len() {
            return;
        }
        let sum = size(&children[left]).0 + size(&children[left + 1]).0;
        let before = children[left].bytes() + children[left + 1].bytes();
        let joined = match &children[left].node {
            Node::Leaf(_) => allocated(sum),
            Node::Inner(_) => inner_bytes(sum),
        };
        // A removal must not need memory.
        if sum > max / 2 || joined as u64 > before {
            return;
        }
        let right = children.remove(left + 1);
        match (&mut children[left].node, right.node) {
            (Node::Leaf(bytes), Node::Leaf(more)) => {
                let len = bytes.len() + more.len();
                bytes.reserve_exact(allocated(len) - bytes.len());
                bytes.extend_from_slice(&more);
            }
            (Node::Inner(all), Node::Inner(more)) => {
                all.reserve_exact(more.len());
                all.extend(*more);
            }
            // All leaves have the same depth.
            _ => {}
        }
        children[left].recompute();
        *total = *total + children[left].bytes() - before;
    }

    /// Removes the last leaf, and returns the bytes that are free now.
    pub(super) fn drop_last(&mut self) -> u64 {
        let before = self.bytes();
        match &mut self.node {
            Node::Leaf(bytes) => {
                *bytes = vec![];
                self.count = 0;
                before
            }
            Node::Inner(children) => {
                let mut freed = 0;
                if let Some(last) = children.last_mut() {
                    freed += last.drop_last();
                    if last.count == 0 {
                        freed += last.bytes();
                        children.pop();
                    }
                }
                self.count = children.iter().map(|child| child.count).sum();
                freed
            }
        }
    }
}
