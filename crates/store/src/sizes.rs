//! Size classes: what an item takes for what it contains.
//!
//! In the heap layout these are the classes of today's allocators, so that what is charged is what
//! is taken. In the slab layout they are the chunks that pages are cut into (`slab/classes.rs`).

use crate::slab::Classes;
use std::sync::Arc;

/// Above this size allocators map memory by whole runs of pages.
const HEAP_CLASSES_MAX: u64 = 512 << 10;
const RUN: u64 = 64 << 10;

/// The size class that jemalloc takes for so many bytes: steps of 16 to 128, then four to the
/// doubling, then runs of pages.
#[inline]
pub(crate) const fn heap_class(contents: u64) -> u64 {
    let step = if contents <= 128 {
        16
    } else if contents <= HEAP_CLASSES_MAX {
        1 << (61 - (contents - 1).leading_zeros())
    } else {
        RUN
    };
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
        assert_eq!(heap_class(512 << 10), 512 << 10);
        assert_eq!(heap_class((512 << 10) + 1), 576 << 10);
    }
}
