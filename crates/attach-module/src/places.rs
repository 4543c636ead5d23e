//! The entries of a bucket for which something holds, as bits.
//!
//! A bucket is one cache line of sixteen entries. Its entries are tested four at once, and the
//! sixteen results become one number. On other processors than those of x86-64 the compiler chooses
//! the instructions.

use crate::entry::KeyStamp;

/// Entries of a bucket, as many as fit in a cache line.
pub(crate) const WAYS: usize = 16;

/// A bit for each entry for which `holds`.
#[inline]
pub(crate) fn places(bucket: &[KeyStamp; WAYS], holds: impl Fn(KeyStamp) -> bool) -> u32 {
    let mut all = [0; WAYS];
    for (one, entry) in all.iter_mut().zip(bucket) {
        *one = -i32::from(holds(*entry));
    }
    bits(&all)
}

/// Prefetches a bucket, where the processor is of x86-64.
#[inline]
pub(crate) fn prefetch(bucket: &[KeyStamp; WAYS]) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has SSE, and a prefetch changes nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>((&raw const *bucket).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bucket;
}

/// The lowest bit of each number, which is 0 or -1.
#[cfg(target_arch = "x86_64")]
#[inline]
fn bits(all: &[i32; WAYS]) -> u32 {
    use std::arch::x86_64 as x86;
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = *all;
    // SAFETY: every x86-64 processor has SSE2.
    unsafe {
        let first =
            x86::_mm_packs_epi32(x86::_mm_setr_epi32(a, b, c, d), x86::_mm_setr_epi32(e, f, g, h));
        let last =
            x86::_mm_packs_epi32(x86::_mm_setr_epi32(i, j, k, l), x86::_mm_setr_epi32(m, n, o, p));
        x86::_mm_movemask_epi8(x86::_mm_packs_epi16(first, last)) as u32
    }
}

/// The lowest bit of each number, which is 0 or -1.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn bits(all: &[i32; WAYS]) -> u32 {
    all.iter().enumerate().fold(0, |bits, (at, one)| bits | ((one & 1) as u32) << at)
}

/// The first of such entries.
#[inline]
pub(crate) const fn first(places: u32) -> usize {
    places.trailing_zeros() as usize % WAYS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_has_its_bit() {
        for at in 0..WAYS {
            let mut bucket = [KeyStamp(7); WAYS];
            bucket[at] = KeyStamp(9);
            assert_eq!(places(&bucket, |entry| entry.0 == 9), 1 << at);
            assert_eq!(first(places(&bucket, |entry| entry.0 == 9)), at);
        }
        assert_eq!(places(&[KeyStamp(7); WAYS], |entry| entry.0 == 7), 0xFFFF);
    }
}
