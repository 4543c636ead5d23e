//! Several queues over the same slots, which share one set of links.

use crate::Slot;
use base::Size;
use base::list::{Links, List, NIL};

#[derive(Clone, Copy, Debug, Default)]
struct QueueNode {
    size: Size,
    queue: u8,
    /// For the policy: a frequency or a mark.
    count: u8,
}

/// Several queues over the same slots, and the bytes in each.
#[derive(Clone, Debug)]
pub(crate) struct Queues {
    links: Links,
    nodes: Vec<QueueNode>,
    lists: Vec<List>,
    bytes: Vec<u64>,
}

impl Queues {
    pub(crate) fn new(count: usize) -> Self {
        let (links, nodes) = (Links::default(), vec![]);
        Self { links, nodes, lists: vec![List::default(); count], bytes: vec![0; count] }
    }

    /// Adds `slot` as the newest of `queue`, with count 0.
    pub(crate) fn push(&mut self, queue: usize, slot: Slot, size: Size) {
        let at = slot as usize;
        if at >= self.nodes.len() {
            self.nodes.resize(at + 1, QueueNode::default());
        }
        self.nodes[at] = QueueNode { size, queue: queue as u8, count: 0 };
        self.lists[queue].push(&mut self.links, slot);
        self.bytes[queue] += u64::from(size);
    }

    /// Removes `slot` from its queue; returns the queue and the size.
    pub(crate) fn remove(&mut self, slot: Slot) -> (usize, Size) {
        let QueueNode { size, queue, .. } = self.nodes[slot as usize];
        let queue = usize::from(queue);
        self.lists[queue].remove(&mut self.links, slot);
        self.bytes[queue] -= u64::from(size);
        (queue, size)
    }

    /// Moves `slot` to the newest end of `queue`, its own or another. The count stays.
    pub(crate) fn shift(&mut self, slot: Slot, queue: usize) {
        let (_, size) = self.remove(slot);
        self.nodes[slot as usize].queue = queue as u8;
        self.lists[queue].push(&mut self.links, slot);
        self.bytes[queue] += u64::from(size);
    }

    /// Changes the size of `slot`.
    pub(crate) fn resize(&mut self, slot: Slot, size: Size) {
        let node = &mut self.nodes[slot as usize];
        let bytes = &mut self.bytes[usize::from(node.queue)];
        *bytes = *bytes - u64::from(node.size) + u64::from(size);
        node.size = size;
    }

    /// The oldest slot of `queue`, if it has any.
    pub(crate) fn oldest(&self, queue: usize) -> Option<Slot> {
        Some(self.lists[queue].oldest()).filter(|&slot| slot != NIL)
    }

    /// The slots of these queues, one queue after the other, each from its oldest slot on.
    pub(crate) fn oldest_first<const N: usize>(
        &self,
        order: [usize; N],
    ) -> impl Iterator<Item = Slot> {
        order.into_iter().flat_map(|queue| {
            let first = self.oldest(queue);
            std::iter::successors(first, |&slot| {
                Some(self.links.newer(slot)).filter(|&newer| newer != NIL)
            })
        })
    }

    pub(crate) fn bytes(&self, queue: usize) -> u64 {
        self.bytes[queue]
    }

    pub(crate) fn len(&self) -> usize {
        self.lists.iter().map(List::len).sum()
    }

    pub(crate) fn queue_of(&self, slot: Slot) -> usize {
        usize::from(self.nodes[slot as usize].queue)
    }

    pub(crate) fn size_of(&self, slot: Slot) -> Size {
        self.nodes[slot as usize].size
    }

    pub(crate) fn count(&mut self, slot: Slot) -> &mut u8 {
        &mut self.nodes[slot as usize].count
    }

    /// The oldest slot of the first queue that has any.
    pub(crate) fn any_oldest(&self, order: impl IntoIterator<Item = usize>) -> Slot {
        let found = order.into_iter().find_map(|queue| self.oldest(queue));
        found.expect("a victim is asked for only while something is resident")
    }
}
