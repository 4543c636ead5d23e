//! One item in one chunk of a page. Header, key and value are side by side, so that a hit on an
//! item of a few cache lines touches only those.
//!
//! ```text
//!   0      4      6       7      8           10        11   12      13
//!  ┌──────┬──────┬───────┬──────┬───────────┬─────────┬────┬───────┬─────────┬──────┐
//!  │ last │ born │ class │ hits │ value_len │ key_len │ db │ flags │ options │ key… │ value…
//!  └──────┴──────┴───────┴──────┴───────────┴─────────┴────┴───────┴─────────┴──────┘
//!     options, each only where its flag is set:  8 bytes expiry (Unix ms);  4 bytes value length
//!     and 4 bytes key length, where the header has not enough for one of them
//! ```
//!
//! The header holds the data of every eviction policy, whichever is active, so a change of policy
//! touches no item. `last`, `born`, `class` and `hits` are its [`Stamps`]. A flag says that the
//! value is a compressed one (`compression/form.rs`). Ticks count the accesses to the shard, and
//! the sweep refreshes the stamps. Threads that read the item at the same time
//! write the stamps as two words, each of which is whole; of two hits one may be lost. All other
//! fields change only while no other thread sees the item. Most keys are shorter than 256 bytes and
//! most values shorter than 64 KB. Only longer ones need extra bytes for their lengths.
//!
//! The chunk is as large as the *size class* of the contents ([`SizeClasses`]), so a value may
//! change in place within its class. The class follows from the lengths in the header alone, and is
//! never stored. The page owns the chunk: dropping an item frees nothing.

use crate::items::sizes::layout::{STEP, TAG};
use crate::items::sizes::size_classes::SizeClasses;
use crate::sync::prefetch::{EXPECTED, LINE, fetch_to_write};
use policy::rank::Stamps;
use std::marker::PhantomData;
use std::ptr::{NonNull, copy, copy_nonoverlapping};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

pub(crate) const HEADER: usize = 13;
const OPTION: usize = 8;
/// Alignment of a word of stamps. Everything after the stamps is read unaligned.
pub(crate) const ALIGN: usize = 4;

const EXPIRES: u8 = 1;
/// Flag: the lengths are among the options.
const LONG: u8 = 2;
/// Flag: the value is compressed.
const COMPRESSED: u8 = 4;
/// Flag: compression was tried, and the value does not shrink enough.
const DENSE: u8 = 8;
/// The upper half of the flags is the caller's *kind*: the caller's type of the value.
const KIND_SHIFT: u32 = 4;

/// The header after the stamps.
#[repr(C, packed)]
#[derive(Clone, Copy)]
struct Header {
    value_len: u16,
    key_len: u8,
    db: u8,
    flags: u8,
}

const STAMPS: usize = size_of::<Stamps>();

// Checks the drawing above, and the sizes of usual items.
const _: () = {
    use std::mem::offset_of;
    assert!(STAMPS == 2 * ALIGN && align_of::<Stamps>() == ALIGN);
    assert!(STAMPS + size_of::<Header>() == HEADER);
    assert!(offset_of!(Stamps, last) == 0 && offset_of!(Stamps, born) == 4);
    assert!(offset_of!(Stamps, class) == 6 && offset_of!(Stamps, hits) == 7);
    assert!(offset_of!(Header, value_len) == 0 && offset_of!(Header, key_len) == 2);
    assert!(offset_of!(Header, db) == 3 && offset_of!(Header, flags) == 4);
    assert!(contents(32, 100, false) == 145 && charge(32, 100, false) == 152);
    assert!(contents(32, 10, true) == 63 && charge(32, 10, true) == 68);
};

/// Bytes that an item takes of a page: its header, options, key, value and tag, as if there were a
/// size class for every length. Its share of the table is not included.
#[inline]
pub const fn charge(key_len: usize, value_len: usize, expires: bool) -> u64 {
    (contents(key_len, value_len, expires) + TAG).next_multiple_of(STEP)
}

#[inline]
const fn contents(key_len: usize, value_len: usize, expires: bool) -> u64 {
    (HEADER + OPTION * (expires as usize + is_long(key_len, value_len) as usize)) as u64
        + key_len as u64
        + value_len as u64
}

const fn is_long(key_len: usize, value_len: usize) -> bool {
    key_len > u8::MAX as usize || value_len > u16::MAX as usize
}

/// The parts of an item.
#[derive(Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub(crate) db: u8,
    pub(crate) key: &'a [u8],
    /// The value, in two pieces that are stored one after the other.
    pub(crate) value: [&'a [u8]; 2],
    pub(crate) expires: Option<u64>,
    /// The caller's kind of value, below 16.
    pub(crate) kind: u8,
    /// Whether the value is a compressed one.
    pub(crate) is_compressed: bool,
}

impl<'a> Parts<'a> {
    #[inline]
    pub(crate) const fn of(
        key: &crate::Key<'a>,
        value: &'a [u8],
        kind: u8,
        expires: Option<u64>,
    ) -> Self {
        let (db, key) = (key.db, key.bytes);
        Self { db, key, value: [value, b""], expires, kind, is_compressed: false }
    }

    /// These parts with a stored value in place of the plain one, if there is one.
    #[inline]
    pub(crate) fn or_stored(self, stored: Option<&'a [u8]>) -> Self {
        match stored {
            Some(stored) => Self { value: [stored, b""], is_compressed: true, ..self },
            None => self,
        }
    }

    /// Bytes of the header, the options, the key and the value.
    pub(crate) const fn contents(&self) -> u64 {
        let len = self.value[0].len() + self.value[1].len();
        contents(self.key.len(), len, self.expires.is_some())
    }
}

/// A pointer to a live item, common to [`Owned`], [`Ref`] and [`Mut`]. Code that makes one
/// guarantees that it points to a chunk in which an item was written, and that the chunk stays
/// while the `Raw` is used.
#[derive(Clone, Copy)]
struct Raw(NonNull<u8>);

impl Raw {
    /// Writes an item into `base`.
    ///
    /// # Safety
    /// `base` has room for the contents of `parts`, and no other pointer to it is used.
    unsafe fn write_item(base: NonNull<u8>, parts: &Parts, stamps: Stamps) -> Self {
        let [head, tail] = parts.value;
        let (key_len, value_len) = (parts.key.len(), head.len() + tail.len());
        let is_long = is_long(key_len, value_len);
        let header = Header {
            value_len: if is_long { 0 } else { value_len as u16 },
            key_len: if is_long { 0 } else { key_len as u8 },
            db: parts.db,
            flags: if parts.expires.is_some() { EXPIRES } else { 0 }
                | if is_long { LONG } else { 0 }
                | if parts.is_compressed { COMPRESSED } else { 0 }
                | parts.kind << KIND_SHIFT,
        };
        let raw = Self(base);
        // SAFETY: there is room for the header, the options that `header.flags` names, the key and
        // both pieces of the value, in this order. No other pointer to the memory is used, so
        // nothing overlaps.
        unsafe {
            base.cast::<Stamps>().write(stamps);
            raw.set_header(header);
            if let Some(expires) = parts.expires {
                base.add(HEADER).cast::<u64>().write_unaligned(expires);
            }
            if is_long {
                raw.write_lens(key_len, value_len);
            }
            let key_at = raw.key_at();
            raw.write(key_at, parts.key);
            raw.write(key_at + key_len, head);
            // Only an appended value has a second piece.
            if !tail.is_empty() {
                raw.write(key_at + key_len + head.len(), tail);
            }
        }
        raw
    }

    /// Writes the lengths among the options.
    ///
    /// # Safety
    /// The flags say that the lengths are there, and nothing aliases the item.
    unsafe fn write_lens(self, key_len: usize, value_len: usize) {
        let at = HEADER + OPTION * usize::from(self.header().flags & EXPIRES);
        let lens = [value_len as u32, key_len as u32];
        // SAFETY: the caller's promise.
        unsafe { self.0.add(at).cast::<[u32; 2]>().write_unaligned(lens) }
    }

    #[inline]
    fn header(self) -> Header {
        // SAFETY: the item is live, and a header follows its stamps.
        unsafe { self.0.add(STAMPS).cast::<Header>().read_unaligned() }
    }

    fn set_header(self, header: Header) {
        // SAFETY: as in `header`; only `Mut` and `Owned`, which nothing else aliases, call this.
        unsafe { self.0.add(STAMPS).cast::<Header>().write_unaligned(header) }
    }

    /// The two words of the stamps.
    #[inline]
    fn words<'a>(self) -> [&'a AtomicU32; 2] {
        let words = self.0.cast();
        // SAFETY: the item is live and aligned to a word. While it is shared, its stamps are read
        // and written only through these atomics.
        unsafe { [AtomicU32::from_ptr(words.as_ptr()), AtomicU32::from_ptr(words.add(1).as_ptr())] }
    }

    #[inline]
    fn key_at(self) -> usize {
        let flags = self.header().flags;
        HEADER + OPTION * usize::from(flags & EXPIRES) + OPTION * usize::from(flags >> 1 & 1)
    }

    /// The lengths of value and key.
    #[inline]
    fn lens(self) -> [usize; 2] {
        let header = self.header();
        if header.flags & LONG == 0 {
            return [header.value_len.into(), header.key_len.into()];
        }
        let at = HEADER + OPTION * usize::from(header.flags & EXPIRES);
        // SAFETY: the flag says that the lengths are here.
        let lens = unsafe { self.0.add(at).cast::<[u32; 2]>().read_unaligned() };
        lens.map(|len| len as usize)
    }

    #[inline]
    fn key_len(self) -> usize {
        self.lens()[1]
    }

    /// Whether the lengths stay in the same place with a value of this length.
    #[inline]
    fn keeps_lens(self, value_len: usize) -> bool {
        let is = self.header().flags & LONG != 0;
        is == is_long(self.key_len(), value_len)
    }

    #[inline]
    fn expires(self) -> Option<u64> {
        // SAFETY: the flag says that the expiry follows the header.
        (self.header().flags & EXPIRES != 0)
            .then(|| unsafe { self.0.add(HEADER).cast::<u64>().read_unaligned() })
    }

    #[inline]
    fn contents(self) -> u64 {
        let [value_len, key_len] = self.lens();
        (self.key_at() + key_len + value_len) as u64
    }

    /// # Safety
    /// `at + bytes.len()` is within the chunk, nothing aliases it, and `bytes` is not in it.
    unsafe fn write(self, at: usize, bytes: &[u8]) {
        // SAFETY: the caller's promise.
        unsafe { copy_nonoverlapping(bytes.as_ptr(), self.0.add(at).as_ptr(), bytes.len()) }
    }

    /// # Safety
    /// `at + len` is within the initialised bytes, and they do not change during `'a`.
    #[inline]
    unsafe fn slice<'a>(self, at: usize, len: usize) -> &'a [u8] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.0.add(at).as_ptr(), len) }
    }
}

/// An item outside the table.
pub(crate) struct Owned(Raw);

// SAFETY: the item is plain bytes without ties to a thread, and has one owner.
unsafe impl Send for Owned {}
// SAFETY: while the item is shared, only its stamps change, and they are atomic.
unsafe impl Sync for Owned {}

impl Owned {
    /// Writes an item into a chunk. The chunk's owner takes it back when the item is gone: dropping
    /// the item frees nothing.
    ///
    /// # Safety
    /// The chunk has room for the contents of `parts`. As long as the item exists, nothing else
    /// uses the chunk, and it stays.
    pub(crate) unsafe fn in_chunk(chunk: NonNull<u8>, parts: &Parts, stamps: Stamps) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { Raw::write_item(chunk, parts, stamps) })
    }

    /// Turns the item into a pointer.
    pub(crate) fn into_raw(self) -> NonNull<u8> {
        self.0.0
    }

    /// # Safety
    /// `base` was returned by [`Owned::into_raw`] and is taken back once.
    pub(crate) unsafe fn from_raw(base: NonNull<u8>) -> Self {
        Self(Raw(base))
    }

    pub(crate) fn view(&self) -> Ref<'_> {
        Ref { raw: self.0, lifetime: PhantomData }
    }
}

/// A shared borrow of an item.
#[derive(Clone, Copy)]
pub(crate) struct Ref<'a> {
    raw: Raw,
    lifetime: PhantomData<&'a [u8]>,
}

impl<'a> Ref<'a> {
    /// # Safety
    /// `base` was returned by [`Owned::into_raw`]. During `'a` the item is not freed, and nothing
    /// of it changes except its stamps, by [`Ref::stamp`].
    #[inline]
    pub(crate) unsafe fn from_raw(base: NonNull<u8>) -> Self {
        Self { raw: Raw(base), lifetime: PhantomData }
    }

    #[inline]
    pub(crate) fn key(self) -> &'a [u8] {
        // SAFETY: the key is here, initialised, and `'a` is a shared borrow of the item.
        unsafe { self.raw.slice(self.raw.key_at(), self.raw.key_len()) }
    }

    #[inline]
    pub(crate) fn value(self) -> &'a [u8] {
        let [value_len, key_len] = self.raw.lens();
        // SAFETY: the value follows the key, initialised; `'a` is a shared borrow of the item.
        unsafe { self.raw.slice(self.raw.key_at() + key_len, value_len) }
    }

    #[inline]
    pub(crate) fn db(self) -> u8 {
        self.raw.header().db
    }

    #[inline]
    pub(crate) fn kind(self) -> u8 {
        self.raw.header().flags >> KIND_SHIFT
    }

    /// Whether the value is a compressed one.
    #[inline]
    pub(crate) fn is_compressed(self) -> bool {
        self.raw.header().flags & COMPRESSED != 0
    }

    /// Whether compression was tried in vain.
    pub(crate) fn is_dense(self) -> bool {
        self.raw.header().flags & DENSE != 0
    }

    #[inline]
    pub(crate) fn expires(self) -> Option<u64> {
        self.raw.expires()
    }

    /// Whether the item has expired. As in Redis, it lives until the end of the millisecond of its
    /// expiry.
    #[inline]
    pub(crate) fn is_dead(self, unix_ms: u64) -> bool {
        self.expires().is_some_and(|when| unix_ms > when)
    }

    /// Bytes of the header, the options, the key and the value.
    #[inline]
    pub(crate) fn contents(self) -> u64 {
        self.raw.contents()
    }

    /// Whether its chunk has room for a value of this length, with or without an expiry.
    #[inline]
    pub(crate) fn has_room(self, sizes: &SizeClasses, value_len: usize, expires: bool) -> bool {
        let [old_len, key_len] = self.raw.lens();
        let had_expiry = self.raw.header().flags & EXPIRES != 0;
        if value_len == old_len && expires == had_expiry {
            return true;
        }
        let new = contents(key_len, value_len, expires);
        self.raw.keeps_lens(value_len) && sizes.are_one(new, self.contents())
    }

    /// Prefetches the item to be written, up to a few lines.
    #[inline]
    pub(crate) fn prefetch_to_write(self) {
        let len = (self.contents() as usize).min(EXPECTED);
        let first = self.base().as_ptr().map_addr(|addr| addr & !(LINE - 1));
        let last = self.base().as_ptr().wrapping_add(len - 1);
        for at in (0..=last.addr() - first.addr()).step_by(LINE) {
            fetch_to_write(first.wrapping_add(at));
        }
    }

    /// The address of the item.
    pub(crate) const fn base(self) -> NonNull<u8> {
        self.raw.0
    }

    /// The stamps. Each of their two words is whole; another thread may write between the two
    /// loads.
    #[inline]
    pub(crate) fn stamps(self) -> Stamps {
        let [last, rest] = self.raw.words().map(|word| word.load(Relaxed));
        let [b0, b1, class, hits] = rest.to_ne_bytes();
        Stamps { last, born: u16::from_ne_bytes([b0, b1]), class, hits }
    }

    /// Writes the stamps, even while other threads read the item.
    #[inline]
    pub(crate) fn stamp(self, stamps: Stamps) {
        let [last, rest] = self.raw.words();
        let [b0, b1] = stamps.born.to_ne_bytes();
        last.store(stamps.last, Relaxed);
        rest.store(u32::from_ne_bytes([b0, b1, stamps.class, stamps.hits]), Relaxed);
    }

    /// The parts of this item with another value and expiry.
    pub(crate) fn parts(self, value: [&'a [u8]; 2], expires: Option<u64>) -> Parts<'a> {
        let (db, key, kind) = (self.db(), self.key(), self.kind());
        Parts { db, key, value, expires, kind, is_compressed: self.is_compressed() }
    }
}

/// An exclusive borrow of an item.
pub(crate) struct Mut<'a> {
    raw: Raw,
    lifetime: PhantomData<&'a mut [u8]>,
}

impl Mut<'_> {
    /// # Safety
    /// `base` was returned by [`Owned::into_raw`], and during `'a` only this pointer to the item is
    /// used.
    #[inline]
    pub(crate) unsafe fn from_raw(base: NonNull<u8>) -> Self {
        Self { raw: Raw(base), lifetime: PhantomData }
    }

    #[inline]
    pub(crate) fn view(&self) -> Ref<'_> {
        Ref { raw: self.raw, lifetime: PhantomData }
    }

    #[inline]
    pub(crate) fn set_stamps(&mut self, stamps: Stamps) {
        self.view().stamp(stamps);
    }

    /// Sets the caller's kind of a new value, and whether it is compressed.
    #[inline]
    pub(crate) fn set_kind(&mut self, kind: u8, is_compressed: bool) {
        let header = self.raw.header();
        let form = if is_compressed { COMPRESSED } else { 0 };
        let flags = header.flags & (EXPIRES | LONG) | form | kind << KIND_SHIFT;
        self.raw.set_header(Header { flags, ..header });
    }

    /// Notes that the value does not shrink enough.
    pub(crate) fn set_dense(&mut self) {
        let header = self.raw.header();
        self.raw.set_header(Header { flags: header.flags | DENSE, ..header });
    }

    /// Replaces value and expiry if the class stays the same. Returns whether it did.
    #[inline]
    pub(crate) fn overwrite(
        &mut self,
        sizes: &SizeClasses,
        value: &[u8],
        expires: Option<u64>,
    ) -> bool {
        if !self.view().has_room(sizes, value.len(), expires.is_some()) {
            return false;
        }
        let [value_len, key_len] = self.raw.lens();
        if expires.is_some() || self.raw.header().flags & EXPIRES != 0 {
            self.move_key(expires);
        }
        let at = self.raw.key_at() + key_len;
        // SAFETY: the class has room for the key at its current place and `value` after it. `value`
        // is borrowed from elsewhere, because only this `Mut` reaches the item.
        unsafe { self.raw.write(at, value) };
        if value.len() != value_len {
            self.set_value_len(value.len());
        }
        true
    }

    #[inline]
    fn set_value_len(&mut self, value_len: usize) {
        let header = self.raw.header();
        if header.flags & LONG == 0 {
            self.raw.set_header(Header { value_len: value_len as u16, ..header });
        } else {
            // SAFETY: the flag is set, and only this `Mut` reaches the item.
            unsafe { self.raw.write_lens(self.raw.key_len(), value_len) }
        }
    }

    /// Appends to the value if the class stays the same. Returns whether it did.
    pub(crate) fn append(&mut self, sizes: &SizeClasses, more: &[u8]) -> bool {
        let size = self.raw.contents();
        let value_len = self.raw.lens()[0] + more.len();
        if !self.raw.keeps_lens(value_len) || !sizes.are_one(size + more.len() as u64, size) {
            return false;
        }
        // SAFETY: the class has room for `more` after the contents; `more` is from elsewhere.
        unsafe { self.raw.write(size as usize, more) };
        self.set_value_len(value_len);
        true
    }

    /// Overwrites a part of the value, if the value is long enough. Returns whether it did.
    pub(crate) fn patch(&mut self, at: usize, bytes: &[u8]) -> bool {
        let [value_len, key_len] = self.raw.lens();
        let is_within = at.checked_add(bytes.len()).is_some_and(|end| end <= value_len);
        if is_within {
            let at = self.raw.key_at() + key_len + at;
            // SAFETY: the value follows the key and reaches this far; `bytes` is from elsewhere.
            unsafe { self.raw.write(at, bytes) };
        }
        is_within
    }

    /// Replaces the expiry if the class stays the same. Returns whether it did.
    pub(crate) fn set_expires(&mut self, sizes: &SizeClasses, expires: Option<u64>) -> bool {
        let [value_len, key_len] = self.raw.lens();
        if !sizes.are_one(contents(key_len, value_len, expires.is_some()), self.raw.contents()) {
            return false;
        }
        let (from, len) = (self.raw.key_at(), key_len + value_len);
        if self.raw.expires().is_some() == expires.is_some() {
            self.move_key(expires);
            return true;
        }
        let to = if expires.is_some() { from + OPTION } else { from - OPTION };
        // SAFETY: key and value are at `from`, and the class has room for them at `to`; `copy`
        // allows the two to overlap.
        unsafe {
            let base = self.raw.0.as_ptr();
            copy(base.add(from), base.add(to), len);
        }
        self.write_options(expires, [value_len, key_len]);
        true
    }

    /// Makes the options agree with `expires`, and moves the key behind them. The value is not
    /// moved.
    fn move_key(&mut self, expires: Option<u64>) {
        if self.raw.expires().is_some() == expires.is_some() {
            if let Some(when) = expires {
                // SAFETY: the item has its expiry here already.
                unsafe { self.raw.0.add(HEADER).cast::<u64>().write_unaligned(when) }
            }
            return;
        }
        let (from, lens) = (self.raw.key_at(), self.raw.lens());
        let to = if expires.is_some() { from + OPTION } else { from - OPTION };
        // SAFETY: the key is at `from`. The caller ensured that the class has room for the key at
        // `to`; `copy` allows the two to overlap.
        unsafe {
            let base = self.raw.0.as_ptr();
            copy(base.add(from), base.add(to), lens[1]);
        }
        self.write_options(expires, lens);
    }

    fn write_options(&mut self, expires: Option<u64>, [value_len, key_len]: [usize; 2]) {
        let mut header = self.raw.header();
        header.flags = header.flags & !EXPIRES | if expires.is_some() { EXPIRES } else { 0 };
        self.raw.set_header(header);
        // SAFETY: the class has room for the options that the flags name, and the bytes after the
        // options have been moved behind them.
        unsafe {
            if let Some(when) = expires {
                self.raw.0.add(HEADER).cast::<u64>().write_unaligned(when);
            }
            if header.flags & LONG != 0 {
                self.raw.write_lens(key_len, value_len);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An item and its chunk.
    struct Made {
        // Not a box: moving a box would assert that no other pointer points into it.
        _chunk: Vec<u32>,
        item: Owned,
        sizes: SizeClasses,
    }

    fn made(key: &[u8], value: &[u8], expires: Option<u64>) -> Made {
        let value = [value, &b""[..]];
        let parts = Parts { db: 3, key, value, expires, kind: 5, is_compressed: false };
        let sizes = SizeClasses::new(64 << 10, 64 << 10, 48, 1.25);
        let mut chunk = vec![0; sizes.charge(parts.contents()) as usize / ALIGN];
        let base = NonNull::new(chunk.as_mut_ptr().cast()).unwrap();
        // SAFETY: the chunk is as large as the class of the contents, and lives as long as the
        // item.
        let item = unsafe { Owned::in_chunk(base, &parts, Stamps::new(77, 5)) };
        Made { _chunk: chunk, item, sizes }
    }

    fn change(made: &mut Made, change: impl FnOnce(&mut Mut, &SizeClasses) -> bool) -> bool {
        change(&mut Mut { raw: made.item.0, lifetime: PhantomData }, &made.sizes)
    }

    fn shows(Made { item, .. }: &Made, key: &[u8], value: &[u8], expires: Option<u64>) {
        let view = item.view();
        assert_eq!((view.key(), view.value(), view.expires()), (key, value, expires));
        assert_eq!((view.db(), view.kind()), (3, 5));
        assert_eq!(view.contents(), contents(key.len(), value.len(), expires.is_some()));
    }

    #[test]
    fn lengths_that_the_header_has_no_room_for() {
        let key = vec![7; 70_000];
        let mut item = made(&key, b"value", None);
        shows(&item, &key, b"value", None);
        assert!(change(&mut item, |item, sizes| item.set_expires(sizes, Some(9))));
        shows(&item, &key, b"value", Some(9));
        assert!(change(&mut item, |item, sizes| item.overwrite(sizes, b"other", None)));
        shows(&item, &key, b"other", None);
        assert!(change(&mut item, |item, sizes| item.append(sizes, b" one")));
        shows(&item, &key, b"other one", None);
    }

    /// If the lengths move to the options or back to the header, the item has to be written anew.
    #[test]
    fn lengths_stay_where_they_are() {
        let (short, long) = (vec![1; 65_535], vec![2; 65_536]);
        let mut item = made(b"key", &short, None);
        assert!(!change(&mut item, |item, sizes| item.append(sizes, b"2")));
        assert!(!change(&mut item, |item, sizes| item.overwrite(sizes, &long, None)));
        shows(&item, b"key", &short, None);
        let mut item = made(b"key", &long, None);
        assert!(!change(&mut item, |item, sizes| item.overwrite(sizes, &short, None)));
        assert!(change(&mut item, |item, sizes| item.append(sizes, &[2, 2])));
        assert!(change(&mut item, |item, sizes| item.set_expires(sizes, Some(4))));
        shows(&item, b"key", &vec![2; 65_538], Some(4));
    }

    /// The value with `bytes` from its second byte on, if it is long enough.
    fn patched(value: &[u8], bytes: &[u8]) -> Vec<u8> {
        let mut value = value.to_vec();
        if let Some(part) = value.get_mut(1..=bytes.len()) {
            part.copy_from_slice(bytes);
        }
        value
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: if cfg!(miri) { 3 } else { 256 },
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        /// Compares changes in place with a plain tuple. A refused change must leave everything as
        /// it was.
        #[test]
        fn changes_in_place_are_those_of_a_tuple(
            key in prop::collection::vec(any::<u8>(), 0..40),
            value in prop::collection::vec(any::<u8>(), 0..200),
            expires: Option<u64>,
            changes in prop::collection::vec(
                (0u8..4, prop::collection::vec(any::<u8>(), 0..200), any::<Option<u64>>()), 0..12),
        ) {
            let mut item = made(&key, &value, expires);
            let (mut value, mut expires) = (value, expires);
            for (kind, bytes, when) in changes {
                let old = item.sizes.charge(item.item.view().contents());
                let (new_value, new_expires) = match kind {
                    0 => (bytes.clone(), when),
                    1 => ([&value[..], &bytes].concat(), expires),
                    2 => (patched(&value, &bytes), expires),
                    _ => (value.clone(), when),
                };
                let done = change(&mut item, |item, sizes| match kind {
                    0 => item.overwrite(sizes, &bytes, when),
                    1 => item.append(sizes, &bytes),
                    2 => item.patch(1, &bytes) || bytes.len() >= value.len(),
                    _ => item.set_expires(sizes, when),
                });
                let new = contents(key.len(), new_value.len(), new_expires.is_some());
                let class = item.sizes.charge(new);
                prop_assert_eq!(done, class == old);
                if done {
                    (value, expires) = (new_value, new_expires);
                }
                shows(&item, &key, &value, expires);
                prop_assert_eq!(item.item.view().stamps(), Stamps::new(77, 5));
            }
        }
    }
}
