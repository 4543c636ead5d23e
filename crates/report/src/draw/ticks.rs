//! The marks of an axis, at few and round numbers.
//!
//! Round numbers are 1, 2, 2.5 and 5 times a power of ten, and powers of two for bytes.

use super::chart::Axis;
use super::format::Format;

/// Intervals between the marks of an axis, at most.
const TICKS_MAX: usize = 7;

/// The distance of the marks of a linear axis that spans `span`.
pub(super) fn step(format: Format, span: f64) -> f64 {
    let least = span / TICKS_MAX as f64;
    if format == Format::Bytes {
        return least.log2().ceil().exp2();
    }
    let power = 10f64.powf(least.log10().floor());
    let round = [1.0, 2.0, 2.5, 5.0].map(|times| times * power);
    round.into_iter().find(|step| *step >= least * (1.0 - 1e-9)).unwrap_or(10.0 * power)
}

/// The marked places of an axis that shows `low` to `high`, as [`Axis::place`] gives them.
pub(super) fn places(axis: &Axis, (low, high): (f64, f64)) -> Vec<f64> {
    let slack = 1e-9 * (high - low);
    let within = |place: &f64| (low - slack..=high + slack).contains(place);
    let found: Vec<f64> = if axis.log {
        let values = powers(axis.format, (low.exp(), high.exp()));
        values.into_iter().map(f64::ln).filter(within).collect()
    } else {
        let step = step(axis.format, high - low);
        let first = (low / step).floor();
        (0..=TICKS_MAX as i32 + 1).map(|n| (first + f64::from(n)) * step).filter(within).collect()
    };
    if found.len() >= 2 {
        return found;
    }
    // No round number lies in so short a stretch of a logarithmic axis.
    (0..=4).map(|n| low + f64::from(n) / 4.0 * (high - low)).collect()
}

/// Round numbers from below `low` to above `high`, at equal or nearly equal ratios.
fn powers(format: Format, (low, high): (f64, f64)) -> Vec<f64> {
    let base: f64 = if format == Format::Bytes { 2.0 } else { 10.0 };
    let (first, last) = (low.log(base).floor() as i32, high.log(base).ceil() as i32);
    let between: &[f64] = if base == 10.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let all = (first..=last).flat_map(|n| between.iter().map(move |times| times * base.powi(n)));
    let all: Vec<f64> = all.collect();
    let inside = all.iter().filter(|value| (low..=high).contains(value)).count();
    if inside <= TICKS_MAX {
        return all;
    }
    let count = (last - first + 1) as usize;
    let stride = count.div_ceil(TICKS_MAX);
    (first..=last).step_by(stride).map(|n| base.powi(n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(axis: &Axis, low: f64, high: f64) -> Vec<String> {
        let range = if axis.log { (low.ln(), high.ln()) } else { (low, high) };
        let value = |place: f64| if axis.log { place.exp() } else { place };
        places(axis, range).into_iter().map(|place| axis.format.show(value(place))).collect()
    }

    #[test]
    fn marks_are_round() {
        let percent = Axis::new("miss ratio", Format::Percent);
        assert_eq!(shown(&percent, 0.0, 1.0), ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]);
        let requests = Axis::new("requests", Format::Number);
        assert_eq!(shown(&requests, 10_000.0, 76_118.0)[..3], ["10 k", "20 k", "30 k"]);
        let bytes = Axis::new("cache size", Format::Bytes).log();
        let mib = f64::from(1 << 20);
        assert_eq!(shown(&bytes, 1.6 * mib, 80.0 * mib)[..2], ["2 MiB", "4 MiB"]);
        assert_eq!(shown(&bytes, 1.0, 1024.0 * mib)[..2], ["1 B", "32 B"]);
        assert_eq!(shown(&requests.log(), 1.0, 30.0), ["1", "2", "5", "10", "20"]);
    }

    #[test]
    fn there_are_always_some_and_never_many() {
        for format in [Format::Number, Format::Percent, Format::Bytes, Format::Micros] {
            for axis in [Axis::new("", format), Axis::new("", format).log()] {
                for (low, high) in [(1.0, 1.1), (3.0, 7e9), (0.001, 0.9), (130.0, 250.0)] {
                    let marks = shown(&axis, low, high).len();
                    assert!((2..=TICKS_MAX + 1).contains(&marks), "{axis:?} {low} {high}: {marks}");
                }
            }
        }
    }
}
