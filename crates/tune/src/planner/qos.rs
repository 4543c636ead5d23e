//! Promises first: each owner with a promise gets the least memory that keeps it. The others share
//! the rest by dynamic programming (LAMA, algorithm 2, corrected).
//!
//! ```text
//!   for each promise, the highest priority first:
//!     F[j] = least cost of the owner's pools in j units          one run gives all j
//!     j*   = the smallest j with F[j] / Σ reads ≤ target         F never rises
//!     grant j*; where no j will do, say how much would
//!   the rest: the dynamic program over everybody else
//! ```
//!
//! The paper sums miss ratios without weighting them by requests. Such a sum may exceed one however
//! much memory there is. The paper also runs the program anew in every step of a bisection.
//!
//! Curves have errors, and lag behind changes. So the target is corrected by measurements. If the
//! owner now misses more than the curves predict for its pools, the target for the curves is lower
//! by the difference, and vice versa. A promise beyond the memory does not count: its pools compete
//! with the others for the rest, and the plan states the memory it would have needed.
//!
//! Without promises this is the dynamic program alone.

use super::{Spec, dp};
use crate::merged::Problem;
use crate::plant::Target;
use crate::slab::Look;
use crate::snapshot::{Pool, Promise};
use crate::{Objective, Plan, Snapshot};
use curve::Bytes;

/// The registry entry.
pub const SPEC: Spec = Spec { name: "qos", by_curves: true, plan };

/// Number of latest epochs whose measurements correct the curves: in a single epoch, a pool with
/// new pages misses until they are full.
const MEASURED: usize = 3;

/// The lowest corrected target, as a share of the target.
const ASK_MIN: f64 = 0.25;

fn plan(snapshot: &Snapshot) -> Plan {
    let mut promises: Vec<&Promise> = snapshot.goals.iter().collect();
    promises.sort_by_key(|promise| std::cmp::Reverse(promise.priority));
    let mut rest = snapshot.clone();
    let mut notes = vec![];
    let mut granted = vec![false; snapshot.pools.len()];
    for promise in promises {
        if promise.pools.iter().all(|&at| snapshot.pools[at].candidates.is_empty()) {
            continue;
        }
        let taken: Bytes = floors(&rest, |at| !promise.pools.contains(&at));
        let left = snapshot.memory.saturating_sub(taken);
        match grant(snapshot, promise, left) {
            Ok(budgets) => {
                for (&at, budget) in promise.pools.iter().zip(budgets) {
                    rest.pools[at].floor = budget;
                    granted[at] = true;
                }
            }
            Err(note) => notes.push(note),
        }
    }
    // If another pool can use the rest, a kept promise gets no more than it needs.
    if granted.contains(&false) {
        for (pool, _) in rest.pools.iter_mut().zip(&granted).filter(|(_, granted)| **granted) {
            pool.cap = Some(pool.floor);
        }
    }
    let divided = (dp::SPEC.plan)(&rest);
    notes.extend(divided.notes.iter().cloned());
    Plan::of(SPEC.name, snapshot, &divided.division(), notes)
}

/// The memory that must stay with the pools that `counts` selects.
fn floors(snapshot: &Snapshot, counts: impl Fn(usize) -> bool) -> Bytes {
    let pools = snapshot.pools.iter().enumerate();
    let need = |pool: &Pool| if pool.candidates.is_empty() { pool.budget } else { pool.floor };
    pools.filter(|(at, _)| counts(*at)).map(|(_, pool)| need(pool)).sum()
}

/// The owner's pools alone, with `memory`, under the objective of the promise.
fn alone(snapshot: &Snapshot, promise: &Promise, memory: Bytes) -> Snapshot {
    let pool = |&at: &usize| Pool { weight: 1.0, ..snapshot.pools[at].clone() };
    let objective = match promise.target {
        Target::MissRatio(_) => Objective::Misses,
        Target::MeanUs(_) => Objective::Latency,
    };
    // The grain stays that of the whole snapshot.
    let units = memory.0.div_ceil(snapshot.unit().0).max(1);
    Snapshot {
        memory,
        units_max: (units as usize).min(dp::UNITS_MAX),
        objective,
        pools: promise.pools.iter().map(pool).collect(),
        goals: vec![],
        ..*snapshot
    }
}

/// The least memory for each pool of a promise, out of `left`; otherwise a sentence with its need.
fn grant(snapshot: &Snapshot, promise: &Promise, left: Bytes) -> Result<Vec<Bytes>, String> {
    let own = alone(snapshot, promise, left);
    let reads: f64 = own.pools.iter().map(|pool| pool.reads_per_s).sum();
    let target = match promise.target {
        Target::MissRatio(target) | Target::MeanUs(target) => target,
    };
    let (name, wanted) = (&promise.name, shown(promise.target, target));
    if floors(&own, |_| true) > left {
        return Err(format!("{name}: {wanted}: the floors of its pools exceed {left}"));
    }
    let ask = (target - error(&own, promise)).max(ASK_MIN * target);
    let solve = |own: &Snapshot| -> Option<(Vec<Bytes>, f64)> {
        let problem = Problem::new(own);
        let table = dp::Table::new(&problem.rows, problem.total)?;
        let Some(total) = table.smallest_total(ask * reads) else {
            return Some((vec![], table.cost(problem.total) / reads.max(f64::MIN_POSITIVE)));
        };
        let division = problem.exact(&table.units(total));
        Some((division.into_iter().map(|(budget, _)| budget).collect(), ask))
    };
    if let Some((budgets, _)) = solve(&own).filter(|(budgets, _)| !budgets.is_empty()) {
        return Ok(budgets);
    }
    let extent = |pool: &Pool| {
        let known = pool.candidates.iter().map(|known| known.curve.extent()).max();
        known.unwrap_or(pool.budget).max(pool.floor)
    };
    let most: Bytes = own.pools.iter().map(extent).sum();
    let answer = solve(&alone(snapshot, promise, most.max(left)));
    Err(match answer {
        Some((budgets, _)) if !budgets.is_empty() => {
            let need: Bytes = budgets.into_iter().sum();
            format!("{name}: {wanted} needs {need}, but only {left} are left")
        }
        Some((_, least)) => {
            let least = shown(promise.target, least);
            format!(
                "{name}: {wanted} is out of reach: with all the memory it can use, it gets {least}"
            )
        }
        None => format!("{name}: {wanted}: the floors of its pools exceed {left}"),
    })
}

fn shown(target: Target, value: f64) -> String {
    match target {
        Target::MissRatio(_) => format!("{:.1} % hits", 100.0 * (1.0 - value)),
        Target::MeanUs(_) => format!("{value:.0} µs a read"),
    }
}

/// The owner's measured misses (or wait) a read, minus the curves' prediction for its pools.
fn error(own: &Snapshot, promise: &Promise) -> f64 {
    let recent = |pool: &Pool| -> Vec<Look> {
        let window = pool.slab.as_ref().map_or(&[][..], |slab| &slab.window);
        window[window.len().saturating_sub(MEASURED)..].to_vec()
    };
    let (mut reads, mut measured, mut said) = (0.0, 0.0, 0.0);
    for pool in &own.pools {
        let Some(slab) = &pool.slab else { return 0.0 };
        let held = Bytes(slab.page.0 * slab.pages);
        let Some(known) = pool.miss_ratio(held, pool.evictor) else { continue };
        let cost = match promise.target {
            Target::MissRatio(_) => 1.0,
            Target::MeanUs(_) => pool.penalty_us,
        };
        for look in recent(pool) {
            reads += look.reads as f64;
            measured += cost * look.misses as f64;
            said += cost * look.reads as f64 * known.0;
        }
    }
    if reads > 0.0 { (measured - said) / reads } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::super::test_slabs::{curve, look, pages, snapshot};
    use super::*;

    /// An owner's two pools, with 900 and 100 requests, and another's pool, which could use all the
    /// memory.
    fn shop(target: Target, total: u64) -> Snapshot {
        let mut all = snapshot(&[(0, look(0, 0)), (0, look(0, 0)), (total, look(0, 0))]);
        let curves: [(f64, &[f64]); 3] = [
            (900.0, &[1.0, 0.5, 0.2, 0.1]),
            (100.0, &[1.0, 0.9, 0.8, 0.7]),
            (5_000.0, &[1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]),
        ];
        for (pool, (reads, ratios)) in all.pools.iter_mut().zip(curves) {
            (pool.reads_per_s, pool.penalty_us) = (reads, 2_000.0);
            pool.candidates = curve(ratios);
        }
        let promise = Promise { name: "shop".to_owned(), pools: vec![0, 1], target, priority: 1 };
        all.goals = vec![promise];
        all
    }

    /// Weighted by requests, 30 % of misses take two pages. The unweighted sum of the paper's
    /// algorithm never falls below one.
    #[test]
    fn a_promise_takes_what_it_needs_and_no_more() {
        let plan = super::plan(&shop(Target::MissRatio(0.3), 8));
        assert_eq!(pages(&plan), [2, 0, 6], "{plan}");
        assert!(plan.notes.is_empty());
        // A quarter of all misses, at 2 ms each.
        let plan = super::plan(&shop(Target::MeanUs(560.0), 8));
        assert_eq!(pages(&plan), [2, 0, 6], "{plan}");
    }

    /// A promise beyond the memory states its need, and its pools compete with the others.
    #[test]
    fn what_cannot_be_met_is_said() {
        let plan = super::plan(&shop(Target::MissRatio(0.3), 1));
        assert_eq!(pages(&plan), [0, 0, 1], "{plan}");
        assert_eq!(plan.notes, ["shop: 70.0 % hits needs 1.95 KiB, but only 1000 B are left"]);
        let plan = super::plan(&shop(Target::MissRatio(0.1), 8));
        let note = "shop: 90.0 % hits is out of reach: with all the memory it can use, \
                    it gets 84.0 % hits";
        assert_eq!(plan.notes, [note]);
    }

    /// When two promises conflict, the one with the higher priority is kept, in any order of the
    /// list.
    #[test]
    fn priorities_decide() {
        let mut both = shop(Target::MissRatio(0.3), 4);
        let other = Promise {
            name: "other".to_owned(),
            pools: vec![2],
            target: Target::MissRatio(0.6),
            priority: 0,
        };
        both.goals.push(other);
        let plan = super::plan(&both);
        assert_eq!(pages(&plan)[..2], [2, 0], "{plan}");
        assert!(plan.notes[0].starts_with("other: 40.0 % hits needs"), "{plan}");
        both.goals[1].priority = 2;
        let plan = super::plan(&both);
        assert_eq!(pages(&plan)[2], 4, "{plan}");
        assert!(plan.notes[0].starts_with("shop: 70.0 % hits needs"), "{plan}");
    }

    /// If curves predict too few misses, the promise gets more memory.
    #[test]
    fn what_was_measured_counts() {
        let mut late = shop(Target::MissRatio(0.3), 8);
        for (pool, pages) in late.pools.iter_mut().zip([2, 0, 6]) {
            let slab = pool.slab.as_mut().unwrap();
            slab.pages = pages;
            let reads = pool.reads_per_s as u64;
            slab.window = vec![look(reads, reads / 3)];
        }
        let plan = super::plan(&late);
        assert!(pages(&plan)[0] > 2, "{plan}");
    }
}
