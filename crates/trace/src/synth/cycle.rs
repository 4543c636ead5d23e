//! A loop over keys in a fixed order, the worst case of LRU. A cache smaller than the loop misses
//! every time under LRU, while random replacement keeps some of it.

use super::{Draw, GeneratorSpec, Param, Pattern};
use base::Prng;

/// The registry entry.
pub const SPEC: GeneratorSpec = GeneratorSpec {
    name: "loop",
    about: "the same keys in the same order, over and over",
    params: &[Param::new("keys", "10000", "objects in the loop")],
    build: |values| Ok(Box::new(Loop { keys: values.count("keys")? })),
};

struct Loop {
    keys: u64,
}

impl Pattern for Loop {
    fn draw(&mut self, tick: u64, _: &mut Prng) -> Draw {
        Draw::of(tick % self.keys)
    }
}
