//! What a tenant of a simulated store is made with, and what it asked for and got.

use base::{Bytes, Micros};
use std::iter::Sum;

/// What a tenant is made with.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// Its name.
    pub name: String,
    /// Memory it must have.
    pub min: Bytes,
    /// Memory it may have at most.
    pub max: Option<Bytes>,
    /// How much its misses count.
    pub weight: f64,
}

impl Bounds {
    /// A tenant without bounds.
    pub fn none(name: &str) -> Self {
        Self { name: name.to_owned(), min: Bytes(0), max: None, weight: 1.0 }
    }
}

/// What a tenant asked for and got.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Reads.
    pub gets: u64,
    /// Reads that missed.
    pub misses: u64,
    /// Writes, those that fill a miss included.
    pub sets: u64,
    /// Time waited for misses.
    pub waited: Micros,
}

impl Counts {
    /// Misses a read.
    pub fn miss_ratio(&self) -> f64 {
        self.misses as f64 / self.gets.max(1) as f64
    }

    /// Mean time waited for misses, over all reads, in microseconds.
    pub fn mean_us(&self) -> f64 {
        self.waited.as_f64() / self.gets.max(1) as f64
    }
}

impl Counts {
    /// What came after `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            gets: self.gets - before.gets,
            misses: self.misses - before.misses,
            sets: self.sets - before.sets,
            waited: self.waited.saturating_sub(before.waited),
        }
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            gets: sum.gets + one.gets,
            misses: sum.misses + one.misses,
            sets: sum.sets + one.sets,
            waited: sum.waited + one.waited,
        })
    }
}
