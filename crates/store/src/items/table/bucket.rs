//! One bucket, one cache line: eight entries, the first and the last of which may be links.
//!
//! ```text
//!   63          48 47 46                        0
//!  ┌──────────────┬──┬───────────────────────────┐
//!  │ fingerprint  │ 0│ address of an item        │   an item
//!  │ 0            │ 1│ 0 … number of a bucket    │   a link: from the last entry to the bucket
//!  └──────────────┴──┴───────────────────────────┘   behind, from the first to the one before
//! ```
//!
//! The fingerprint is in the upper bits of the item's pointer, which user space leaves zero. So a
//! look-up dereferences the item it seeks and, once in 65536 entries, another. Items fill a bucket
//! from the left without gaps; only a link may follow a null. A bucket without a chain has room for
//! eight items, and the link to an overflow bucket takes the place of one.

use crate::items::item::{Mut, Owned, Ref};
use crate::sync::prefetch::{EXPECTED, LINE, fetch};
use std::ptr::NonNull;

/// Entries in a bucket.
pub(crate) const ENTRIES: usize = 8;
/// The entry that links to the next bucket of the chain.
const NEXT: usize = ENTRIES - 1;
/// The entry that links to the previous bucket; in overflow buckets it always does.
const PREV: usize = 0;

/// No bucket.
pub(crate) const NIL: u32 = u32::MAX;

const SHIFT: u32 = 48;
const ADDRESS: usize = (1 << SHIFT) - 1;
/// Set in a link, and in no address of user space.
const LINK: usize = 1 << (SHIFT - 1);

const _: () = assert!(size_of::<Bucket>() == 64 && align_of::<Bucket>() == 64);
const _: () =
    assert!(size_of::<usize>() == 8, "fingerprints need the upper bits of 64-bit pointers");

/// Eight entries.
#[repr(C, align(64))]
pub(super) struct Bucket {
    /// Each is null, a link, or made by [`Entry::new`] and owned by this bucket.
    entries: [*mut u8; ENTRIES],
}

// SAFETY: the pointers own the items they point to; an item is plain bytes without ties to a
// thread.
unsafe impl Send for Bucket {}
// SAFETY: a shared bucket does not change, and of its items only stamps do, which are atomic.
unsafe impl Sync for Bucket {}

/// An item that is being moved between buckets. Dropping one would lose its chunk.
#[must_use]
pub(super) struct Entry(NonNull<u8>);

impl Entry {
    /// Takes the item and stores its fingerprint.
    #[inline]
    pub(super) fn new(fingerprint: u16, item: Owned) -> Self {
        let base = item.into_raw();
        assert!(base.addr().get() < LINK, "user space ends below 2^47");
        Self(base.map_addr(|addr| addr | usize::from(fingerprint) << SHIFT))
    }

    /// Turns the entry back into the item.
    #[inline]
    pub(super) fn into_item(self) -> Owned {
        // SAFETY: `new` took this pointer from `into_raw`, and `self` is consumed.
        unsafe { Owned::from_raw(address(self.0)) }
    }

    /// The item of the entry.
    pub(super) fn view(&self) -> Ref<'_> {
        // SAFETY: the entry owns the item, and it is borrowed for as long as the view is.
        unsafe { Ref::from_raw(address(self.0)) }
    }
}

/// The word of an item with this fingerprint at this address.
pub(super) const fn word_of(fingerprint: u16, addr: usize) -> usize {
    addr | (fingerprint as usize) << SHIFT
}

/// The address in a word.
pub(crate) const fn address_of(word: usize) -> usize {
    word & ADDRESS
}

#[inline]
fn address(tagged: NonNull<u8>) -> NonNull<u8> {
    let address = tagged.as_ptr().map_addr(|addr| addr & ADDRESS);
    // SAFETY: `Entry::new` put the fingerprint above the address of an item, which is not null.
    unsafe { NonNull::new_unchecked(address) }
}

/// Whether this is an item's entry.
#[inline]
fn is_item(entry: *mut u8) -> bool {
    !entry.is_null() && entry.addr() & LINK == 0
}

/// The bucket that a link names.
#[inline]
fn linked(entry: *mut u8) -> u32 {
    if entry.addr() & LINK == 0 { NIL } else { (entry.addr() & (LINK - 1)) as u32 }
}

fn link(id: u32) -> *mut u8 {
    match id {
        NIL => std::ptr::null_mut(),
        id => std::ptr::without_provenance_mut(LINK | id as usize),
    }
}

impl Bucket {
    /// Prefetches the bucket.
    #[inline]
    pub(super) fn prefetch(&self) {
        fetch(std::ptr::from_ref(self).cast());
    }

    /// Prefetches the item with this fingerprint.
    #[inline]
    pub(super) fn prefetch_item(&self, fingerprint: u16) {
        for entry in self.entries {
            if entry.addr() >> SHIFT == usize::from(fingerprint) && is_item(entry) {
                let first = entry.map_addr(|addr| addr & ADDRESS).cast_const();
                (0..EXPECTED / LINE).for_each(|line| fetch(first.wrapping_add(line * LINE)));
            }
        }
    }

    /// A bucket without entries.
    pub(super) const fn empty() -> Self {
        Self { entries: [std::ptr::null_mut(); ENTRIES] }
    }

    /// The next overflow bucket of the chain.
    #[inline]
    pub(super) fn next(&self) -> u32 {
        linked(self.entries[NEXT])
    }

    /// Links to the next bucket of the chain, or to none. No item may be in that place.
    pub(super) fn set_next(&mut self, id: u32) {
        debug_assert!(!is_item(self.entries[NEXT]), "an entry would be lost");
        self.entries[NEXT] = link(id);
    }

    /// The bucket that links to this overflow bucket; [`NIL`] in a primary one.
    pub(super) fn prev(&self) -> u32 {
        linked(self.entries[PREV])
    }

    /// Links to the previous bucket. No item may be in that place.
    pub(super) fn set_prev(&mut self, id: u32) {
        debug_assert!(!is_item(self.entries[PREV]), "an entry would be lost");
        self.entries[PREV] = link(id);
    }

    /// The number of items.
    pub(super) fn len(&self) -> usize {
        self.entries.iter().filter(|&&entry| is_item(entry)).count()
    }

    /// The first place without an entry.
    #[inline]
    pub(super) fn room(&self) -> Option<usize> {
        // Usually there is room; if not, the last place shows it.
        if self.entries[NEXT].is_null() {
            return self.entries.iter().position(|entry| entry.is_null());
        }
        None
    }

    /// The place of the last item.
    #[inline]
    pub(super) fn last(&self) -> Option<usize> {
        self.entries.iter().rposition(|&entry| is_item(entry))
    }

    /// The item with this key, and its place.
    #[expect(clippy::inline_always, reason = "a tenth of the instructions of a hit")]
    #[inline(always)]
    pub(super) fn find(&self, fingerprint: u16, db: u8, key: &[u8]) -> Option<(usize, Ref<'_>)> {
        // All entries are compared at once, because the position of a match cannot be predicted.
        let mut matches = self.matches(fingerprint);
        while matches > 0 {
            let at = matches.trailing_zeros() as usize % ENTRIES;
            matches &= matches - 1;
            let Some(item) = self.get(at) else { continue };
            // Prefetches the value while the key is compared.
            fetch(item.base().as_ptr().wrapping_add(LINE));
            fetch(item.base().as_ptr().wrapping_add(2 * LINE));
            if item.db() == db && item.key() == key {
                return Some((at, item));
            }
        }
        None
    }

    /// The entries with this fingerprint, and perhaps some without an item, one bit each.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn matches(&self, fingerprint: u16) -> u32 {
        use std::arch::x86_64 as x86;
        let [a, b, c, d, e, f, g, h] = self.entries;
        // SAFETY: every x86-64 processor has SSE2.
        unsafe {
            let two = |low: *mut u8, high: *mut u8| {
                let words = x86::_mm_set_epi64x(high.addr() as i64, low.addr() as i64);
                x86::_mm_castsi128_ps(words)
            };
            // The upper halves of four entries, and of these the upper halves, which are the
            // fingerprints.
            let four = |low, high| {
                let tops = x86::_mm_shuffle_ps::<0b11_01_11_01>(low, high);
                x86::_mm_srai_epi32::<16>(x86::_mm_castps_si128(tops))
            };
            let (first, last) = (four(two(a, b), two(c, d)), four(two(e, f), two(g, h)));
            let all = x86::_mm_packs_epi32(first, last);
            let equal = x86::_mm_cmpeq_epi16(all, x86::_mm_set1_epi16(fingerprint as i16));
            x86::_mm_movemask_epi8(x86::_mm_packs_epi16(equal, x86::_mm_setzero_si128())) as u32
        }
    }

    /// The entries with this fingerprint, and perhaps some without an item, one bit each.
    #[cfg(not(target_arch = "x86_64"))]
    #[inline]
    fn matches(&self, fingerprint: u16) -> u32 {
        let is_it = |at: usize| self.entries[at].addr() >> SHIFT == usize::from(fingerprint);
        (0..ENTRIES).fold(0, |all, at| all | u32::from(is_it(at)) << at)
    }

    /// The place of the entry with exactly this word (see [`Bucket::word`]).
    pub(super) fn find_word(&self, word: usize) -> Option<usize> {
        (0..ENTRIES).find(|&at| self.entries[at].addr() == word)
    }

    /// Address and fingerprint of an item's entry as a number; 0 without an item. It identifies an
    /// entry, and cannot be dereferenced.
    #[inline]
    pub(super) fn word(&self, at: usize) -> usize {
        let word = self.entries[at].addr();
        if word & LINK == 0 { word } else { 0 }
    }

    /// The item of an entry.
    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<Ref<'_>> {
        let entry = NonNull::new(self.entries[at]).filter(|entry| is_item(entry.as_ptr()))?;
        // SAFETY: the bucket owns the item and is borrowed. Except for stamps, items change only
        // through `get_mut`, which borrows the bucket mutably.
        Some(unsafe { Ref::from_raw(address(entry)) })
    }

    /// The items, and their places.
    #[inline]
    pub(super) fn items(&self) -> impl Iterator<Item = (usize, Ref<'_>)> {
        // Only a link may follow the first gap.
        let taken = (0..ENTRIES).take_while(|&at| !self.entries[at].is_null());
        taken.filter_map(|at| Some((at, self.get(at)?)))
    }

    /// The item of an entry, mutably.
    #[inline]
    pub(super) fn get_mut(&mut self, at: usize) -> Option<Mut<'_>> {
        let entry = NonNull::new(self.entries[at]).filter(|entry| is_item(entry.as_ptr()))?;
        // SAFETY: the bucket owns the item and is borrowed mutably.
        Some(unsafe { Mut::from_raw(address(entry)) })
    }

    /// Removes and returns an item's entry. The gap is left for the caller to fill.
    #[inline]
    pub(super) fn take(&mut self, at: usize) -> Option<Entry> {
        let entry = NonNull::new(self.entries[at]).filter(|entry| is_item(entry.as_ptr()))?;
        self.entries[at] = std::ptr::null_mut();
        Some(Entry(entry))
    }

    /// Puts an entry into an empty place.
    #[inline]
    pub(super) fn put(&mut self, at: usize, Entry(tagged): Entry) {
        debug_assert!(self.entries[at].is_null(), "an entry would be lost");
        self.entries[at] = tagged.as_ptr();
    }
}

impl Default for Bucket {
    fn default() -> Self {
        Self::empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::items::item::Parts;
    use crate::items::pages::pages::Pages;
    use policy::rank::Stamps;

    fn item(pages: &mut Pages, key: &[u8]) -> Owned {
        let value = [&b"value"[..], b""];
        let parts = Parts { db: 0, key, value, expires: None, kind: 0, is_compressed: false };
        pages.of_test(&parts)
    }

    /// Two keys with the same fingerprint, and a fingerprint of zero, which empty places have too.
    #[test]
    fn the_fingerprint_only_sorts_out() {
        let pages = &mut Pages::for_test();
        let mut bucket = Bucket::empty();
        bucket.put(0, Entry::new(0, item(pages, b"a")));
        bucket.put(1, Entry::new(0, item(pages, b"b")));
        bucket.put(2, Entry::new(u16::MAX, item(pages, b"c")));
        assert_eq!(bucket.len(), 3);
        bucket.set_next(7);
        assert_eq!((bucket.len(), bucket.next(), bucket.prev()), (3, 7, NIL));
        let find = |bucket: &Bucket, fingerprint, db, key: &[u8]| {
            bucket.find(fingerprint, db, key).map(|(at, _)| at)
        };
        assert_eq!((find(&bucket, 0, 0, b""), bucket.room(), bucket.last()), (None, None, Some(2)));
        bucket.set_next(NIL);
        assert_eq!(find(&bucket, 0, 0, b"b"), Some(1));
        assert_eq!(find(&bucket, 0, 0, b"c"), None);
        assert_eq!(find(&bucket, 0, 1, b"b"), None, "another database");
        assert_eq!(find(&bucket, u16::MAX, 0, b"c"), Some(2));
        assert_eq!(bucket.find_word(bucket.word(2)), Some(2));
        let taken = bucket.take(1).map(Entry::into_item);
        assert_eq!(taken.as_ref().map(|item| item.view().key()), Some(&b"b"[..]));
        assert_eq!((bucket.len(), bucket.room()), (2, Some(1)), "a gap until it is filled");
        bucket.put(1, Entry::new(9, item(pages, b"d")));
        bucket.get_mut(1).unwrap().set_stamps(Stamps::new(4, 0));
        assert_eq!(bucket.get(1).unwrap().stamps(), Stamps::new(4, 0));
    }
}
