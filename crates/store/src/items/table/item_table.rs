//! The dictionary of one tenant in one shard: linear hashing with small buckets.
//!
//! With n buckets, 2^l ≤ n < 2^(l+1), a key lives in the bucket that the low l+1 bits of its hash
//! name, or, if there is no such bucket yet, the low l bits. The table grows by *splitting* one
//! bucket, the next in order, into itself and a new one at the end. It shrinks by *merging* the
//! last bucket into the one it was split from [1]. So no operation ever moves more than two chains:
//! there is no long rehash and no second table during one, and the load factor is constant.
//!
//! A full bucket is chained to overflow buckets. They are in a separate list that is kept dense:
//! when one is freed, the last one moves into its place. So a draw of (bucket, place) finds every
//! entry of the table with equal probability. Sampled eviction depends on that.
//!
//! A walk goes through the hashes in the order of their reversed bits. In that order each bucket is
//! an interval, a split halves it, and a merge joins two neighbours. So a walk that has reached
//! some position has met every item before it that was there all the time, whatever happened to the
//! buckets, and has met none twice.
//!
//! At 6.5 items per bucket, a fifth of the chains has an overflow bucket, a tenth of the items
//! lives in one, and an item takes 12 bytes of table. At 5.5 it would take 13, and at 7.5 hardly
//! less.
//!
//! [1] Litwin. Linear Hashing: A New Tool for File and Table Addressing. VLDB '80.

use crate::bytes::key::hash_of;
use crate::items::item::{Mut, Owned, Ref};
use crate::items::table::bucket;
use crate::items::table::bucket::{Bucket, ENTRIES, Entry, NIL};
use crate::sync::segments::Segments;
use base::Prng;

/// Twice the items per primary bucket above which a bucket is split.
const SPLIT_ABOVE: usize = 13;
/// Twice the items per primary bucket below which two buckets are merged. It is far from the value
/// above, so that a table with small fluctuations does neither.
const MERGE_BELOW: usize = 5;

/// The buckets with an index from this one on are overflow buckets.
const OVERFLOW: u32 = 1 << 31;

/// Approximate bytes of table per item.
pub(crate) const SHARE: u64 = 12;

/// The end of a walk: positions are reversed 32-bit hashes, and this is one after the last.
pub(crate) const END: u64 = 1 << 32;

/// The position of an item, valid until the table changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slot {
    bucket: u32,
    at: u8,
}

/// Items by key. The fields that a look-up needs are in one cache line, which changes with the
/// number of buckets, and not with every item added or removed.
#[derive(Default)]
#[repr(C, align(64))]
pub(crate) struct ItemTable {
    primary: Segments<Bucket>,
    overflow: Segments<Bucket>,
    len: usize,
}

const _: () = assert!(std::mem::offset_of!(ItemTable, len) / 64 > 0);

#[inline]
const fn fingerprint(hash: u64) -> u16 {
    (hash >> 40) as u16
}

impl ItemTable {
    /// Number of items.
    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Number of items for which there are buckets: about the actual number, or up to 2.6 times as
    /// many if most items were removed.
    #[inline]
    pub(crate) const fn about(&self) -> usize {
        self.primary.len() * SPLIT_ABOVE / 2
    }

    /// Bytes of the buckets.
    pub(crate) fn bytes(&self) -> u64 {
        self.primary.bytes() + self.overflow.bytes()
    }

    /// Shows every item.
    pub(crate) fn each(&self, mut visit: impl FnMut(Ref)) {
        let mut position = 0;
        while position < END {
            position = self.walk(0, position, &mut visit);
        }
    }

    /// Removes and returns all items.
    pub(crate) fn into_items(mut self) -> impl Iterator<Item = Owned> {
        let overflow = (0..self.overflow.len() as u32).map(|id| id | OVERFLOW);
        let buckets = (0..self.primary.len() as u32).chain(overflow);
        buckets.flat_map(move |id| {
            let bucket = self.bucket_mut(id);
            std::array::from_fn::<_, ENTRIES, _>(|at| bucket.take(at).map(Entry::into_item))
                .into_iter()
                .flatten()
        })
    }

    /// The primary bucket of a hash. The table must have one.
    #[inline]
    fn home(&self, hash: u64) -> u32 {
        let n = self.primary.len() as u32;
        let mask = u32::MAX >> n.leading_zeros();
        let long = hash as u32 & mask;
        if long < n { long } else { long & (mask >> 1) }
    }

    #[inline]
    fn bucket(&self, id: u32) -> &Bucket {
        if id < OVERFLOW {
            &self.primary[id as usize]
        } else {
            &self.overflow[(id - OVERFLOW) as usize]
        }
    }

    #[inline]
    fn bucket_mut(&mut self, id: u32) -> &mut Bucket {
        if id < OVERFLOW {
            &mut self.primary[id as usize]
        } else {
            &mut self.overflow[(id - OVERFLOW) as usize]
        }
    }

    fn chain(&self, home: u32) -> impl Iterator<Item = u32> {
        std::iter::successors((self.primary.len() > 0).then_some(home), |&id| {
            let next = self.bucket(id).next();
            (next != NIL).then_some(next)
        })
    }

    #[inline]
    fn last_of_chain(&self, from: u32) -> u32 {
        let mut id = from;
        loop {
            match self.bucket(id).next() {
                NIL => return id,
                next => id = next,
            }
        }
    }

    /// Prefetches the first bucket of a hash.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        if self.primary.len() > 0 {
            self.bucket(self.home(hash)).prefetch();
        }
    }

    /// Prefetches the second bucket of a hash, if there is one. The first one should be in the
    /// cache.
    #[inline]
    pub(crate) fn prefetch_chain(&self, hash: u64) {
        if self.primary.len() > 0 {
            let next = self.bucket(self.home(hash)).next();
            if next != NIL {
                self.bucket(next).prefetch();
            }
        }
    }

    /// Prefetches the item of a hash, if it is in the first bucket. That bucket should be in the
    /// cache.
    #[inline]
    pub(crate) fn prefetch_item(&self, hash: u64) {
        if self.primary.len() > 0 {
            self.bucket(self.home(hash)).prefetch_item(fingerprint(hash));
        }
    }

    /// The place of a key's item.
    #[inline]
    pub(crate) fn find(&self, hash: u64, db: u8, key: &[u8]) -> Option<Slot> {
        self.find_item(hash, db, key).map(|(place, _)| place)
    }

    /// The item of a key.
    #[inline]
    pub(crate) fn look_up(&self, hash: u64, db: u8, key: &[u8]) -> Option<Ref<'_>> {
        self.find_item(hash, db, key).map(|(_, item)| item)
    }

    /// The item of a key, and its place.
    #[expect(clippy::inline_always, reason = "a tenth of the instructions of a hit")]
    #[inline(always)]
    pub(crate) fn find_item(&self, hash: u64, db: u8, key: &[u8]) -> Option<(Slot, Ref<'_>)> {
        if self.primary.len() == 0 {
            return None;
        }
        let mut id = self.home(hash);
        loop {
            let bucket = self.bucket(id);
            if let Some((at, item)) = bucket.find(fingerprint(hash), db, key) {
                return Some((Slot { bucket: id, at: at as u8 }, item));
            }
            id = bucket.next();
            if id == NIL {
                return None;
            }
        }
    }

    /// The place of the entry with this [`ItemTable::word`], in the chain of its hash.
    pub(crate) fn find_word(&self, hash: u64, word: usize) -> Option<Slot> {
        if self.primary.len() == 0 {
            return None;
        }
        self.chain(self.home(hash)).find_map(|id| {
            let at = self.bucket(id).find_word(word)?;
            Some(Slot { bucket: id, at: at as u8 })
        })
    }

    /// A number that distinguishes this entry from every other of the table, as long as it stays.
    pub(crate) fn word(&self, place: Slot) -> usize {
        self.bucket(place.bucket).word(place.at.into())
    }

    /// The item at a valid place.
    #[inline]
    pub(crate) fn get(&self, place: Slot) -> Ref<'_> {
        self.bucket(place.bucket).get(place.at.into()).expect("a place names an item")
    }

    /// The item at a valid place, mutably.
    #[inline]
    pub(crate) fn get_mut(&mut self, place: Slot) -> Mut<'_> {
        self.bucket_mut(place.bucket).get_mut(place.at.into()).expect("a place names an item")
    }

    /// Whether an insertion should be followed by a split.
    #[inline]
    fn is_dense(&self, len: usize) -> bool {
        2 * len > SPLIT_ABOVE * self.primary.len()
    }

    /// Most bytes of buckets that inserting this hash takes, including the following split.
    #[inline]
    pub(crate) fn insert_cost(&self, hash: u64) -> u64 {
        if self.primary.len() == 0 {
            return self.primary.push_cost(1);
        }
        let last = self.last_of_chain(self.home(hash));
        let chain = if self.bucket(last).room().is_some() { 0 } else { self.overflow.push_cost(1) };
        chain + if self.is_dense(self.len + 1) { self.primary.push_cost(1) } else { 0 }
    }

    /// Inserts an item whose key is not in the table, and splits a bucket if they are too full.
    #[inline]
    pub(crate) fn insert(&mut self, seed: u64, hash: u64, item: Owned) {
        if self.primary.len() == 0 {
            self.primary.push();
        }
        self.place(hash, Entry::new(fingerprint(hash), item));
        self.len += 1;
        if self.is_dense(self.len) {
            self.split(seed);
        }
    }

    #[inline]
    fn place(&mut self, hash: u64, entry: Entry) {
        let last = self.last_of_chain(self.home(hash));
        if let Some(at) = self.bucket(last).room() {
            self.bucket_mut(last).put(at, entry);
            return;
        }
        let new = self.overflow.push();
        self.overflow[new].set_prev(last);
        let (id, full) = (new as u32 | OVERFLOW, self.bucket_mut(last));
        let moved = full.take(ENTRIES - 1);
        full.set_next(id);
        for entry in moved.into_iter().chain([entry]) {
            let bucket = &mut self.overflow[new];
            bucket.put(bucket.room().expect("it is new"), entry);
        }
    }

    /// The place of the item at an address.
    pub(crate) fn find_address(&self, hash: u64, addr: usize) -> Option<Slot> {
        self.find_word(hash, bucket::word_of(fingerprint(hash), addr))
    }

    /// Replaces an item by another with the same key, and returns the old one.
    pub(crate) fn swap(&mut self, place: Slot, hash: u64, new: Owned) -> Owned {
        let bucket = self.bucket_mut(place.bucket);
        let old = bucket.take(place.at.into()).expect("a place names an item");
        bucket.put(place.at.into(), Entry::new(fingerprint(hash), new));
        old.into_item()
    }

    /// Removes an item. Returns it, and the bytes of buckets that were freed. Other places are no
    /// longer valid.
    #[inline]
    pub(crate) fn remove(&mut self, place: Slot) -> (Owned, u64) {
        self.len -= 1;
        let (entry, bytes) = self.take(place).expect("a place names an item");
        (entry.into_item(), bytes)
    }

    /// Removes an entry and fills the gap with the last entry of its chain.
    #[inline]
    fn take(&mut self, place: Slot) -> Option<(Entry, u64)> {
        let at = usize::from(place.at);
        let taken = self.bucket_mut(place.bucket).take(at)?;
        let last = self.last_of_chain(place.bucket);
        let end = self.bucket(last).last().filter(|&end| last != place.bucket || end > at);
        if let Some(filler) = end.and_then(|end| self.bucket_mut(last).take(end)) {
            self.bucket_mut(place.bucket).put(at, filler);
        }
        if last < OVERFLOW || self.bucket(last).len() > 1 {
            return Some((taken, 0));
        }
        // Its only item fits in the place of the link.
        let before = self.bucket(last).prev();
        let end = self.bucket(last).last();
        let only = end.and_then(|end| self.bucket_mut(last).take(end));
        let bytes = self.overflow.bytes();
        let before = self.free_overflow(last, before);
        if let Some(only) = only {
            self.bucket_mut(before).put(ENTRIES - 1, only);
        }
        Some((taken, bytes - self.overflow.bytes()))
    }

    /// Frees an empty overflow bucket at the end of its chain, to which `before` links. Returns the
    /// current index of `before`.
    fn free_overflow(&mut self, id: u32, before: u32) -> u32 {
        self.bucket_mut(before).set_next(NIL);
        let last = self.overflow.len() - 1;
        let last_id = last as u32 | OVERFLOW;
        if last_id != id {
            let moved = std::mem::take(&mut self.overflow[last]);
            let (next, prev) = (moved.next(), moved.prev());
            *self.bucket_mut(id) = moved;
            self.bucket_mut(prev).set_next(id);
            if next != NIL {
                self.bucket_mut(next).set_prev(id);
            }
        }
        debug_assert!(self.overflow[last].len() == 0, "items would be lost");
        self.overflow.pop();
        if before == last_id { id } else { before }
    }

    /// Removes and returns all entries of a chain.
    fn take_chain(&mut self, home: u32) -> Vec<Entry> {
        let mut all = Vec::with_capacity(2 * ENTRIES);
        loop {
            let last = self.last_of_chain(home);
            let bucket = self.bucket_mut(last);
            all.extend((0..ENTRIES).filter_map(|at| bucket.take(at)));
            if last == home {
                return all;
            }
            let before = bucket.prev();
            self.free_overflow(last, before);
        }
    }

    /// Splits the next bucket. The two chains need no more overflow buckets than the old one, so a
    /// split takes no more memory than its new primary bucket.
    fn split(&mut self, seed: u64) {
        let n = self.primary.len() as u32;
        let source = n - (1 << n.ilog2());
        let entries = self.take_chain(source);
        self.primary.push();
        for entry in entries {
            let item = entry.view();
            self.place(hash_of(seed, item.db(), item.key()), entry);
        }
    }

    /// Whether buckets should be merged, one by each call of [`ItemTable::merge`].
    #[inline]
    pub(crate) fn is_sparse(&self) -> bool {
        let n = self.primary.len();
        2 * self.len < MERGE_BELOW * n && (n > 1 || self.len == 0)
    }

    /// Most bytes that a merge takes: two chains joined may need two more overflow buckets.
    pub(crate) fn merge_cost(&self) -> u64 {
        if self.len == 0 { 0 } else { self.overflow.push_cost(2) }
    }

    /// Merges the last primary bucket into the one it was split from.
    pub(crate) fn merge(&mut self, seed: u64) {
        if self.len == 0 {
            *self = Self::default();
            return;
        }
        let last = self.primary.len() as u32 - 1;
        let entries = self.take_chain(last);
        debug_assert!(self.primary[last as usize].len() == 0, "items would be lost");
        self.primary.pop();
        for entry in entries {
            let item = entry.view();
            self.place(hash_of(seed, item.db(), item.key()), entry);
        }
    }

    /// Draws a place, and the [`word`](Table::word) of the entry there. Every entry has the same
    /// probability. One draw in three finds an empty place, with a word of 0. The table must not be
    /// empty.
    #[inline]
    pub(crate) fn draw(&self, prng: &mut Prng) -> (Slot, usize) {
        let r = prng.below((self.all_buckets() * ENTRIES) as u64) as usize;
        let (bucket, at) = (self.nth(r / ENTRIES), r % ENTRIES);
        (Slot { bucket, at: at as u8 }, self.bucket(bucket).word(at))
    }

    #[inline]
    const fn all_buckets(&self) -> usize {
        self.primary.len() + self.overflow.len()
    }

    /// The index of the nth bucket; overflow buckets follow the primary ones.
    #[inline]
    fn nth(&self, n: usize) -> u32 {
        let primary = self.primary.len();
        if n < primary { n as u32 } else { (n - primary) as u32 | OVERFLOW }
    }

    /// Shows the items of the bucket at `position` of a walk, from that position on. Returns the
    /// position of the next call; [`END`] ends the walk.
    pub(crate) fn walk(&self, seed: u64, position: u64, mut visit: impl FnMut(Ref)) -> u64 {
        let Some((home, from, to)) = self.interval(position) else { return END };
        for id in self.chain(home) {
            let bucket = self.bucket(id);
            for (_, item) in bucket.items() {
                // A walk that began before a merge may be in the middle of a bucket.
                if position == from || reversed(hash_of(seed, item.db(), item.key())) >= position {
                    visit(item);
                }
            }
        }
        to
    }

    /// The bucket at `position` of a walk, and the interval of positions that it holds.
    fn interval(&self, position: u64) -> Option<(u32, u64, u64)> {
        let n = self.primary.len() as u32;
        if n == 0 || position >= END {
            return None;
        }
        let home = self.home(u64::from((position as u32).reverse_bits()));
        let level = n.ilog2();
        let is_split = home >= 1 << level || home < n - (1 << level);
        let width = END >> (level + u32::from(is_split));
        let from = position & !(width - 1);
        Some((home, from, from + width))
    }

    /// The first item of the bucket at `position` that `is_wanted` accepts; it also receives the
    /// item's [`word`](Table::word).
    pub(crate) fn find_at(
        &self,
        position: u64,
        is_wanted: impl FnMut(Ref, usize) -> bool,
    ) -> Option<Slot> {
        let (home, _, _) = self.interval(position)?;
        self.find_in_chain(home, is_wanted)
    }

    /// The first item that `is_wanted` accepts, in the bucket for hashes with this low half.
    pub(crate) fn find_beside(
        &self,
        hash: u32,
        mut is_wanted: impl FnMut(Ref) -> bool,
    ) -> Option<Slot> {
        if self.primary.len() == 0 {
            return None;
        }
        self.find_in_chain(self.home(hash.into()), |item, _| is_wanted(item))
    }

    fn find_in_chain(
        &self,
        home: u32,
        mut is_wanted: impl FnMut(Ref, usize) -> bool,
    ) -> Option<Slot> {
        self.chain(home).find_map(|id| {
            let bucket = self.bucket(id);
            bucket
                .items()
                .find(|&(at, item)| is_wanted(item, bucket.word(at)))
                .map(|(at, _)| Slot { bucket: id, at: at as u8 })
        })
    }

    /// The position after the bucket at `position`.
    pub(crate) fn next(&self, position: u64) -> u64 {
        self.interval(position).map_or(END, |(_, _, to)| to)
    }

    /// Shows the items of the bucket at `position`, mutably, and returns the next position.
    pub(crate) fn walk_mut(&mut self, position: u64, mut visit: impl FnMut(Mut)) -> u64 {
        let Some((home, _, to)) = self.interval(position) else { return END };
        let mut id = home;
        while id != NIL {
            let bucket = self.bucket_mut(id);
            for at in 0..ENTRIES {
                if let Some(item) = bucket.get_mut(at) {
                    visit(item);
                }
            }
            id = bucket.next();
        }
        to
    }
}

/// The position of a hash in a walk.
#[inline]
fn reversed(hash: u64) -> u64 {
    u64::from((hash as u32).reverse_bits())
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
