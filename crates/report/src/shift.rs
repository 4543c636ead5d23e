//! Detects the moment from which a tenant misses more, or less, than before.
//!
//! The series is cut where the means of the two parts differ most, weighted by their reads: the cut
//! of least squares. A cut counts if the difference is more than chance.

use crate::Point;
use crate::rings::RingStep;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Points on either side of a cut, at least.
const POINTS_MIN: usize = 3;
/// Reads on either side of a cut, at least.
const READS_MIN: f64 = 500.0;
/// The least difference of miss ratios that counts as a change.
const DIFFERENCE_MIN: f64 = 0.05;

/// A load counts as changed if it differs by this factor, for at least this many seconds.
const LOAD_TIMES: f64 = 1.5;
const LOAD_MIN_S: f64 = 30.0;

/// The median of the seconds between points; the last point may cover only part of a step.
fn step_of(points: &[Point]) -> Option<f64> {
    let step = |pair: &[Point]| f64::from(pair[1].unix_s.saturating_sub(pair[0].unix_s));
    let step = median(&points.windows(2).map(step).collect::<Vec<_>>());
    (step >= 1.0).then_some(step)
}

/// The median; the upper one of two middle values.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// A lasting change of a load, in reads per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LoadShift {
    /// The time of the change, in Unix seconds.
    pub(crate) unix_s: u64,
    pub(crate) before: f64,
    pub(crate) since: f64,
}

impl LoadShift {
    /// Whether the load rises.
    pub(crate) fn rises(&self) -> bool {
        self.since > self.before
    }
}

/// The change in words, to put after "load".
impl fmt::Display for LoadShift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |rate: f64| crate::words::count(rate.round() as u64);
        let (before, since) = (self.before, self.since);
        match since / before.max(f64::MIN_POSITIVE) {
            _ if before < 1.0 => {
                return write!(f, "began: {} reads per second", count(since));
            }
            _ if since < 1.0 => write!(f, "ended")?,
            times if times > 100.0 => write!(f, "began")?,
            times if times >= 1.0 => write!(f, "rose to {times:.1} times")?,
            times => write!(f, "fell to {}", crate::words::percent(times))?,
        }
        write!(f, ": {} reads per second, {} before", count(since), count(before))
    }
}

/// A lasting change of a tenant's miss ratio.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shift {
    /// The start of the change, in Unix seconds.
    pub unix_s: u64,
    /// The miss ratio before.
    pub before: f64,
    /// The miss ratio since.
    pub since: f64,
    /// The mean memory before the change, in bytes.
    pub used_before: u64,
    /// The mean memory since the change, in bytes.
    pub used_since: u64,
    /// The tenant that gained most memory at the same time, if one did.
    pub winner: Option<String>,
    /// The cause beside memory, in words, if it is most of the change.
    #[serde(default)]
    pub because: Option<String>,
}

#[derive(Clone, Copy, Default)]
struct Side {
    points: usize,
    reads: f64,
    misses: f64,
    used: f64,
}

impl Side {
    fn of(points: &[Point]) -> Self {
        let sum = |of: fn(&Point) -> u32| points.iter().map(|point| f64::from(of(point))).sum();
        Self {
            points: points.len(),
            reads: sum(|point| point.reads),
            misses: sum(|point| point.misses),
            used: sum(|point| point.used_kib),
        }
    }

    fn ratio(&self) -> f64 {
        self.misses / self.reads.max(1.0)
    }

    fn bytes(&self) -> u64 {
        (1024.0 * self.used / self.points.max(1) as f64) as u64
    }

    fn is_enough(&self) -> bool {
        self.points >= POINTS_MIN && self.reads >= READS_MIN
    }
}

impl Shift {
    /// The largest change in a series, if there is one.
    pub fn of(points: &[Point]) -> Option<Self> {
        let cut = |at: usize| (Side::of(&points[..at]), Side::of(&points[at..]));
        let weight = |(before, since): &(Side, Side)| {
            let evenness = before.reads * since.reads / (before.reads + since.reads);
            (before.ratio() - since.ratio()).powi(2) * evenness
        };
        let cuts =
            (POINTS_MIN..points.len().saturating_sub(POINTS_MIN - 1)).map(|at| (at, cut(at)));
        let known = cuts.filter(|(_, (before, since))| before.is_enough() && since.is_enough());
        let best = known.max_by(|(_, a), (_, b)| weight(a).total_cmp(&weight(b)));
        let (at, (before, since)) = best?;
        // Nine of ten points must lie on their own side of the midpoint between the two means.
        // Otherwise the series only fluctuates.
        let middle = f64::midpoint(before.ratio(), since.ratio());
        let rises = since.ratio() > before.ratio();
        let fits = |(place, point): (usize, &Point)| {
            point.miss_ratio().map(|ratio| ((ratio > middle) == rises) == (place >= at))
        };
        let sides: Vec<bool> = points.iter().enumerate().filter_map(fits).collect();
        let agree = sides.iter().filter(|fits| **fits).count();
        let is_clear = 10 * agree >= 9 * sides.len();
        let differs = (before.ratio() - since.ratio()).abs() >= DIFFERENCE_MIN;
        (is_clear && differs).then(|| Self {
            unix_s: u64::from(points[at - 1].unix_s),
            before: before.ratio(),
            since: since.ratio(),
            used_before: before.bytes(),
            used_since: since.bytes(),
            winner: None,
            because: None,
        })
    }

    /// A lasting change of load within these points.
    pub(crate) fn of_load(points: &[Point]) -> Option<LoadShift> {
        let step = step_of(points)?;
        let is_whole =
            |pair: &[Point]| f64::from(pair[1].unix_s.saturating_sub(pair[0].unix_s)) >= step;
        let part = usize::from(!points.windows(2).next_back().is_some_and(is_whole));
        let points = &points[..points.len() - part];
        let rates: Vec<f64> = points.iter().map(|point| f64::from(point.reads) / step).collect();
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
        let least = (LOAD_MIN_S / step).ceil() as usize;
        // The search also finds changes that are too young; they are reported later.
        let cuts = least..rates.len();
        let weight = |at: usize| {
            let (before, since) = rates.split_at(at);
            let evenness = before.len() as f64 * since.len() as f64;
            (mean(before) - mean(since)).powi(2) * evenness
        };
        let at = cuts.max_by(|a, b| weight(*a).total_cmp(&weight(*b)))?;
        // Medians, because the step in which the load changed mixes both loads.
        let (before, since) = (median(&rates[..at]), median(&rates[at..]));
        let (low, high) = (before.min(since), before.max(since));
        let is_young = rates.len() - at < least;
        if is_young || high < LOAD_TIMES * low || (high - low) * LOAD_MIN_S < READS_MIN {
            return None;
        }
        let middle = 0.5 * (low + high);
        let fits =
            |(place, rate): (usize, &f64)| ((*rate > middle) == (since > before)) == (place >= at);
        let agree = rates.iter().enumerate().filter(|one| fits(*one)).count();
        let unix_s = u64::from(points[at - 1].unix_s);
        (10 * agree >= 9 * rates.len()).then_some(LoadShift { unix_s, before, since })
    }

    /// A lasting change of a tenant's miss ratio within these points: its time, and a text to put
    /// after the tenant's name.
    pub(crate) fn of_misses(points: &[Point]) -> Option<(Self, String)> {
        let shift = Self::of(&coarse(points))?;
        let last = points.last().map_or(0, |point| u64::from(point.unix_s));
        let percent = crate::words::percent;
        let text = format!(" misses {}, {} before", percent(shift.since), percent(shift.before));
        // A younger change may be a fluctuation.
        (last.saturating_sub(shift.unix_s) as f64 >= LOAD_MIN_S).then_some((shift, text))
    }

    /// Sets `winner` to the tenant among `others` that gained most memory since this change.
    pub fn name_winner<'a>(&mut self, others: impl Iterator<Item = (&'a str, &'a [Point])>) {
        let won = others.filter_map(|(name, points)| {
            let at = points.partition_point(|point| u64::from(point.unix_s) <= self.unix_s);
            let (before, since) = (Side::of(&points[..at]), Side::of(&points[at..]));
            (since.points > 0).then(|| (since.bytes().saturating_sub(before.bytes()), name))
        });
        let most = won.max().filter(|(bytes, _)| *bytes > 0);
        self.winner = most.map(|(_, name)| name.to_owned());
    }
}

/// Merges points into at most 120: the time to find a cut grows with the square of their number.
pub(crate) fn coarse(points: &[Point]) -> Vec<Point> {
    const MAX: usize = 120;
    let each = points.len().div_ceil(MAX).max(1);
    points.chunks(each).map(RingStep::sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(misses: impl Iterator<Item = u32>) -> Vec<Point> {
        let point = |(at, misses)| Point {
            unix_s: 60 * at,
            reads: 1_000,
            misses,
            used_kib: if misses > 500 { 10 } else { 20 },
            ..Point::default()
        };
        (1_u32..).zip(misses).map(point).collect()
    }

    #[test]
    fn a_step_is_found_and_a_wobble_is_not() {
        let wobble = |at: u32| (at * 7_919 % 41) + 1;
        let step = series((0..60).map(|at| if at < 40 { 300 } else { 700 } + wobble(at)));
        let shift = Shift::of(&step).unwrap();
        assert_eq!(shift.unix_s, 40 * 60);
        assert!((shift.before - 0.32).abs() < 0.01 && (shift.since - 0.72).abs() < 0.01);
        assert_eq!((shift.used_before, shift.used_since), (20 << 10, 10 << 10));
        let other = series((0..60).map(|at| if at < 40 { 700 } else { 300 }));
        let mut shift = shift;
        shift.name_winner([("same", &step[..]), ("other", &other[..])].into_iter());
        assert_eq!(shift.winner.as_deref(), Some("other"));
        assert_eq!(Shift::of(&series((0..60).map(|at| 300 + wobble(at)))), None);
        let swing = series((0..60).map(|at| if at / 5 % 2 == 0 { 300 } else { 700 }));
        assert_eq!(Shift::of(&swing), None, "it comes and goes");
        assert_eq!(Shift::of(&[]), None);
    }
}
