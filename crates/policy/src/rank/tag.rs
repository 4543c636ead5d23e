//! The half of an item's [`Stamps`] that most ranks use, in four bytes, so that a cache line has
//! sixteen items. An eviction reads the tags of many candidates to choose one.
//!
//! ```text
//!   31                                    8 7         5 4          0
//!  ┌───────────────────────────────────────┬───────────┬────────────┐
//!  │ tick of the last use, in steps of 16  │ hit class │ penalty +1 │
//!  └───────────────────────────────────────┴───────────┴────────────┘
//! ```
//!
//! The tick wraps after 2^28, that of [`Stamps`] after 2^32. A tag whose penalty field is zero
//! belongs to no item, and carries a number for a list of such places.

use super::Stamps;

/// One step of the last use, as a power of two.
const STEP: u32 = 4;
const CLASS_BITS: u32 = 8;
/// The greatest number of a tag without an item.
const LINK_MAX: u32 = (1 << (32 - CLASS_BITS)) - 1;

/// The last use of an item, the class of its last hit, and the cost of its fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Tag(u32);

impl Tag {
    /// The greatest age before the tick wraps.
    const AGE_MAX: u32 = (1 << (32 - CLASS_BITS + STEP)) - (2 << STEP);

    /// The tag of an item.
    #[inline]
    pub const fn of(stamps: Stamps) -> Self {
        Self((stamps.last >> STEP) << CLASS_BITS | stamps.class as u32)
    }

    /// The tag of an item, with its age capped at the greatest that a tag can hold.
    #[inline]
    pub const fn capped(mut stamps: Stamps, tick: u64) -> Self {
        if stamps.age(tick) > Self::AGE_MAX {
            stamps.last = (tick as u32).wrapping_sub(Self::AGE_MAX);
        }
        Self::of(stamps)
    }

    /// The tag of no item, with a number for a list: below 2^24 - 1, or [`u32::MAX`].
    pub const fn linked(next: u32) -> Self {
        Self(next << CLASS_BITS)
    }

    /// The number of [`Tag::linked`]; [`u32::MAX`] for the greatest.
    pub const fn link(self) -> u32 {
        match self.0 >> CLASS_BITS {
            LINK_MAX => u32::MAX,
            next => next,
        }
    }

    /// Whether the tag belongs to an item.
    #[inline]
    pub const fn is_item(self) -> bool {
        self.0 as u8 != 0
    }

    /// The class of the age at the last hit.
    #[inline]
    pub const fn hit_class(self) -> u8 {
        (self.0 as u8) >> Stamps::PENALTY_BITS
    }

    /// The penalty class of the last fetch; 0 without a timed fetch.
    #[inline]
    pub const fn penalty_class(self) -> u8 {
        Stamps::penalty_class_of(self.0 as u8)
    }

    /// Accesses since the last use, to a step: the middle of that step.
    #[inline]
    pub const fn age(self, tick: u64) -> u32 {
        let now = (tick as u32 >> STEP) << CLASS_BITS;
        let steps = now.wrapping_sub(self.0 & !((1 << CLASS_BITS) - 1)) >> CLASS_BITS;
        steps << STEP | 1 << (STEP - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tag gives its stamps' class and age, over the wrap of both.
    #[test]
    fn a_tag_tells_what_its_stamps_tell() {
        for tick in [0u64, 5_000, (1 << 28) + 3, (1 << 32) + 77] {
            for idle in [0u32, 1, 15, 16, 100_000, 1 << 27] {
                let mut stamps = Stamps::aged(tick, idle, 7, 3);
                stamps.set_hit_class(5);
                let tag = Tag::of(stamps);
                assert!(tag.is_item() && tag.hit_class() == 5);
                assert!(tag.age(tick).abs_diff(idle) <= 24, "{} {idle}", tag.age(tick));
            }
        }
    }

    #[test]
    fn what_is_older_than_a_tag_tells_stays_old() {
        for idle in [1 << 27, (1 << 28) + 100, 1 << 31] {
            let age = Tag::capped(Stamps::aged(1 << 33, idle, 0, 0), 1 << 33).age(1 << 33);
            assert!(age.abs_diff(idle.min(1 << 28)) <= 48, "{age} {idle}");
        }
    }

    #[test]
    fn what_is_no_item_has_a_number() {
        for next in [0, 1, 70_000] {
            assert!(!Tag::linked(next).is_item());
            assert_eq!(Tag::linked(next).link(), next);
        }
        assert_eq!(Tag::linked(u32::MAX).link(), u32::MAX);
        assert!(!Tag::default().is_item());
    }
}
