//! What an object costs the cache.

use base::Size;

/// How many bytes the cache is charged for an object.
#[derive(Clone, Copy, Debug, Default)]
pub enum Charge {
    /// Its value: what other simulators charge.
    #[default]
    Value,
    /// What the function makes of the bytes of key and value: an item with its metadata.
    Item(fn(key_size: u32, value_size: u64) -> u64),
    /// One: the capacity is a number of objects.
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
