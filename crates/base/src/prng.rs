//! The only generator, always seeded: xoshiro256++ of Blackman and Vigna (2019).

use crate::hash::mix;

/// A stream of pseudo-random numbers. The same seed gives the same stream on every machine.
#[derive(Clone, Debug)]
pub struct Prng {
    state: [u64; 4],
}

impl Prng {
    /// Creates the stream of a seed. Seeds that differ in one bit give unrelated streams.
    pub fn new(seed: u64) -> Self {
        let mut at = seed;
        let state = std::array::from_fn(|_| {
            at = mix(at);
            at
        });
        Self { state }
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number below `n`, uniform but for a bias of n/2⁶⁴.
    ///
    /// `n` must not be zero.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        debug_assert!(n > 0, "no number is below zero");
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// A number in (0, 1]: never zero, so that its logarithm is finite.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// True with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() <= p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_same_stream() {
        let (mut a, mut b) = (Prng::new(42), Prng::new(42));
        assert!((0..100).all(|_| a.next_u64() == b.next_u64()));
        assert_ne!(Prng::new(42).next_u64(), Prng::new(43).next_u64());
    }

    #[test]
    fn below_is_uniform() {
        let mut prng = Prng::new(1);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[prng.below(7) as usize] += 1;
        }
        assert!(counts.iter().all(|&n| (9_500..10_500).contains(&n)), "{counts:?}");
    }

    #[test]
    fn unit_is_in_its_interval() {
        let mut prng = Prng::new(3);
        assert!((0..10_000).map(|_| prng.unit()).all(|u| u > 0.0 && u <= 1.0));
    }
}
