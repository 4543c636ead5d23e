//! Keys by Zipf's law: the probability of the n-th most popular key is proportional to n^-skew.

use crate::{Text, text};
use base::Prng;

/// The running sums of the weights of all keys, the most popular key first.
pub(crate) struct Zipf(Vec<f64>);

impl Zipf {
    pub(crate) fn new(keys: usize, skew: f64) -> Self {
        let mut sum = 0.0;
        let weights = (1..=keys).map(|rank| (rank as f64).powf(-skew));
        Self(
            weights
                .map(|weight| {
                    sum += weight;
                    sum
                })
                .collect(),
        )
    }

    /// Draws `ops` keys independently.
    pub(crate) fn order(&self, ops: usize, seed: u64) -> Vec<Text> {
        let mut prng = Prng::new(seed);
        let total = self.0[self.0.len() - 1];
        let draw = |_| {
            let at = prng.below(1 << 53) as f64 / (1u64 << 53) as f64 * total;
            text(self.0.partition_point(|&sum| sum <= at))
        };
        (0..ops).map(draw).collect()
    }
}
