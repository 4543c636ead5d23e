//! Size classes: what an item takes for what it contains.
//!
//! In the heap layout these are the classes of today's allocators, so that what is charged is what
//! is taken. In the slab layout they are the chunks that pages are cut into (`slab/classes.rs`).

use crate::slab::Classes;
use std::sync::Arc;

/// Steps of small sizes and of large ones, as powers of two: from where there would be longer ones,
/// allocators map memory by whole runs of pages.
const STEP_MIN: u32 = 4;
const RUN: u32 = 16;

/// The size class that jemalloc takes for so many bytes: steps of 16 to 128, then four to the
/// doubling, then runs of pages.
#[inline]
pub(crate) const fn heap_class(contents: u64) -> u64 {
    // Without a branch: sizes of candidates come in any order.
    let bits = 64 - (contents.wrapping_sub(1) | ((8 << STEP_MIN) - 1)).leading_zeros();
    let shift = if bits < RUN + 3 { bits - 3 } else { RUN };
    let step = 1 << shift;
    (contents + step - 1) & !(step - 1)
}

/// The classes of a store.
#[derive(Clone, Debug)]
pub(crate) enum Sizes {
    Heap,
    Slab(Arc<Classes>),
}

impl Sizes {
    /// Bytes that an item of these contents takes.
    #[inline]
    pub(crate) fn charge(&self, contents: u64) -> u64 {
        match self {
            Self::Heap => heap_class(contents),
            Self::Slab(classes) => classes.charge(contents),
        }
    }

    /// Whether contents of `a` and of `b` bytes fit the same memory.
    #[inline]
    pub(crate) fn are_one(&self, a: u64, b: u64) -> bool {
        match self {
            Self::Heap => heap_class(a) == heap_class(b),
            Self::Slab(classes) => classes.charge(a) == classes.charge(b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An allocator would take more than is charged if a class were missed.
    #[test]
    fn classes_are_those_of_allocators() {
        let sizes = [(1, 16), (16, 16), (17, 32), (113, 128), (128, 128), (129, 160), (160, 160)];
        for (size, class) in sizes {
            assert_eq!(heap_class(size), class, "{size}");
        }
        for (size, class) in [(161, 192), (257, 320), (1025, 1280), (1281, 1536), (2048, 2048)] {
            assert_eq!(heap_class(size), class, "{size}");
        }
        assert_eq!(heap_class(0), 0);
        assert_eq!(heap_class((448 << 10) + 1), 512 << 10);
        assert_eq!(heap_class(512 << 10), 512 << 10);
        assert_eq!(heap_class((512 << 10) + 1), 576 << 10);
    }
}
