//! Fetches of watched keys, by cost: the class of a fetch foretells the class of the next one.
//!
//! How well it does is learnt from keys that were fetched twice. Before there are any, half of a
//! difference between classes is believed (the root of a ratio), and less of a difference so small
//! that the scheduling of a client explains it. A few pairs tell whether the tenant's classes
//! foretell anything, and more of them what each class foretells.

use base::penalty;

/// Number of penalty classes, the unknown class first.
pub const PENALTIES: usize = 1 + penalty::CLASSES as usize;
/// Weight of what is assumed of a class, in fetches, against the fetches that followed one of that
/// class.
const ASSUMED: f32 = 20.0;
/// What classes foretell before any key was fetched twice, and the weight of that: a sum of squares
/// of classes.
const FORETOLD: (f64, f64) = (0.5, 5.0);
/// Microseconds by which fetches of equal cost may differ: a client may wait for the processor.
const SCHEDULING: f32 = 100.0;

/// Counts of fetches by the penalty class of the key's fetch before, and by their own class.
pub(super) type FetchCounts = [[f32; PENALTIES]; PENALTIES];

/// The counts of a class that no second fetch followed.
const NONE: [f32; PENALTIES] = [0.0; PENALTIES];

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
            self.0.push([NONE; PENALTIES]);
        }
        &mut self.0[app]
    }

    /// Multiplies all counts by `factor`.
    pub(super) fn fade(&mut self, factor: f32) {
        for fetches in self.0.iter_mut().flat_map(|of| of.iter_mut().flatten()) {
            *fetches *= factor;
        }
    }

    /// The expected cost of the next fetch of a tenant's key, by the class of its last one, in
    /// microseconds. `mean` is the mean cost of the tenant's fetches, and `means` that of each
    /// class, which is 0 without a fetch of that class.
    pub(super) fn expected(
        &self,
        app: usize,
        mean: f32,
        means: &[f32; PENALTIES],
    ) -> [f32; PENALTIES] {
        let counts = self.0.get(app);
        let foretold = counts.map_or(FORETOLD.0 as f32, foretold);
        std::array::from_fn(|class| {
            if class == 0 || means[class] == 0.0 || mean == 0.0 {
                return means[class];
            }
            let apart = means[class] - mean;
            let told = foretold * apart * apart / (apart * apart + SCHEDULING * SCHEDULING);
            let assumed = mean * (means[class] / mean).powf(told);
            let (mut sum, mut count) = (ASSUMED * assumed, ASSUMED);
            for (mean, fetches) in means.iter().zip(counts.map_or(&NONE, |of| &of[class])) {
                sum += mean * fetches;
                count += fetches;
            }
            sum / count
        })
    }

    /// Memory of the counts.
    pub(super) const fn bytes(&self) -> usize {
        self.0.len() * size_of::<FetchCounts>()
    }
}

/// How far a fetch of a class beside the mean one foretells that the key's next fetch is beside it,
/// too, from 0 to 1: the slope of the line through all pairs of fetches. Classes are equal ratios of
/// costs, so that a few slow fetches do not decide it.
fn foretold(counts: &FetchCounts) -> f32 {
    let [mut all, mut firsts, mut seconds, mut squares, mut products] = [0.0f64; 5];
    for (first, fetches) in counts.iter().enumerate() {
        for (second, &count) in fetches.iter().enumerate() {
            let (first, second, count) = (first as f64, second as f64, f64::from(count));
            all += count;
            firsts += count * first;
            seconds += count * second;
            squares += count * first * first;
            products += count * first * second;
        }
    }
    let all = all.max(1.0);
    let (both, own) = (products - firsts * seconds / all, squares - firsts * firsts / all);
    let (usual, weight) = FORETOLD;
    ((both + usual * weight) / (own + weight)).clamp(0.0, 1.0) as f32
}
