//! A periodic load: peaks and valleys, the same in each period.
//!
//! `rate` is the rate at the peak; the rate in a valley is the share `valley` of it. `square` is at
//! the peak for the share `peak` of a period and then in the valley; `sine` goes up and down. Keys
//! have the same Zipf popularity all the time, so objects cached in one peak are useful in the
//! next. This is the condition for dumping a tenant in its valley and loading it before its peak
//! (pRedis).

use super::sampler::Zipf;
use super::{Draw, GeneratorSpec, Param, Pattern};
use base::Prng;

/// The registry entry.
pub const SPEC: GeneratorSpec = GeneratorSpec {
    name: "periodic",
    about: "popular keys, a load with peaks and valleys",
    params: &[
        Param::new("keys", "100000", "objects"),
        Param::new("skew", "0.9", "exponent of popularity"),
        Param::new("period", "600", "seconds from one peak to the next"),
        Param::new("shape", "square", "square or sine"),
        Param::new("peak", "0.5", "share of a period at the peak, for a square"),
        Param::new("valley", "0.1", "rate in the valley, as a share of the peak's"),
    ],
    build: |values| {
        let sine = match values.text("shape") {
            "square" => false,
            "sine" => true,
            other => return Err(format!("shape={other}: write square or sine")),
        };
        let peak = values.share("peak")?;
        if peak < 1.0 / STEPS {
            return Err(format!(
                "peak={peak}: write at least {}, a share of the period",
                1.0 / STEPS
            ));
        }
        Ok(Box::new(Periodic {
            zipf: Zipf::new(values.count("keys")?, values.at_least("skew", 0.0)?),
            period_us: values.at_least("period", f64::MIN_POSITIVE)? * 1e6,
            sine,
            peak,
            valley: values.share("valley")?,
        }))
    },
};

struct Periodic {
    zipf: Zipf,
    period_us: f64,
    sine: bool,
    peak: f64,
    valley: f64,
}

impl Periodic {
    /// The rate at a point of the period, as a share of the highest.
    fn load(&self, at: f64) -> f64 {
        if self.sine {
            let height = f64::midpoint(1.0, (std::f64::consts::TAU * at).cos());
            return self.valley + (1.0 - self.valley) * height;
        }
        if at < self.peak { 1.0 } else { self.valley }
    }
}

impl Pattern for Periodic {
    fn draw(&mut self, _: u64, prng: &mut Prng) -> Draw {
        Draw::of(self.zipf.draw(prng) - 1)
    }

    fn gap_us(&mut self, now: f64, mean: f64, _: &mut Prng) -> f64 {
        let step = self.period_us / STEPS;
        let load = |step: f64| self.load(((step + 0.5) / STEPS).fract());
        // The rate of a step is that of its middle; all periods are alike.
        let in_period: f64 = (0..STEPS as u32).map(|at| load(f64::from(at)) * step).sum();
        let periods = (mean / in_period).floor();
        let mut wanted = mean - periods * in_period;
        let (mut number, mut at) = ((now / step).floor(), now);
        loop {
            let (end, load) = ((number + 1.0) * step, load(number));
            let room = load * (end - at).max(0.0);
            if load > 0.0 && room >= wanted {
                return at + wanted / load - now + periods * self.period_us;
            }
            wanted -= room;
            (number, at) = (number + 1.0, end);
        }
    }
}

/// Number of steps in a period, each with one rate.
const STEPS: f64 = 100.0;
