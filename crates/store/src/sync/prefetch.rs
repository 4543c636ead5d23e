//! Prefetches of cache lines before they are read or written, so that no thread waits for them.

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;
/// Bytes of an item that are prefetched at once: most items have no more.
pub(crate) const EXPECTED: usize = 4 * LINE;

/// Makes the processor load the line at `address`, whatever is there, without waiting for it.
#[inline]
pub(crate) fn fetch(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint, which reads no memory and never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// Prefetches a line that is about to be written: other processors drop their copies.
#[inline]
pub(crate) fn fetch_to_write(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint, which changes nothing and never faults. Processors that do not know it ignore
    // it.
    unsafe {
        use std::arch::asm;
        asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    fetch(address);
}
