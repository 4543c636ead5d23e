//! The curves of a pool: drawn once an epoch, and compared with the counted misses.

use super::Watch;
use super::allowance::KEYS_MIN;
use crate::Evictor;
use crate::known::RECALL_EPOCHS;
use crate::snapshot::Candidate;
use base::Filter;
use curve::{Bytes, MissRatioCurve};

/// The fewest reads behind a usable curve.
const READS_MIN: f64 = 400.0;

/// Reads that a curve rests on while the load stays the same, however old they are. With fewer,
/// chance makes more than a percentage point, and the best of many divisions is the best by chance.
const READS_KEPT: f64 = 6_000.0;

/// The least extent of the curves of new models, relative to the old ones: beyond the keys that
/// models have seen, their curves promise no gain.
const EXTENT_MIN: f64 = 0.8;

/// Number of sizes at which a curve has a band.
const BANDS: u64 = 32;

impl Watch {
    /// Compares the curves with an epoch of `reads` reads, of which `missed` missed, while the pool
    /// held `held` bytes under this policy.
    pub(crate) fn check(&mut self, evictor: Evictor, held: Bytes, reads: f64, missed: f64) {
        self.place = Some((evictor, held));
        if self.asked.is_some() {
            // Miniatures of the present size are compared with each other instead.
            return;
        }
        let known = self.curves.iter().find(|known| known.evictor == evictor);
        if let Some(known) = known {
            let ratio = self.applied.unshifted(known.curve.at(held).0);
            self.calibration.note(reads, missed, ratio);
        }
    }

    /// The expected miss ratio with this memory under this policy.
    pub(crate) fn forecast(&self, evictor: Evictor, held: Bytes) -> Option<f64> {
        let known = self.curves.iter().find(|known| known.evictor == evictor)?;
        Some(known.curve.at(held).0)
    }

    /// The part of [`Watch::epoch`] for curves: takes them, and forgets a little.
    pub(crate) fn take_curves(&mut self, keep: f64) {
        self.age += 1;
        let enough_keys = self.keys.len() >= KEYS_MIN || self.filter() == Filter::ALL;
        if self.age > RECALL_EPOCHS || self.recalled.is_some_and(|reads| self.reads >= reads) {
            self.recalled = None;
        }
        let is_enough = self.reads >= READS_MIN && enough_keys && self.recalled.is_none();
        let ended = keep > 0.0 || self.reads >= READS_MIN;
        let drawn: Vec<_> = if self.age >= self.warm && is_enough {
            self.models.iter().map(|model| model.curve()).collect()
        } else {
            vec![]
        };
        let farthest = drawn.iter().map(MissRatioCurve::extent).max().unwrap_or_default();
        let known = self.curves.iter().map(|known| known.curve.extent()).max().unwrap_or_default();
        let reaches = farthest.as_f64() >= EXTENT_MIN * known.as_f64();
        let is_late = self.age > RECALL_EPOCHS || self.calibration.is_off();
        if !drawn.is_empty() && (reaches || is_late || !self.is_new) {
            if std::mem::take(&mut self.is_new)
                && let Some((evictor, held)) = self.place
                && let Some(at) = self.evictors.iter().position(|known| *known == evictor)
            {
                self.calibration.rebase(drawn[at].at(held).0);
            }
            self.applied = self.calibration;
            let reads = self.reads;
            let known = self.evictors.iter().zip(&mut self.models).zip(&drawn);
            let known = known.map(|((&evictor, model), curve)| {
                let (groups, waits, end) = (model.groups(), model.waits(), curve.extent().0);
                let sizes = (0..=BANDS).map(|step| Bytes(end / BANDS * step)).collect::<Vec<_>>();
                let bands = model.bands(&sizes);
                let curve = self.calibration.apply(curve);
                Candidate { groups, waits, reads, bands, ..Candidate::new(evictor, curve) }
            });
            self.curves = known.collect();
        } else if keep > 0.0 {
            let (before, now) = (self.applied, self.calibration);
            for known in &mut self.curves {
                known.curve = now.renew(&before, &known.curve);
            }
            self.applied = now;
        } else if ended && drawn.is_empty() {
            // This epoch gave no curve, and earlier ones do not count.
            self.curves.clear();
        }
        // An interval with too few reads continues, and few reads are kept for longer: forgotten at
        // the rate of arrival they would never be enough. Reads that no longer predict the load are
        // forgotten sooner.
        let kept = if self.calibration.is_off() { READS_MIN } else { READS_KEPT };
        let keep = if keep > 0.0 { keep.max((kept / self.reads).min(1.0)) } else { keep };
        if ended {
            self.models.iter_mut().for_each(|model| model.forget(keep));
            self.reads *= keep;
            if !enough_keys && let Some(asked) = &mut self.asked {
                *asked = (4.0 * *asked).min(1.0);
            }
            if keep == 0.0 {
                self.keys.clear();
            }
        }
    }
}
