//! Turns the distances of sampled reads into a curve.
//!
//! A read at distance d hits in every cache of at least d bytes. Distances are counted in buckets
//! whose width is at most a 2^P-th of their left edge.
//!
//! The number of sampled reads is itself random, because a very popular key is either in the sample
//! or not. Dividing the sampled misses by the sampled reads carries that noise into every point.
//! Dividing by the reads that the sample *should* have, the rate times all reads, does not: the
//! hottest keys hardly ever miss (SHARDS-adj, section 3.4 of [1]).
//!
//! [1] Waldspurger, Park, Garthwaite, Ahmad. Efficient MRC Construction with SHARDS. FAST '15.

use super::Drawn;
use crate::{Distances, MissRatioCurve, Remembered};
use base::{Bytes, MissRatio};

#[derive(Clone, Debug)]
pub(crate) struct Estimate {
    precision: u32,
    /// Sampled reads by distance.
    hits: Vec<f64>,
    /// Sampled reads, including the reads that miss at every size.
    sampled: f64,
    /// All reads, sampled or not.
    reads: f64,
    /// Whether any read of a key outside the sample was reported.
    saw_others: bool,
    /// The largest distance counted.
    farthest: u64,
}

impl Estimate {
    pub(crate) fn new(precision: u32) -> Self {
        let (sampled, reads) = (0.0, 0.0);
        Self { precision, hits: vec![], sampled, reads, saw_others: false, farthest: 0 }
    }

    /// Adds the counts to a remembered state.
    pub(crate) fn remembered(&self, rest: Remembered) -> Remembered {
        let Self { precision, sampled, reads, farthest, .. } = *self;
        Remembered { precision, hits: self.hits.clone(), sampled, reads, farthest, ..rest }
    }

    /// Whether the remembered counts are in buckets of the same width.
    pub(crate) fn is_like(&self, remembered: &Remembered) -> bool {
        self.precision == remembered.precision
    }

    /// Continues from remembered counts.
    pub(crate) fn remember(&mut self, remembered: &Remembered) {
        let Remembered { sampled, reads, farthest, .. } = *remembered;
        let (hits, saw_others) = (remembered.hits.clone(), reads > sampled);
        *self = Self { precision: self.precision, hits, sampled, reads, saw_others, farthest };
    }

    /// The counts, divided by the sampled share of the part. Distances are scaled to the stack of
    /// all keys.
    pub(crate) fn counted(&self, rate: f64, drawn: Drawn, rate_of_part: f64) -> Distances {
        let weight = 1.0 / rate_of_part;
        let mut whole = Self::new(self.precision);
        for (at, &count) in self.hits.iter().enumerate().filter(|(_, count)| **count > 0.0) {
            let (first, last) = self.edges(at);
            let scaled = |distance: u64| (distance as f64 / drawn.bytes).round() as u64;
            whole.spread(scaled(first), scaled(last.min(self.farthest)), count * weight);
        }
        let expected = if self.saw_others { self.reads * rate * drawn.keys } else { self.sampled };
        Distances {
            precision: self.precision,
            hits: whole.hits,
            sampled: self.sampled * weight,
            expected: expected * weight,
            farthest: (self.farthest as f64 / drawn.bytes).round() as u64,
        }
    }

    /// Counts reads whose distances are spread evenly between two values.
    fn spread(&mut self, first: u64, last: u64, count: f64) {
        let (from, to) = (self.bucket(first), self.bucket(last.max(first)));
        if to >= self.hits.len() {
            self.hits.resize(to + 1, 0.0);
        }
        let width = (last.max(first) - first + 1) as f64;
        for at in from..=to {
            let (low, high) = self.edges(at);
            let shared = high.min(last.max(first)) - low.max(first) + 1;
            self.hits[at] += count * shared as f64 / width;
        }
    }

    /// Takes over these counts, if their buckets have the same width. Returns whether it does.
    pub(crate) fn take(&mut self, counts: &Distances) -> bool {
        if self.precision != counts.precision {
            return false;
        }
        self.hits.clone_from(&counts.hits);
        (self.sampled, self.reads, self.saw_others) = (counts.sampled, counts.expected, true);
        self.farthest = counts.farthest;
        true
    }

    /// Counts `gets` reads of keys that are not watched.
    #[inline]
    pub(crate) fn others(&mut self, gets: u64) {
        self.reads += gets as f64;
        self.saw_others |= gets > 0;
    }

    /// Counts a read of a watched key at `distance` bytes; `None` if it misses at every size.
    pub(crate) fn read(&mut self, distance: Option<u64>) {
        self.reads += 1.0;
        self.sampled += 1.0;
        if let Some(distance) = distance {
            let at = self.bucket(distance);
            if at >= self.hits.len() {
                self.hits.resize(at + 1, 0.0);
            }
            self.hits[at] += 1.0;
            self.farthest = self.farthest.max(distance);
        }
    }

    /// The rate fell by `factor`: earlier reads weigh that much less.
    pub(crate) fn lower(&mut self, factor: f64) {
        self.hits.iter_mut().for_each(|count| *count *= factor);
        self.sampled *= factor;
    }

    pub(crate) fn forget(&mut self, factor: f64) {
        self.lower(factor);
        self.reads *= factor;
    }

    /// The curve for keys sampled at `rate`, of which `drawn` times as many were actually drawn. It
    /// ends at the largest distance seen.
    pub(crate) fn curve(&self, rate: f64, drawn: Drawn) -> MissRatioCurve {
        let expected = if self.saw_others { self.reads * rate * drawn.keys } else { self.sampled };
        let size = |sampled: u64| Bytes((sampled as f64 / drawn.bytes).round() as u64);
        let mut misses = self.sampled;
        let mut points = vec![];
        for (at, &count) in self.hits.iter().enumerate() {
            if count > 0.0 {
                let (first, last) = self.edges(at);
                if first > 0 {
                    points.push((size(first - 1), MissRatio::of(misses, expected)));
                }
                misses -= count;
                let last = last.min(self.farthest);
                points.push((size(last), MissRatio::of(misses.max(0.0), expected)));
            }
        }
        points.retain(|(size, _)| *size > Bytes(0));
        MissRatioCurve::new(points)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.hits.capacity() * size_of::<f64>()
    }

    fn bucket(&self, value: u64) -> usize {
        let msb = (value | 1).ilog2();
        let shift = msb.saturating_sub(self.precision);
        ((shift as usize) << self.precision) + (value >> shift) as usize
    }

    /// The smallest and the largest value that a bucket counts.
    fn edges(&self, at: usize) -> (u64, u64) {
        let width = 1usize << self.precision;
        if at < 2 * width {
            return (at as u64, at as u64);
        }
        let shift = at / width - 1;
        let first = ((width + at % width) as u64) << shift;
        (first, first + ((1 << shift) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_distance_lies_in_its_bucket(value in 0u64..1 << 60, precision in 2u32..12) {
            let estimate = Estimate::new(precision);
            let (first, last) = estimate.edges(estimate.bucket(value));
            prop_assert!((first..=last).contains(&value));
            prop_assert!(last - first <= first >> precision);
        }
    }

    /// A sample without the one hot key must not use its own reads as the divisor.
    #[test]
    fn the_expected_number_of_reads_is_the_divisor() {
        let mut estimate = Estimate::new(4);
        estimate.others(980);
        for _ in 0..5 {
            estimate.read(Some(10));
            estimate.read(None);
        }
        estimate.others(10);
        // 1 000 reads at rate 0.02: 20 are expected, 10 are sampled, 5 of them miss.
        let curve = estimate.curve(0.02, Drawn { keys: 1.0, bytes: 1.0 });
        assert_eq!(curve.at(Bytes(10)), MissRatio(0.25));
        assert_eq!(curve.at(Bytes(9)), MissRatio(0.5));
    }
}
