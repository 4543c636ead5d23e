//! The indices of one moment, for every candidate of an eviction.
//!
//! A table never changes. The learner makes another and replaces the old one as a whole, so that
//! any number of threads read without a lock. Most classes never occur, so a tenant has rows only
//! for the classes that did. Each class has the place of its row: its own, that of its octave, or
//! that of the nearest octave that occurred. Rows reach up to the highest age seen.
//!
//! ```text
//! places    tenant 0: 128 classes │ tenant 1: … │ everything: all one row
//! rows      index by bucket of ages │ …
//! ```

use super::class::{AGES, CLASSES, OCTAVES, age_of, bucket, octave_of, width};

/// Tenants with their own table; tenants beyond share these.
pub const TENANTS: usize = 32;

/// The number of the table that a tenant uses.
#[inline]
pub(super) const fn app(tenant: u16) -> usize {
    tenant as usize % TENANTS
}

/// Indices by tenant, class and age.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexTable {
    /// The beginning of the row, by tenant, up to the highest seen, and by class. The last tenant
    /// stands for everything.
    places: Box<[[u32; CLASSES]]>,
    rows: Box<[f32]>,
    /// The last bucket of a row.
    oldest: usize,
}

impl Default for IndexTable {
    /// The table before anything is learnt: (hits + 1) / life, for an item hit once or never.
    fn default() -> Self {
        let index = |octave: usize, age: usize| {
            let age = age_of(age) as f32 + width(age) as f32 / 2.0;
            match octave {
                0 => 1.0 / age,
                // The middle of the octave, on the scale of octaves.
                _ => 2.0 / (2f32.powi(octave as i32 - 1) * std::f32::consts::SQRT_2 + age),
            }
        };
        let mut table = Making::new(AGES);
        for octave in 0..OCTAVES {
            table.row().iter_mut().enumerate().for_each(|(age, to)| *to = index(octave, age));
        }
        table.tenant(octave_of);
        table.done()
    }
}

impl IndexTable {
    /// Expected hits a request, at the best stopping age.
    #[inline]
    pub fn index(&self, tenant: u16, class: u8, age: u32) -> f32 {
        self.at(app(tenant), class, bucket(age))
    }

    /// Number of tenants with their own indices, plus one for everything.
    pub(super) const fn len(&self) -> usize {
        self.places.len()
    }

    /// Number of buckets of ages in a row.
    pub(super) const fn ages(&self) -> usize {
        self.oldest + 1
    }

    /// The index for a table number, a class and a bucket of ages.
    #[inline]
    pub(super) fn at(&self, app: usize, class: u8, bucket: usize) -> f32 {
        let place = self.places[app.min(self.places.len() - 1)][usize::from(class) % CLASSES];
        self.rows[place as usize + bucket.min(self.oldest)]
    }

    /// Bytes that it takes.
    pub const fn bytes(&self) -> usize {
        size_of_val(&*self.rows) + size_of_val(&*self.places)
    }
}

/// A table under construction, row by row.
#[derive(Debug)]
pub(super) struct Making {
    places: Vec<[u32; CLASSES]>,
    rows: Vec<f32>,
    ages: usize,
}

impl Making {
    /// An empty table whose rows have `ages` buckets.
    pub(super) const fn new(ages: usize) -> Self {
        Self { places: vec![], rows: vec![], ages }
    }

    /// Number of rows so far.
    pub(super) const fn rows(&self) -> usize {
        self.rows.len() / self.ages
    }

    /// Adds a row of zeros and returns it.
    pub(super) fn row(&mut self) -> &mut [f32] {
        let start = self.rows.len();
        self.rows.resize(start + self.ages, 0.0);
        &mut self.rows[start..]
    }

    /// Adds a tenant, with the row of each of its classes.
    pub(super) fn tenant(&mut self, row_of: impl Fn(usize) -> usize) {
        self.places.push(std::array::from_fn(|class| (row_of(class) * self.ages) as u32));
    }

    pub(super) fn done(self) -> IndexTable {
        IndexTable { places: self.places.into(), rows: self.rows.into(), oldest: self.ages - 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_the_first_look_it_is_hyperbolic() {
        let table = IndexTable::default();
        for age in [20, 1_000, 1 << 20] {
            let near = |got: f32, want: f32| (got / want - 1.0).abs() < 0.07;
            assert!(near(table.index(3, 0, age), 1.0 / age as f32), "{age}");
            for part in [0, 32, 64] {
                let index = table.index(0, part + 1 + 20, age);
                assert!(near(index, 2.0 / (1.41e6 * 1.05 + age as f32)), "{age}");
            }
        }
    }

    #[test]
    fn tenants_not_seen_have_the_table_of_everything() {
        let mut table = Making::new(3);
        for (at, index) in [1.0, 2.0, 9.0].into_iter().enumerate() {
            table.row().fill(index);
            table.tenant(|_| at);
        }
        let table = table.done();
        let index = |tenant| table.index(tenant, 31, u32::MAX);
        assert_eq!([0, 1, 2, 31, 32, 33].map(index), [1.0, 2.0, 9.0, 9.0, 1.0, 2.0]);
    }
}
