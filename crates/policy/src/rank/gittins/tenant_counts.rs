//! A tenant's counts by class, at two rates of forgetting.
//!
//! Loads change, and long counts are the most certain, so there are two memories of the same
//! counts. The half-life of the *slow* one is most of the requests seen. The half-life of the
//! *fast* one is six turnovers of the cache. It has few keys, so it is shrunk towards the slow one,
//! class by class. Each predicts the events until the next look, and their weights follow their
//! success. Each weight is multiplied by a power of the likelihood of the actual counts \[1\]. A
//! little of each weight always stays, so that either rate can win again.
//!
//! The counts take lifetimes as independent. In fact many keys fall silent together and return
//! together, which lifetimes before the first such return do not tell. So an item that was hit at
//! least twice ages at 0.6 of the pace.
//!
//! \[1\] Cesa-Bianchi, Lugosi. Prediction, Learning, and Games. 2006.

use super::class::{AGES, CLASSES, FRACTION, OCTAVES, age_of, bucket, octave_of, width};
use super::counts::{AgeCounts, Fate, Window};
use super::index::{Hazards, PRIOR, PRIOR_OF_PARTS, PRIOR_OF_RATES, with_neighbours};
use super::options::{LearnerOptions, RATES};
use super::table::Making;
use std::array::from_fn;

/// The power of the likelihood in a weight.
const ETA: f64 = 0.3;
/// The least weight of a rate.
const WEIGHT_MIN: f64 = 0.025;
/// The pace at which an item ages that was hit at least twice.
const PACE: f32 = 0.6;
/// Buckets by which the profile is later than the ages of a class hit at every request.
const LATER: isize = (OCTAVES as isize) << FRACTION;

/// Counts of one class at both rates.
#[derive(Clone, Debug, Default)]
struct ClassCounts {
    window: Window,
    counts: [AgeCounts; RATES],
}

/// Counts and weights of one tenant.
#[derive(Clone, Debug)]
pub(super) struct TenantCounts {
    /// By class; `None` for a class without keys.
    classes: Vec<Option<Box<ClassCounts>>>,
    /// The prediction of each rate at the last look: the hazard of a hit by octave and age.
    foretold: Vec<[Vec<f32>; RATES]>,
    weights: [f64; RATES],
}

impl Default for TenantCounts {
    fn default() -> Self {
        let classes = (0..CLASSES).map(|_| None).collect();
        Self { classes, foretold: vec![], weights: [0.5; RATES] }
    }
}

impl TenantCounts {
    /// Notes that a key of a class grew older, and its fate at the later age.
    #[inline]
    pub(super) fn note(&mut self, class: u8, from: u32, to: u32, fate: Fate) {
        let class = &mut self.classes[usize::from(class) % CLASSES];
        class.get_or_insert_default().window.pass(from, to, fate);
    }

    /// Ends the period: adds its counts at each rate, after multiplying earlier counts by that
    /// rate's decay.
    pub(super) fn end_period(&mut self, decays: &[f32]) {
        let mut came: [AgeCounts; OCTAVES] = from_fn(|_| AgeCounts::default());
        for (at, class) in self.classes.iter_mut().enumerate() {
            let Some(class) = class else { continue };
            let period = class.window.close();
            for (counts, &decay) in class.counts.iter_mut().zip(decays) {
                counts.forget(decay);
                counts.add(&period, 1.0);
            }
            came[octave_of(at)].add(&period, 1.0);
        }
        self.weigh(&came);
        for class in &mut self.classes {
            if class.as_ref().is_some_and(|class| class.counts[0].is_empty()) {
                *class = None;
            }
        }
    }

    /// Weighs the rates by the likelihood of the actual counts under their predictions.
    fn weigh(&mut self, came: &[AgeCounts]) {
        let mut likelihood = [0.0f64; RATES];
        for (foretold, came) in self.foretold.iter().zip(came) {
            for (likelihood, foretold) in likelihood.iter_mut().zip(foretold) {
                *likelihood += log_likelihood(foretold, came);
            }
        }
        let best = likelihood.iter().copied().fold(f64::MIN, f64::max);
        for (weight, likelihood) in self.weights.iter_mut().zip(likelihood) {
            *weight *= (ETA * (likelihood - best)).exp();
        }
        let sum: f64 = self.weights.iter().sum();
        let kept = 1.0 - WEIGHT_MIN * RATES as f64;
        self.weights = self.weights.map(|weight| kept * weight / sum + WEIGHT_MIN);
    }

    /// The tenant's counts by octave, and their sum.
    pub(super) fn pooled(&self, rates: usize) -> Pooled {
        let mut pooled = Pooled::default();
        for (at, class) in self.classes.iter().enumerate() {
            let Some(class) = class else { continue };
            for rate in 0..rates {
                pooled.octaves[rate][octave_of(at)].add(&class.counts[rate], 1.0);
            }
        }
        for (all, octaves) in pooled.all.iter_mut().zip(&pooled.octaves) {
            for octave in octaves {
                all.add(octave, 1.0);
            }
        }
        pooled
    }

    /// Adds the tenant's rows to a table, shrunk towards the hazards of everything. Each row has
    /// `recency` added, if it is not empty.
    pub(super) fn rows(
        &mut self,
        pooled: &Pooled,
        everything: &Hazards,
        options: LearnerOptions,
        recency: &[f32],
        table: &mut Making,
    ) {
        let rates = options.rates();
        let weights = if rates == RATES { self.weights } else { [1.0, 0.0] };
        let of_rates = |slow: Hazards, counts: &dyn Fn(usize) -> AgeCounts| -> [Hazards; RATES] {
            let fast = match rates {
                RATES => slow.within(&counts(1), PRIOR_OF_RATES),
                _ => Hazards::none(0),
            };
            [slow, fast]
        };
        let mut add = |hazards: &[Hazards; RATES], is_steady: bool| {
            let mut mixed = Hazards::none(hazards[0].hit.len());
            for (hazards, weight) in hazards.iter().zip(weights) {
                mixed.add(hazards, weight as f32);
            }
            let at = table.rows();
            let row = table.row();
            mixed.indices(options.stops, row);
            if is_steady {
                age_slowly(row);
            }
            row.iter_mut().zip(recency).for_each(|(index, more)| *index += more);
            at
        };
        let tenant = everything.within(&pooled.all[0], PRIOR);
        let profile = pooled.profile();
        let met = |octave: &usize| !pooled.octaves[0][*octave].is_empty();
        let (first, last) = match ((1..OCTAVES).find(met), (1..OCTAVES).rfind(met)) {
            (Some(first), Some(last)) => (first.max(2) - 1, (last + 1).min(OCTAVES - 1)),
            _ => (1, 1),
        };
        let mut octaves = vec![];
        let mut rows = [0; CLASSES];
        self.foretold = vec![[const { vec![] }; RATES]; OCTAVES];
        for octave in std::iter::once(0).chain(first..=last) {
            let mut slow = tenant.clone();
            if octave > 0 && options.profile {
                let mut shifted = AgeCounts::default();
                shifted.add_later(&profile, ((octave as isize) << FRACTION) - LATER);
                slow.shrink(&shifted, PRIOR);
            }
            let of = |rate: usize| with_neighbours(octave, |at| pooled.octaves[rate].get(at));
            slow.shrink(&of(0), PRIOR);
            let hazards = of_rates(slow, &of);
            let row = add(&hazards, false);
            rows.iter_mut().skip(octave).step_by(OCTAVES).for_each(|of_part| *of_part = row);
            if rates == RATES {
                self.foretold[octave] = from_fn(|rate| hazards[rate].hit.clone());
            }
            octaves.push((octave, hazards));
        }
        for (octave, [of_octave, _]) in &octaves {
            for class in (*octave..CLASSES).step_by(OCTAVES).filter(|_| options.parts) {
                if self.classes[class].is_none() {
                    continue;
                }
                let part = class - octave;
                let of = |rate: usize| {
                    let beside =
                        |at: usize| Some(&self.classes.get(part + at)?.as_ref()?.counts[rate]);
                    with_neighbours(*octave, beside)
                };
                let slow = of_octave.within(&of(0), PRIOR_OF_PARTS);
                let is_steady = options.steady && *octave > 0 && part > 0;
                rows[class] = add(&of_rates(slow, &of), is_steady);
            }
        }
        table.tenant(|class| {
            let octave = octave_of(class);
            let nearest = if octave == 0 { 0 } else { octave.clamp(first, last) };
            rows[class - octave + nearest]
        });
    }

    /// Hits, ends and exposure by age, for each class.
    pub(super) fn known(&self) -> impl Iterator<Item = (usize, AgeCounts)> {
        let known = self.classes.iter().enumerate();
        known.filter_map(|(at, class)| {
            let class = class.as_ref()?;
            let mut counts = class.counts[0].clone();
            counts.add(&class.window.so_far(), 1.0);
            Some((at, counts))
        })
    }

    /// Adds the counts of a class from another run.
    pub(super) fn recall(&mut self, class: usize, known: &AgeCounts) {
        let class = self.classes[class % CLASSES].get_or_insert_default();
        class.counts.iter_mut().for_each(|counts| counts.add(known, 1.0));
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        let of_class = |class: &ClassCounts| {
            let counts = class.counts.iter().map(AgeCounts::bytes).sum::<usize>();
            size_of::<ClassCounts>() + class.window.bytes() + counts
        };
        let foretold = self.foretold.iter().flatten().map(|row| row.capacity() * size_of::<f32>());
        CLASSES * size_of::<usize>()
            + self.foretold.capacity() * size_of::<[Vec<f32>; RATES]>()
            + foretold.sum::<usize>()
            + self.classes.iter().flatten().map(|class| of_class(class)).sum::<usize>()
    }
}

/// The counts of a tenant by rate: for each octave, and their sum.
#[derive(Debug)]
pub(super) struct Pooled {
    octaves: [[AgeCounts; OCTAVES]; RATES],
    pub(super) all: [AgeCounts; RATES],
}

impl Default for Pooled {
    fn default() -> Self {
        Self {
            octaves: from_fn(|_| from_fn(|_| AgeCounts::default())),
            all: from_fn(|_| AgeCounts::default()),
        }
    }
}

impl Pooled {
    /// The slow counts of all octaves that were hit, by age relative to the interval.
    fn profile(&self) -> AgeCounts {
        let mut profile = AgeCounts::default();
        for (octave, counts) in self.octaves[0].iter().enumerate().skip(1) {
            profile.add_later(counts, LATER - ((octave as isize) << FRACTION));
        }
        profile
    }

    /// Number of buckets of ages with any count.
    pub(super) fn ages(&self) -> usize {
        self.all[0].hits.len().min(AGES)
    }
}

/// Gives each age the index of the age at [`PACE`] times it.
fn age_slowly(row: &mut [f32]) {
    for age in (0..row.len()).rev() {
        let middle = age_of(age) + width(age) / 2;
        row[age] = row[bucket((PACE * middle as f32) as u32)];
    }
}

/// The logarithm of the likelihood of the actual counts under these hazards.
fn log_likelihood(hazards: &[f32], came: &AgeCounts) -> f64 {
    let mut sum = 0.0;
    for ((&hazard, &hits), &risk) in hazards.iter().zip(&came.hits).zip(&came.risk) {
        if risk <= 0.0 {
            continue;
        }
        let hazard = hazard.clamp(1e-7, 0.999);
        if hits > 0.0 {
            sum += hits * hazard.ln();
        }
        // -ln(1 - h), to about a percent.
        let series = hazard * (1.0 + hazard * (0.5 + hazard * (0.333 + 0.4 * hazard)));
        sum -= (risk - hits).max(0.0) * series;
    }
    f64::from(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::gittins::class::class_of;

    /// For a long time keys come back after a hundred requests, then hardly any does. The slow rate
    /// still predicts hits and the fast one does not. Soon the fast rate has nearly all the weight.
    #[test]
    fn the_rate_that_foretells_better_weighs_more() {
        let mut lived = TenantCounts::default();
        let period = |lived: &mut TenantCounts, hits: u32| {
            for key in 0..1_000 {
                let fate = if key < hits { Fate::Hit } else { Fate::Lasts };
                lived.note(0, 0, 100, fate);
            }
            lived.end_period(&[1.0, 0.7]);
            let pooled = lived.pooled(RATES);
            let everything = Hazards::of_all(&pooled.all[0], 80, true);
            let mut table = Making::new(80);
            lived.rows(&pooled, &everything, LearnerOptions::default(), &[], &mut table);
            table.done().at(0, 0, bucket(90))
        };
        let before = (0..30).map(|_| period(&mut lived, 500)).last().unwrap();
        assert!(lived.weights[0] > 0.2, "{:?}", lived.weights);
        let after: Vec<f32> = (0..8).map(|_| period(&mut lived, 5)).collect();
        assert!(lived.weights[1] > 0.9, "{:?}", lived.weights);
        assert!(after[7] < before / 5.0, "{before} {after:?}");
    }

    #[test]
    fn what_was_hit_twice_ages_slowly() {
        let mut lived = TenantCounts::default();
        let [once, twice] = [1, 2].map(|hits| class_of(11, hits, 0));
        for age in (1..2_000).step_by(3) {
            for class in [once, twice] {
                lived.note(class, 0, age, if age < 1_000 { Fate::Hit } else { Fate::Lasts });
            }
        }
        lived.end_period(&[1.0, 1.0]);
        let pooled = lived.pooled(RATES);
        let mut index = |steady: bool, class: u8, age: u32| {
            let everything = Hazards::of_all(&pooled.all[0], 120, true);
            let options = LearnerOptions { steady, ..LearnerOptions::default() };
            let mut table = Making::new(120);
            lived.rows(&pooled, &everything, options, &[], &mut table);
            table.done().at(0, class, bucket(age))
        };
        for (age, younger) in [(0, 0), (100, 60), (1_000, 600), (1_500, 900)] {
            let ratio = index(true, twice, age) / index(false, twice, younger);
            assert!((0.85..1.15).contains(&ratio), "{age}: {ratio}");
            assert_eq!(index(true, once, age), index(false, once, age), "{age}");
        }
        assert!(index(true, twice, 1_500) > 2.0 * index(false, twice, 1_500));
    }

    #[test]
    fn what_is_likely_has_the_greater_likelihood() {
        let came = AgeCounts { risk: vec![100.0; 3], hits: vec![20.0, 0.0, 90.0], ends: vec![] };
        let of = |hazards: [f32; 3]| log_likelihood(&hazards, &came);
        assert!(of([0.2, 0.0, 0.9]) > of([0.1, 0.0, 0.9]).max(of([0.2, 0.1, 0.9])));
        assert!(of([0.2, 0.0, 0.9]) > of([0.2, 0.0, 0.5]));
    }
}
