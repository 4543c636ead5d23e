//! The models across a restart of the server: their export, and their return.

use super::Watch;
use super::allowance::{KEYS_MIN, RATE_MIN};
use crate::known::{KnownCurve, KnownPool};
use curve::{Bytes, Remembered};

impl Watch {
    /// Adds the state of the models to `known`.
    pub(crate) fn known(&self, known: KnownPool) -> KnownPool {
        KnownPool {
            peak_ops_per_s: self.peak_ops_per_s,
            rate: self.filter().rate(),
            reads: self.recalled.map_or(self.reads, |before| self.reads.max(2.0 * before)),
            curves: self.curves.iter().map(KnownCurve::of).collect(),
            models: self.remembered().map(|all| (self.spec.name.to_owned(), all)),
            ..known
        }
    }

    /// Begins with the curves and the rate of an earlier run.
    pub(crate) fn recall(&mut self, known: &KnownPool) {
        self.budget = Bytes(known.budget);
        let curves = known.curves.iter();
        self.curves = curves.filter_map(|curve| curve.candidate(self.evictors)).collect();
        self.peak_ops_per_s = known.peak_ops_per_s;
        if known.rate >= RATE_MIN {
            self.rate_is_known = true;
            self.begin(known.rate.min(1.0));
        }
        self.recalled = (!self.curves.is_empty()).then_some(0.5 * known.reads);
        if self.remember(known) {
            (self.reads, self.age, self.recalled) = (known.reads, self.warm, None);
        }
    }

    /// The memory of all the models, if each can export it.
    fn remembered(&self) -> Option<Vec<Remembered>> {
        let known = self.models.iter().map(|model| model.remembered());
        if self.models.is_empty() { None } else { known.collect() }
    }

    /// Lets the models continue from the memory of an earlier run. Returns whether all of them do.
    fn remember(&mut self, known: &KnownPool) -> bool {
        let Some((name, all)) = &known.models else { return false };
        if name != self.spec.name || all.len() != self.evictors.len() {
            return false;
        }
        let rate = self.rate;
        self.build();
        let is_done = self.models.iter_mut().zip(all).all(|(model, one)| model.remember(one));
        if is_done {
            let objects = all.iter().flat_map(|one| &one.objects);
            self.keys = objects.map(|object| object.key).take(KEYS_MIN).collect();
        } else {
            self.begin(rate);
        }
        is_done
    }
}
