//! Every key has the same probability, so the miss ratio of any policy is the share of the keys
//! that is not cached.

use super::{Draw, GeneratorSpec, Param, Pattern};
use base::Prng;

/// The registry entry.
pub const SPEC: GeneratorSpec = GeneratorSpec {
    name: "uniform",
    about: "independent requests, all keys equally likely",
    params: &[Param::new("keys", "100000", "objects")],
    build: |values| Ok(Box::new(Uniform { keys: values.count("keys")? })),
};

struct Uniform {
    keys: u64,
}

impl Pattern for Uniform {
    fn draw(&mut self, _: u64, prng: &mut Prng) -> Draw {
        Draw::of(prng.below(self.keys))
    }
}
