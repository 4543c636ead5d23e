//! Fetches of watched keys, by cost: the class of a fetch foretells the class of the next one.

use base::penalty;

/// Number of penalty classes, the unknown class first.
pub const PENALTIES: usize = 1 + penalty::CLASSES as usize;
/// Weight of a class's mean, in fetches, against the fetches that followed one of that class.
const MEAN_WEIGHT: f32 = 20.0;

/// Counts of fetches by the penalty class of the key's fetch before, and by their own class.
pub(super) type FetchCounts = [[f32; PENALTIES]; PENALTIES];

/// Counts of fetches by tenant, up to the highest tenant seen.
#[derive(Debug, Default)]
pub(super) struct Fetches(Vec<FetchCounts>);

impl Fetches {
    /// The fetches of a tenant, if it had any.
    pub(super) fn get(&self, app: usize) -> Option<&FetchCounts> {
        self.0.get(app)
    }

    /// The fetches of a tenant, to be changed.
    pub(super) fn of(&mut self, app: usize) -> &mut FetchCounts {
        while self.0.len() <= app {
            self.0.push([[0.0; PENALTIES]; PENALTIES]);
        }
        &mut self.0[app]
    }

    /// Multiplies all counts by `factor`.
    pub(super) fn fade(&mut self, factor: f32) {
        for fetches in self.0.iter_mut().flat_map(|of| of.iter_mut().flatten()) {
            *fetches *= factor;
        }
    }

    /// The expected cost of the next fetch of a tenant's key, by the class of its last one.
    pub(super) fn expected(&self, app: usize, means: &[f32; PENALTIES]) -> [f32; PENALTIES] {
        let mut expected = *means;
        let Some(fetches) = self.0.get(app) else { return expected };
        for (expected, next) in expected.iter_mut().zip(fetches.iter()).skip(1) {
            let (mut sum, mut count) = (MEAN_WEIGHT * *expected, MEAN_WEIGHT);
            for (mean, fetches) in means.iter().zip(next) {
                sum += mean * fetches;
                count += fetches;
            }
            *expected = sum / count;
        }
        expected
    }

    /// Memory of the counts.
    pub(super) const fn bytes(&self) -> usize {
        self.0.len() * size_of::<FetchCounts>()
    }
}
