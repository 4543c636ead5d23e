//! Distributions of sizes, penalties and times to live, with names such as `lognormal/1000/0.8`.

use base::Prng;

/// A distribution of non-negative numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Always this number.
    Constant(f64),
    /// Uniform between two numbers.
    Uniform(f64, f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Log-normal: the median, and the standard deviation of the logarithm.
    LogNormal(f64, f64),
    /// Generalised Pareto: location, scale, shape.
    Pareto(f64, f64, f64),
    /// Generalised extreme value: location, scale, shape.
    ExtremeValue(f64, f64, f64),
    /// One of several values, each with the cumulative share up to it.
    Choice(Vec<(f64, f64)>),
    /// Values of Facebook's ETC pool: with some probability one of the small sizes in the table of
    /// the paper, else generalised Pareto.
    Etc,
}

/// The forms of distributions, for help and errors.
pub const FORMS: &str = "a number, const/N, uniform/LOW/HIGH, exponential/MEAN, \
     lognormal/MEDIAN/SIGMA, pareto/LOCATION/SCALE/SHAPE, gev/LOCATION/SCALE/SHAPE, \
     choice/VALUE@WEIGHT/VALUE@WEIGHT or etc";

/// The largest value: far above any size, and exact as a float.
const MOST: f64 = (1u64 << 40) as f64;

/// Share of each size from 0 to 14 bytes in all values of ETC [1], as coded in the load generator
/// mutilate. The generalised Pareto tail has the rest.
///
/// [1] Atikoglu, Xu, Frachtenberg, Jiang, Paleczny. Workload analysis of a large-scale key-value
/// store. SIGMETRICS '12.
const ETC_SMALL: [f64; 15] = [
    0.00536, 0.00047, 0.17820, 0.09239, 0.00018, 0.02740, 0.00065, 0.00606, 0.00023, 0.00837,
    0.00837, 0.08989, 0.00092, 0.00326, 0.01980,
];
/// The tail of ETC's values: location, scale, shape.
const ETC_TAIL: (f64, f64, f64) = (15.0, 214.476, 0.348_238);

impl Distribution {
    /// Parses a distribution.
    ///
    /// # Errors
    /// A sentence that shows the known forms.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a distribution: write {FORMS}");
        let (name, rest) = text.split_once('/').unwrap_or((text, ""));
        if name == "choice" {
            return choice(rest).ok_or_else(wrong);
        }
        let numbers: Option<Vec<f64>> = rest
            .split('/')
            .filter(|part| !part.is_empty())
            .map(|part| part.parse().ok().filter(|n: &f64| n.is_finite()))
            .collect();
        let found = match (name, numbers.ok_or_else(wrong)?.as_slice()) {
            ("etc", []) => Self::Etc,
            ("const", [value]) => Self::Constant(*value),
            ("uniform", [low, high]) if low <= high => Self::Uniform(*low, *high),
            ("exponential", [mean]) => Self::Exponential(*mean),
            ("lognormal", [median, sigma]) if *sigma >= 0.0 => Self::LogNormal(*median, *sigma),
            ("pareto", [location, scale, shape]) => Self::Pareto(*location, *scale, *shape),
            ("gev", [location, scale, shape]) => Self::ExtremeValue(*location, *scale, *shape),
            (number, []) => Self::Constant(number.parse().map_err(|_| wrong())?),
            _ => return Err(wrong()),
        };
        match found {
            Self::Constant(value) if !(0.0..=MOST).contains(&value) => Err(wrong()),
            found => Ok(found),
        }
    }

    /// Draws one value, never negative.
    pub fn draw(&self, prng: &mut Prng) -> f64 {
        let value = match self {
            Self::Constant(value) => *value,
            Self::Uniform(low, high) => low + (high - low) * prng.unit(),
            Self::Exponential(mean) => -mean * prng.unit().ln(),
            Self::LogNormal(median, sigma) => median * (sigma * normal(prng)).exp(),
            Self::Pareto(location, scale, shape) => pareto(*location, *scale, *shape, prng.unit()),
            Self::ExtremeValue(location, scale, shape) => {
                let x = -prng.unit().ln();
                let bend = if *shape == 0.0 { -x.ln() } else { (x.powf(-shape) - 1.0) / shape };
                location + scale * bend
            }
            Self::Choice(values) => {
                let u = prng.unit();
                values.iter().find(|(share, _)| u <= *share).or(values.last()).map_or(0.0, |v| v.1)
            }
            Self::Etc => etc(prng),
        };
        if value.is_nan() { 0.0 } else { value.clamp(0.0, MOST) }
    }
}

fn choice(text: &str) -> Option<Distribution> {
    let mut sum = 0.0;
    let mut values = vec![];
    for part in text.split('/') {
        let (value, weight) = part.split_once('@').unwrap_or((part, "1"));
        let (value, weight): (f64, f64) = (value.parse().ok()?, weight.parse().ok()?);
        let sound = (0.0..=MOST).contains(&value) && weight > 0.0 && weight <= MOST;
        if !sound {
            return None;
        }
        sum += weight;
        values.push((sum, value));
    }
    for (share, _) in &mut values {
        *share /= sum;
    }
    Some(Distribution::Choice(values))
}

/// The value whose upper tail has the probability `u`.
fn pareto(location: f64, scale: f64, shape: f64, u: f64) -> f64 {
    let bend = if shape == 0.0 { -u.ln() } else { (u.powf(-shape) - 1.0) / shape };
    location + scale * bend
}

fn etc(prng: &mut Prng) -> f64 {
    let mut u = prng.unit();
    for (size, share) in ETC_SMALL.iter().enumerate() {
        if u <= *share {
            return size as f64;
        }
        u -= share;
    }
    let (location, scale, shape) = ETC_TAIL;
    pareto(location, scale, shape, prng.unit())
}

/// Draws a standard normal value (Box and Muller).
fn normal(prng: &mut Prng) -> f64 {
    let radius = (-2.0 * prng.unit().ln()).sqrt();
    radius * (std::f64::consts::TAU * prng.unit()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_of(text: &str) -> f64 {
        let distribution = Distribution::parse(text).unwrap();
        let mut prng = Prng::new(7);
        let n = 400_000;
        (0..n).map(|_| distribution.draw(&mut prng)).sum::<f64>() / f64::from(n)
    }

    /// Means in closed form, and for ETC the means of the paper's fits.
    #[test]
    fn means_are_those_of_the_formulas() {
        for (text, mean, tolerance) in [
            ("512", 512.0, 0.0),
            ("uniform/10/20", 15.0, 0.02),
            ("exponential/100", 100.0, 1.0),
            ("lognormal/100/0.5", 100.0 * (0.125f64).exp(), 1.0),
            ("pareto/15/214.476/0.348238", 344.1, 6.0),
            ("gev/30.7984/8.20449/0.078688", 36.2, 0.1),
            ("choice/10@1/20@3", 17.5, 0.05),
            ("etc", 194.4, 4.0),
        ] {
            let found = mean_of(text);
            assert!((found - mean).abs() <= tolerance, "{text}: {found}, not {mean}");
        }
    }

    #[test]
    fn what_is_no_distribution_is_refused_with_the_forms() {
        for text in ["", "const", "const/x", "uniform/3/2", "normal/1/2", "-1", "choice/", "1e99"] {
            let error = Distribution::parse(text).unwrap_err();
            assert!(error.contains("lognormal/MEDIAN/SIGMA"), "{text}: {error}");
        }
    }
}
