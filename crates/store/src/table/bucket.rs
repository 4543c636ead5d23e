//! One bucket, one cache line: seven items and two links.
//!
//! ```text
//!   0                                                        56      60      64
//!  ┌───────────────────────────────────────────────────────┬───────┬───────┐
//!  │ 7 entries: 16 bits of fingerprint, 48 bits of address │ next  │ prev  │
//!  └───────────────────────────────────────────────────────┴───────┴───────┘
//! ```
//!
//! The fingerprint stands in the upper bits of the item's pointer, which user space leaves zero,
//! so a look-up dereferences the item it seeks and, once in 65536 entries, another. Entries fill
//! a bucket from the left without gaps; a null pointer ends them.

use crate::item::{Mut, Owned, Ref};
use std::ptr::NonNull;

/// Entries in a bucket.
pub(super) const ENTRIES: usize = 7;

/// No bucket.
pub(super) const NIL: u32 = u32::MAX;

const SHIFT: u32 = 48;
const ADDRESS: usize = (1 << SHIFT) - 1;

const _: () = assert!(size_of::<Bucket>() == 64 && align_of::<Bucket>() == 64);
const _: () =
    assert!(size_of::<usize>() == 8, "fingerprints need the upper bits of 64-bit pointers");

/// Seven entries and the links of a chain.
#[repr(C, align(64))]
pub(super) struct Bucket {
    /// Each null, or made by [`Entry::new`] and owned by this bucket.
    entries: [*mut u8; ENTRIES],
    /// The next overflow bucket of the chain.
    pub(super) next: u32,
    /// What links to this overflow bucket; [`NIL`] in a primary one.
    pub(super) prev: u32,
}

// SAFETY: the pointers own the items they point to; an item is plain bytes without ties to a
// thread.
unsafe impl Send for Bucket {}

/// An item on its way between buckets. Dropping one would leak its item.
#[must_use]
pub(super) struct Entry(NonNull<u8>);

impl Entry {
    /// Takes the item and notes its fingerprint.
    #[inline]
    pub(super) fn new(fingerprint: u16, item: Owned) -> Self {
        let base = item.into_raw();
        assert!(base.addr().get() >> SHIFT == 0, "user space ends below 2^48");
        Self(base.map_addr(|addr| addr | usize::from(fingerprint) << SHIFT))
    }

    /// The item again.
    #[inline]
    pub(super) fn into_item(self) -> Owned {
        // SAFETY: `new` took this pointer from `into_raw`, and `self` is consumed.
        unsafe { Owned::from_raw(address(self.0)) }
    }

    /// A look at the item.
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

impl Bucket {
    /// A bucket without entries.
    pub(super) const fn empty() -> Self {
        Self { entries: [std::ptr::null_mut(); ENTRIES], next: NIL, prev: NIL }
    }

    /// How many entries there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.entries.iter().take_while(|entry| !entry.is_null()).count()
    }

    /// The place of the item with this key.
    #[inline]
    pub(super) fn find(&self, fingerprint: u16, db: u8, key: &[u8]) -> Option<usize> {
        (0..ENTRIES).find(|&at| {
            self.entries[at].addr() >> SHIFT == usize::from(fingerprint)
                && self.get(at).is_some_and(|item| item.db() == db && item.key() == key)
        })
    }

    /// The place of the entry that is this very word (see [`Bucket::word`]).
    pub(super) fn find_word(&self, word: usize) -> Option<usize> {
        (0..ENTRIES).find(|&at| self.entries[at].addr() == word)
    }

    /// Address and fingerprint of an entry as a number, 0 where there is none: tells entries
    /// apart, and cannot be followed.
    #[inline]
    pub(super) fn word(&self, at: usize) -> usize {
        self.entries[at].addr()
    }

    /// The item of an entry.
    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<Ref<'_>> {
        let entry = NonNull::new(self.entries[at])?;
        // SAFETY: the bucket owns the item and is borrowed; items change only through `get_mut`,
        // which borrows it mutably.
        Some(unsafe { Ref::from_raw(address(entry)) })
    }

    /// The item of an entry, to change.
    #[inline]
    pub(super) fn get_mut(&mut self, at: usize) -> Option<Mut<'_>> {
        let entry = NonNull::new(self.entries[at])?;
        // SAFETY: the bucket owns the item and is borrowed mutably.
        Some(unsafe { Mut::from_raw(address(entry)) })
    }

    /// Takes an entry out and leaves a gap, which the caller fills.
    #[inline]
    pub(super) fn take(&mut self, at: usize) -> Option<Entry> {
        let entry = std::mem::replace(&mut self.entries[at], std::ptr::null_mut());
        NonNull::new(entry).map(Entry)
    }

    /// Puts an entry where none is.
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

impl Drop for Bucket {
    fn drop(&mut self) {
        for at in 0..ENTRIES {
            drop(self.take(at).map(Entry::into_item));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Parts;
    use policy::rank::Stamps;

    fn item(key: &[u8]) -> Owned {
        let parts = Parts { db: 0, key, value: [b"value", b""], expires: None, kind: 0 };
        Owned::new(&parts, Stamps::default())
    }

    /// Two keys of one fingerprint, and a fingerprint of zero, which empty places share.
    #[test]
    fn the_fingerprint_only_sorts_out() {
        let mut bucket = Bucket::empty();
        bucket.put(0, Entry::new(0, item(b"a")));
        bucket.put(1, Entry::new(0, item(b"b")));
        bucket.put(2, Entry::new(u16::MAX, item(b"c")));
        assert_eq!(bucket.len(), 3);
        assert_eq!(bucket.find(0, 0, b"b"), Some(1));
        assert_eq!(bucket.find(0, 0, b"c"), None);
        assert_eq!(bucket.find(0, 1, b"b"), None, "another database");
        assert_eq!(bucket.find(u16::MAX, 0, b"c"), Some(2));
        assert_eq!(bucket.find_word(bucket.word(2)), Some(2));
        let taken = bucket.take(1).map(Entry::into_item);
        assert_eq!(taken.as_ref().map(|item| item.view().key()), Some(&b"b"[..]));
        assert_eq!(bucket.len(), 1, "the gap ends the entries until it is filled");
        bucket.put(1, Entry::new(9, item(b"d")));
        bucket.get_mut(1).unwrap().set_stamps(Stamps::new(4, 0));
        assert_eq!(bucket.get(1).unwrap().stamps(), Stamps::new(4, 0));
    }
}
