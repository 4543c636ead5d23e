//! CacheLib's marginal hits: a page goes from the class whose last page had the fewest hits to the
//! class whose last page had the most [1].
//!
//! Classes are ranked by the hits of their last page's worth of items in each epoch. The ranks are
//! smoothed over the window, so that one good epoch does not decide. The planner climbs until the
//! last pages of all classes are worth the same. That is the best where curves are convex, and a
//! trap before a cliff, which no last page shows.
//!
//! [1] CacheLib, MarginalHitsStrategy (its moving average 0.3, after Cliffhanger, NSDI '16).

use super::Spec;
use crate::slab::{Slab, held, one_page, slabs};
use crate::{Plan, Snapshot};

/// The registry entry.
pub const SPEC: Spec = Spec { name: "cachelib", by_curves: false, plan };

/// Weight that the earlier ranks keep at each epoch.
const KEEP: f64 = 0.3;

fn plan(snapshot: &Snapshot) -> Plan {
    let all: Vec<_> = slabs(snapshot).filter(|(_, slab)| slab.pages > 0).collect();
    let ranks = smoothed(&all.iter().map(|(_, slab)| *slab).collect::<Vec<_>>());
    let ranked = || all.iter().zip(&ranks);
    let from =
        ranked().filter(|((_, slab), _)| slab.pages > 1).min_by(|(_, a), (_, b)| a.total_cmp(b));
    let to =
        ranked().filter(|((_, slab), _)| slab.evicts()).max_by(|(_, a), (_, b)| a.total_cmp(b));
    let division = match (from, to) {
        (Some(((from, _), low)), Some(((to, _), high))) if high > low => {
            one_page(snapshot, *from, *to)
        }
        _ => held(snapshot),
    };
    Plan::of(SPEC.name, snapshot, &division, vec![])
}

/// Ranks by hits of the last page, as a moving average over the epochs of the window.
fn smoothed(slabs: &[&Slab]) -> Vec<f64> {
    let epochs = slabs.iter().map(|slab| slab.window.len()).max().unwrap_or(0);
    let mut ranks = vec![0.0; slabs.len()];
    for back in (1..=epochs).rev() {
        let hits = |slab: &Slab| {
            slab.window.len().checked_sub(back).map_or(0, |at| slab.window[at].tail_hits)
        };
        for (rank, slab) in ranks.iter_mut().zip(slabs) {
            let below = slabs.iter().filter(|other| hits(other) < hits(slab)).count();
            *rank = KEEP * *rank + (1.0 - KEEP) * below as f64;
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::super::test_slabs::{pages, with_windows};
    use super::*;
    use crate::slab::Look;

    fn hits(counts: &[u64]) -> Vec<Look> {
        let look = |&tail_hits| Look { tail_hits, evicted: 1, ..Look::default() };
        counts.iter().map(look).collect()
    }

    #[test]
    fn the_least_last_page_goes_to_the_best() {
        let all = [(2, hits(&[5, 5])), (2, hits(&[90, 90])), (2, hits(&[1, 2]))];
        assert_eq!(pages(&plan(&with_windows(&all))), [2, 3, 1]);
        let even = [(2, hits(&[5])), (2, hits(&[5]))];
        assert_eq!(pages(&plan(&with_windows(&even))), [2, 2]);
    }

    /// A cliff that one more page would reach shows no hit in the last page.
    #[test]
    fn cliffs_are_a_trap() {
        let all = [(2, hits(&[0, 0, 0])), (2, hits(&[1, 1, 1]))];
        assert_eq!(pages(&plan(&with_windows(&all))), [1, 3]);
    }
}
