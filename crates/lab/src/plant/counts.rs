//! Bounds of a tenant of a simulated store, and counts of its requests.

use base::{Access, Bytes, Micros, Op, TenantId};
use policy::Outcome;
use std::iter::Sum;
use tune::{Part, TenantReading};

/// Name, bounds and weight of a tenant.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// Name of the tenant.
    pub name: String,
    /// Memory that no other tenant may take.
    pub min: Bytes,
    /// Memory that the tenant never exceeds.
    pub max: Option<Bytes>,
    /// Weight of its misses.
    pub weight: f64,
}

impl Bounds {
    /// A tenant without bounds.
    pub fn none(name: &str) -> Self {
        Self { name: name.to_owned(), min: Bytes(0), max: None, weight: 1.0 }
    }

    /// Data for the pilot about a tenant with these bounds and counts, without its items.
    pub(super) fn reading(&self, id: usize, counts: &Counts) -> TenantReading {
        TenantReading {
            id: id as TenantId,
            name: self.name.clone(),
            gets: counts.gets,
            misses: counts.misses,
            sets: counts.sets,
            min: self.min,
            max: self.max,
            weight: self.weight,
            ..TenantReading::default()
        }
    }
}

/// Counts of requests, misses and waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Reads.
    pub gets: u64,
    /// Reads that missed.
    pub misses: u64,
    /// Writes, including the fills of misses.
    pub sets: u64,
    /// Time waited for misses.
    pub waited: Micros,
}

impl Counts {
    /// Share of the reads that missed.
    pub fn miss_ratio(&self) -> f64 {
        self.misses as f64 / self.gets.max(1) as f64
    }

    /// Mean time waited for misses, over all reads, in microseconds.
    pub fn mean_us(&self) -> f64 {
        self.waited.as_f64() / self.gets.max(1) as f64
    }

    /// Counts a request by its outcome. A write fills a read that missed.
    pub(crate) fn record(&mut self, access: &Access, outcome: Outcome) {
        let missed = outcome == Outcome::Miss;
        self.gets += u64::from(access.op == Op::Get);
        self.sets += u64::from(access.op == Op::Set || missed);
        if missed {
            self.misses += 1;
            self.waited = Micros(self.waited.0.saturating_add(access.penalty.0));
        }
    }

    /// Data for the pilot about a class with these counts.
    pub(super) const fn part(&self, class: u8, used: Bytes, penalty: Option<Micros>) -> Part {
        Part { class, used, gets: self.gets, misses: self.misses, sets: self.sets, penalty }
    }

    /// Counts after `before`.
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
