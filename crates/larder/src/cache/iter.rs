//! A walk over the entries of a cache, on top of the store's scan.

use super::handle::{Cache, Entry};
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

impl Cache {
    /// Walks the entries of this part, in no particular order, and copies them.
    ///
    /// The walk is no snapshot of one instant, because other threads may write meanwhile. It
    /// follows the store's scan, a few entries at a time, and holds no lock between two batches, so
    /// the loop may call the cache. An entry that is there from beginning to end is shown exactly
    /// once. An entry that is inserted or removed meanwhile is shown once or not at all. An entry
    /// that is replaced is shown with either value. A key that is removed and inserted again may be
    /// shown twice. Expired entries are not shown. The walk does not use an entry: it counts no
    /// hit, and does not change when the entry is evicted.
    ///
    /// ```
    /// # fn main() -> Result<(), larder::Error> {
    /// let cache = larder::Cache::new(1 << 20);
    /// cache.insert("user:1", "Ada")?;
    /// cache.insert("user:2", "Grace")?;
    /// cache.insert("page:/", "<h1>")?;
    /// for (key, _value) in &cache {
    ///     if key.starts_with(b"user:") {
    ///         cache.remove(key);
    ///     }
    /// }
    /// assert_eq!(cache.iter().collect::<Vec<_>>(), [(b"page:/".to_vec(), b"<h1>".to_vec())]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn iter(&self) -> Iter {
        Iter::new(self.clone())
    }
}

impl Iter {
    fn new(cache: Cache) -> Self {
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
            let next =
                shared.store.scan_values(Scope::tenant(*part), self.cursor?, BATCH, now, copy);
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
