//! Compares a pool's actual misses with its curve. If the curve is wrong at the pool's size, it is
//! shifted as a whole.
//!
//! A model sees a sample of the keys, remembers the past and replaces a policy by one that is
//! easier to compute. So its curve may be off by some percentage points everywhere. At one size
//! there is no need to guess: the pool has this size, and its misses are counted. The shift is in
//! the odds, `m/(1-m)`: it leaves 0 and 1 in place, and never reverses a curve. Nowhere does it
//! exceed the difference at the measured point. Where a model says that all reads miss, and nearly
//! all do, the odds are off by any factor, and the curve by next to nothing.
//!
//! ```text
//!   1 ┐╲                     ─ the model's curve
//!     │ ╲  ·                 · the same, shifted through what was measured (×)
//!     │  ╲   ·×
//!     │    ╲ _  · _
//!   0 └────────┴───────── size
//!           what it holds
//! ```

use curve::{MissRatio, MissRatioCurve};

/// Weight that the counts up to an epoch ago keep at the next epoch.
const KEEP: f64 = 0.75;

/// Reads that are kept however old they are: with fewer, chance alone makes two percentage points.
const READS_KEPT: f64 = 600.0;

/// Reads that are assumed to have missed as forecast.
const READS_GRANTED: f64 = 60.0;

/// The odds are shifted by at most this factor: a larger error is of another kind.
const SHIFT_MAX: f64 = 8.0;

/// The pool is off if its error is this many times the standard deviation of chance, this share of
/// the reads, and measured on this number of reads.
const CHANCE: f64 = 5.0;
const OFF: f64 = 0.05;
const OFF_READS: f64 = 100.0;

/// Reads of a pool, the misses forecast by its model alone, and the actual misses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Calibration {
    reads: f64,
    forecast: f64,
    missed: f64,
    late: Late,
}

/// Reads and misses of the last epochs, and the misses forecast with the shift of their time.
#[derive(Clone, Copy, Debug, Default)]
struct Late {
    reads: f64,
    forecast: f64,
    missed: f64,
}

impl Calibration {
    /// Adds an epoch of `reads` reads, of which `missed` missed. The model's curve forecast
    /// `ratio`.
    pub(crate) fn note(&mut self, reads: f64, missed: f64, ratio: f64) {
        if reads <= 0.0 {
            return;
        }
        self.late = Late {
            reads: KEEP * self.late.reads + reads,
            forecast: KEEP * self.late.forecast + self.shifted(ratio) * reads,
            missed: KEEP * self.late.missed + missed,
        };
        let keep = KEEP.max((1.0 - reads / READS_KEPT).min(1.0));
        self.reads = keep * self.reads + reads;
        self.forecast = keep * self.forecast + ratio * reads;
        self.missed = keep * self.missed + missed;
    }

    /// Whether the last epochs differ from the earlier ones by more than chance.
    pub(crate) fn is_off(&self) -> bool {
        let Late { reads, forecast, missed } = self.late;
        let chance = (forecast * (1.0 - forecast / reads.max(1.0))).max(1.0).sqrt();
        let off = (missed - forecast).abs();
        reads >= OFF_READS && off > CHANCE * chance && off > OFF * reads
    }

    /// The factor of the odds, and the most by which it may move a ratio.
    fn shift(&self) -> (f64, f64) {
        let expected = self.forecast / self.reads.max(f64::MIN_POSITIVE);
        let measured = (self.missed + READS_GRANTED * expected) / (self.reads + READS_GRANTED);
        let odds = |ratio: f64| ratio / (1.0 - ratio);
        let shift = odds(measured) / odds(expected);
        let shift = if shift.is_finite() { shift.clamp(1.0 / SHIFT_MAX, SHIFT_MAX) } else { 1.0 };
        (shift, (measured - expected).abs())
    }

    fn shifted(&self, ratio: f64) -> f64 {
        let (shift, most) = self.shift();
        let shifted = ratio * shift / (1.0 - ratio + ratio * shift);
        shifted.clamp(ratio - most, ratio + most)
    }

    /// The ratio of the model's curve where the shifted curve has `ratio`.
    pub(crate) fn unshifted(&self, ratio: f64) -> f64 {
        if ratio <= 0.0 {
            return 0.0;
        }
        let (shift, most) = self.shift();
        (ratio / (shift * (1.0 - ratio) + ratio)).clamp(ratio - most, ratio + most)
    }

    /// Replaces the model by another, whose curve has `ratio` at the pool's size.
    pub(crate) fn rebase(&mut self, ratio: f64) {
        self.forecast = ratio * self.reads;
    }

    /// Shifts a curve that `before` had shifted through the present measurements.
    pub(crate) fn renew(&self, before: &Self, curve: &MissRatioCurve) -> MissRatioCurve {
        let shifted = |ratio: f64| self.shifted(before.unshifted(ratio));
        let points = curve.points().iter();
        MissRatioCurve::new(points.map(|&(size, ratio)| (size, MissRatio(shifted(ratio.0)))))
    }

    /// Shifts the curve of a model through the measurements.
    pub(crate) fn apply(&self, curve: &MissRatioCurve) -> MissRatioCurve {
        self.renew(&Self::default(), curve)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Bytes;

    fn at(calibration: &Calibration, ratio: f64) -> f64 {
        let curve = MissRatioCurve::new([(Bytes(10), MissRatio(ratio))]);
        calibration.apply(&curve).at(Bytes(10)).0
    }

    /// A pool misses 0.3 where its model says 0.4. The shifted curve is lower at a smaller size
    /// too, and its ends stay.
    #[test]
    fn a_curve_goes_through_what_was_measured() {
        let mut calibration = Calibration::default();
        assert_eq!(at(&calibration, 0.4), 0.4);
        for _ in 0..20 {
            calibration.note(1_000.0, 300.0, 0.4);
        }
        assert!((at(&calibration, 0.4) - 0.3).abs() < 0.005, "{}", at(&calibration, 0.4));
        assert!((0.36..0.42).contains(&at(&calibration, 0.5)));
        assert!((calibration.unshifted(at(&calibration, 0.4)) - 0.4).abs() < 1e-9);
        calibration.rebase(0.2);
        assert!((at(&calibration, 0.2) - 0.3).abs() < 0.01, "the model is another");
        assert_eq!((at(&calibration, 0.0), at(&calibration, 1.0)), (0.0, 1.0));
        assert!(!calibration.is_off());
    }

    /// Ten reads that all miss are weak evidence.
    #[test]
    fn few_reads_shift_little() {
        let mut calibration = Calibration::default();
        calibration.note(10.0, 10.0, 0.2);
        assert!((0.2..0.4).contains(&at(&calibration, 0.2)), "{}", at(&calibration, 0.2));
        assert!(!calibration.is_off());
    }

    /// A pool whose clients turn to other keys misses more than chance explains.
    #[test]
    fn another_load_is_seen() {
        let mut calibration = Calibration::default();
        for _ in 0..10 {
            calibration.note(1_000.0, 200.0, 0.2);
            assert!(!calibration.is_off());
        }
        calibration.note(1_000.0, 900.0, 0.2);
        assert!(calibration.is_off());
    }

    /// The model says that all reads miss, and one in a hundred does not. The shift of the odds
    /// there must not move the rest of the curve far.
    #[test]
    fn the_end_of_a_curve_does_not_bend_the_rest() {
        let mut calibration = Calibration::default();
        calibration.note(10_000.0, 9_900.0, 0.999_9);
        assert!((at(&calibration, 0.7) - 0.7).abs() < 0.011, "{}", at(&calibration, 0.7));
        assert!((calibration.unshifted(at(&calibration, 0.7)) - 0.7).abs() < 1e-9);
    }

    /// A model without knowledge (all misses, or none) is not shifted beyond all bounds.
    #[test]
    fn certainty_is_not_shifted() {
        for ratio in [0.0, 1.0] {
            let mut calibration = Calibration::default();
            calibration.note(1_000.0, 500.0, ratio);
            assert_eq!(at(&calibration, ratio), ratio);
            assert!((0.0..=1.0).contains(&at(&calibration, 0.5)));
        }
    }
}
