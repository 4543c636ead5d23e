//! A region of addresses, mapped from the system. Miri does not support such mappings and uses a
//! small allocation instead.

use std::ptr::NonNull;
use std::sync::LazyLock;

/// Bytes of a region, unless more are requested at once.
const LEN: usize = if cfg!(miri) { 1 << 20 } else { 64 << 30 };
/// Least bytes of a region, if the system refuses a longer one.
#[cfg(not(miri))]
const LEN_MIN: usize = 64 << 20;

/// Linux's number for this advice, which not all C libraries define.
#[cfg(not(miri))]
const MADV_COLLAPSE: libc::c_int = 25;

/// Whether the administrator has disabled huge pages, which this call would make all the same.
#[cfg(not(miri))]
static IS_NEVER: LazyLock<bool> = LazyLock::new(|| {
    let modes = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    modes.is_ok_and(|modes| modes.contains("[never]"))
});

#[cfg(not(miri))]
#[derive(Debug)]
pub(crate) struct Mapping {
    map: memmap2::MmapMut,
    /// Bytes before the first aligned one.
    skip: usize,
}

#[cfg(not(miri))]
impl Mapping {
    /// Maps an aligned region of at least `len` bytes, the longest that the system allows (a limit
    /// on addresses may be set, as by `ulimit -v`). `None` if it allows none.
    pub(super) fn new(len: usize, align: usize) -> Option<Self> {
        let lens = std::iter::successors(Some(LEN), |len| Some(len / 4));
        let map = lens.take_while(|&len| len >= LEN_MIN).find_map(|most| {
            let mut options = memmap2::MmapOptions::new();
            options.len(most.max(len) + align).no_reserve_swap().map_anon().ok()
        })?;
        // Best effort, like the advices below: it fails if the system has no huge pages.
        _ = map.advise(memmap2::Advice::NoHugePage);
        let skip = map.as_ptr().align_offset(align);
        Some(Self { map, skip })
    }

    pub(super) fn len(&self) -> usize {
        self.map.len() - self.skip
    }

    fn base(&self) -> NonNull<u8> {
        // The pointer of the mapping itself, not of a slice of it, because others write through it.
        NonNull::new(self.map.as_ptr().cast_mut()).expect("nothing is mapped at zero")
    }

    /// The address of the byte at `at`, which is below [`Mapping::len`].
    pub(super) fn at(&self, at: usize) -> NonNull<u8> {
        assert!(at < self.len());
        // SAFETY: within the mapping.
        unsafe { self.base().add(self.skip + at) }
    }

    pub(super) fn has(&self, base: NonNull<u8>) -> bool {
        base.addr() >= self.base().addr()
            && base.addr().get() - self.base().addr().get() < self.map.len()
    }

    /// The offset of an address of the region from [`Mapping::at`] 0.
    pub(super) fn offset(&self, base: NonNull<u8>) -> usize {
        base.addr().get() - self.at(0).addr().get()
    }

    /// Allows the system to use huge pages for `len` bytes from `at` on.
    pub(super) fn accept(&self, at: usize, len: usize) {
        _ = self.map.advise_range(memmap2::Advice::HugePage, self.skip + at, len);
    }

    /// Forbids the system to use huge pages for `len` bytes from `at` on.
    pub(super) fn decline(&self, at: usize, len: usize) {
        _ = self.map.advise_range(memmap2::Advice::NoHugePage, self.skip + at, len);
    }

    /// Makes the system build a huge page now, with the present contents, unless huge pages are
    /// disabled. Older systems do not support this call, and build it by themselves at some time.
    pub(super) fn collapse(base: NonNull<u8>, len: usize) {
        if *IS_NEVER {
            return;
        }
        // SAFETY: the call does not change the contents of the bytes, whichever threads read and
        // write them.
        unsafe { libc::madvise(base.as_ptr().cast(), len, MADV_COLLAPSE) };
    }

    /// Returns the memory of `len` unused bytes from `base` on to the system.
    pub(super) fn empty(&self, base: NonNull<u8>, len: usize) {
        let from = base.addr().get() - self.base().addr().get();
        // SAFETY: the bytes are in the mapping, are plain, and have no reader, because their run
        // was given back. If the system refuses, they keep their memory until they are used again.
        _ = unsafe {
            self.map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, from, len)
        };
    }
}

#[cfg(miri)]
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    layout: std::alloc::Layout,
}

#[cfg(miri)]
impl Mapping {
    pub(super) fn new(len: usize, align: usize) -> Option<Self> {
        let layout = std::alloc::Layout::from_size_align(LEN.max(len), align).ok()?;
        // SAFETY: the layout is not empty.
        Some(Self { base: NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })?, layout })
    }

    pub(super) fn len(&self) -> usize {
        self.layout.size()
    }

    pub(super) fn at(&self, at: usize) -> NonNull<u8> {
        assert!(at < self.len());
        // SAFETY: within the allocation.
        unsafe { self.base.add(at) }
    }

    pub(super) fn has(&self, base: NonNull<u8>) -> bool {
        base.addr() >= self.base.addr() && base.addr().get() - self.base.addr().get() < self.len()
    }

    pub(super) fn offset(&self, base: NonNull<u8>) -> usize {
        base.addr().get() - self.base.addr().get()
    }

    pub(super) fn accept(&self, _at: usize, _len: usize) {}

    pub(super) fn decline(&self, _at: usize, _len: usize) {}

    pub(super) fn collapse(_base: NonNull<u8>, _len: usize) {}

    pub(super) fn empty(&self, _base: NonNull<u8>, _len: usize) {}
}

#[cfg(miri)]
impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { std::alloc::dealloc(self.base.as_ptr(), self.layout) }
    }
}

// SAFETY: the region is plain memory without ties to a thread. It is reached through runs, each of
// which has one owner.
unsafe impl Send for Mapping {}
// SAFETY: as above. A shared region only reveals addresses, and returns memory that has no owner.
unsafe impl Sync for Mapping {}
