//! The marks of an axis, at few and round numbers.
//!
//! Round numbers are 1, 2, 2.5 and 5 times a power of ten, and powers of two for bytes.

use super::chart::Axis;
use super::format::{Format, clock_time};

/// Intervals between the marks of an axis, at most.
pub(super) const TICKS_MAX: usize = 7;

/// Distances of the marks of a time axis, in seconds: round on a clock.
const CLOCK_STEPS: [f64; 22] = [
    1.0,
    2.0,
    5.0,
    10.0,
    15.0,
    30.0,
    60.0,
    120.0,
    300.0,
    600.0,
    900.0,
    1_800.0,
    3_600.0,
    7_200.0,
    10_800.0,
    21_600.0,
    43_200.0,
    86_400.0,
    172_800.0,
    432_000.0,
    604_800.0,
    1_209_600.0,
];

/// The marks of an axis from left to right, each with its text; `most` intervals at most.
pub(super) fn marks(axis: &Axis, (low, high): (f64, f64), most: usize) -> Vec<(f64, String)> {
    let Format::Clock { utc_offset_s } = axis.format else {
        let places = places(axis, (low, high), most);
        return places.into_iter().map(|at| (at, axis.format.show(axis.value(at)))).collect();
    };
    let span = high - low;
    let fits = |step: &f64| span / step <= most as f64;
    let step = CLOCK_STEPS.into_iter().find(fits).unwrap_or(2_592_000.0);
    // A round time is round on the local clock.
    let first = ((low + f64::from(utc_offset_s)) / step).ceil() * step - f64::from(utc_offset_s);
    let all = (0..=most).map(|n| first + n as f64 * step).filter(|at| *at <= high);
    all.map(|at| {
        let text = clock_time(at, utc_offset_s, step);
        let is_midnight = clock_time(at, utc_offset_s, 60.0) == "00:00";
        // The first mark of a day names the day, where a day begins within the axis.
        let is_day = (3_600.0..86_400.0).contains(&step) && is_midnight;
        (at, if is_day { clock_time(at, utc_offset_s, 86_400.0) } else { text })
    })
    .collect()
}

/// The distance of the marks of a linear axis that spans `span`.
pub(super) fn step(format: Format, span: f64) -> f64 {
    step_of(format, span, TICKS_MAX)
}

fn step_of(format: Format, span: f64, most: usize) -> f64 {
    let least = span / most as f64;
    if format == Format::Bytes {
        return least.log2().ceil().exp2();
    }
    let least = if format == Format::Count { least.max(1.0) } else { least };
    let power = 10f64.powf(least.log10().floor());
    let round = [1.0, 2.0, 2.5, 5.0].map(|times| times * power);
    round.into_iter().find(|step| *step >= least * (1.0 - 1e-9)).unwrap_or(10.0 * power)
}

/// The marked places of an axis that shows `low` to `high`, as [`Axis::place`] gives them.
fn places(axis: &Axis, (low, high): (f64, f64), most: usize) -> Vec<f64> {
    let slack = 1e-9 * (high - low);
    let within = |place: &f64| (low - slack..=high + slack).contains(place);
    let found: Vec<f64> = if axis.log {
        let values = powers(axis.format, (low.exp(), high.exp()), most);
        values.into_iter().map(f64::ln).filter(within).collect()
    } else {
        let step = step_of(axis.format, high - low, most);
        let first = (low / step).floor();
        (0..=most as i32 + 1).map(|n| (first + f64::from(n)) * step).filter(within).collect()
    };
    if found.len() >= 2 {
        return found;
    }
    // No round number lies in so short a stretch of a logarithmic axis.
    let count = most.min(4) as i32;
    (0..=count).map(|n| low + f64::from(n) / f64::from(count) * (high - low)).collect()
}

/// Round numbers from below `low` to above `high`, at equal or nearly equal ratios.
fn powers(format: Format, (low, high): (f64, f64), most: usize) -> Vec<f64> {
    let base: f64 = if format == Format::Bytes { 2.0 } else { 10.0 };
    let (first, last) = (low.log(base).floor() as i32, high.log(base).ceil() as i32);
    let between: &[f64] = if base == 10.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let all = (first..=last).flat_map(|n| between.iter().map(move |times| times * base.powi(n)));
    let all: Vec<f64> = all.collect();
    let inside = all.iter().filter(|value| (low..=high).contains(value)).count();
    if inside <= most {
        return all;
    }
    let count = (last - first + 1) as usize;
    let stride = count.div_ceil(most);
    (first..=last).step_by(stride).map(|n| base.powi(n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(axis: &Axis, low: f64, high: f64) -> Vec<String> {
        let range = if axis.log { (low.ln(), high.ln()) } else { (low, high) };
        marks(axis, range, TICKS_MAX).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn times_are_round_on_the_local_clock() {
        // 14:47:51 in UTC.
        let now = 1_795_704_471.0;
        let at = |back: f64, offset: i32| {
            let axis = Axis::time((now - back, now), offset);
            shown(&axis, now - back, now).join(" ")
        };
        assert_eq!(at(300.0, 0), "14:43 14:44 14:45 14:46 14:47");
        assert_eq!(at(300.0, 19_800), "20:13 20:14 20:15 20:16 20:17");
        assert_eq!(at(60.0, 0), "14:47:00 14:47:10 14:47:20 14:47:30 14:47:40 14:47:50");
        assert_eq!(at(86_400.0, 3_600), "18:00 11-26 06:00 12:00");
        assert_eq!(at(2_592_000.0, 0), "10-29 11-03 11-08 11-13 11-18 11-23");
    }

    #[test]
    fn marks_are_round() {
        let percent = Axis::new("miss ratio", Format::Percent);
        assert_eq!(shown(&percent, 0.0, 1.0), ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]);
        let clients = Axis::new("clients", Format::Count);
        assert_eq!(shown(&clients, 0.0, 3.0), ["0", "1", "2", "3"]);
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
