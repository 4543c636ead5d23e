//! What one object is charged, in four bytes.
//!
//! Simulators and models keep a size for every object, and nearly all objects are small: eight
//! bytes for each would cost them a tenth of their memory. So sizes are exact up to 3.75 GiB, and
//! beyond that to the next 64 KiB, which is a fifty-thousandth of them.
//!
//! ```text
//!   0 … 0xefff_ffff    bytes
//!   0xf000_0000 + n    3.75 GiB + n · 64 KiB, up to 16 TiB
//! ```
//!
//! The larger size is the larger number, so sizes compare as they are.

use std::fmt;

/// Bytes of an object.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(u32);

const EXACT: u32 = 0xf000_0000;
const STEP: u64 = 1 << 16;

impl Size {
    /// One byte, or one object where objects are counted.
    pub const ONE: Self = Self(1);

    /// A size of so many bytes, rounded up to a step where they are many; of more than 16 TiB the
    /// largest.
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
        // Without a branch, for models add up many.
        self.0 as u64 + self.0.saturating_sub(EXACT) as u64 * (STEP - 1)
    }

    /// The bytes for a formula.
    #[inline]
    pub const fn as_f32(self) -> f32 {
        self.get() as f32
    }

    /// The bytes as far as 32 bits hold them.
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
        /// Never too little, never more than a step too much, and in order.
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
