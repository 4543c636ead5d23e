//! The resident of least priority, exactly: a four-ary heap, with a table of places by slot.
//!
//! If a priority does not change while its object waits (GDSF, LFU with ageing, Belady), the heap
//! finds the lowest in O(log n) without sampling. Among equal priorities the oldest entry is first.

use crate::Slot;

#[derive(Clone, Copy, Debug)]
struct HeapNode {
    priority: f64,
    turn: u64,
    slot: Slot,
}

impl HeapNode {
    fn before(&self, other: &Self) -> bool {
        self.priority < other.priority
            || (self.priority == other.priority && self.turn < other.turn)
    }
}

/// Slots by priority, lowest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heap {
    nodes: Vec<HeapNode>,
    places: Vec<u32>,
    turn: u64,
}

impl Heap {
    /// The slot of least priority, with the priority.
    pub(crate) fn first(&self) -> Option<(Slot, f64)> {
        self.nodes.first().map(|node| (node.slot, node.priority))
    }

    /// The slots of priorities up to this one, in no order. `open` is scratch space of the caller,
    /// so that a call need not allocate.
    pub(crate) fn up_to<'a>(
        &'a self,
        priority: f64,
        open: &'a mut Vec<usize>,
    ) -> impl Iterator<Item = Slot> + 'a {
        open.clear();
        open.push(0);
        std::iter::from_fn(move || {
            loop {
                let at = open.pop()?;
                let Some(node) = self.nodes.get(at).filter(|node| node.priority <= priority) else {
                    continue;
                };
                open.extend(at * 4 + 1..at * 4 + 5);
                return Some(node.slot);
            }
        })
    }

    /// Adds `slot`, which must not be in the heap.
    pub(crate) fn push(&mut self, slot: Slot, priority: f64) {
        self.turn += 1;
        self.nodes.push(HeapNode { priority, turn: self.turn, slot });
        if slot as usize >= self.places.len() {
            self.places.resize(slot as usize + 1, 0);
        }
        self.rise(self.nodes.len() - 1);
    }

    /// Gives `slot`, which must be in the heap, another priority.
    pub(crate) fn change(&mut self, slot: Slot, priority: f64) {
        let at = self.places[slot as usize] as usize;
        self.turn += 1;
        self.nodes[at] = HeapNode { priority, turn: self.turn, slot };
        let at = self.rise(at);
        self.sink(at);
    }

    /// Removes `slot`, which must be in the heap.
    pub(crate) fn remove(&mut self, slot: Slot) {
        let at = self.places[slot as usize] as usize;
        self.nodes.swap_remove(at);
        if at < self.nodes.len() {
            let at = self.rise(at);
            self.sink(at);
        }
    }

    fn rise(&mut self, mut at: usize) -> usize {
        let node = self.nodes[at];
        while at > 0 {
            let parent = (at - 1) / 4;
            if !node.before(&self.nodes[parent]) {
                break;
            }
            self.set(at, self.nodes[parent]);
            at = parent;
        }
        self.set(at, node);
        at
    }

    fn sink(&mut self, mut at: usize) {
        let node = self.nodes[at];
        loop {
            let children = at * 4 + 1..(at * 4 + 5).min(self.nodes.len());
            let least = children.reduce(|best, child| {
                if self.nodes[child].before(&self.nodes[best]) { child } else { best }
            });
            match least {
                Some(child) if self.nodes[child].before(&node) => {
                    self.set(at, self.nodes[child]);
                    at = child;
                }
                _ => break,
            }
        }
        self.set(at, node);
    }

    fn set(&mut self, at: usize, node: HeapNode) {
        self.nodes[at] = node;
        self.places[node.slot as usize] = at as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_sorted_list(ops in prop::collection::vec((0u32..20, 0u8..8), 0..300)) {
            let mut heap = Heap::default();
            // (priority, turn, slot)
            let mut model: Vec<(u8, usize, Slot)> = vec![];
            for (turn, (slot, priority)) in ops.into_iter().enumerate() {
                let at = model.iter().position(|entry| entry.2 == slot);
                match at {
                    Some(at) if priority == 0 => {
                        model.remove(at);
                        heap.remove(slot);
                    }
                    Some(at) => {
                        model[at] = (priority, turn, slot);
                        heap.change(slot, f64::from(priority));
                    }
                    None => {
                        model.push((priority, turn, slot));
                        heap.push(slot, f64::from(priority));
                    }
                }
                let least = model.iter().min().map(|entry| (entry.2, f64::from(entry.0)));
                prop_assert_eq!(heap.first(), least);
            }
        }
    }
}
