//! The moment from which on a tenant misses more, or less, than before.
//!
//! The series is cut in two where the means of the two parts differ most for their number of
//! reads: the cut of the least squares. A cut counts where the difference is more than chance.

use crate::{History, Point};
use serde::{Deserialize, Serialize};

/// The stretch that *lately* means, in seconds; and the least, for less tells nothing.
const RECENT_S: u64 = 600;
const RECENT_MIN_S: u64 = 60;

/// How far back a change of a tenant's misses is looked for.
const SHIFT_S: u64 = 2 * 3_600;

/// Points on either side of a cut, at least.
const POINTS_MIN: usize = 3;
/// Reads on either side.
const READS_MIN: f64 = 500.0;
/// A difference of miss ratios that is worth a sentence.
const DIFFERENCE_MIN: f64 = 0.05;

/// A change of a tenant's misses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shift {
    /// When it began.
    pub unix_s: u64,
    /// The miss ratio before.
    pub before: f64,
    /// The miss ratio since.
    pub since: f64,
    /// Memory before, in bytes: in the mean.
    pub used_before: u64,
    /// Memory since, in bytes: in the mean.
    pub used_since: u64,
    /// The tenant that won most memory at the same time, if one did.
    pub winner: Option<String>,
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
    /// The largest change of each tenant's misses within the last hours, and who won memory by it.
    pub fn of_all(names: &[&str], history: &History, now_unix_s: u64) -> Vec<Option<Self>> {
        let from = now_unix_s.saturating_sub(SHIFT_S);
        let series: Vec<(&str, Vec<Point>)> =
            names.iter().map(|name| (*name, coarse(&history.since(Some(name), from)))).collect();
        let shift = |at: usize| {
            let mut shift = Self::of(&series[at].1)?;
            let others = series.iter().enumerate().filter(|(other, _)| *other != at);
            shift.name_winner(others.map(|(_, (name, points))| (*name, &points[..])));
            Some(shift)
        };
        (0..series.len()).map(shift).collect()
    }

    /// How many seconds back *lately* goes: not beyond the last change, or it would mix what was
    /// before with what is now.
    pub fn recent_s(shifts: &[Option<Self>], now_unix_s: u64) -> u64 {
        let last = shifts.iter().flatten().map(|shift| shift.unix_s).max().unwrap_or_default();
        now_unix_s.saturating_sub(last).clamp(RECENT_MIN_S, RECENT_S)
    }

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
        // Most points lie on their own side of the middle between the two: else it is a wobble.
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
        })
    }

    /// Names the one of the others that won most memory when this began.
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

/// At most some hundred points: how long a cut takes to find grows with their square.
fn coarse(points: &[Point]) -> Vec<Point> {
    const MAX: usize = 120;
    let each = points.len().div_ceil(MAX).max(1);
    points.chunks(each).map(Point::sum).collect()
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
