//! Chooses the sizes for which a curve is solved, and interpolates between them.
//!
//! Sizes are spaced by their square roots, because curves are steep where caches are small. The
//! monotone cubic goes through the solved points [1]. Where it is far from straight it may be
//! wrong. There the middle is solved as well, several at once, until the cubic predicts it.
//!
//! [1] Fritsch, Carlson. Monotone Piecewise Cubic Interpolation. SIAM J. Numer. Anal. 17, 1980.

use super::lanes::LANES;

/// Number of sizes solved in the first round.
const SIZES: usize = 2 * LANES;

/// If a solved miss ratio is this far from its prediction, the cubic around it stays doubtful.
const NEAR: f64 = 1e-3;

/// The cubic is trusted if it is this close to a straight line.
const STRAIGHT: f64 = 2e-3;

/// Most rounds in which middles are solved.
const ROUNDS: usize = 3;

/// Points drawn for each solved point.
const DRAWN: usize = 6;

/// A point of the curve: the square root of the size, the miss ratio, and whether the cubic is
/// trusted between this point and the next.
#[derive(Clone, Copy, Debug)]
struct Point {
    root: f64,
    ratio: f64,
    is_sure: bool,
}

/// The curve as pairs of size and miss ratio, up to the size `most`. `solve` returns sizes close to
/// the requested ones, with their miss ratios. Below the size `least` no middles are solved.
pub(super) fn draw(
    most: f64,
    least: f64,
    mut solve: impl FnMut(&[f64]) -> Vec<(f64, f64)>,
) -> Vec<(f64, f64)> {
    let rooms: Vec<f64> =
        (1..=SIZES).map(|step| most * (step as f64 / SIZES as f64).powi(2)).collect();
    let mut solve = |rooms: &[f64]| -> Vec<Point> {
        let point = |(room, ratio): (f64, f64)| Point { root: room.sqrt(), ratio, is_sure: false };
        solve(rooms).into_iter().map(point).collect()
    };
    let mut points = vec![Point { root: 0.0, ratio: 1.0, is_sure: false }];
    points.extend(solve(&rooms));
    let mut cubic = Cubic::through(&mut points);
    for _ in 0..ROUNDS {
        let mut doubts: Vec<(f64, usize)> = (0..points.len() - 1)
            .filter(|&at| !points[at].is_sure && points[at + 1].root >= least.sqrt())
            .map(|at| (cubic.bend(at), at))
            .filter(|&(bend, _)| bend > STRAIGHT)
            .collect();
        if doubts.is_empty() {
            break;
        }
        doubts.sort_by(|a, b| b.0.total_cmp(&a.0));
        doubts.truncate(LANES);
        doubts.sort_by_key(|&(_, at)| at);
        let roots = doubts.iter().map(|&(_, at)| 0.5 * (points[at].root + points[at + 1].root));
        let middles = solve(&roots.map(|root| root * root).collect::<Vec<_>>());
        for ((_, at), mut middle) in doubts.into_iter().zip(middles) {
            middle.is_sure = (middle.ratio - cubic.at(at, middle.root)).abs() < NEAR;
            points[at].is_sure = middle.is_sure;
            points.push(middle);
        }
        cubic = Cubic::through(&mut points);
    }
    let spans = 0..points.len() - 1;
    let parts = spans.flat_map(|at| (1..=DRAWN).map(move |part| (at, part)));
    let part = |(at, part): (usize, usize)| {
        let (left, right) = (points[at].root, points[at + 1].root);
        let root = left + (right - left) * part as f64 / DRAWN as f64;
        (root * root, cubic.at(at, root))
    };
    parts.map(part).collect()
}

/// The cubic through falling points.
struct Cubic {
    points: Vec<Point>,
    slopes: Vec<f64>,
}

impl Cubic {
    /// Sorts the points, and lowers each to at most the one before.
    fn through(points: &mut [Point]) -> Self {
        points.sort_by(|a, b| a.root.total_cmp(&b.root));
        let mut least = 1.0_f64;
        for point in &mut *points {
            least = least.min(point.ratio);
            point.ratio = least;
        }
        let secant = |at: usize| {
            let (left, right) = (points[at], points[at + 1]);
            let span = right.root - left.root;
            if span > 0.0 { (right.ratio - left.ratio) / span } else { 0.0 }
        };
        let slope = |at: usize| {
            if at == 0 {
                return secant(0);
            }
            if at + 1 == points.len() {
                return secant(at - 1);
            }
            let (before, after) = (secant(at - 1), secant(at));
            if before == 0.0 || after == 0.0 {
                return 0.0;
            }
            // The harmonic mean, in which the nearer neighbour weighs more.
            let (near, far) =
                (points[at].root - points[at - 1].root, points[at + 1].root - points[at].root);
            let (one, other) = (2.0 * far + near, far + 2.0 * near);
            (one + other) / (one / before + other / after)
        };
        let slopes = (0..points.len()).map(slope).collect();
        Self { points: points.to_vec(), slopes }
    }

    /// The ratio at a root between the points `at` and `at + 1`.
    fn at(&self, at: usize, root: f64) -> f64 {
        let (left, right) = (self.points[at], self.points[at + 1]);
        let span = right.root - left.root;
        if span <= 0.0 {
            return right.ratio;
        }
        let t = (root - left.root) / span;
        let (back, s) = (1.0 - t, t * t * (3.0 - 2.0 * t));
        let slopes = self.slopes[at] * back - self.slopes[at + 1] * t;
        let ratio = left.ratio + (right.ratio - left.ratio) * s + span * t * back * slopes;
        ratio.clamp(right.ratio, left.ratio)
    }

    /// The largest distance from a straight line between a point and the next.
    fn bend(&self, at: usize) -> f64 {
        let (left, right) = (self.points[at], self.points[at + 1]);
        let off = |t: f64| {
            let curved = self.at(at, left.root + (right.root - left.root) * t);
            (curved - left.ratio - (right.ratio - left.ratio) * t).abs()
        };
        off(0.25).max(off(0.5)).max(off(0.75))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The points drawn of a curve, and the number of solved sizes.
    fn drawn(curve: impl Fn(f64) -> f64) -> (Vec<(f64, f64)>, usize) {
        let mut solved = 0;
        let points = draw(1e6, 1.0, |rooms| {
            solved += rooms.len();
            rooms.iter().map(|&room| (room, curve(room))).collect()
        });
        (points, solved)
    }

    #[test]
    fn few_sizes_give_a_smooth_curve() {
        for scale in [3e3, 3e4, 3e5] {
            let curve = |room: f64| 0.1 + 0.9 * (-room / scale).exp();
            let (points, solved) = drawn(curve);
            let error = |&(room, ratio): &(f64, f64)| (curve(room) - ratio).abs();
            let worst = points.iter().map(error).fold(0.0, f64::max);
            assert!(worst < 6e-3 && solved <= 40, "{scale}: {worst}, {solved} solved");
        }
    }

    /// The cliff of a loop is found to within a hundredth, and the cubic does not oscillate beside
    /// it.
    #[test]
    fn cliffs_stay_cliffs() {
        let (points, _) = drawn(|room| if room < 4.4e5 { 0.9 } else { 0.2 });
        for (room, ratio) in points {
            let far = room > 1e4 && (room - 4.4e5).abs() > 1.5e4;
            let truth = if room < 4.4e5 { 0.9 } else { 0.2 };
            assert!(!far || (ratio - truth).abs() < 1e-9, "{room}: {ratio}");
        }
    }
}
