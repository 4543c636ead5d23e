//! A series of steps at four resolutions: each second of the last five and a half minutes (a page
//! shows five), each ten seconds of an hour, each minute of a day, each ten minutes of a month. The
//! series of many tenants are shorter.

use base::Cause;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Seconds of a step and number of steps kept, for each resolution.
pub(crate) const RINGS: [(u32, usize); 4] = [(1, 330), (10, 360), (60, 1_440), (600, 4_464)];

/// Steps that each series keeps at every resolution, however many series there are.
const STEPS_MIN: usize = 12;

/// The figures that a series holds of each step.
pub(crate) trait RingStep: Copy {
    /// The end of the step, in Unix seconds.
    fn unix_s(&self) -> u32;

    /// Adds a later step to this one.
    fn add(&mut self, later: &Self);

    /// Adds up several steps, at least one, into one.
    fn sum(points: &[Self]) -> Self {
        let mut sum = points[0];
        points[1..].iter().for_each(|point| sum.add(point));
        sum
    }
}

/// One step of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The end of the step, in Unix seconds.
    pub unix_s: u32,
    /// Reads.
    pub reads: u32,
    /// Reads that found nothing.
    pub misses: u32,
    /// Misses by cause, scaled up from the sampled keys. A read that turns out to be too early
    /// counts at that moment as too early. It also counts as never seen, in the step of the read.
    pub causes: [u32; Cause::ALL.len()],
    /// Misses of sampled keys that `causes` rests on.
    pub sampled: u32,
    /// Total cost of the misses, in milliseconds.
    pub wait_ms: f32,
    /// Memory in use at the end of the step, in KiB.
    pub used_kib: u32,
    /// The tenant's budget, in KiB, where the recipe divides memory.
    pub budget_kib: u32,
    /// The forecast miss ratio of the step, in the mean over its reads; below 0 where there was no
    /// forecast.
    pub forecast: f32,
}

impl Point {
    /// Reads that found nothing, as a share of all; `None` without reads.
    pub fn miss_ratio(&self) -> Option<f64> {
        (self.reads > 0).then(|| f64::from(self.misses) / f64::from(self.reads))
    }

    /// The forecast miss ratio of the step, if there was a forecast.
    pub fn expected(&self) -> Option<f64> {
        (self.forecast >= 0.0).then(|| f64::from(self.forecast))
    }

    /// Misses by cause, each counted once: reads that came too early no longer count as never seen.
    pub fn told(&self) -> [u32; Cause::ALL.len()] {
        let [never, evicted, expired, deleted, early] = self.causes;
        [never.saturating_sub(early), evicted, expired, deleted, early]
    }
}

impl RingStep for Point {
    fn unix_s(&self) -> u32 {
        self.unix_s
    }

    fn add(&mut self, later: &Self) {
        self.forecast = match (self.forecast, later.forecast) {
            (own, more) if own >= 0.0 && more >= 0.0 => {
                let part =
                    later.reads as f32 / (self.reads.saturating_add(later.reads)).max(1) as f32;
                own + part * (more - own)
            }
            (_, more) => more,
        };
        self.reads = self.reads.saturating_add(later.reads);
        self.misses = self.misses.saturating_add(later.misses);
        self.sampled = self.sampled.saturating_add(later.sampled);
        for (sum, more) in self.causes.iter_mut().zip(later.causes) {
            *sum = sum.saturating_add(more);
        }
        self.wait_ms += later.wait_ms;
        (self.used_kib, self.budget_kib) = (later.used_kib, later.budget_kib);
        self.unix_s = later.unix_s;
    }
}

/// The steps of one resolution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Ring<P> {
    points: VecDeque<P>,
    /// Whether steps were dropped. Otherwise the ring holds all steps since the start.
    is_full: bool,
    /// The current step, not over yet, with its number of steps since 1970.
    open: Option<(u32, P)>,
}

impl<P: RingStep> Ring<P> {
    fn push(&mut self, step: u32, steps_max: usize, point: &P) {
        let number = point.unix_s() / step;
        match &mut self.open {
            Some((open, sum)) if *open == number => sum.add(point),
            open => {
                if let Some((_, ended)) = open.replace((number, *point)) {
                    if self.points.len() == self.points.capacity() {
                        // Grow by half, but never beyond the number of steps kept.
                        let more = (self.points.len() / 2).clamp(STEPS_MIN, steps_max);
                        let room = (steps_max + 1).saturating_sub(self.points.len());
                        self.points.reserve_exact(more.min(room.max(1)));
                    }
                    self.points.push_back(ended);
                }
            }
        }
        if self.points.len() > steps_max {
            self.points.drain(..self.points.len() - steps_max);
            self.is_full = true;
            self.points.shrink_to(steps_max + 1);
        }
    }
}

/// A series at every resolution: of one tenant, of all tenants, or of the process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TimeSeries<P>([Ring<P>; RINGS.len()]);

impl<P: RingStep> TimeSeries<P> {
    /// Whether there is any point.
    pub(crate) fn has_begun(&self) -> bool {
        self.0[0].open.is_some()
    }

    pub(crate) fn push(&mut self, share: f64, point: &P) {
        for (ring, (step, steps)) in self.0.iter_mut().zip(RINGS) {
            ring.push(step, steps_max(steps, share), point);
        }
    }

    /// The index of the finest resolution that reaches back to `unix_s`.
    pub(crate) fn ring(&self, unix_s: u32) -> usize {
        let reaches = |ring: &Ring<P>| {
            !ring.is_full || ring.points.front().is_some_and(|first| first.unix_s() <= unix_s)
        };
        self.0.iter().position(reaches).unwrap_or(RINGS.len() - 1)
    }

    /// The points of one resolution after `unix_s`, the open step included.
    pub(crate) fn since(&self, ring: usize, unix_s: u32) -> Vec<P> {
        let ring = &self.0[ring];
        let open = ring.open.as_ref().map(|(_, point)| point);
        let points = ring.points.iter().chain(open);
        points.filter(|point| point.unix_s() > unix_s).copied().collect()
    }

    /// The minutes of the last day that are over.
    pub(crate) fn minutes(&self) -> impl Iterator<Item = &P> {
        self.0[2].points.iter()
    }

    /// Memory of the points, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().map(|ring| ring.points.capacity() * size_of::<P>()).sum()
    }
}

fn steps_max(steps: usize, share: f64) -> usize {
    ((steps as f64 * share) as usize).clamp(STEPS_MIN, steps)
}
