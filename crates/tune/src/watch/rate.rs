//! The share of the keys that a pool's models watch, and its changes.

use super::Watch;
use super::allowance::octave;
use super::models::WARM_EPOCHS;

/// The rate that a recipe with a rate of its own gets, however busy the plant is. It is DLRU's
/// published rate, with which five miniatures take 32 ns a request. With a lower one an interval
/// would teach nothing.
pub(super) const RATE_GRANTED: f64 = 1.0 / 200.0;

/// Epochs with requests before the rate may be raised again.
const RAISE_EPOCHS: u32 = 8;

/// Share of the peak rate of requests that remains in the next epoch. The rate is not raised in a
/// lull, since the load after it would find the models unprepared.
const PEAK_KEEP: f64 = 0.97;

impl Watch {
    /// Ends an epoch in which the pool had, smoothed, `ops_per_s` requests a second: takes the
    /// curves, forgets a little, and adapts the rate to the allowed samples. Call it only after an
    /// epoch with requests: a lull teaches nothing and must forget nothing.
    pub(crate) fn epoch(&mut self, ops_per_s: f64, samples_per_s: f64, keep: f64) {
        self.peak_ops_per_s = (self.peak_ops_per_s * PEAK_KEEP).max(ops_per_s);
        self.take_curves(keep);
        if let Some(rate) = self.lower_rate(ops_per_s, samples_per_s) {
            self.lower(rate);
        } else if let Some(rate) = self.higher_rate(samples_per_s) {
            self.restart(rate);
        }
    }

    /// Adopts the rate of a sampler that serves this watch. A lower rate applies at once, since
    /// other keys no longer arrive; a higher one only if it is far higher.
    pub(crate) fn follow(&mut self, rate: f64) {
        if rate < 0.999 * self.filter().rate() || rate >= 4.0 * self.rate {
            self.begin(rate);
        }
    }

    /// Watches fewer keys, with the same models if they can forget the others.
    fn lower(&mut self, rate: f64) {
        let before = self.filter().rate();
        if self.models.is_empty() || !self.models.iter_mut().all(|model| model.lower(rate)) {
            return self.restart(rate);
        }
        (self.rate, self.rate_is_known) = (rate, true);
        self.reads *= rate / before;
        let filter = self.filter();
        self.keys.retain(|&key| filter.keeps(key));
    }

    /// Begins anew with another rate. The old curves serve until new ones rest on half as many
    /// reads and reach as far: a new model takes every key for a new one.
    fn restart(&mut self, rate: f64) {
        self.rate_is_known = true;
        self.warm = WARM_EPOCHS;
        if self.asked.is_none() && !self.curves.is_empty() {
            self.recalled = Some(self.recalled.unwrap_or(0.0).max(0.5 * self.reads));
        }
        self.begin(rate);
    }

    /// Reacts in the middle of an epoch to `ops_per_s` requests a second, if they are far more than
    /// the rate allows: the models begin anew at a lower rate. True if they did.
    pub(crate) fn overrun(&mut self, ops_per_s: f64, samples_per_s: f64) -> bool {
        self.peak_ops_per_s = self.peak_ops_per_s.max(ops_per_s);
        let Some(rate) = self.lower_rate(ops_per_s, samples_per_s) else { return false };
        self.lower(rate);
        true
    }

    /// The new rate, if the present one is far too high.
    fn lower_rate(&self, ops_per_s: f64, samples_per_s: f64) -> Option<f64> {
        let in_time = self.granted(samples_per_s / ops_per_s.max(1e-9));
        let (wanted, now) = (octave(in_time), self.filter().rate());
        (now > 2.0 * in_time && wanted < now).then_some(wanted)
    }

    /// The rate for the available time, or the rate granted to a recipe with its own.
    fn granted(&self, in_time: f64) -> f64 {
        self.asked.map_or(in_time, |asked| in_time.max(asked.min(RATE_GRANTED)))
    }

    /// The new rate, if the present one is far too low.
    fn higher_rate(&self, samples_per_s: f64) -> Option<f64> {
        let in_time = octave(self.granted(samples_per_s / self.peak_ops_per_s.max(1e-9)));
        let wanted = self.asked.map_or(in_time, |asked| asked.min(in_time));
        let now = self.filter().rate();
        // Models that lowered their rate themselves hold as many keys as they can.
        let has_room = now >= 0.99 * self.rate;
        let raise = if self.asked.is_some() {
            wanted >= 2.0 * now
        } else if self.rate_is_known {
            self.age >= RAISE_EPOCHS && wanted >= 4.0 * self.rate
        } else {
            wanted > self.rate
        };
        (raise && has_room).then_some(wanted)
    }
}
