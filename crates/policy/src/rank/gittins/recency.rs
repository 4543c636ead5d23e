//! Recency stands for knowledge while nothing is known: what is young may still come back.
//!
//! Where hardly a key came back yet and first returns take as long as the memory holds, all indices
//! are next to nothing and noise would choose who leaves. What is young has all its chances before
//! it. So to each index is added
//!
//! ```text
//! 4 · cold³ · 2^(-2 · turnovers) / (age + later)
//! ```
//!
//! *Cold* is the share of the requests that met a key for the first time, fading by half each half
//! turnover; *later* is the number of residents, or the median age of hits if that is more: a loop
//! that hits late must not be given up for its youngest part.

use super::class::{age_of, width};
use super::counts::Counts;

/// Its weight where every key is new.
const MOST: f64 = 4.0;
/// Turnovers by which half of it is forgotten.
const HALF: f64 = 0.5;
/// Less than this is nothing.
const LEAST: f64 = 1e-5;

/// How far a cache is from its beginning.
#[derive(Clone, Debug, Default)]
pub(super) struct Recency {
    met: f64,
    seen: f64,
    turnovers: f64,
}

impl Recency {
    /// A watched key was asked for, for the first time or not.
    #[inline]
    pub(super) fn see(&mut self, is_new: bool) {
        self.seen += 1.0;
        self.met += f64::from(u8::from(is_new));
    }

    /// All has begun before.
    pub(super) const fn end(&mut self) {
        self.turnovers = 1e9;
    }

    /// The addition to indices of so many buckets of ages, after so many more turnovers;
    /// nothing where that is next to nothing.
    pub(super) fn look(
        &mut self,
        turnovers: f64,
        residents: usize,
        seen: &Counts,
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

/// The age that half of all hits have not reached.
fn median_age(seen: &Counts) -> f32 {
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
        let none = Counts::default();
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
        let seen = Counts { risk: hits.clone(), hits, ends: vec![] };
        let more = recency.look(0.0, 10, &seen, 100);
        assert!(more[bucket(10)] / more[0] > 0.99);
    }
}
