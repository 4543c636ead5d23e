//! Recency as a rank while nothing is known: young items may still come back.
//!
//! At the start hardly any key has come back, and a first return may take as long as the memory
//! lasts. All indices are then close to zero, and noise would choose the victim. A young item still
//! has all its chances. So each index gets the addition
//!
//! ```text
//! 4 · cold³ · 2^(-2 · turnovers) / (age + later)
//! ```
//!
//! *Cold* is the share of the requests to keys never seen before; counts fade by half each half
//! turnover. *Later* is the number of residents, or the median age of hits if that is more: a loop
//! that hits late must not be evicted in favour of its youngest part.

use super::class::{age_of, width};
use super::counts::AgeCounts;

/// The weight where every key is new.
const MOST: f64 = 4.0;
/// Turnovers after which half of the weight is gone.
const HALF: f64 = 0.5;
/// A smaller weight counts as zero.
const LEAST: f64 = 1e-5;

/// The progress of a cache from its start.
#[derive(Clone, Debug, Default)]
pub(super) struct Recency {
    met: f64,
    seen: f64,
    turnovers: f64,
}

impl Recency {
    /// Counts a request to a watched key; `is_new` for its first.
    #[inline]
    pub(super) fn see(&mut self, is_new: bool) {
        self.seen += 1.0;
        self.met += f64::from(u8::from(is_new));
    }

    /// Ends the start: from now on there is no addition.
    pub(super) const fn end(&mut self) {
        self.turnovers = 1e9;
    }

    /// The addition to the indices of `ages` buckets, after `turnovers` more turnovers. Empty where
    /// it is next to nothing.
    pub(super) fn look(
        &mut self,
        turnovers: f64,
        residents: usize,
        seen: &AgeCounts,
        ages: usize,
    ) -> Vec<f32> {
        self.turnovers += turnovers;
        let cold = self.met / self.seen.max(1.0);
        let weight = MOST * cold.powi(3) * 0.5f64.powf(self.turnovers / HALF);
        let fade = 0.5f64.powf(turnovers / HALF);
        (self.met, self.seen) = (self.met * fade, self.seen * fade);
        if weight < LEAST {
            return vec![];
        }
        let later = (residents as f32).max(median_age(seen));
        (0..ages).map(|at| weight as f32 / ((age_of(at) + width(at)) as f32 + later)).collect()
    }
}

/// The age below which half of all hits fall.
fn median_age(seen: &AgeCounts) -> f32 {
    let half = seen.hits.iter().sum::<f32>() / 2.0;
    let mut sum = 0.0;
    let at = seen.hits.iter().position(|hits| {
        sum += hits;
        sum >= half
    });
    at.map_or(0.0, |at| age_of(at) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::gittins::class::bucket;

    #[test]
    fn what_is_young_counts_until_the_cache_has_turned_over() {
        let mut recency = Recency::default();
        (0..1_000).for_each(|_| recency.see(true));
        let none = AgeCounts::default();
        let first = recency.look(0.0, 1_000, &none, 100);
        assert!((first[0] - 4.0 / 1_001.0).abs() < 1e-6 && first[99] < first[0]);
        let second = recency.look(1.0, 1_000, &none, 100);
        assert!((second[0] / first[0] - 0.25).abs() < 0.01);
        (0..9_000).for_each(|_| recency.see(false));
        assert!(recency.look(0.5, 1_000, &none, 100).is_empty(), "a tenth was new");
        (0..9_000).for_each(|_| recency.see(true));
        assert!(!recency.look(0.0, 1_000, &none, 100).is_empty());
        recency.end();
        assert!(recency.look(0.0, 1_000, &none, 100).is_empty());
    }

    #[test]
    fn where_hits_come_late_the_youngest_are_worth_no_more() {
        let mut recency = Recency::default();
        recency.see(true);
        let mut hits = vec![0.0; 100];
        hits[90] = 5.0;
        let seen = AgeCounts { risk: hits.clone(), hits, ends: vec![] };
        let more = recency.look(0.0, 10, &seen, 100);
        assert!(more[bucket(10)] / more[0] > 0.99);
    }
}
