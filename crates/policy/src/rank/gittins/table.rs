//! The indices of one moment: what is looked up for every candidate of an eviction.
//!
//! Nobody changes a table. Whoever learns makes another and puts it in the place of the old one,
//! whole, so that any number of threads read without a lock. A tenant's takes 28 KiB.

use super::class::{AGES, CLASSES, age_of, bucket, width};

/// Tenants with a table of their own; those beyond share them.
pub const TENANTS: usize = 32;

/// The indices of a class by bucket of ages.
pub(super) type Row = [f32; AGES];

/// Whose table a tenant has.
#[inline]
pub(super) const fn app(tenant: u16) -> usize {
    tenant as usize % TENANTS
}

/// Indices by tenant, interval class and age.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// By tenant, as far as any was seen, and by class; the last tenant is everything.
    rows: Box<[Row]>,
    others: usize,
}

impl Default for Table {
    /// Before anything is known: (hits + 1) / life, of an item hit once or never.
    fn default() -> Self {
        let index = |class: usize, age: usize| {
            let age = age_of(age) as f32 + width(age) as f32 / 2.0;
            match class {
                0 => 1.0 / age,
                // The middle of the octave, on the scale of octaves.
                _ => 2.0 / (2f32.powi(class as i32 - 1) * std::f32::consts::SQRT_2 + age),
            }
        };
        let row = |class| std::array::from_fn(|age| index(class, age));
        Self::new((0..CLASSES).map(row).collect())
    }
}

impl Table {
    /// The rows of the tenants, in order, and of everything.
    pub(super) fn new(rows: Vec<Row>) -> Self {
        let others = rows.len() / CLASSES - 1;
        Self { rows: rows.into(), others }
    }

    /// Hits to come by request to come, at the best stopping age.
    #[inline]
    pub fn index(&self, tenant: u16, class: u8, age: u32) -> f32 {
        let app = app(tenant).min(self.others);
        self.rows[app * CLASSES + class as usize % CLASSES][bucket(age)]
    }

    /// Tenants with indices of their own, and everything.
    pub(super) const fn len(&self) -> usize {
        self.others + 1
    }

    /// The same of a bucket of ages.
    pub(super) fn at(&self, app: usize, class: u8, bucket: usize) -> f32 {
        self.rows[app.min(self.others) * CLASSES + class as usize % CLASSES][bucket]
    }

    /// Bytes that it takes.
    pub const fn bytes(&self) -> usize {
        size_of_val(&*self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_the_first_look_it_is_hyperbolic() {
        let table = Table::default();
        for age in [20, 1_000, 1 << 20] {
            let near = |got: f32, want: f32| (got / want - 1.0).abs() < 0.07;
            assert!(near(table.index(3, 0, age), 1.0 / age as f32), "{age}");
            assert!(near(table.index(0, 1 + 20, age), 2.0 / (1.41e6 * 1.05 + age as f32)), "{age}");
        }
    }

    #[test]
    fn tenants_not_seen_have_the_table_of_everything() {
        let rows = [1.0, 2.0, 9.0].map(|index| vec![[index; AGES]; CLASSES]);
        let table = Table::new(rows.concat());
        let index = |tenant| table.index(tenant, 31, u32::MAX);
        assert_eq!([0, 1, 2, 31, 32, 33].map(index), [1.0, 2.0, 9.0, 9.0, 1.0, 2.0]);
    }
}
