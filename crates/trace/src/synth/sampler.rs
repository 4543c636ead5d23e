//! Draws ranks with the probability of Zipf's law, in constant time and memory.
//!
//! Rank k of n has a probability proportional to k^-s. The sum is bounded by the area under x^-s,
//! whose integral has an inverse in closed form. So the sampler draws from the area, rounds to a
//! rank, and rejects the few draws that lie in the area but not in the sum [1]. The result is exact
//! for every s ≥ 0 and any n, with fewer than 1.3 draws a rank. There is no table, so a billion
//! keys cost nothing.
//!
//! [1] Hörmann, Derflinger. Rejection-inversion to generate variates from monotone discrete
//! distributions. ACM TOMACS 6(3), 1996.

use base::Prng;

/// Draws ranks from 1 to n.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zipf {
    n: u64,
    skew: f64,
    area_first: f64,
    area_all: f64,
    /// A draw this close above its rank is accepted without a look at the area.
    shortcut: f64,
}

impl Zipf {
    pub(super) fn new(n: u64, skew: f64) -> Self {
        let mut zipf = Self { n, skew, area_first: 0.0, area_all: 0.0, shortcut: 0.0 };
        zipf.area_first = zipf.area(1.5) - 1.0;
        zipf.area_all = zipf.area(n as f64 + 0.5);
        zipf.shortcut = 2.0 - zipf.inverse(zipf.area(2.5) - zipf.weight(2.0));
        zipf
    }

    /// Draws a rank, from 1.
    #[inline]
    pub(super) fn draw(&self, prng: &mut Prng) -> u64 {
        loop {
            let area = self.area_all + prng.unit() * (self.area_first - self.area_all);
            let x = self.inverse(area);
            let rank = x.round().clamp(1.0, self.n as f64);
            if rank - x <= self.shortcut || area >= self.area(rank + 0.5) - self.weight(rank) {
                return rank as u64;
            }
        }
    }

    fn weight(&self, x: f64) -> f64 {
        (-self.skew * x.ln()).exp()
    }

    /// The integral of x^-s, up to a constant, in a form that keeps its precision for s near 1.
    fn area(&self, x: f64) -> f64 {
        let log = x.ln();
        log * ratio_of_exponential((1.0 - self.skew) * log)
    }

    fn inverse(&self, area: f64) -> f64 {
        // Rounding may carry the argument below the domain of the logarithm.
        let t = (area * (1.0 - self.skew)).max(-1.0);
        (area * ratio_of_logarithm(t)).exp()
    }
}

/// (e^x - 1) / x.
fn ratio_of_exponential(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 }
}

/// ln(1 + x) / x.
fn ratio_of_logarithm(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the counts of each rank with the exact probabilities by a χ² that a wrong formula
    /// fails.
    #[test]
    fn ranks_come_with_the_probability_of_the_law() {
        for skew in [0.0, 0.5, 0.99, 1.0, 1.2, 2.5] {
            let (n, draws) = (50u64, 200_000u32);
            let zipf = Zipf::new(n, skew);
            let mut prng = Prng::new(11);
            let mut counts = vec![0u32; n as usize];
            for _ in 0..draws {
                counts[zipf.draw(&mut prng) as usize - 1] += 1;
            }
            let weights: Vec<f64> = (1..=n).map(|k| (k as f64).powf(-skew)).collect();
            let sum: f64 = weights.iter().sum();
            let chi: f64 = weights
                .iter()
                .zip(&counts)
                .map(|(weight, count)| {
                    let expected = f64::from(draws) * weight / sum;
                    (f64::from(*count) - expected).powi(2) / expected
                })
                .sum();
            // 49 degrees of freedom: above 95 once in ten thousand.
            assert!(chi < 95.0, "skew {skew}: {chi}");
        }
    }

    #[test]
    fn one_key_and_very_many() {
        let mut prng = Prng::new(1);
        assert_eq!(Zipf::new(1, 1.0).draw(&mut prng), 1);
        let many = Zipf::new(10_000_000_000, 0.99);
        assert!((0..10_000).all(|_| (1..=10_000_000_000).contains(&many.draw(&mut prng))));
    }
}
