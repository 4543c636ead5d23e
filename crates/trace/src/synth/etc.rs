//! Facebook's ETC pool: the general-purpose cache of the paper [1].
//!
//! Key sizes follow a generalised extreme value distribution. Value sizes follow a table of small
//! sizes with a generalised Pareto tail. Gaps between requests follow a generalised Pareto
//! distribution (mean 19 µs), and one request in 31 writes. The paper gives no closed form for
//! popularity; here it is Zipf's law, and `skew` is our own parameter.
//!
//! [1] Atikoglu, Xu, Frachtenberg, Jiang, Paleczny. Workload analysis of a large-scale key-value
//! store. SIGMETRICS '12.

use super::sampler::Zipf;
use super::{Distribution, Draw, GeneratorSpec, Param, Pattern};
use base::Prng;

/// The registry entry.
pub const SPEC: GeneratorSpec = GeneratorSpec {
    name: "etc",
    about: "Facebook's ETC pool: sizes, gaps and writes of Atikoglu et al.",
    params: &[
        Param::new("keys", "1000000", "objects"),
        Param::new("skew", "1.0", "exponent of popularity"),
        Param::new("key-size", "gev/30.7984/8.20449/0.078688", "minimum bytes of a key"),
        Param::new("size", "etc", "bytes of a value"),
        Param::new("set", "0.03226", "share of the requests that write: 1 in 31"),
        Param::new("rate", "52715", "requests per second"),
    ],
    build: |values| {
        let zipf = Zipf::new(values.count("keys")?, values.at_least("skew", 0.0)?);
        // Location 0, and the paper's scale and shape; the rate stretches the gap.
        Ok(Box::new(Etc { zipf, gap: Distribution::Pareto(0.0, GAP_SCALE, GAP_SHAPE) }))
    },
};

const GAP_SCALE: f64 = 16.0292;
const GAP_SHAPE: f64 = 0.154_971;

struct Etc {
    zipf: Zipf,
    gap: Distribution,
}

impl Pattern for Etc {
    fn draw(&mut self, _: u64, prng: &mut Prng) -> Draw {
        Draw::of(self.zipf.draw(prng) - 1)
    }

    fn gap_us(&mut self, _: f64, mean: f64, prng: &mut Prng) -> f64 {
        let of_the_fit = GAP_SCALE / (1.0 - GAP_SHAPE);
        self.gap.draw(prng) * mean / of_the_fit
    }
}
