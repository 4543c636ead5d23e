//! DLRU's choice of K: every pool keeps its memory and gets the number of candidates that waits
//! least, misses and evictions together [1].
//!
//! ```text
//!   P(K) = misses(K) · (penalty + OH(K))        OH: what an eviction with K candidates takes
//! ```
//!
//! Of several noisy counts the least looks better than it is. The counts are paired, of the same
//! keys under each K: so the difference of two is taken in each of eight groups of keys, and its
//! spread over the groups says how much of it is chance. Of those that are not worse beyond chance
//! the smallest K is taken, for it is the cheapest. (The paper leaves open what equal is.)
//!
//! [1] Wang, Yang, Wang. Dynamically configuring LRU replacement policy in Redis. MEMSYS '20.

use super::Spec;
use crate::snapshot::{Candidate, Pool};
use crate::{Evictor, Plan, Snapshot};
use curve::GROUPS;

/// The registry entry.
pub const SPEC: Spec = Spec { name: "adapt_k", plan };

/// What is taken where nothing is known.
const UNKNOWN: Evictor = Evictor::klru(5);

/// A difference below this share of the cost is none, however sure; one above the other is one,
/// however unsure.
const NONE: f64 = 0.0005;
const PLAIN: f64 = 0.01;

/// Standard errors from which on a difference is no chance.
const SURE: f64 = 2.0;

fn plan(snapshot: &Snapshot) -> Plan {
    let division: Vec<_> = snapshot.pools.iter().map(|pool| (pool.budget, choose(pool))).collect();
    Plan::of(SPEC.name, snapshot, &division, vec![])
}

fn choose(pool: &Pool) -> Evictor {
    let known = || pool.candidates.iter();
    let cost = |one: &Candidate| {
        let wait = pool.penalty_us + one.evictor.overhead_us();
        pool.miss_ratio(pool.budget, one.evictor).map_or(f64::INFINITY, |ratio| ratio.0 * wait)
    };
    let Some(best) = known().min_by(|a, b| cost(a).total_cmp(&cost(b))) else { return UNKNOWN };
    let least = cost(best);
    let is_equal = |one: &&Candidate| {
        let share = (cost(one) - least) / least.max(f64::MIN_POSITIVE);
        share <= NONE || share < PLAIN && !is_sure(one, best)
    };
    known().filter(is_equal).min_by_key(|one| one.evictor.k).map_or(UNKNOWN, |one| one.evictor)
}

/// Whether one misses more than the best beyond chance; without groups nobody knows, and every
/// difference counts.
fn is_sure(one: &Candidate, best: &Candidate) -> bool {
    let (Some(one), Some(best)) = (one.groups, best.groups) else { return true };
    let differences: Vec<_> = one.iter().zip(best).map(|(one, best)| one - best).collect();
    let n = GROUPS as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
    mean > SURE * (variance / n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use curve::{Bytes, MissRatio, MissRatioCurve};

    fn candidate(k: u8, ratio: f64, groups: Option<[f64; GROUPS]>) -> Candidate {
        let curve = MissRatioCurve::new([(Bytes(100), MissRatio(ratio))]);
        Candidate { evictor: Evictor::klru(k), curve, groups }
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
            asked: None,
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

    /// Where misses cost next to nothing, drawing sixteen candidates does not pay.
    #[test]
    fn evictions_have_a_price() {
        let known = || vec![candidate(1, 0.41, None), candidate(16, 0.40, None)];
        assert_eq!(chosen(known(), 1000.0), 16);
        assert_eq!(chosen(known(), 1.0), 1);
    }

    /// The same difference of 0.9 per cent, alike in all groups or all from one of them.
    #[test]
    fn chance_is_no_reason() {
        let even = candidate(16, 0.400, Some([100.0; GROUPS]));
        let alike = candidate(1, 0.4036, Some([100.9; GROUPS]));
        assert_eq!(chosen(vec![even.clone(), alike], 1000.0), 16);
        let mut groups = [90.0; GROUPS];
        groups[3] = 177.2;
        let chance = candidate(1, 0.4036, Some(groups));
        assert_eq!(chosen(vec![even, chance], 1000.0), 1);
    }
}
