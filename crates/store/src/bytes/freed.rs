//! Bytes on their way back: free, and not yet given to anyone.

use std::ops::AddAssign;

/// Bytes that are free. The account of their tenant has them back already. The store's counter
/// still counts them, so that no other thread takes them before the write that freed them.
#[derive(Debug, Default, PartialEq, Eq)]
#[must_use = "the store's counter still counts these bytes"]
pub(crate) struct Freed(u64);

impl Freed {
    pub(crate) const NOTHING: Self = Self(0);

    /// Bytes that no account counts any more.
    #[inline]
    pub(super) const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The bytes, which the store's counter counts no more.
    #[inline]
    pub(super) const fn into_bytes(self) -> u64 {
        let Self(bytes) = self;
        bytes
    }

    #[inline]
    pub(crate) const fn bytes(&self) -> u64 {
        self.0
    }

    #[inline]
    pub(crate) const fn is_nothing(&self) -> bool {
        self.0 == 0
    }

    /// The bytes without `used` of them, which a write or a page has now.
    pub(crate) const fn without(self, used: u64) -> Self {
        Self(self.0.saturating_sub(used))
    }
}

impl AddAssign for Freed {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}
