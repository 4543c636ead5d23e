//! The bytes that one object is charged, in a number of four bytes.
//!
//! Simulators and models keep a size for every object, and nearly all objects are small. Eight
//! bytes for each size would cost a tenth of their memory. So sizes are exact up to 3.75 GiB;
//! larger ones are rounded up to the next 64 KiB, an error below a fifty-thousandth.
//!
//! ```text
//!   0 … 0xefff_ffff    bytes
//!   0xf000_0000 + n    3.75 GiB + n · 64 KiB, up to 16 TiB
//! ```
//!
//! A larger size is a larger number, so sizes compare as they are.

use std::fmt;

/// The charged size of an object in bytes, packed into four.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(u32);

const EXACT: u32 = 0xf000_0000;
const STEP: u64 = 1 << 16;

impl Size {
    /// One byte, or one object where objects are counted.
    pub const ONE: Self = Self(1);

    /// The size for a number of bytes. From 3.75 GiB on it is rounded up to a step of 64 KiB, and
    /// above 16 TiB it is the largest size.
    #[inline]
    pub const fn of(bytes: u64) -> Self {
        if bytes < EXACT as u64 {
            return Self(bytes as u32);
        }
        let steps = (bytes - EXACT as u64).div_ceil(STEP);
        let most = (u32::MAX - EXACT) as u64;
        Self(EXACT + if steps < most { steps as u32 } else { most as u32 })
    }

    /// The bytes.
    #[inline]
    pub const fn get(self) -> u64 {
        // No branch, because models add up many sizes.
        self.0 as u64 + self.0.saturating_sub(EXACT) as u64 * (STEP - 1)
    }

    /// The bytes as a float, for formulas.
    #[inline]
    pub const fn as_f32(self) -> f32 {
        self.get() as f32
    }

    /// The bytes in 32 bits, capped at `u32::MAX`.
    #[inline]
    pub const fn as_u32(self) -> u32 {
        if self.get() < u32::MAX as u64 { self.get() as u32 } else { u32::MAX }
    }
}

impl From<Size> for u64 {
    #[inline]
    fn from(size: Size) -> Self {
        size.get()
    }
}

impl From<Size> for f64 {
    #[inline]
    fn from(size: Size) -> Self {
        size.get() as Self
    }
}

impl From<u32> for Size {
    #[inline]
    fn from(bytes: u32) -> Self {
        Self::of(bytes.into())
    }
}

impl fmt::Debug for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A size is never too small, at most a step too large, and keeps the order.
        #[test]
        fn sizes_are_close_and_in_order(a in 0u64..1 << 44, b in 0u64..1 << 44) {
            let size = Size::of(a);
            prop_assert!(size.get() >= a && size.get() < a + STEP);
            prop_assert_eq!(Size::of(size.get()), size, "a size is its own");
            prop_assert!(a > u64::from(EXACT) || size.get() == a);
            prop_assert!((a <= b) <= (size <= Size::of(b)));
        }
    }

    #[test]
    fn the_largest_is_sixteen_tebibytes() {
        assert_eq!(Size::of(u64::MAX).get() >> 40, 16);
        assert_eq!((Size::of(1 << 34).get(), Size::of(5 << 30).as_u32()), (1 << 34, u32::MAX));
    }
}
