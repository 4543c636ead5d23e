//! Two phases that need different numbers of candidates: popular keys, then a loop.
//!
//! Under Zipf's law more candidates per eviction miss less; on a loop larger than the cache fewer
//! candidates do. A cache that chooses K itself (DLRU [1]) must change K with the phase, `cycles`
//! times. The loop and the first phase share no keys.
//!
//! [1] Wang, Yang, Wang. Dynamically configuring LRU replacement policy in Redis. MEMSYS '20.

use super::sampler::Zipf;
use super::{Draw, GeneratorSpec, Param, Pattern};
use base::Prng;

/// The registry entry.
pub const SPEC: GeneratorSpec = GeneratorSpec {
    name: "two-phase",
    about: "popular keys, then a loop: K must change (DLRU)",
    params: &[
        Param::new("keys", "100000", "objects of the first phase"),
        Param::new("skew", "0.9", "exponent of their popularity"),
        Param::new("loop", "50000", "objects in the loop of the second phase"),
        Param::new("cycles", "1", "number of cycles of both phases"),
        Param::new("first", "0.5", "share of a cycle in the first phase"),
    ],
    build: |values| {
        let keys = values.count("keys")?;
        let requests = values.number("requests")?;
        let cycle = (requests / values.count("cycles")?).max(1);
        Ok(Box::new(TwoPhase {
            keys,
            zipf: Zipf::new(keys, values.at_least("skew", 0.0)?),
            length: values.count("loop")?,
            cycle,
            first: (values.share("first")? * cycle as f64).round() as u64,
        }))
    },
};

struct TwoPhase {
    keys: u64,
    zipf: Zipf,
    length: u64,
    cycle: u64,
    first: u64,
}

impl Pattern for TwoPhase {
    fn draw(&mut self, tick: u64, prng: &mut Prng) -> Draw {
        let at = tick % self.cycle;
        if at < self.first {
            return Draw::of(self.zipf.draw(prng) - 1);
        }
        Draw::of(self.keys + (at - self.first) % self.length)
    }
}
