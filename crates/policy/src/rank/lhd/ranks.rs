//! Hit densities of one moment: a table that never changes, read at every eviction.

use super::hit_class::{KEPT, app};
use base::Tick;
use base::hash::mix;

/// Bits of an age's binary fraction that are part of its step, as in the buckets of the model.
const FRACTION: u32 = 5;
/// Steps of a row: all octaves of ages, rounded up to a power of two.
pub(super) const STEPS: usize = 32 << FRACTION;
/// Ages outside these limits count as the nearest limit.
pub(super) const AGE_MIN: u32 = 8;
pub(super) const AGE_MAX: u32 = i32::MAX as u32;
/// The step of an age between the two limits: its exponent and the first bits of its fraction, as
/// in a float. A processor computes several at once.
#[inline]
const fn step(age: u32) -> u32 {
    const fn top(age: f32) -> u32 {
        age.to_bits() >> (f32::MANTISSA_DIGITS - 1 - FRACTION)
    }
    top(age as i32 as f32) - top(AGE_MIN as f32)
}

const _: () = assert!(step(AGE_MAX) < STEPS as u32 && step(16) == 1 << FRACTION);

/// The youngest age in a step.
pub(super) const fn age_of(step: usize) -> u32 {
    let (octave, fraction) = (step >> FRACTION, step as u64 % (1 << FRACTION));
    let age = ((1 << FRACTION) + fraction) * AGE_MIN as u64;
    let age = (age << octave) >> FRACTION;
    if age < AGE_MAX as u64 { age as u32 } else { AGE_MAX }
}

/// The hit densities of a tenant, by class and step.
#[derive(Debug)]
pub(super) struct DensityTable(pub(super) Box<[f32; KEPT * STEPS]>);

/// Hit densities as of one moment.
#[derive(Debug)]
pub struct Ranks {
    /// By number of a tenant's classes.
    pub(super) tables: Box<[DensityTable]>,
    /// An explorer's last use has a hash below this.
    pub(super) explore_below: u64,
    pub(super) explorer_age_max: u64,
}

impl Ranks {
    /// Whether an item idle for `age` is an explorer, which is spared whatever its rank.
    #[inline]
    pub fn explores(&self, age: u64, now: Tick) -> bool {
        let last_use = now.0 - age.min(now.0);
        age < self.explorer_age_max && mix(last_use) < self.explore_below
    }

    #[inline]
    pub(super) fn table(&self, tenant: u16) -> &DensityTable {
        &self.tables[app(self.tables.len(), tenant)]
    }
}

/// The place of the density for a class and an age.
#[inline]
pub(super) const fn place(class: u8, age: u32) -> u32 {
    class as u32 * STEPS as u32 + step(age)
}

impl DensityTable {
    #[inline]
    pub(super) fn at(&self, place: u32) -> f32 {
        self.0[place as usize % (KEPT * STEPS)]
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::bucket;
    use super::*;

    #[test]
    fn steps_are_the_buckets_of_the_model() {
        for age in (8..5_000).chain([1 << 20, (1 << 28) - 1, 1 << 30, AGE_MAX]) {
            let first = age_of(step(age) as usize);
            // A float of many bits may round up.
            assert!(first <= age.saturating_add(age >> 24), "{age} {first}");
            assert!(age.saturating_sub(first) <= age >> FRACTION, "{age} {first}");
            let is_exact = (64..1 << 24).contains(&age);
            assert!(!is_exact || bucket(first) == bucket(age), "{age} {first}");
        }
    }
}
