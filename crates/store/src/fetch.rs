//! Lines of memory asked for before they are read or written, so that nobody waits for them.

/// Bytes of a line.
pub(crate) const LINE: usize = 64;
/// Bytes of an item that are brought at once: most have no more.
pub(crate) const EXPECTED: usize = 4 * LINE;

/// Has the processor bring the line at `address`, whatever is there, without waiting for it.
#[inline]
pub(crate) fn fetch(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint, which reads nothing and never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// The same for a line that is to be written: other processors give theirs up.
#[inline]
pub(crate) fn fetch_to_write(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint, which changes nothing and never faults; processors that do not know it do
    // nothing.
    unsafe {
        use std::arch::asm;
        asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    fetch(address);
}
