//! The least cost for every total, by dynamic programming: exact for any curves.
//!
//! Real miss ratio curves have cliffs, and greedy methods stop in front of them. For two tenants
//! with costs [10, 10, 10, 0] and [6, 4, 3, 2.5] a greedy planner gives all three units to the
//! second (12.5). The best division gives all to the first (6).
//!
//! ```text
//!   F₀[j] = 0                    nothing is spent on nobody, however much there is
//!   Fᵢ[j] = min over low ≤ k ≤ high of  Fᵢ₋₁[j-k] + costᵢ(k)
//! ```
//!
//! F starts at 0 for every total, not only for zero units: memory may be left over. (LAMA's listing
//! starts at infinity everywhere and never becomes finite.) One run gives the least cost of every
//! total up to the whole, which also answers how much is enough. It takes n·M² steps for n pools
//! and M units, and n·M·N within a band of N units: see [`UNITS_MAX`].
//!
//! [1] Hu, Wang, Zhou, Luo, Ding, Jiang, Wang. LAMA: Optimized Locality-aware Memory Allocation
//! for Key-value Cache. USENIX ATC '15.

use super::Spec;
use crate::merged::{Problem, Row};
use crate::{Plan, Snapshot};

/// The registry entry.
pub const SPEC: Spec = Spec { name: "dp", by_curves: true, plan };

/// More units make a plan slower, not better: curves are not accurate enough.
pub const UNITS_MAX: usize = 4096;

/// The most steps of a plan, so that a plan an epoch costs little. More pools get coarser units.
const STEPS_MAX: usize = 1 << 21;

/// Number of units, for a number of pools, with which a plan without a band stays cheap.
pub fn units_for(pools: usize) -> usize {
    ((2 * STEPS_MAX / pools.max(1)) as f64).sqrt().clamp(64.0, UNITS_MAX as f64) as usize
}

fn plan(snapshot: &Snapshot) -> Plan {
    let problem = Problem::new(snapshot);
    let table = Table::new(&problem.rows, problem.total).expect("a problem's floors fit");
    let (division, notes) = problem.division(&table.units(problem.total));
    Plan::of(SPEC.name, snapshot, &division, notes)
}

/// The least cost for every total, with its division.
#[derive(Clone, Debug)]
pub struct Table {
    /// The least cost by total; infinite below the sum of the floors.
    least: Vec<f64>,
    /// Units of each pool, by the total of it and the pools before it.
    best: Vec<Vec<u16>>,
}

impl Table {
    /// Solves for every total up to `total`. Among equal divisions it takes the one nearest the
    /// present. `None` if the floors alone exceed `total`.
    ///
    /// # Panics
    /// If `total` is 65535 or more.
    pub fn new(rows: &[Row], total: usize) -> Option<Self> {
        assert!(total < usize::from(u16::MAX), "too many units: {total}");
        if rows.iter().map(|row| row.low).sum::<usize>() > total {
            return None;
        }
        // A move has a tiny cost, so that among equal divisions the nearest is cheapest.
        let scale: f64 = rows.iter().filter_map(|row| row.costs.get(row.low)).sum();
        let price = 1e-9 * scale.max(1e-9) / (total.max(1) as f64);
        let mut least = vec![0.0; total + 1];
        let mut best = Vec::with_capacity(rows.len());
        for (at, row) in rows.iter().enumerate() {
            let costs = with_free_disposal(row, price);
            if at == 0 {
                best.push(alone(&costs, row.low, &mut least));
                continue;
            }
            let mut next = vec![f64::INFINITY; total + 1];
            let mut argmin = vec![0u16; total + 1];
            for (units, cost) in costs.iter().enumerate().skip(row.low) {
                if units > total {
                    break;
                }
                let cells = next[units..].iter_mut().zip(&mut argmin[units..]);
                for ((cell, arg), before) in cells.zip(&least) {
                    let sum = before + cost;
                    if sum < *cell {
                        *cell = sum;
                        *arg = units as u16;
                    }
                }
            }
            least = next;
            best.push(argmin);
        }
        Some(Self { least, best })
    }

    /// The least cost of `total` units, with the price of moves: a part in 10⁹.
    pub fn cost(&self, total: usize) -> f64 {
        self.least[total]
    }

    /// The division of `total` units. The sum may be less: the rest gains nothing.
    pub fn units(&self, total: usize) -> Vec<usize> {
        let mut left = total;
        let mut units: Vec<_> = self
            .best
            .iter()
            .rev()
            .map(|argmin| {
                let units = usize::from(argmin[left]);
                left -= units;
                units
            })
            .collect();
        units.reverse();
        units
    }

    /// The smallest total whose least cost is at most `goal`, if there is one: the need of a goal
    /// for the quality of service. (Costs must be weighted by requests. LAMA's second algorithm
    /// sums miss ratios, which can exceed one and never meet a goal.)
    pub fn smallest_total(&self, goal: f64) -> Option<usize> {
        let scale = self.least.iter().copied().filter(|c| c.is_finite()).fold(0.0, f64::max);
        self.least.iter().position(|cost| *cost <= goal + 1e-8 * scale)
    }
}

/// The units that a single pool takes of each total. Writes the resulting costs into `least`.
fn alone(costs: &[f64], low: usize, least: &mut [f64]) -> Vec<u16> {
    let (mut units, mut cost) = (low, f64::INFINITY);
    let mut take = |(total, least): (usize, &mut f64)| {
        if let Some(&other) = costs.get(total).filter(|&&other| total >= low && other < cost) {
            (units, cost) = (total, other);
        }
        *least = cost;
        units as u16
    };
    least.iter_mut().enumerate().map(&mut take).collect()
}

/// Costs that never rise, plus the price of moving away from the present units. Memory that saves
/// nothing may stay unused.
fn with_free_disposal(row: &Row, price: f64) -> Vec<f64> {
    let mut least = f64::INFINITY;
    let costs = row.costs.iter().enumerate().map(|(units, cost)| {
        if units >= row.low {
            least = least.min(*cost);
        }
        least + price * units.abs_diff(row.now) as f64
    });
    costs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(costs: &[&[f64]]) -> Vec<Row> {
        costs.iter().map(|costs| Row::new(costs.to_vec(), 0)).collect()
    }

    /// The published trap for greedy planners: the optimum of each total, by hand.
    #[test]
    fn cliffs_are_no_trap() {
        let table = Table::new(&rows(&[&[10., 10., 10., 0.], &[6., 4., 3., 2.5]]), 6).unwrap();
        for (total, cost) in [16.0, 14.0, 13.0, 6.0, 4.0, 3.0, 2.5].into_iter().enumerate() {
            assert!((table.cost(total) - cost).abs() < 1e-6, "{total}: {}", table.cost(total));
        }
        assert_eq!(table.units(3), [3, 0]);
    }

    /// LAMA's listing as printed starts from infinity, and would give infinity here.
    #[test]
    fn one_pool_may_get_everything() {
        let table = Table::new(&rows(&[&[5., 0.], &[7., 0.]]), 1).unwrap();
        assert!((table.cost(1) - 5.0).abs() < 1e-6);
        assert_eq!(table.units(1), [0, 1]);
    }

    /// LAMA's figure 1: a scan and a loop over three items, with room for four. The scan gains
    /// nothing, so among the plans that hold the loop, the one nearest to the present (2, 2) is
    /// taken.
    #[test]
    fn ties_stay_near_the_present() {
        let scan = Row::new(vec![1.0; 5], 2);
        let cycle = Row::new(vec![1.0, 1.0, 1.0, 0.0, 0.0], 2);
        let table = Table::new(&[scan, cycle], 4).unwrap();
        assert_eq!(table.units(4), [1, 3]);
    }

    /// LAMA's figure 2: costs per period by number of slabs. Moving a slab against the risk that
    /// PSA computes saves two misses.
    #[test]
    fn finds_what_psa_does_not() {
        let table = Table::new(&rows(&[&[6., 6., 0., 0.], &[13., 4., 0., 0.]]), 3).unwrap();
        assert!((table.cost(3) - 4.0).abs() < 1e-6);
        assert_eq!(table.units(3), [2, 1]);
    }

    /// pRedis' motivation: five units, rates 5:3:2, penalties 10, 200, 200.
    #[test]
    fn predis_gets_forty() {
        let classes = rows(&[
            &[5., 5., 0., 0., 0., 0.],
            &[60., 60., 60., 0., 0., 0.],
            &[40., 40., 40., 40., 40., 40.],
        ]);
        let table = Table::new(&classes, 5).unwrap();
        assert!((table.cost(5) - 40.0).abs() < 1e-6);
        assert_eq!(table.units(5)[..2], [2, 3]);
    }

    /// The weighted miss ratio of two classes, with 900 and 100 requests, falls below 0.3 with two
    /// slabs. The unweighted sum of LAMA's second algorithm never does.
    #[test]
    fn the_smallest_total_that_meets_a_goal() {
        let ratios = [[1.0, 0.5, 0.2, 0.1], [1.0, 0.9, 0.8, 0.7]];
        let weighted: Vec<_> = ratios
            .iter()
            .zip([900.0, 100.0])
            .map(|(ratios, requests)| {
                Row::new(ratios.iter().map(|ratio| ratio * requests).collect(), 0)
            })
            .collect();
        let table = Table::new(&weighted, 6).unwrap();
        assert_eq!(table.smallest_total(0.3 * 1000.0), Some(2));
        assert_eq!(table.units(2), [2, 0]);
        assert!((table.cost(1) - 550.0).abs() < 1e-3);
        assert_eq!(table.smallest_total(0.05 * 1000.0), None);
    }

    #[test]
    fn floors_that_do_not_fit_are_refused() {
        let mut rows = rows(&[&[3., 2., 1.], &[3., 2., 1.]]);
        (rows[0].low, rows[1].low) = (2, 1);
        assert!(Table::new(&rows, 2).is_none());
        assert_eq!(Table::new(&rows, 3).unwrap().units(3), [2, 1]);
    }

    /// Tries every division within the bounds.
    fn brute_force(rows: &[Row], total: usize) -> Option<(f64, usize)> {
        let Some((row, rest)) = rows.split_first() else { return Some((0.0, 0)) };
        let mut best: Option<(f64, usize)> = None;
        for units in row.low..row.costs.len().min(total + 1) {
            let cost = row.costs[row.low..=units].iter().copied().fold(f64::INFINITY, f64::min);
            if let Some((others, moved)) = brute_force(rest, total - units) {
                let candidate = (cost + others, moved + units.abs_diff(row.now));
                if best.is_none_or(|best| candidate < best) {
                    best = Some(candidate);
                }
            }
        }
        best
    }

    prop_compose! {
        fn any_row()(
            costs in proptest::collection::vec(0u8..12, 1..7),
            low in 0usize..3,
            now in 0usize..6,
        ) -> Row {
            let low = low.min(costs.len() - 1);
            let mut row = Row::new(costs.into_iter().map(f64::from).collect(), now);
            row.low = low;
            row
        }
    }

    proptest! {
        /// The least cost and, among equals, the fewest moves, for floors, caps and totals of any
        /// kind.
        #[test]
        fn agrees_with_brute_force(
            rows in proptest::collection::vec(any_row(), 1..5),
            total in 0usize..12,
        ) {
            let table = Table::new(&rows, total);
            match brute_force(&rows, total) {
                None => prop_assert!(table.is_none()),
                Some((cost, moved)) => {
                    let table = table.unwrap();
                    let units = table.units(total);
                    prop_assert!((table.cost(total) - cost).abs() < 1e-6);
                    prop_assert!(units.iter().sum::<usize>() <= total);
                    let ours: usize = units.iter().zip(&rows).map(|(u, r)| u.abs_diff(r.now)).sum();
                    prop_assert_eq!(ours, moved);
                }
            }
        }
    }
}
