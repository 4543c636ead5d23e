//! What many items are looked at for to choose one: the half of their [`Stamps`] that most ranks go
//! by, in four bytes, so that sixteen items are a line.
//!
//! ```text
//!   31                                    8 7         5 4          0
//!  ┌───────────────────────────────────────┬───────────┬────────────┐
//!  │ tick of the last use, in steps of 16  │ hit class │ penalty +1 │
//!  └───────────────────────────────────────┴───────────┴────────────┘
//! ```
//!
//! The tick wraps after 2^28, that of [`Stamps`] after 2^32. A tag without a penalty is no item's,
//! and has a number for whoever lists those.

use super::Stamps;

/// A step of the last use, as a power of two.
const STEP: u32 = 4;
const CLASS_BITS: u32 = 8;
/// What can be listed.
const LINK_MAX: u32 = (1 << (32 - CLASS_BITS)) - 1;

/// When an item was last used, the class of its last hit, and what its fetch cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Tag(u32);

impl Tag {
    /// The age at which the tick has nearly wrapped.
    const AGE_MAX: u32 = (1 << (32 - CLASS_BITS + STEP)) - (2 << STEP);

    /// That of an item.
    #[inline]
    pub const fn of(stamps: Stamps) -> Self {
        Self((stamps.last >> STEP) << CLASS_BITS | stamps.class as u32)
    }

    /// That of an item, as old as a tag can tell if it is older.
    #[inline]
    pub const fn capped(mut stamps: Stamps, tick: u64) -> Self {
        if stamps.age(tick) > Self::AGE_MAX {
            stamps.last = (tick as u32).wrapping_sub(Self::AGE_MAX);
        }
        Self::of(stamps)
    }

    /// That of no item, with a number below 2^24, or the greatest, for whoever lists them.
    pub const fn linked(next: u32) -> Self {
        Self(next << CLASS_BITS)
    }

    /// The number of [`Tag::linked`], the greatest there is for [`u32::MAX`].
    pub const fn link(self) -> u32 {
        match self.0 >> CLASS_BITS {
            LINK_MAX => u32::MAX,
            next => next,
        }
    }

    /// Whether it is an item's.
    #[inline]
    pub const fn is_item(self) -> bool {
        self.0 as u8 != 0
    }

    /// The class of the age at the last hit.
    #[inline]
    pub const fn hit_class(self) -> u8 {
        (self.0 as u8) >> Stamps::PENALTY_BITS
    }

    /// What a fetch took; 0 where none was timed.
    #[inline]
    pub const fn penalty_class(self) -> u8 {
        Stamps::penalty_class_of(self.0 as u8)
    }

    /// Accesses since the last use, to a step: the middle of it.
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

    /// What ranks go by is that of the stamps, over the wrap of both.
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
