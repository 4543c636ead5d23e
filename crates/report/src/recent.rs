//! The requests of a stretch of time, summed.

use crate::Point;
use crate::words::percent;
use base::Cause;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A change of the miss ratio that is worth a word, and the part of it that makes a cause its
/// explanation.
const CHANGE_MIN: f64 = 0.01;
const MOSTLY: f64 = 0.6;
/// A cause that changed by more than this multiple of the misses has another cause against it.
const OVERSHOOT: f64 = 1.5;

/// With fewer sampled misses, their causes are not told.
pub(crate) const SAMPLED_MIN: u64 = 100;

/// The requests of a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recent {
    /// Length of the stretch, in seconds.
    pub seconds: u64,
    /// The number of reads.
    pub reads: u64,
    /// Reads that found nothing.
    pub misses: u64,
    /// Misses by cause, in the order of [`Cause::ALL`], scaled up from the sampled keys.
    pub causes: [u64; Cause::ALL.len()],
    /// Misses of sampled keys that `causes` rests on.
    pub sampled: u64,
    /// Total cost of the misses, in milliseconds.
    pub wait_ms: f64,
}

impl Recent {
    /// The sum of the points; `seconds` counts each point as one second.
    pub fn of(points: &[Point]) -> Self {
        let mut sum = Self::default();
        for point in points {
            sum.reads += u64::from(point.reads);
            sum.misses += u64::from(point.misses);
            sum.sampled += u64::from(point.sampled);
            for (sum, more) in sum.causes.iter_mut().zip(point.causes) {
                *sum += u64::from(more);
            }
            sum.wait_ms += f64::from(point.wait_ms);
        }
        let [never, .., early] = &mut sum.causes;
        *never = never.saturating_sub(*early);
        sum.seconds = points.len() as u64;
        sum
    }

    /// Reads that found nothing, as a share of all; `None` without reads.
    pub fn miss_ratio(&self) -> Option<f64> {
        (self.reads > 0).then(|| self.misses as f64 / self.reads as f64)
    }

    /// Waiting for misses, in milliseconds per second.
    pub fn wait_ms_per_s(&self) -> f64 {
        self.wait_ms / self.seconds.max(1) as f64
    }

    /// The mean cost of a miss, in microseconds; `None` where no miss had a cost.
    pub fn miss_us(&self) -> Option<f64> {
        (self.misses > 0 && self.wait_ms > 0.0).then(|| 1e3 * self.wait_ms / self.misses as f64)
    }

    /// Reads per second.
    pub fn reads_per_s(&self) -> f64 {
        self.reads as f64 / self.seconds.max(1) as f64
    }

    /// The share of the reads that missed for this cause. `None` with fewer than a hundred sampled
    /// misses, whose shares are known only to about ten percentage points.
    pub fn missed_for(&self, cause: Cause) -> Option<f64> {
        let all: u64 = self.causes.iter().sum();
        let share = self.causes[cause as usize] as f64 / all.max(1) as f64;
        (self.sampled >= SAMPLED_MIN).then(|| Some(share * self.miss_ratio()?))?
    }

    /// Why misses changed since an earlier stretch, in words, if clients asking for other keys are
    /// most of it: no memory changes reads of keys that were never written.
    pub fn other_keys(&self, before: &Self) -> Option<String> {
        let new = |of: &Self| Some((of.missed_for(Cause::NeverSeen)?, of.miss_ratio()?));
        let ((share, missed), (share_before, missed_before)) = (new(self)?, new(before)?);
        let (all, part) = (missed - missed_before, share - share_before);
        let is_cause = all.abs() >= CHANGE_MIN && part / all >= MOSTLY;
        is_cause.then(|| {
            let mut says = format!(
                "because {} of its reads ask for keys that were never written ({} before)",
                percent(share),
                percent(share_before)
            );
            let evicted = |of: &Self| of.missed_for(Cause::Evicted);
            let known = evicted(self).zip(evicted(before));
            if let Some((now, then)) = known.filter(|(now, then)| (now - then) * all < 0.0)
                && part / all > OVERSHOOT
            {
                let (now, then) = (percent(now), percent(then));
                let evicted = "miss because the item was evicted";
                let _ = write!(says, ", while {now} {evicted} ({then} before)");
            }
            says
        })
    }

    /// The sum of several tenants' requests over the same stretch of time.
    pub fn sum<'a>(all: impl Iterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for one in all {
            sum.seconds = sum.seconds.max(one.seconds);
            sum.reads += one.reads;
            sum.misses += one.misses;
            sum.sampled += one.sampled;
            sum.causes.iter_mut().zip(one.causes).for_each(|(sum, one)| *sum += one);
            sum.wait_ms += one.wait_ms;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of the reads miss for one cause each; a cause that fell by more than all misses names
    /// the cause that rose meanwhile.
    #[test]
    fn causes_against_each_other_are_both_told() {
        let of = |never: u64, evicted: u64| Recent {
            reads: 1_000,
            misses: never + evicted,
            causes: [never, evicted, 0, 0, 0],
            sampled: 500,
            ..Recent::default()
        };
        let says = of(510, 340).other_keys(&of(930, 40)).unwrap();
        let both = "because 51 % of its reads ask for keys that were never written (93 % before), \
                    while 34 % miss because the item was evicted (4.0 % before)";
        assert_eq!(says, both);
        let says = of(610, 40).other_keys(&of(930, 40)).unwrap();
        assert!(says.ends_with("(93 % before)"), "{says}");
        assert_eq!(of(930, 340).other_keys(&of(930, 40)), None);
    }
}
