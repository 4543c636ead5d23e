//! LIRS: keeps the objects whose last two uses lay close together, however long ago the last was.
//!
//! A stack orders objects by last use, evicted ones included. The lowest in it is always an object
//! worth keeping (*LIR*). An object used again while still in the stack has a shorter reuse
//! distance than the lowest LIR, and takes its place. All others (*HIR*) pass through a queue of a
//! hundredth of the cache, from which victims come. So a loop larger than the cache keeps its first
//! part, and hits there.
//!
//! Sizes: limits count bytes. An object larger than the queue would push LIRs out of the cache, so
//! it *passes by*. Only its key goes on the stack, as if it had entered the queue and left at once.
//! If it is used again while on the stack, it becomes LIR as any other. (libCacheSim refuses it for
//! ever. If such objects entered at once, a scan of large objects would take most of the cache.)
//! Ghosts are bounded. The stack is cut to twice the cache, the oldest ghosts first (the paper lets
//! it grow).
//!
//! \[1\] Jiang, Zhang. LIRS: An Efficient Low Inter-reference Recency Set Replacement Policy to
//! Improve Buffer Cache Performance. SIGMETRICS '02.

use crate::index::Index;
use crate::{Param, Policy, Slot, Spec};
use base::list::{Links, List, NIL};
use base::{Access, Bytes, Size, Tick};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "lirs",
    params: &[Param::share("hir", 0.01)],
    build: |params| {
        let mut policy = Lirs { share: params.get("hir"), ..Lirs::default() };
        policy.on_resize(params.capacity);
        Box::new(policy)
    },
    live: None,
};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LirsState {
    /// Resident, and worth keeping.
    Lir,
    /// Resident, in the queue of the next victims.
    #[default]
    Hir,
    /// Evicted, remembered in the stack.
    Ghost,
}

#[derive(Clone, Copy, Debug)]
struct LirsNode {
    key: u64,
    size: Size,
    slot: Slot,
    state: LirsState,
    stacked: bool,
}

/// The stack, the queue and the ghosts. A node is in at most one of the last two, so they share
/// their links.
#[derive(Debug, Default)]
pub struct Lirs {
    share: f64,
    capacity: u64,
    lir_limit: u64,
    nodes: Vec<LirsNode>,
    free: Vec<u32>,
    /// Node by resident slot.
    by_slot: Vec<u32>,
    /// Node by key, for ghosts only.
    index: Index,
    stack_links: Links,
    stack: List,
    stack_bytes: u64,
    side_links: Links,
    queue: List,
    ghosts: List,
    lir_bytes: u64,
    /// The node of the object about to enter, if it was a ghost.
    returning: Option<u32>,
    /// Whether the object of this miss is too large to enter.
    passes_by: bool,
}

impl Lirs {
    fn node(&mut self, at: u32) -> &mut LirsNode {
        &mut self.nodes[at as usize]
    }

    fn allocate(&mut self, node: LirsNode) -> u32 {
        if let Some(at) = self.free.pop() {
            self.nodes[at as usize] = node;
            return at;
        }
        self.nodes.push(node);
        (self.nodes.len() - 1) as u32
    }

    /// Puts a node on top of the stack, from any place.
    fn stack_up(&mut self, at: u32) {
        self.unstack(at);
        self.stack.push(&mut self.stack_links, at);
        self.stack_bytes += u64::from(self.node(at).size);
        self.node(at).stacked = true;
    }

    fn unstack(&mut self, at: u32) {
        if std::mem::take(&mut self.node(at).stacked) {
            self.stack.remove(&mut self.stack_links, at);
            self.stack_bytes -= u64::from(self.node(at).size);
        }
    }

    /// Removes nodes until the lowest of the stack is a LIR: nodes below it carry no information.
    fn prune(&mut self) {
        while self.stack.oldest() != NIL {
            let at = self.stack.oldest();
            match self.node(at).state {
                LirsState::Lir => break,
                LirsState::Hir => self.unstack(at),
                LirsState::Ghost => self.forget(at),
            }
        }
    }

    /// Drops a ghost.
    fn forget(&mut self, at: u32) {
        let key = self.node(at).key;
        self.unstack(at);
        self.ghosts.remove(&mut self.side_links, at);
        self.index.remove(key, at);
        self.free.push(at);
    }

    /// Keeps only a ghost of a newcomer.
    fn pass_by(&mut self, incoming: &Access) {
        let Access { key, size, .. } = *incoming;
        let at = self.allocate(LirsNode {
            key,
            size,
            slot: NIL,
            state: LirsState::Ghost,
            stacked: false,
        });
        self.ghosts.push(&mut self.side_links, at);
        self.index.insert(key, at);
        self.stack_up(at);
        self.bound_stack();
    }

    /// Whether an object of `size` can become LIR without the place of another.
    const fn has_place(&self, size: Size) -> bool {
        self.lir_bytes + size.get() <= self.lir_limit
    }

    fn promote(&mut self, at: u32) {
        self.node(at).state = LirsState::Lir;
        self.lir_bytes += u64::from(self.node(at).size);
        self.stack_up(at);
        self.settle();
    }

    /// Turns the lowest LIRs into HIRs until the rest fits the limit.
    fn settle(&mut self) {
        self.prune();
        while self.lir_bytes > self.lir_limit && self.stack.oldest() != NIL {
            let at = self.stack.oldest();
            self.lir_bytes -= u64::from(self.node(at).size);
            self.node(at).state = LirsState::Hir;
            self.unstack(at);
            self.queue.push(&mut self.side_links, at);
            self.prune();
        }
    }

    fn bound_stack(&mut self) {
        while self.stack_bytes > self.capacity.saturating_mul(2) && !self.ghosts.is_empty() {
            self.forget(self.ghosts.oldest());
        }
    }

    /// Gives a resident node another size.
    fn resize(&mut self, at: u32, size: Size) {
        let LirsNode { size: old, state, stacked, .. } = *self.node(at);
        let change = |bytes: &mut u64| *bytes = *bytes - u64::from(old) + u64::from(size);
        if stacked {
            change(&mut self.stack_bytes);
        }
        if state == LirsState::Lir {
            change(&mut self.lir_bytes);
        }
        self.node(at).size = size;
    }
}

impl Policy for Lirs {
    fn on_miss(&mut self, incoming: &Access, _: Tick) {
        let nodes = &self.nodes;
        self.returning = self.index.find(incoming.key, |at| nodes[at as usize].key == incoming.key);
        if let Some(at) = self.returning {
            // On top of the stack, so that making room for the object does not prune its ghost.
            self.stack_up(at);
        }
        let is_larger = u64::from(incoming.size) > self.capacity - self.lir_limit;
        self.passes_by = is_larger && self.returning.is_none() && !self.has_place(incoming.size);
        if self.passes_by {
            self.pass_by(incoming);
        }
    }

    fn takes(&mut self, _: &Access, _: Tick) -> bool {
        !self.passes_by
    }

    fn on_insert(&mut self, slot: Slot, access: &Access, _: Tick) {
        if slot as usize >= self.by_slot.len() {
            self.by_slot.resize(slot as usize + 1, NIL);
        }
        // Making room may still have dropped the ghost, if it was alone in the stack.
        let returned = self.returning.take().is_some_and(|at| {
            let node = self.nodes[at as usize];
            let alive = node.state == LirsState::Ghost && node.stacked && node.key == access.key;
            if alive {
                self.forget(at);
            }
            alive
        });
        let node = LirsNode {
            key: access.key,
            size: access.size,
            slot,
            state: LirsState::Hir,
            stacked: false,
        };
        let at = self.allocate(node);
        self.by_slot[slot as usize] = at;
        if returned || self.has_place(access.size) {
            self.promote(at);
        } else {
            self.stack_up(at);
            self.queue.push(&mut self.side_links, at);
            self.prune();
        }
        self.bound_stack();
    }

    fn on_hit(&mut self, slot: Slot, access: &Access, _: Tick) {
        let at = self.by_slot[slot as usize];
        self.resize(at, access.size);
        let LirsNode { state, stacked, .. } = *self.node(at);
        if state == LirsState::Lir {
            self.stack_up(at);
            self.settle();
        } else if stacked {
            self.queue.remove(&mut self.side_links, at);
            self.promote(at);
        } else {
            self.stack_up(at);
            self.queue.refresh(&mut self.side_links, at);
        }
        self.bound_stack();
    }

    fn on_remove(&mut self, slot: Slot, key: u64, evicted: bool, _: Tick) {
        let at = self.by_slot[slot as usize];
        let LirsNode { state, size, stacked, .. } = *self.node(at);
        if state == LirsState::Lir {
            self.lir_bytes -= u64::from(size);
        } else {
            self.queue.remove(&mut self.side_links, at);
        }
        if evicted && stacked && state == LirsState::Hir {
            self.node(at).state = LirsState::Ghost;
            self.ghosts.push(&mut self.side_links, at);
            self.index.insert(key, at);
        } else {
            self.unstack(at);
            self.free.push(at);
        }
        self.prune();
    }

    fn victim(&mut self, _: &Access, _: Tick) -> Slot {
        let at = if self.queue.is_empty() { self.stack.oldest() } else { self.queue.oldest() };
        self.node(at).slot
    }

    fn on_resize(&mut self, capacity: Bytes) {
        self.capacity = capacity.0;
        let hir = ((capacity.as_f64() * self.share) as u64).max(1);
        self.lir_limit = capacity.0.saturating_sub(hir);
        self.settle();
        self.bound_stack();
    }
}
