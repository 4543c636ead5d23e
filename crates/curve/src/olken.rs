//! Exact LRU stack distances in bytes: the oracle for LRU.
//!
//! Without deletes, the distance of an object is the bytes of all objects used since, its own
//! included [1]. A tree over the times of last use adds them up in O(log n). Deletes, expiry and
//! resizes break that: an evicted object does not return when memory becomes free later. The
//! distance is then the *largest* value that this sum has had since the object's last use. The
//! residents of an LRU cache are always a prefix of the live objects in order of use. The last of
//! them is evicted exactly when the sum down to it exceeds the capacity, even if that happens only
//! once.
//!
//! So each object is a leaf, in order of last use, with its current sum and the largest sum so far.
//! A node holds an addition that its leaves have not received yet, and the largest prefix of the
//! additions that it combines. An access adds one number to all older objects and another to all
//! newer ones, in one walk from the root to the leaf. When the leaves are used up, the live objects
//! are renumbered.
//!
//! The model watches every key, whatever the rate: `shards` is the same with sampling.
//!
//! It is exact for caches at least as large as the largest object. (In a smaller cache the largest
//! objects are never admitted, and so evict nothing; this model counts them as if they did.)
//!
//! [1] Olken. Efficient Methods for Calculating the Success Function of Fixed Space Replacement
//!     Policies. LBL-12370, 1981.

use crate::track::{Stack, StackModel};
use crate::{Params, Spec};
use base::Size;

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "olken",
    predicts: Params::lru,
    build: |params| {
        let whole = Params { rate: 1.0, keys_max: usize::MAX, ..params.clone() };
        Box::new(StackModel::new(&whole, PRECISION, Recency::default()))
    },
};

/// Buckets of distances are no wider than a 2048th of the distance, because an oracle must be
/// exact.
const PRECISION: u32 = 11;

/// No object, or no leaf.
const NONE: u32 = u32::MAX;

/// Additions pending for all leaves below a node; in a leaf the sum itself, and its maximum.
#[derive(Clone, Copy, Debug, Default)]
struct TreeNode {
    add: i64,
    max: i64,
}

impl TreeNode {
    #[inline]
    fn apply(&mut self, later: TreeNode) {
        self.max = self.max.max(self.add + later.max);
        self.add += later.add;
    }

    fn adding(bytes: i64) -> Self {
        Self { add: bytes, max: bytes.max(0) }
    }
}

#[derive(Clone, Copy, Debug)]
struct LeafObject {
    leaf: u32,
    size: Size,
}

/// Objects in order of last use.
#[derive(Debug, Default)]
pub(crate) struct Recency {
    /// A heap-ordered tree: the root is node 1, the leaves are the second half.
    nodes: Vec<TreeNode>,
    /// The object at each leaf, or `NONE`.
    leaves: Vec<u32>,
    /// The leaf for the next access.
    next: usize,
    objects: Vec<LeafObject>,
    live: usize,
}

impl Recency {
    /// Adds `older` to all leaves older than `leaf`, and `newer` to all newer ones. Returns the
    /// node of `leaf`, with all its pending additions.
    fn add_around(&mut self, leaf: u32, older: i64, newer: i64) -> TreeNode {
        let capacity = self.leaves.len();
        let (older, newer) = (TreeNode::adding(older), TreeNode::adding(newer));
        let mut node = 1;
        let mut bit = capacity >> 1;
        while node < capacity {
            let pending = std::mem::take(&mut self.nodes[node]);
            let left = 2 * node;
            self.nodes[left].apply(pending);
            self.nodes[left + 1].apply(pending);
            if leaf as usize & bit == 0 {
                self.nodes[left + 1].apply(newer);
                node = left;
            } else {
                self.nodes[left].apply(older);
                node = left + 1;
            }
            bit >>= 1;
        }
        self.nodes[node]
    }

    /// Renumbers the live objects that are to be kept, and drops the others.
    fn renumber(&mut self, keep: &dyn Fn(u32) -> bool) {
        let capacity = self.leaves.len();
        for node in 1..capacity {
            let pending = std::mem::take(&mut self.nodes[node]);
            self.nodes[2 * node].apply(pending);
            self.nodes[2 * node + 1].apply(pending);
        }
        let mut kept: Vec<(u32, TreeNode)> = Vec::with_capacity(self.live);
        for (at, &id) in self.leaves.iter().enumerate() {
            if id != NONE {
                if keep(id) {
                    kept.push((id, self.nodes[capacity + at]));
                } else {
                    self.objects[id as usize].leaf = NONE;
                }
            }
        }
        let capacity = (2 * kept.len()).next_power_of_two().max(64);
        self.nodes = vec![TreeNode::default(); 2 * capacity];
        self.leaves = vec![NONE; capacity];
        for (at, &(id, node)) in kept.iter().enumerate() {
            self.nodes[capacity + at] = node;
            self.leaves[at] = id;
            self.objects[id as usize].leaf = at as u32;
        }
        self.next = kept.len();
        self.live = kept.len();
    }
}

impl Stack for Recency {
    fn access(&mut self, id: u32, size: Size) -> Option<u64> {
        if self.next == self.leaves.len() {
            self.renumber(&|_| true);
        }
        if id as usize >= self.objects.len() {
            self.objects.resize(id as usize + 1, LeafObject { leaf: NONE, size: Size::default() });
        }
        let LeafObject { leaf: old, size: before } = self.objects[id as usize];
        let bytes = size.get() as i64;
        let distance = if old == NONE {
            self.live += 1;
            self.nodes[1].apply(TreeNode::adding(bytes));
            None
        } else {
            self.leaves[old as usize] = NONE;
            let node = self.add_around(old, bytes - before.get() as i64, bytes);
            Some(node.max as u64)
        };
        let new = self.next as u32;
        self.next += 1;
        self.add_around(new, 0, 0);
        let at = self.leaves.len() + new as usize;
        self.nodes[at] = TreeNode { add: bytes, max: bytes };
        self.leaves[new as usize] = id;
        self.objects[id as usize] = LeafObject { leaf: new, size };
        distance
    }

    fn size(&self, id: u32) -> Size {
        self.objects[id as usize].size
    }

    fn remove(&mut self, id: u32) {
        let LeafObject { leaf, size } = self.objects[id as usize];
        self.add_around(leaf, -(size.get() as i64), 0);
        self.leaves[leaf as usize] = NONE;
        self.objects[id as usize].leaf = NONE;
        self.live -= 1;
    }

    /// The maxima still contain bytes of the dropped objects, from a larger sample. The excess of
    /// each maximum over its sum shrinks in proportion to the remaining bytes.
    fn retain(&mut self, keep: &dyn Fn(u32) -> bool) {
        self.renumber(keep);
        let capacity = self.leaves.len();
        let mut sum = 0;
        for at in (0..self.next).rev() {
            sum += self.objects[self.leaves[at] as usize].size.get() as i64;
            let node = &mut self.nodes[capacity + at];
            let above = (node.max - node.add) as f64 * sum as f64 / node.add.max(1) as f64;
            *node = TreeNode { add: sum, max: sum + above.round() as i64 };
        }
    }

    fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<TreeNode>()
            + self.leaves.capacity() * size_of::<u32>()
            + self.objects.capacity() * size_of::<LeafObject>()
    }
}
