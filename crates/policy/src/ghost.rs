//! Keys of evicted objects, in the order of eviction: the memory of ARC, 2Q, S3-FIFO and LRU-K.

use crate::index::Index;
use base::Size;
use base::list::{Links, List, NIL};

#[derive(Clone, Copy, Debug)]
struct Ghost {
    key: u64,
    size: Size,
}

/// A queue of keys with their sizes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ghosts {
    index: Index,
    entries: Vec<Ghost>,
    free: Vec<u32>,
    links: Links,
    list: List,
    bytes: u64,
}

impl Ghosts {
    /// Bytes that the remembered objects had.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Remembers `key` as the newest. It replaces an older entry of the same key.
    pub(crate) fn push(&mut self, key: u64, size: Size) {
        self.remove(key);
        let ghost = Ghost { key, size };
        let at = if let Some(at) = self.free.pop() {
            self.entries[at as usize] = ghost;
            at
        } else {
            self.entries.push(ghost);
            (self.entries.len() - 1) as u32
        };
        self.index.insert(key, at);
        self.list.push(&mut self.links, at);
        self.bytes += u64::from(size);
    }

    /// Forgets `key`, and says whether it was remembered.
    pub(crate) fn remove(&mut self, key: u64) -> bool {
        let found = self.index.find(key, |at| self.entries[at as usize].key == key);
        found.inspect(|&at| self.drop_at(at)).is_some()
    }

    /// Forgets the oldest key and returns it.
    pub(crate) fn pop_oldest(&mut self) -> Option<u64> {
        let oldest = Some(self.list.oldest()).filter(|&at| at != NIL)?;
        self.drop_at(oldest);
        Some(self.entries[oldest as usize].key)
    }

    /// Forgets the oldest keys until the rest had no more than `bytes`.
    pub(crate) fn trim(&mut self, bytes: u64) {
        while self.bytes > bytes {
            self.pop_oldest();
        }
    }

    fn drop_at(&mut self, at: u32) {
        let Ghost { key, size } = self.entries[at as usize];
        self.index.remove(key, at);
        self.list.remove(&mut self.links, at);
        self.free.push(at);
        self.bytes -= u64::from(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten_first() {
        let mut ghosts = Ghosts::default();
        (0..10).for_each(|key| ghosts.push(key, Size::of(10)));
        ghosts.push(0, Size::of(10));
        ghosts.trim(30);
        assert_eq!(ghosts.bytes(), 30);
        assert!((1..8).all(|key| !ghosts.remove(key)), "pushed anew, 0 is among the newest");
        assert!([0, 8, 9].into_iter().all(|key| ghosts.remove(key)));
        assert_eq!(ghosts.bytes(), 0);
    }
}
