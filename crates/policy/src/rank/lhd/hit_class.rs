//! The classes of LHD in the live store: by tenant, and by the age at the last hit.

use super::model::{HIT_CLASSES, LifetimeClass};

/// Classes by the age at the last hit; their number fits three bits.
pub(super) const KEPT: usize = 8;

/// The class of an item hit at this age, in a store of `objects` items; 0 stands for items never
/// hit.
#[inline]
pub const fn hit_class(age: u32, objects: usize) -> u8 {
    hit_class_of((age | 1).ilog2(), objects)
}

/// The class for an age in this octave.
#[inline]
pub const fn hit_class_of(octave: u32, objects: usize) -> u8 {
    let reach = (objects | 1).ilog2() + 5;
    let halvings = reach.saturating_sub(octave);
    let class = 1 + halvings / 2;
    if class < KEPT as u32 { class as u8 } else { KEPT as u8 - 1 }
}

/// The octaves of ages of a [`hit_class`] other than 0, the older octave first.
pub(crate) const fn octaves(class: u8, objects: usize) -> [u8; 2] {
    let reach = (objects | 1).ilog2() as u8 + 5;
    let older = reach.saturating_sub(2 * (class - 1));
    [older, older.saturating_sub(1)]
}

/// The number, below `apps`, of the classes that a tenant uses.
#[inline]
pub(super) const fn app(apps: usize, tenant: u16) -> usize {
    let tenant = tenant as usize;
    // A division would take as long as everything else.
    if tenant < apps { tenant } else { tenant % apps }
}

/// The tenant and the class of the last hit, as one number.
#[inline]
pub(super) const fn row(apps: usize, tenant: u16, class: u8) -> usize {
    app(apps, tenant) * KEPT + class as usize % KEPT
}

/// The model's class for a row.
pub(super) const fn class_of(row: usize) -> LifetimeClass {
    (row / KEPT * HIT_CLASSES + row % KEPT) as LifetimeClass
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quick hits give high classes, for any number of items.
    #[test]
    fn classes_are_relative_to_the_number_of_items() {
        for objects in [1_000, 16_000, 256_000] {
            let classes: Vec<_> = [64, 8, 1].map(|n| hit_class(n * objects as u32, objects)).into();
            assert_eq!(classes, [1, 2, 3]);
            assert_eq!(hit_class(1, objects), 7);
            assert!(hit_class(u32::MAX, objects) == 1);
        }
        assert_eq!(hit_class(0, 0), 3);
    }
}
