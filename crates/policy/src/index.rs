//! A map from keys to slots: open addressing, eight bytes an entry.
//!
//! ```text
//!      0                    32                   64
//!     ┌────────────────────┬────────────────────┐
//!     │ slot               │ tag                │   slot = NIL: the place is empty
//!     └────────────────────┴────────────────────┘
//! ```
//!
//! The owner of the slots holds the keys. The tag is 32 bits of the multiplied key. Its top bits
//! choose the place, so a table grows and closes gaps without the keys. Only one look-up in four
//! billion finds a tag of another key.
//!
//! The table probes linearly and is at most three quarters full: a hit reads one cache line here.
//! Removal shifts the entries behind the gap back and leaves no tombstone, for a full cache removes
//! as often as it inserts.

use crate::Slot;
use base::list::NIL;

const EMPTY: u64 = u64::MAX;
const PLACES_MIN: usize = 16;

/// Maps each key to the slot that holds it.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    places: Vec<u64>,
    /// 32 less the number of bits that choose a place.
    shift: u32,
    len: usize,
}

impl Default for Index {
    fn default() -> Self {
        Self { places: vec![EMPTY; PLACES_MIN], shift: 32 - PLACES_MIN.trailing_zeros(), len: 0 }
    }
}

#[inline]
const fn tag(key: u64) -> u32 {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

#[inline]
const fn slot_of(place: u64) -> Slot {
    place as u32
}

impl Index {
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn home(&self, tag: u32) -> usize {
        (tag >> self.shift) as usize
    }

    #[inline]
    fn mask(&self) -> usize {
        self.places.len() - 1
    }

    /// The slot of `key`; `holds` tells whether a slot really holds it.
    #[inline]
    pub(crate) fn find(&self, key: u64, holds: impl Fn(Slot) -> bool) -> Option<Slot> {
        self.place(key, holds).map(|at| slot_of(self.places[at]))
    }

    #[inline]
    fn place(&self, key: u64, holds: impl Fn(Slot) -> bool) -> Option<usize> {
        let tag = tag(key);
        let mut at = self.home(tag);
        loop {
            let place = self.places[at];
            if place == EMPTY {
                return None;
            }
            if (place >> 32) as u32 == tag && holds(slot_of(place)) {
                return Some(at);
            }
            at = (at + 1) & self.mask();
        }
    }

    /// Adds a key that is not in the index.
    pub(crate) fn insert(&mut self, key: u64, slot: Slot) {
        debug_assert_ne!(slot, NIL);
        if (self.len + 1) * 4 > self.places.len() * 3 {
            self.grow();
        }
        self.put(u64::from(tag(key)) << 32 | u64::from(slot));
        self.len += 1;
    }

    fn put(&mut self, entry: u64) {
        let mut at = self.home((entry >> 32) as u32);
        while self.places[at] != EMPTY {
            at = (at + 1) & self.mask();
        }
        self.places[at] = entry;
    }

    fn grow(&mut self) {
        let places = vec![EMPTY; self.places.len() * 2];
        let old = std::mem::replace(&mut self.places, places);
        self.shift -= 1;
        for entry in old.into_iter().filter(|&entry| entry != EMPTY) {
            self.put(entry);
        }
    }

    /// Removes the key that `slot` holds.
    pub(crate) fn remove(&mut self, key: u64, slot: Slot) {
        let Some(mut gap) = self.place(key, |other| other == slot) else { return };
        let mut at = gap;
        loop {
            at = (at + 1) & self.mask();
            let entry = self.places[at];
            if entry == EMPTY {
                break;
            }
            // An entry may move back to the gap unless its home lies between the two.
            let home = self.home((entry >> 32) as u32);
            let behind = |to: usize| at.wrapping_sub(to) & self.mask();
            if behind(home) >= behind(gap) {
                self.places[gap] = entry;
                gap = at;
            }
        }
        self.places[gap] = EMPTY;
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        /// Few keys, so that clusters form, wrap around the end, and are cut by removals.
        #[test]
        fn agrees_with_a_hash_map(ops in prop::collection::vec((any::<bool>(), 0u64..48), 0..400)) {
            let mut index = Index::default();
            let mut model: HashMap<u64, Slot> = HashMap::new();
            let mut keys: Vec<u64> = vec![];
            for (insert, key) in ops {
                match (insert, model.get(&key).copied()) {
                    (true, None) => {
                        let slot = keys.len() as Slot;
                        keys.push(key);
                        index.insert(key, slot);
                        model.insert(key, slot);
                    }
                    (false, Some(slot)) => {
                        index.remove(key, slot);
                        model.remove(&key);
                    }
                    _ => {}
                }
                prop_assert_eq!(index.len(), model.len());
                for key in 0..48 {
                    let found = index.find(key, |slot| keys[slot as usize] == key);
                    prop_assert_eq!(found, model.get(&key).copied());
                }
            }
        }
    }
}
