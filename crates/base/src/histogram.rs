//! Log-bucketed counts of reuse times, sizes and latencies.
//!
//! Values below 2^P have a bucket each; above, every octave has 2^P buckets, so a bucket is never
//! wider than its left edge divided by 2^P. With P = 4 an index costs one count-leading-zeros and
//! the 64 octaves need under a thousand buckets.

/// Buckets per octave, as a power of two.
const PRECISION: u32 = 4;
const WIDTH: u64 = 1 << PRECISION;

/// The number of buckets that cover every `u64`.
pub const BUCKETS: usize = ((64 - PRECISION as usize) + 1) << PRECISION;

/// The bucket that counts `value`.
#[inline]
pub const fn bucket(value: u64) -> usize {
    let msb = (value | 1).ilog2();
    let shift = msb.saturating_sub(PRECISION);
    ((shift as u64) * WIDTH + (value >> shift)) as usize
}

/// The smallest value that `bucket` counts.
pub const fn left_edge(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * WIDTH {
        return bucket;
    }
    let shift = bucket / WIDTH - 1;
    (WIDTH + bucket % WIDTH) << shift
}

/// How many values `bucket` counts together.
pub const fn width(bucket: usize) -> u64 {
    if (bucket as u64) < 2 * WIDTH { 1 } else { 1 << (bucket as u64 / WIDTH - 1) }
}

/// Weighted counts of values.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<f64>,
    total: f64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0.0; BUCKETS], total: 0.0 }
    }
}

impl Histogram {
    /// Counts `value` with `weight`.
    #[inline]
    pub fn add(&mut self, value: u64, weight: f64) {
        self.counts[bucket(value)] += weight;
        self.total += weight;
    }

    /// The sum of all weights.
    pub const fn total(&self) -> f64 {
        self.total
    }

    /// Weight by bucket.
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// Multiplies every weight by `factor`, so that old counts fade.
    pub fn scale(&mut self, factor: f64) {
        self.counts.iter_mut().for_each(|count| *count *= factor);
        self.total *= factor;
    }

    /// The value below which the share `q` of the weight lies, to the width of a bucket; zero
    /// where nothing was counted.
    pub fn quantile(&self, q: f64) -> u64 {
        let goal = q.clamp(0.0, 1.0) * self.total;
        let mut sum = 0.0;
        for (at, count) in self.counts.iter().enumerate() {
            sum += count;
            if *count > 0.0 && sum >= goal {
                return left_edge(at) + (width(at) - 1) / 2;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_value_lies_in_its_bucket(value: u64) {
            let at = bucket(value);
            prop_assert!(at < BUCKETS);
            prop_assert!(left_edge(at) <= value);
            prop_assert!(value - left_edge(at) < width(at));
        }
    }

    #[test]
    fn buckets_are_adjacent() {
        for at in 0..BUCKETS - 1 {
            assert_eq!(left_edge(at).checked_add(width(at)), Some(left_edge(at + 1)), "{at}");
        }
    }

    #[test]
    fn quantiles_of_a_ramp() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|value| histogram.add(value, 1.0));
        let median = histogram.quantile(0.5);
        assert!((470..=530).contains(&median), "{median}");
        assert_eq!(Histogram::default().quantile(0.5), 0);
    }
}
