//! The miss ratio at every size.

use base::{Bytes, MissRatio};

/// Miss ratio by cache size. It never rises with the size: memory may stay unused, so a larger
/// cache is at least as good ("free disposal"). Where a model's own curve rises, the running
/// minimum replaces it.
#[derive(Clone, Debug, PartialEq)]
pub struct MissRatioCurve {
    points: Vec<(Bytes, MissRatio)>,
}

impl MissRatioCurve {
    /// A curve through `points`, in any order. At size zero every read misses, unless a point says
    /// otherwise.
    pub fn new(points: impl IntoIterator<Item = (Bytes, MissRatio)>) -> Self {
        let mut points: Vec<_> = points.into_iter().collect();
        points.sort_by_key(|(size, _)| *size);
        if points.first().is_none_or(|(size, _)| *size > Bytes(0)) {
            points.insert(0, (Bytes(0), MissRatio::ALL));
        }
        points.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same && later.1 < earlier.1 {
                earlier.1 = later.1;
            }
            same
        });
        let mut least = MissRatio::ALL;
        for (_, ratio) in &mut points {
            if *ratio < least {
                least = *ratio;
            }
            *ratio = least;
        }
        Self { points }
    }

    /// The points, by size.
    pub fn points(&self) -> &[(Bytes, MissRatio)] {
        &self.points
    }

    /// The miss ratio of a cache of `size`: linear between points, and constant beyond the last.
    pub fn at(&self, size: Bytes) -> MissRatio {
        let after = self.points.partition_point(|(known, _)| *known <= size);
        let (left, low) = self.points[after - 1];
        match self.points.get(after) {
            None => low,
            Some(&(right, high)) => {
                let share = (size - left).as_f64() / (right - left).as_f64();
                MissRatio(low.0 + (high.0 - low.0) * share)
            }
        }
    }

    /// The largest known size. For a full trace, a larger cache gains nothing.
    pub fn extent(&self) -> Bytes {
        self.points.last().map_or(Bytes(0), |(size, _)| *size)
    }

    /// The corners of the lower convex hull. Two pools of one policy that share the keys can reach
    /// it (Beckmann, Sanchez. Talus. HPCA '15). The method is Andrew's scan.
    #[must_use]
    pub fn hull(&self) -> Self {
        let mut corners: Vec<(Bytes, MissRatio)> = vec![];
        for &point in &self.points {
            while let [.., before, last] = corners[..] {
                let run = |from: (Bytes, MissRatio), to: (Bytes, MissRatio)| {
                    ((to.0 - from.0).as_f64(), to.1.0 - from.1.0)
                };
                let ((near, fall), (far, deep)) = (run(before, last), run(before, point));
                if fall * far < deep * near {
                    break;
                }
                corners.pop();
            }
            corners.push(point);
        }
        Self { points: corners }
    }

    /// Stretches in which memory gains next to nothing: the size more than doubles, and the miss
    /// ratio falls by less than `fall`.
    pub fn plateaus(&self, fall: f64) -> Vec<(Bytes, Bytes)> {
        let mut plateaus: Vec<(Bytes, Bytes)> = vec![];
        let known = &self.points[1.min(self.points.len())..];
        let mut from = 0;
        while from < known.len() {
            let level = known[from].1.0 - fall;
            let until = known.partition_point(|(_, ratio)| ratio.0 > level) - 1;
            if until > from && known[until].0.0 > 2 * known[from].0.0 {
                plateaus.push((known[from].0, known[until].0));
                from = until;
            }
            from += 1;
        }
        plateaus
    }

    /// The smallest size, interpolated between points, with a miss ratio of at most `goal`, if
    /// there is one.
    pub fn size_for(&self, goal: MissRatio) -> Option<Bytes> {
        let at = self.points.partition_point(|(_, ratio)| *ratio > goal);
        let &(size, ratio) = self.points.get(at)?;
        let Some(&(before, above)) = at.checked_sub(1).and_then(|at| self.points.get(at)) else {
            return Some(size);
        };
        let share = (above.0 - goal.0) / (above.0 - ratio.0);
        Some(before + Bytes(((size - before).as_f64() * share).ceil() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_between_its_points() {
        let curve =
            MissRatioCurve::new([(Bytes(100), MissRatio(0.5)), (Bytes(300), MissRatio(0.1))]);
        assert_eq!(curve.at(Bytes(0)), MissRatio(1.0));
        assert_eq!(curve.at(Bytes(50)), MissRatio(0.75));
        assert_eq!(curve.at(Bytes(100)), MissRatio(0.5));
        assert!((curve.at(Bytes(200)).0 - 0.3).abs() < 1e-12);
        assert_eq!(curve.at(Bytes(1_000)), MissRatio(0.1));
        assert_eq!(curve.size_for(MissRatio(0.3)), Some(Bytes(200)));
        assert_eq!(curve.size_for(MissRatio(0.05)), None);
    }

    /// A cliff between two plateaus: the hull is straight from its top to its foot.
    #[test]
    fn hull_and_plateaus_of_a_cliff() {
        let points = [(10, 0.5), (80, 0.49), (90, 0.1), (400, 0.1)];
        let curve = MissRatioCurve::new(points.map(|(at, ratio)| (Bytes(at), MissRatio(ratio))));
        let hull = curve.hull();
        let sizes: Vec<u64> = hull.points().iter().map(|(size, _)| size.0).collect();
        assert_eq!(sizes, [0, 10, 90, 400]);
        assert!(points.iter().all(|&(at, ratio)| hull.at(Bytes(at)).0 <= ratio + 1e-12));
        let plateaus = [(Bytes(10), Bytes(80)), (Bytes(90), Bytes(400))];
        assert_eq!(curve.plateaus(0.02), plateaus);
        assert!(MissRatioCurve::new([]).plateaus(0.02).is_empty());
    }

    #[test]
    fn never_rises() {
        let curve = MissRatioCurve::new([
            (Bytes(10), MissRatio(0.5)),
            (Bytes(20), MissRatio(0.7)),
            (Bytes(30), MissRatio(0.2)),
        ]);
        assert_eq!(curve.at(Bytes(20)), MissRatio(0.5));
    }
}
