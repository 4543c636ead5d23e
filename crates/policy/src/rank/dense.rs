//! A table of resident entries without gaps, so that one index draws a random resident.
//!
//! The entry itself moves (the last fills a gap), not a pointer to it: a draw then costs one cache
//! line. A second table maps slots to places.

use crate::Slot;

/// Entries of the residents, in no order.
#[derive(Clone, Debug)]
pub(crate) struct Dense<T> {
    entries: Vec<(Slot, T)>,
    places: Vec<u32>,
}

impl<T> Default for Dense<T> {
    fn default() -> Self {
        Self { entries: vec![], places: vec![] }
    }
}

const ABSENT: u32 = u32::MAX;

/// Makes room for `count` entries. It grows by a quarter: doubling could leave up to half of a
/// large table unused.
fn reserve<T>(list: &mut Vec<T>, count: usize) {
    if count > list.capacity() {
        list.reserve_exact(count / 4 + 16 + count - list.len());
    }
}

impl<T> Dense<T> {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds the entry of `slot`, which must have none.
    pub(crate) fn push(&mut self, slot: Slot, entry: T) {
        let at = slot as usize;
        if at >= self.places.len() {
            reserve(&mut self.places, at + 1);
            self.places.resize(at + 1, ABSENT);
        }
        self.places[at] = self.entries.len() as u32;
        let count = self.entries.len() + 1;
        reserve(&mut self.entries, count);
        self.entries.push((slot, entry));
    }

    /// Removes the entry of `slot` and returns it.
    pub(crate) fn remove(&mut self, slot: Slot) -> T {
        let place = std::mem::replace(&mut self.places[slot as usize], ABSENT) as usize;
        let (_, entry) = self.entries.swap_remove(place);
        if let Some(&(moved, _)) = self.entries.get(place) {
            self.places[moved as usize] = place as u32;
        }
        entry
    }

    /// The entry of `slot`, if it is resident.
    pub(crate) fn get(&self, slot: Slot) -> Option<&T> {
        let place = *self.places.get(slot as usize)?;
        self.entries.get(place as usize).map(|(_, entry)| entry)
    }

    /// The entry of `slot`, which must be resident.
    pub(crate) fn get_mut(&mut self, slot: Slot) -> &mut T {
        &mut self.entries[self.places[slot as usize] as usize].1
    }

    /// The resident at a place, which must be below [`Dense::len`].
    #[inline]
    pub(crate) fn at(&self, place: usize) -> (Slot, &T) {
        let (slot, entry) = &self.entries[place];
        (*slot, entry)
    }

    /// Up to `n` residents from place `start` on, which must be at most [`Dense::len`]. The run
    /// wraps from the last resident to the first.
    #[inline]
    pub(crate) fn run(&self, start: usize, n: usize) -> [&[(Slot, T)]; 2] {
        let (before, from) = self.entries.split_at(start);
        match n.checked_sub(from.len()) {
            Some(rest) => [from, &before[..rest.min(start)]],
            None => [&from[..n], &[]],
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Slot, &T)> + Clone {
        self.entries.iter().map(|(slot, entry)| (*slot, entry))
    }
}
