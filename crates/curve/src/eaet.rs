//! Enhanced average eviction time: LRU with objects of any size, writes, deletes and expiry, from
//! histograms of ages [1].
//!
//! An LRU cache of C bytes acts like a filter that drops every object not used for T accesses. T is
//! such that the live objects used within the last T accesses have C bytes. So a read hits iff its
//! object is live and no older than T. The only approximation is that the age of evicted objects is
//! one number at a time, and does not fluctuate.
//!
//! T follows the trace: it is determined at the ends and the middle of each window. The published
//! form has one T for the whole trace and a clock of bytes. It treats deleted bytes like bytes
//! moved to the top, an error of up to 0.06 if a fifth of the accesses are deletes. Here deleted
//! and expired objects are not live, and older objects move up.
//!
//! [1] Pan, Luo, Wang, Wang. pRedis: Penalty and Locality Aware Memory Allocation in Redis.
//!     SoCC '19. After Hu et al., Fast Miss Ratio Curve Modeling for Storage Cache, TOS 2018.

use crate::track::{AgeModel, Ages, Live};
use crate::{MissRatioCurve, Params, Spec};
use base::{Bytes, MissRatio};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "eaet",
    predicts: Params::lru,
    build: |params| Box::new(AgeModel::new(params, |ages, _| lru_curve(ages, |live| live.bytes))),
};

/// Number of sizes on the curve, denser towards small caches, where curves are steep.
const SIZES: usize = 256;

/// Cumulative sums at the edges of bins. Within a bin the value is spread evenly.
struct Cumulative(Vec<f64>);

impl Cumulative {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut sum = 0.0;
        let rest = values.map(|value| {
            sum += value;
            sum
        });
        Self(std::iter::once(0.0).chain(rest).collect())
    }

    /// The position where the sum reaches `goal`, in bins from the left; `f64::MAX` if it never
    /// does.
    fn reaches(&self, goal: f64) -> f64 {
        let after = self.0.partition_point(|&sum| sum <= goal);
        let Some(&right) = self.0.get(after) else { return f64::MAX };
        let left = self.0[after - 1];
        (after - 1) as f64 + (goal - left) / (right - left)
    }

    /// The sum of the first `bins` bins, and of a part of the next.
    fn at(&self, bins: f64) -> f64 {
        let (Some(&last), whole) = (self.0.last(), bins as usize) else { return 0.0 };
        let Some(&right) = self.0.get(whole.saturating_add(1)) else { return last };
        self.0[whole] + (right - self.0[whole]) * bins.fract()
    }

    fn total(&self) -> f64 {
        self.0.last().copied().unwrap_or(0.0)
    }
}

/// The curve of LRU if `weight` gives the memory of live objects.
pub(crate) fn lru_curve(ages: &Ages, weight: impl Fn(&Live) -> f64) -> MissRatioCurve {
    let rate = ages.bytes_drawn();
    let (origin, windows) = ages.windows();
    let mut start = Cumulative::of(origin.iter().map(&weight));
    let mut stretches = vec![];
    let mut most: f64 = 0.0;
    for window in &windows {
        let end = Cumulative::of(window.live.iter().map(&weight));
        let bins = start.0.len().max(end.0.len()) - 1;
        let sum = |at: usize| 0.5 * (start.at(at as f64) + end.at(at as f64));
        let middle = Cumulative((0..=bins).map(sum).collect());
        let hits = Cumulative::of(window.hits.iter().map(|hits| hits.reads));
        most = most.max(end.total());
        stretches.push((hits, [start, middle]));
        start = end;
    }
    let last = start;
    let hits_at = |room: f64| -> f64 {
        let mut sum = 0.0;
        for (at, (hits, [start, middle])) in stretches.iter().enumerate() {
            let end = stretches.get(at + 1).map_or(&last, |next| &next.1[0]);
            let by = |ages: &Cumulative| hits.at(ages.reaches(room));
            // Before the first object there are no ages to interpolate.
            let is_first = at == 0 && start.total() == 0.0;
            let whole = || (by(start) + 4.0 * by(middle) + by(end)) / 6.0;
            sum += if is_first { by(end) } else { whole() };
        }
        sum
    };
    let reads = ages.reads();
    MissRatioCurve::new((1..=SIZES).map(|step| {
        let share = step as f64 / SIZES as f64;
        let room = most * share * share;
        let misses = (ages.sampled() - hits_at(room)).max(0.0);
        // If nothing lived until the end of a window, all sizes are 1, because no size may be 0.
        (Bytes((room / rate).ceil().max(1.0) as u64), MissRatio::of(misses, reads))
    }))
}
