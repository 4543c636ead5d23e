//! The size that a cache is charged for an object.

use base::Size;

/// The rule for the size that the cache is charged for an object.
#[derive(Clone, Copy, Debug, Default)]
pub enum Charge {
    /// The size of the value, as other simulators charge.
    #[default]
    Value,
    /// The result of a function of key size and value size in bytes: an item with its metadata.
    Item(fn(key_size: u32, value_size: u64) -> u64),
    /// One, so that the capacity is a number of objects.
    One,
}

impl Charge {
    /// The charge for an object.
    #[inline]
    pub fn size(self, key_size: u32, value_size: u64) -> Size {
        match self {
            Self::Value => Size::of(value_size),
            Self::Item(size) => Size::of(size(key_size, value_size)),
            Self::One => Size::ONE,
        }
    }
}
