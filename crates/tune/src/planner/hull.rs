//! A greedy planner on lower convex hulls, with a certificate: fast, with a known distance to the
//! best.
//!
//! The lower hull of each cost curve is a chain of straight segments, each less steep than the one
//! before. Taking the steepest segment of all pools first is optimal for the hulls. A segment that
//! no longer fits is skipped, and smaller ones behind it are tried. If the greedy division ends on
//! corners of the hulls, it is optimal for the curves too. Otherwise the cost of the hulls, with
//! part of the segment that did not fit, is a lower bound for every division.

use super::Spec;
use crate::merged::{Problem, Row};
use crate::{Plan, Snapshot};

/// The registry entry.
pub const SPEC: Spec = Spec { name: "hull", by_curves: true, plan };

fn plan(snapshot: &Snapshot) -> Plan {
    let problem = Problem::new(snapshot);
    let greedy = divide(&problem.rows, problem.total);
    let (division, mut notes) = problem.division(&greedy.units);
    if greedy.cost > 0.0 {
        let gap = 100.0 * (greedy.cost - greedy.bound) / greedy.cost;
        notes.push(format!("no other division is better by more than {gap:.2} %"));
    }
    Plan::of(SPEC.name, snapshot, &division, notes)
}

/// A division with its cost and a lower bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Greedy {
    /// Units of each pool.
    pub units: Vec<usize>,
    /// The cost of these units.
    pub cost: f64,
    /// A lower bound on the cost of every division.
    pub bound: f64,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    row: usize,
    from: usize,
    to: usize,
    saved: f64,
}

impl Segment {
    fn slope(&self) -> f64 {
        self.saved / (self.to - self.from) as f64
    }
}

/// Divides `total` units. Pools begin at their floors, which must fit.
pub fn divide(rows: &[Row], total: usize) -> Greedy {
    let mut units: Vec<_> = rows.iter().map(|row| row.low).collect();
    let mut left = total.saturating_sub(units.iter().sum());
    let mut cost: f64 = rows.iter().map(|row| row.costs[row.low]).sum();
    let mut bound = cost;
    let hulls = rows.iter().enumerate().flat_map(|(at, row)| hull(at, row));
    let mut segments: Vec<_> = hulls.collect();
    segments.sort_by(|a, b| b.slope().total_cmp(&a.slope()));
    let mut hull_left = left;
    for segment in segments {
        let length = segment.to - segment.from;
        let taken = length.min(hull_left);
        hull_left -= taken;
        bound -= segment.slope() * taken as f64;
        if units[segment.row] == segment.from && length <= left {
            left -= length;
            units[segment.row] = segment.to;
            cost -= segment.saved;
        }
    }
    Greedy { units, cost, bound }
}

/// The falling segments of a row's lower hull, from its floor on, by Andrew's scan.
fn hull(at: usize, row: &Row) -> Vec<Segment> {
    let mut corners: Vec<usize> = vec![];
    let slope = |a: usize, b: usize| (row.costs[a] - row.costs[b]) / (b - a) as f64;
    for point in row.low..row.costs.len() {
        while let [.., before, last] = corners[..] {
            if slope(before, last) > slope(last, point) {
                break;
            }
            corners.pop();
        }
        corners.push(point);
    }
    corners
        .windows(2)
        .map(|ends| Segment {
            row: at,
            from: ends[0],
            to: ends[1],
            saved: row.costs[ends[0]] - row.costs[ends[1]],
        })
        .filter(|segment| segment.saved > 0.0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::dp::Table;
    use super::*;
    use proptest::prelude::*;

    fn two() -> [Row; 2] {
        [Row::new(vec![10.0, 10.0, 10.0, 0.0], 0), Row::new(vec![6.0, 4.0, 3.0, 2.5], 0)]
    }

    /// With three units the cliff's segment fits, and greedy finds the optimum. With two it does
    /// not fit and is skipped (13, the optimum). The bound of 9.33 shows that greedy cannot prove
    /// this.
    #[test]
    fn the_certificate_by_hand() {
        let three = divide(&two(), 3);
        assert_eq!((three.units, three.cost), (vec![3, 0], 6.0));
        assert!((three.bound - 6.0).abs() < 1e-9);
        let two_units = divide(&two(), 2);
        assert_eq!(two_units.cost, 13.0);
        assert!((two_units.bound - (16.0 - 20.0 / 3.0)).abs() < 1e-9);
        assert!((two_units.cost - two_units.bound - 3.67).abs() < 0.01);
    }

    proptest! {
        /// The optimum is between the bound and the greedy cost.
        #[test]
        fn the_optimum_lies_between(
            costs in proptest::collection::vec(proptest::collection::vec(0u8..20, 1..9), 1..5),
            total in 0usize..20,
        ) {
            let rows: Vec<_> = costs
                .into_iter()
                .map(|costs| Row::new(costs.into_iter().map(f64::from).collect(), 0))
                .collect();
            let greedy = divide(&rows, total);
            let best = Table::new(&rows, total).unwrap().cost(total);
            prop_assert!(greedy.bound <= best + 1e-6, "{} {best}", greedy.bound);
            prop_assert!(greedy.cost >= best - 1e-6, "{} {best}", greedy.cost);
            prop_assert!(greedy.units.iter().sum::<usize>() <= total);
        }
    }
}
