//! A walk over the entries of a cache, on top of the store's scan.

use super::{Cache, Entry};
use std::iter::FusedIterator;
use std::vec;
use store::Scope;

/// Entries copied during one lock of a shard. A larger batch makes writers wait longer; a smaller
/// one locks the shard more often.
const BATCH: usize = 32;

/// A walk over the entries of a cache, or of a part of one: [`Cache::iter`].
#[derive(Clone, Debug)]
pub struct Iter {
    cache: Cache,
    /// The position of the store's scan; none at its end.
    cursor: Option<u64>,
    batch: vec::IntoIter<Entry>,
}

impl Iter {
    pub(super) fn new(cache: Cache) -> Self {
        Self { cache, cursor: Some(0), batch: vec![].into_iter() }
    }
}

impl Iterator for Iter {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            if let Some(entry) = self.batch.next() {
                return Some(entry);
            }
            let Cache { shared, part } = &self.cache;
            let mut batch = Vec::with_capacity(BATCH);
            let copy = |met: &store::ScanItem| {
                batch.push((met.key.to_vec(), met.item.value.to_vec()));
            };
            let now = shared.now();
            let next = shared.store.scan(Scope::tenant(*part), self.cursor?, BATCH, now, copy);
            self.cursor = (next != 0).then_some(next);
            self.batch = batch.into_iter();
        }
    }
}

impl FusedIterator for Iter {}

impl IntoIterator for &Cache {
    type Item = Entry;
    type IntoIter = Iter;

    fn into_iter(self) -> Iter {
        self.iter()
    }
}
