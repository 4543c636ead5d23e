//! Checks forecasts against outcomes, and keeps a division to return to if they fail.
//!
//! ```text
//!   adopted ──▶ on trial ── holds for some epochs ──▶ good
//!                  │
//!                  └─ worse than forecast, beyond the band, epoch after epoch:
//!                     back to the last good plan, and nothing new for a while
//! ```
//!
//! Forecast and outcome of an epoch are one number each: the miss ratios of the pools, weighted by
//! the cost of their misses in that epoch. So a change of rates or penalties is no error. The band
//! is three times the recent spread of the errors around their mean, and at least a twentieth.
//! Models with the same error as ever are no worse than when the plan was made.
//!
//! An outcome better than forecast is an error too, but no reason to go back.

use crate::Evictor;
use crate::record::PoolEpoch;
use base::Bytes;

/// The narrowest band.
const BAND_MIN: f64 = 0.05;

/// Width of the band, in spreads of the error.
const SPREADS: f64 = 3.0;

/// Weight of an epoch's error against the earlier ones.
const ERROR_WEIGHT: f64 = 0.1;

/// Epochs in a row beyond the band that are no accident, and epochs within it that make a plan
/// good.
const WRONG_MAX: u32 = 3;
const GOOD_MIN: u32 = 5;

/// Epochs without a new plan after a return.
const BACKOFF: u64 = 12;

type Division = Vec<(Bytes, Evictor)>;

/// The record of the forecasts, and the last division that met its forecasts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trust {
    /// Mean and spread of the error: outcome minus forecast.
    error: f64,
    spread: f64,
    wrong: u32,
    held: u32,
    good: Option<Division>,
    on_trial: bool,
    backs_off_until: u64,
}

/// The wait of all pools as a share of the wait if nothing hit: forecast, outcome and band.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) forecast: f64,
    pub(crate) outcome: f64,
    pub(crate) band: f64,
}

impl Trust {
    /// Takes the division of the pools before any plan as the good one.
    pub(crate) fn begin(&mut self, division: Division) {
        if self.good.as_ref().is_none_or(|good| good.len() != division.len()) {
            *self = Self { good: Some(division), ..Self::default() };
        }
    }

    /// Scales the good division after a change of the limit by this factor.
    pub(crate) fn scale(&mut self, factor: f64) {
        for (budget, _) in self.good.iter_mut().flatten() {
            *budget = Bytes((budget.as_f64() * factor) as u64);
        }
    }

    /// Puts the plan that comes into force on trial.
    pub(crate) const fn adopt(&mut self) {
        self.on_trial = true;
        self.held = 0;
        self.wrong = 0;
    }

    /// Whether it is too early for a new plan.
    pub(crate) const fn backs_off(&self, epoch: u64) -> bool {
        epoch < self.backs_off_until
    }

    /// Compares the forecasts of the ended epoch with its outcomes, under the division `goal`.
    /// `None` without anything to compare.
    pub(crate) fn judge(
        &mut self,
        pools: &[PoolEpoch],
        goal: Option<&Division>,
    ) -> Option<Verdict> {
        let weight = |pool: &PoolEpoch| pool.reads_per_s * pool.penalty_us;
        let known = || pools.iter().filter_map(|p| Some((weight(p), p.forecast?, p.outcome?)));
        let all: f64 = known().map(|(weight, ..)| weight).sum();
        if all <= 0.0 {
            return None;
        }
        let forecast = known().map(|(weight, forecast, _)| weight * forecast).sum::<f64>() / all;
        let outcome = known().map(|(weight, _, outcome)| weight * outcome).sum::<f64>() / all;
        let band = (SPREADS * self.spread).max(BAND_MIN);
        let error = outcome - forecast;
        if error - self.error.max(0.0) > band {
            self.wrong += 1;
            self.held = 0;
        } else {
            self.wrong = 0;
            self.held += 1;
            let off = (error - self.error).abs();
            self.error += ERROR_WEIGHT * (error - self.error);
            self.spread += ERROR_WEIGHT * (off - self.spread);
        }
        if self.held >= GOOD_MIN && self.on_trial {
            self.on_trial = false;
            self.good = goal.cloned().or_else(|| self.good.take());
        }
        Some(Verdict { forecast, outcome, band })
    }

    /// The division to return to, if the plan on trial was wrong for too long.
    pub(crate) fn fall_back(&mut self, epoch: u64) -> Option<Division> {
        if !self.on_trial || self.wrong < WRONG_MAX {
            return None;
        }
        self.on_trial = false;
        self.wrong = 0;
        self.backs_off_until = epoch + BACKOFF;
        self.good.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn division(bytes: u64) -> Division {
        vec![(Bytes(bytes), Evictor::klru(5))]
    }

    fn epoch(forecast: f64, outcome: f64) -> [PoolEpoch; 1] {
        [PoolEpoch {
            name: "all".to_owned(),
            budget: Bytes(1),
            evictor: Evictor::klru(5),
            used: Bytes(1),
            pages: None,
            reads_per_s: 10.0,
            penalty_us: 100.0,
            forecast: Some(forecast),
            outcome: Some(outcome),
        }]
    }

    /// A plan that meets its forecasts becomes the one to return to. The next plan fails three
    /// times in a row, and nothing happens before the third failure.
    #[test]
    fn a_plan_is_on_trial_until_it_held() {
        let mut trust = Trust::default();
        trust.begin(division(1));
        trust.adopt();
        for _ in 0..GOOD_MIN {
            trust.judge(&epoch(0.3, 0.32), Some(&division(2)));
            assert_eq!(trust.fall_back(1), None);
        }
        trust.adopt();
        for at in 1..=3 {
            let verdict = trust.judge(&epoch(0.3, 0.5), Some(&division(3))).unwrap();
            assert_eq!((verdict.forecast, verdict.outcome), (0.3, 0.5));
            assert_eq!(trust.fall_back(10), (at == 3).then(|| division(2)));
        }
        assert!(trust.backs_off(21) && !trust.backs_off(22));
        // Nothing is on trial now: no plan is to blame for a change of the workload.
        for _ in 0..5 {
            trust.judge(&epoch(0.3, 0.9), Some(&division(2)));
            assert_eq!(trust.fall_back(30), None);
        }
    }

    /// An outcome better than forecast, one error, or the usual error is no reason to go back.
    #[test]
    fn what_is_no_reason_to_go_back() {
        for outcomes in [[0.0, 0.1, 0.0, 0.1], [0.5, 0.3, 0.5, 0.3], [0.33, 0.34, 0.33, 0.34]] {
            let mut trust = Trust::default();
            trust.begin(division(1));
            trust.adopt();
            for outcome in outcomes {
                trust.judge(&epoch(0.3, outcome), Some(&division(2)));
                assert_eq!(trust.fall_back(1), None, "{outcomes:?}");
            }
        }
    }
}
