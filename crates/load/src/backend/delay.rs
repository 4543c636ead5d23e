//! A wait of random length, which stands for a database far away.

use anyhow::{Context, bail};
use base::Prng;
use std::f64::consts::TAU;
use std::time::Duration;

/// The distribution of the time of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same time.
    Fixed(Duration),
    /// Exponential, with its mean.
    Exponential(Duration),
    /// Log-normal, with its median and the standard deviation of its logarithm.
    LogNormal(Duration, f64),
    /// Uniform between two times.
    Uniform(Duration, Duration),
}

impl Distribution {
    /// Reads `1ms`, `fixed 1ms`, `exp 1ms`, `lognormal 1ms 0.5` or `uniform 1ms-5ms`; colons may
    /// replace the blanks.
    ///
    /// # Errors
    /// A sentence that shows the forms.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let forms = || {
            format!(
                "'{text}' is not a delay: write fixed 1ms, exp 1ms, lognormal 1ms 0.5 (median, \
                 standard deviation of the logarithm) or uniform 1ms-5ms"
            )
        };
        let words: Vec<&str> = text.split([' ', ':']).filter(|word| !word.is_empty()).collect();
        Ok(match words[..] {
            [time] | ["fixed", time] => Self::Fixed(duration(time).with_context(forms)?),
            ["exp" | "exponential", mean] => Self::Exponential(duration(mean).with_context(forms)?),
            ["lognormal", median, deviation] => {
                let deviation: f64 = deviation.parse().with_context(forms)?;
                if !(0.0..=5.0).contains(&deviation) {
                    bail!(
                        "the deviation of the logarithm is {deviation}: choose a number from 0 to 5"
                    );
                }
                Self::LogNormal(duration(median).with_context(forms)?, deviation)
            }
            ["uniform", range] => {
                let (low, high) = range.split_once('-').with_context(forms)?;
                // `uniform 1-5ms`: the unit of the second time serves both.
                let unit = high.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
                let (low, high) =
                    (duration(low).or_else(|_| duration(&format!("{low}{unit}"))), duration(high));
                let (low, high) = (low.with_context(forms)?, high.with_context(forms)?);
                if low > high {
                    bail!("'{text}' begins with the longer time: write the shorter one first");
                }
                Self::Uniform(low, high)
            }
            _ => bail!(forms()),
        })
    }

    /// Draws a time.
    pub fn draw(&self, prng: &mut Prng) -> Duration {
        match *self {
            Self::Fixed(time) => time,
            Self::Exponential(mean) => mean.mul_f64(-prng.unit().ln()),
            Self::LogNormal(median, deviation) => {
                // The Box-Muller transform; one of its two numbers.
                let normal = (-2.0 * prng.unit().ln()).sqrt() * (TAU * prng.unit()).cos();
                median.mul_f64((deviation * normal).exp())
            }
            Self::Uniform(low, high) => low + high.saturating_sub(low).mul_f64(prng.unit()),
        }
    }

    /// The mean of the distribution.
    pub fn mean(&self) -> Duration {
        match *self {
            Self::Fixed(mean) | Self::Exponential(mean) => mean,
            Self::LogNormal(median, deviation) => {
                median.mul_f64((deviation * deviation / 2.0).exp())
            }
            Self::Uniform(low, high) => (low + high) / 2,
        }
    }
}

/// Reads a time with its unit: `250us`, `1.5ms`, `2s`; at most one hour.
fn duration(text: &str) -> anyhow::Result<Duration> {
    let split = text.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale = match unit {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ if number == "0" => 1.0,
        _ => bail!("'{text}' needs a unit: us, ms or s"),
    };
    let seconds =
        number.parse::<f64>().with_context(|| format!("'{number}' is not a number"))? * scale;
    if !(0.0..=3600.0).contains(&seconds) {
        bail!("'{text}' is more than an hour: choose a shorter time");
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read() {
        let ms = Duration::from_millis;
        for (text, distribution) in [
            ("1ms", Distribution::Fixed(ms(1))),
            ("0", Distribution::Fixed(ms(0))),
            ("fixed 1000us", Distribution::Fixed(ms(1))),
            ("exp:0.002s", Distribution::Exponential(ms(2))),
            ("lognormal 1ms 0.5", Distribution::LogNormal(ms(1), 0.5)),
            ("uniform 1ms-5ms", Distribution::Uniform(ms(1), ms(5))),
            ("uniform:1-5ms", Distribution::Uniform(ms(1), ms(5))),
        ] {
            assert_eq!(Distribution::parse(text).unwrap(), distribution, "{text}");
        }
        for text in
            ["", "1", "exp", "gauss 1ms", "uniform 5ms-1ms", "lognormal 1ms 99", "2h", "-1ms"]
        {
            assert!(Distribution::parse(text).is_err(), "{text}");
        }
    }

    /// A delay with a wrong mean would shift every reported latency.
    #[test]
    fn draws_have_the_mean_they_say() {
        for text in ["fixed 1ms", "exp 2ms", "lognormal 1ms 0.7", "uniform 1ms-5ms"] {
            let distribution = Distribution::parse(text).unwrap();
            let mut prng = Prng::new(5);
            let draws = 200_000;
            let sum: Duration = (0..draws).map(|_| distribution.draw(&mut prng)).sum();
            let ratio = sum.as_secs_f64() / f64::from(draws) / distribution.mean().as_secs_f64();
            assert!((ratio - 1.0).abs() < 0.01, "{text}: {ratio}");
        }
    }

    #[test]
    fn uniform_stays_in_its_range() {
        let distribution = Distribution::parse("uniform 1ms-2ms").unwrap();
        let mut prng = Prng::new(1);
        let range = Duration::from_millis(1)..=Duration::from_millis(2);
        assert!((0..10_000).all(|_| range.contains(&distribution.draw(&mut prng))));
    }
}
