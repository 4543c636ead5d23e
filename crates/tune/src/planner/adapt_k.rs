//! DLRU's choice of K: every pool keeps its memory and gets the number of candidates with the least
//! wait, for misses and evictions together [1].
//!
//! ```text
//!   P(K) = misses(K) · (penalty + OH(K))        OH: what an eviction with K candidates takes
//! ```
//!
//! The ratios of OH(K) are those of this store (`evictor.rs`). If the plant measures evictions,
//! their time with the K in force sets the scale.
//!
//! The least of several noisy counts looks better than it is. The counts are paired: each K sees
//! the same keys. So the difference of two is taken in each of eight groups of keys, and its spread
//! over the groups shows the part of chance. The present K stays unless another is better beyond
//! chance: a change costs misses until the memory has turned over. Among nearly equal ones the
//! smallest K is taken. (The paper leaves the meaning of equal open. To take a smaller K that may
//! be as good, without evidence, cost up to 7 % of misses on short traces.)
//!
//! [1] Wang, Yang, Wang. Dynamically configuring LRU replacement policy in Redis. MEMSYS '20.

use super::Spec;
use crate::snapshot::{Candidate, Pool};
use crate::{Evictor, Plan, Snapshot};
use curve::GROUPS;

/// The registry entry.
pub const SPEC: Spec = Spec { name: "adapt_k", by_curves: true, plan };

/// The policy for a pool without curves.
const UNKNOWN: Evictor = Evictor::klru_pool(5);

/// A difference below this share of the cost counts as none, however certain.
const NONE: f64 = 0.0005;

/// Standard errors within which a difference may be chance.
const SURE: f64 = 2.0;

fn plan(snapshot: &Snapshot) -> Plan {
    let division: Vec<_> = snapshot.pools.iter().map(|pool| (pool.budget, choose(pool))).collect();
    Plan::of(SPEC.name, snapshot, &division, vec![])
}

fn choose(pool: &Pool) -> Evictor {
    let known = || pool.candidates.iter();
    let cost = |one: &Candidate| {
        let wait = pool.penalty_us + pool.dearness * one.evictor.overhead_us();
        let of_curve = || pool.miss_ratio(pool.budget, one.evictor).map(|ratio| ratio.0);
        let misses = one.groups.map(|groups| groups.iter().sum()).or_else(of_curve);
        misses.map_or(f64::INFINITY, |misses: f64| misses * wait)
    };
    let Some(best) = known().min_by(|a, b| cost(a).total_cmp(&cost(b))) else { return UNKNOWN };
    let least = cost(best);
    if best.groups.is_some() && known().all(|one| one.groups == best.groups) {
        // No eviction happened yet, or no K could miss less.
        return pool.evictor;
    }
    let worse = |one: &Candidate| (cost(one) - least) / least.max(f64::MIN_POSITIVE);
    let present = known().find(|one| one.evictor == pool.evictor);
    if present.is_some_and(|one| worse(one) < chance(one, best).unwrap_or(0.0)) {
        return pool.evictor;
    }
    let alike = known().filter(|one| worse(one) <= NONE);
    alike.min_by_key(|one| one.evictor.k).unwrap_or(best).evictor
}

/// The share of the misses by which two may differ by chance; `None` if a model counted no groups.
fn chance(one: &Candidate, best: &Candidate) -> Option<f64> {
    let (one, best) = (one.groups?, best.groups?);
    Some(chance_of(&one, &best))
}

/// The share of the second count by which two may differ by chance. Both count the same groups.
pub(crate) fn chance_of(one: &[f64; GROUPS], best: &[f64; GROUPS]) -> f64 {
    let differences: Vec<_> = one.iter().zip(best).map(|(one, best)| one - best).collect();
    let n = GROUPS as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
    SURE * (variance * n).sqrt() / best.iter().sum::<f64>().max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use curve::{Bytes, MissRatio, MissRatioCurve};

    fn candidate(k: u8, ratio: f64, groups: Option<[f64; GROUPS]>) -> Candidate {
        let curve = MissRatioCurve::new([(Bytes(100), MissRatio(ratio))]);
        Candidate { groups, ..Candidate::new(Evictor::klru(k), curve) }
    }

    fn pool(candidates: Vec<Candidate>, penalty_us: f64) -> Pool {
        Pool {
            name: "all".to_owned(),
            candidates,
            reads_per_s: 100.0,
            penalty_us,
            weight: 1.0,
            floor: Bytes(0),
            cap: None,
            budget: Bytes(100),
            evictor: Evictor::klru(5),
            dearness: 1.0,
            asked: None,
            slab: None,
        }
    }

    fn chosen(candidates: Vec<Candidate>, penalty_us: f64) -> u8 {
        choose(&pool(candidates, penalty_us)).k
    }

    #[test]
    fn the_fewest_misses_win_and_the_smaller_k_a_tie() {
        let known = |ratios: [f64; 3]| {
            [5, 1, 16].into_iter().zip(ratios).map(|(k, r)| candidate(k, r, None)).collect()
        };
        assert_eq!(chosen(known([0.5, 0.6, 0.4]), 1000.0), 16);
        assert_eq!(chosen(known([0.5, 0.3, 0.4]), 1000.0), 1);
        assert_eq!(chosen(known([0.5, 0.5, 0.5]), 1000.0), 1);
        assert_eq!(chosen(known([0.0, 0.0, 0.0]), 1000.0), 1, "nobody misses");
        assert_eq!(chosen(vec![], 1000.0), 5, "nothing is known");
    }

    /// If misses cost next to nothing, drawing sixteen candidates does not pay.
    #[test]
    fn evictions_have_a_price() {
        let known = || vec![candidate(1, 0.41, None), candidate(16, 0.40, None)];
        assert_eq!(chosen(known(), 1000.0), 16);
        assert_eq!(chosen(known(), 1.0), 1);
    }

    /// With equal misses the larger K loses wherever evictions cost anything. If evictions were
    /// measured as expensive, more candidates must save more.
    #[test]
    fn what_is_dear_is_avoided() {
        let at = |dearness: f64, ratios: [f64; 2]| {
            let known = vec![candidate(16, ratios[1], None), candidate(1, ratios[0], None)];
            choose(&Pool { dearness, ..pool(known, 100.0) }).k
        };
        assert_eq!(at(1.0, [0.40, 0.40]), 1);
        assert_eq!(at(1.0, [0.41, 0.39]), 16);
        assert_eq!(at(4.0, [0.41, 0.39]), 1);
        assert_eq!(at(4.0, [0.41, 0.30]), 16);
    }

    fn groups(k: u8, by: f64, spread: f64) -> Candidate {
        let signs = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0];
        candidate(k, 0.4, Some(signs.map(|sign| 1000.0 + by + sign * spread)))
    }

    /// The best differs from the present K, five, by 0.1 per cent of the misses. If all groups
    /// agree, the difference counts; if its sign varies between groups, it is chance. Among equal
    /// ones the smallest is taken.
    #[test]
    fn chance_is_no_reason() {
        let chosen = |one| chosen(vec![groups(16, 0.0, 0.0), groups(2, 0.4, 0.0), one], 1e6);
        assert_eq!(chosen(groups(5, 1.0, 0.0)), 2);
        assert_eq!(chosen(groups(5, 1.0, 3.0)), 5);
    }

    /// The present K, five, stays if nothing was evicted, and if the best may be so by chance. It
    /// is replaced if another is clearly better.
    #[test]
    fn what_is_not_shown_changes_nothing() {
        let same = [1, 5, 16].map(|k| groups(k, 0.0, 0.0));
        assert_eq!(chosen(same.into(), 1e6), 5);
        let known = |by: f64, spread: f64| {
            vec![groups(1, 90.0, 0.0), groups(5, by, spread), groups(16, 0.0, 0.0)]
        };
        assert_eq!(chosen(known(8.0, 30.0), 1e6), 5);
        assert_eq!(chosen(known(30.0, 30.0), 1e6), 16);
    }
}
