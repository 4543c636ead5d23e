//! Three phases: one set of keys, a transition, another set.
//!
//! The stress test of the LAMA papers [1] has this shape. In the first phase all requests go to one
//! set of keys. In the second they move over to another set step by step. In the third all go to
//! the other set. If sizes differ between the sets, the memory must follow. An allocator that
//! cannot move pages (slab calcification) serves the third phase with the division of the first.
//! The numbers here are parameters, not the papers'.
//!
//! Keys of the second set follow those of the first; `first` and `second` are the exponents of
//! popularity in each set.
//!
//! [1] Hu et al. LAMA: Optimized locality-aware memory allocation for key-value cache. ATC '15.

use super::sampler::Zipf;
use super::{Draw, GeneratorSpec, Param, Pattern};
use base::Prng;

/// The registry entry.
pub const SPEC: GeneratorSpec = GeneratorSpec {
    name: "phases",
    about: "one set of keys, a transition, another set: LAMA's three phases",
    params: &[
        Param::new("keys", "100000", "objects in each set"),
        Param::new("first", "0.9", "exponent of popularity in the first set"),
        Param::new("second", "0.9", "exponent of popularity in the second set"),
        Param::new("begin", "0.3333", "share of the requests before the transition"),
        Param::new("end", "0.6667", "share of the requests before its end"),
    ],
    build: |values| {
        let keys = values.count("keys")?;
        let requests = values.number("requests")? as f64;
        let (begin, end) = (values.share("begin")?, values.share("end")?);
        if begin > end {
            return Err(format!("begin={begin} is above end={end}: swap them"));
        }
        Ok(Box::new(Phases {
            keys,
            sets: [
                Zipf::new(keys, values.at_least("first", 0.0)?),
                Zipf::new(keys, values.at_least("second", 0.0)?),
            ],
            begin: begin * requests,
            end: end * requests,
        }))
    },
};

struct Phases {
    keys: u64,
    sets: [Zipf; 2],
    begin: f64,
    end: f64,
}

impl Pattern for Phases {
    fn draw(&mut self, tick: u64, prng: &mut Prng) -> Draw {
        let tick = tick as f64;
        let second = match tick {
            t if t < self.begin => false,
            t if t >= self.end => true,
            t => prng.chance((t - self.begin) / (self.end - self.begin)),
        };
        let rank = self.sets[usize::from(second)].draw(prng) - 1;
        Draw::of(rank + if second { self.keys } else { 0 })
    }
}
