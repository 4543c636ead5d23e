//! Doubly linked lists of slots, as links in a `Vec` that the caller indexes by slot.
//!
//! Several lists can share one `Links`, as long as a slot is in at most one of them: that is how
//! segmented queues (SLRU, ARC, S3-FIFO) move an object between segments without an allocation.

/// No slot.
pub const NIL: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Link {
    newer: u32,
    older: u32,
}

/// The links of every slot. Eight bytes per slot.
#[derive(Clone, Debug, Default)]
pub struct Links(Vec<Link>);

/// One list, from `oldest` to `newest`.
#[derive(Clone, Debug)]
pub struct List {
    newest: u32,
    oldest: u32,
    len: usize,
}

impl Default for List {
    fn default() -> Self {
        Self { newest: NIL, oldest: NIL, len: 0 }
    }
}

impl List {
    /// The slot pushed last, or [`NIL`].
    pub const fn newest(&self) -> u32 {
        self.newest
    }

    /// The oldest slot that is still in the list, or [`NIL`].
    pub const fn oldest(&self) -> u32 {
        self.oldest
    }

    /// Slots in the list.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether the list holds nothing.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds `slot`, which is in no list, at the newest end.
    #[inline]
    pub fn push(&mut self, links: &mut Links, slot: u32) {
        let at = slot as usize;
        if at >= links.0.len() {
            if at >= links.0.capacity() {
                // By a quarter: doubling would leave up to half of a large table unused.
                links.0.reserve_exact(at + 1 - links.0.len() + links.0.len() / 4);
            }
            links.0.resize(at + 1, Link { newer: NIL, older: NIL });
        }
        links.0[at] = Link { newer: NIL, older: self.newest };
        match self.newest {
            NIL => self.oldest = slot,
            newest => links.0[newest as usize].newer = slot,
        }
        self.newest = slot;
        self.len += 1;
    }

    /// Removes `slot`, which is in this list.
    #[inline]
    pub fn remove(&mut self, links: &mut Links, slot: u32) {
        let Link { newer, older } = links.0[slot as usize];
        match newer {
            NIL => self.newest = older,
            newer => links.0[newer as usize].older = older,
        }
        match older {
            NIL => self.oldest = newer,
            older => links.0[older as usize].newer = newer,
        }
        self.len -= 1;
    }

    /// Moves `slot`, which is in this list, to the newest end.
    #[inline]
    pub fn refresh(&mut self, links: &mut Links, slot: u32) {
        if self.newest != slot {
            self.remove(links, slot);
            self.push(links, slot);
        }
    }

    /// Removes and returns the oldest slot.
    pub fn pop_oldest(&mut self, links: &mut Links) -> Option<u32> {
        let slot = self.oldest;
        (slot != NIL).then(|| {
            self.remove(links, slot);
            slot
        })
    }
}

impl Links {
    /// The slot next newer than `slot` in its list, or [`NIL`].
    pub fn newer(&self, slot: u32) -> u32 {
        self.0[slot as usize].newer
    }

    /// The slot next older than `slot` in its list, or [`NIL`].
    pub fn older(&self, slot: u32) -> u32 {
        self.0[slot as usize].older
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Two lists over one set of links, against two deques.
        #[test]
        fn agrees_with_a_deque(ops in prop::collection::vec((0u8..4, 0u32..12), 0..200)) {
            let mut links = Links::default();
            let mut lists = [List::default(), List::default()];
            let mut model = [VecDeque::new(), VecDeque::new()];
            for (op, slot) in ops {
                let home = (0..2).find(|&i| model[i].contains(&slot));
                match (op, home) {
                    (0 | 1, None) => {
                        lists[op as usize].push(&mut links, slot);
                        model[op as usize].push_back(slot);
                    }
                    (2, Some(i)) => {
                        lists[i].remove(&mut links, slot);
                        model[i].retain(|&s| s != slot);
                    }
                    (3, Some(i)) => {
                        lists[i].refresh(&mut links, slot);
                        model[i].retain(|&s| s != slot);
                        model[i].push_back(slot);
                    }
                    _ => {}
                }
            }
            for (list, model) in lists.iter_mut().zip(&mut model) {
                prop_assert_eq!(list.len(), model.len());
                while let Some(slot) = list.pop_oldest(&mut links) {
                    prop_assert_eq!(Some(slot), model.pop_front());
                }
                prop_assert!(model.is_empty());
            }
        }
    }
}
