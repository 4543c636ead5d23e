//! The recency rank of victims: K·φ^(K-1) for the oldest of K draws, and K above 1 - 1/K if the
//! candidates are kept in a pool.

use super::lanes::{LANES, Lanes, lanes};

/// The lowest rank. Powers of lower ranks would be too small for fast arithmetic.
pub(super) const FIRST: f64 = 1e-9;

/// Between ranks closer than this, the density is that at one of them.
const NARROW: f64 = 1e-9;

/// The distribution of the recency ranks of victims.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    k: u32,
    pool: bool,
}

impl Law {
    pub(super) fn new(k: u32, pool: bool) -> Self {
        Self { k: k.clamp(1, 1 << 20), pool: pool && k > 1 }
    }

    /// The percentage by which the rate must rise for the same evictions, if more residents lower
    /// every rank by one percent.
    pub(super) fn steepness(self) -> f64 {
        f64::from(self.k - 1)
    }

    /// The share of victims with a rank up to `rank`.
    #[inline]
    pub(super) fn below(self, rank: &Lanes) -> Lanes {
        let k = f64::from(self.k);
        if self.pool {
            return lanes(|i| (1.0 - (1.0 - rank[i]) * k).max(0.0));
        }
        let (mut power, mut square, mut left) = ([1.0; LANES], *rank, self.k);
        loop {
            if left & 1 == 1 {
                power = lanes(|i| power[i] * square[i]);
            }
            left >>= 1;
            if left == 0 {
                return power;
            }
            square = lanes(|i| square[i] * square[i]);
        }
    }

    /// The mean density between two ranks. Each is given with the share of victims below it.
    #[inline]
    pub(super) fn between(self, low: &(Lanes, Lanes), high: &(Lanes, Lanes)) -> Lanes {
        let width = lanes(|i| high.0[i] - low.0[i]);
        let mean = lanes(|i| (high.1[i] - low.1[i]) / width[i]);
        if width.iter().all(|&width| width > NARROW) {
            return mean;
        }
        let here = self.at(low);
        lanes(|i| if width[i] > NARROW { mean[i] } else { here[i] })
    }

    /// The density at a rank: K·φ^K/φ, or with a pool K above its lowest rank.
    #[cold]
    fn at(self, rank: &(Lanes, Lanes)) -> Lanes {
        let k = f64::from(self.k);
        if self.pool {
            let foot = 1.0 - 1.0 / k;
            return lanes(|i| if rank.0[i] < foot { 0.0 } else { k });
        }
        lanes(|i| k * rank.1[i] / rank.0[i])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The densities between ranks integrate to 1, and agree with the density at their upper end.
    #[test]
    fn laws_are_densities() {
        let at = |rank: f64, law: Law| ([rank; LANES], law.below(&[rank; LANES]));
        for (k, pool) in [(1, false), (5, false), (16, false), (5, true)] {
            let law = Law::new(k, pool);
            let steps = 1_000;
            let edge = |step: i32| at((f64::from(step) / f64::from(steps)).max(FIRST), law);
            let mut sum = 0.0;
            for step in 0..steps {
                let (low, high) = (edge(step), edge(step + 1));
                let mean = law.between(&low, &high)[0];
                sum += mean / f64::from(steps);
                let here = law.between(&high, &high)[0];
                assert!(pool || (here - mean).abs() < 0.2, "K = {k}: {here} {mean}");
            }
            assert!((sum - 1.0).abs() < 1e-6, "K = {k}: {sum}");
        }
    }
}
