//! The finished fetches of a tenant: their times, in all and by penalty class.
//!
//! For a tenant's mean, all values above the 99th percentile count as the 99th percentile: the
//! planner needs a mean, and one fetch of ten seconds must not dominate it.

use crate::bytes::stats::PenaltyStats;
use base::Micros;
use base::histogram::{Histogram, left_edge, width};
use base::penalty::{CLASSES, class_of};
use policy::rank::gittins::ClassFetches;

/// Number of classes, including the unknown.
pub(crate) const SLOTS: usize = CLASSES as usize + 1;

/// A fetch that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fetched {
    /// The time it took, and the number of further reads that missed meanwhile.
    In(Micros, u32),
    /// It took longer than the timeout.
    Abandoned,
}

/// Number of fetches whose weight never fades, because a mean needs about that many.
const FETCHES_KEPT: f64 = 20.0;

/// The finished fetches of one tenant.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// Fetches by their microseconds; `None` until the first.
    times: Option<Box<Histogram>>,
    /// Sum of the microseconds and number of the fetches, by the class of their time; `None` until
    /// the first.
    sums: Option<Box<[(f64, f64); SLOTS]>>,
    waiters: f64,
    abandoned: u64,
    /// Fetches by their microseconds, for each class of keys with any.
    classes: Vec<Option<Box<Histogram>>>,
}

impl Measured {
    /// Counts a fetch, also for a class if one is given.
    pub(crate) fn add(&mut self, fetched: Fetched, class: Option<u8>) {
        if let (Fetched::In(took, _), Some(class)) = (fetched, class) {
            let at = usize::from(class);
            self.classes.resize(self.classes.len().max(at + 1), None);
            self.classes[at].get_or_insert_default().add(took.0, 1.0);
        }
        match fetched {
            Fetched::In(took, waiters) => {
                self.times.get_or_insert_default().add(took.0, 1.0);
                let sums = self.sums.get_or_insert_default();
                let (sum, count) = &mut sums[usize::from(class_of(took))];
                (*sum, *count) = (*sum + took.as_f64(), *count + 1.0);
                self.waiters += f64::from(waiters);
            }
            Fetched::Abandoned => self.abandoned += 1,
        }
    }

    /// Counts a fetch with the weight `count`.
    pub(crate) fn recall(&mut self, fetched: Fetched, count: f64) {
        if let Fetched::In(took, _) = fetched {
            self.times.get_or_insert_default().add(took.0, count);
        }
    }

    /// Multiplies the weight of earlier fetches by `factor`, but keeps at least [`FETCHES_KEPT`] of
    /// them: a tenant that is idle overnight is still known in the morning.
    pub(crate) fn fade(&mut self, factor: f64) {
        let kept = |total: f64| factor.max(FETCHES_KEPT / total.max(FETCHES_KEPT));
        for times in self.classes.iter_mut().flatten() {
            times.scale(kept(times.total()));
        }
        let Some(times) = &mut self.times else { return };
        let factor = kept(times.total());
        times.scale(factor);
        for (sum, count) in self.sums.iter_mut().flat_map(|sums| sums.iter_mut()) {
            (*sum, *count) = (*sum * factor, *count * factor);
        }
        self.waiters *= factor;
    }

    pub(crate) fn stats(&self) -> PenaltyStats {
        let (waiters, abandoned) = (self.waiters, self.abandoned);
        PenaltyStats { waiters, abandoned, ..stats_of(self.times.as_deref()) }
    }

    /// The fetches by the class of their time.
    pub(crate) fn by_class(&self) -> [ClassFetches; SLOTS] {
        let of = |(sum, count): (f64, f64)| {
            let mean = if count > 0.0 { (sum / count) as f32 } else { 0.0 };
            ClassFetches { mean, count: count as f32 }
        };
        self.sums.as_ref().map_or([ClassFetches::default(); SLOTS], |sums| sums.map(of))
    }

    /// Statistics of the fetches that were counted for a class.
    pub(crate) fn class_stats(&self, class: u8) -> PenaltyStats {
        stats_of(self.classes.get(usize::from(class)).and_then(|times| times.as_deref()))
    }
}

fn stats_of(times: Option<&Histogram>) -> PenaltyStats {
    let Some(times) = times.filter(|times| times.total() > 0.0) else {
        return PenaltyStats::default();
    };
    let cut = times.quantile(0.99);
    let sum: f64 = (times.counts().iter().enumerate())
        .filter(|(_, count)| **count > 0.0)
        .map(|(at, count)| count * (left_edge(at) + (width(at) - 1) / 2).min(cut) as f64)
        .sum();
    let mean = Micros((sum / times.total()).round() as u64);
    PenaltyStats { count: times.total(), mean, ..PenaltyStats::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One slow fetch in a thousand must not shift the mean.
    #[test]
    fn outliers_are_cut() {
        let mut measured = Measured::default();
        (0..999).for_each(|_| measured.add(Fetched::In(Micros(1_000), 0), None));
        measured.add(Fetched::In(Micros(9_000_000), 4), None);
        let stats = measured.stats();
        assert!((970..=1030).contains(&stats.mean.0), "{stats:?}");
        assert_eq!((stats.count, stats.waiters), (1000.0, 4.0));
        measured.fade(0.5);
        assert_eq!(measured.stats().count, 500.0);
        assert_eq!(measured.stats().mean, stats.mean);
    }
}
