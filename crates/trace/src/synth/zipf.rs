//! Zipf's law: the k-th most popular of n keys is requested with probability ∝ k^-s.
//!
//! Requests are independent of each other, so there is no locality beyond popularity: LRU and LFU
//! differ least here. The key's number is its rank, counted from 0.

use super::sampler::Zipf;
use super::{Draw, GeneratorSpec, Param, Pattern};
use base::Prng;

/// The registry entry.
pub const SPEC: GeneratorSpec = GeneratorSpec {
    name: "zipf",
    about: "independent requests, popularity by Zipf's law",
    params: &[
        Param::new("keys", "100000", "objects"),
        Param::new("skew", "0.9", "exponent of the law: 0 is uniform"),
    ],
    build: |values| {
        let zipf = Zipf::new(values.count("keys")?, values.at_least("skew", 0.0)?);
        Ok(Box::new(Popular { zipf }))
    },
};

struct Popular {
    zipf: Zipf,
}

impl Pattern for Popular {
    fn draw(&mut self, _: u64, prng: &mut Prng) -> Draw {
        Draw::of(self.zipf.draw(prng) - 1)
    }
}
