//! memcached's automover from 1.4.11 to 1.4.24 [1]. A page goes from the first class without
//! evictions in three looks in a row and with more than two pages. It goes to the class that had
//! the most evictions in each of the same three looks.
//!
//! Under pressure every class evicts, and nothing ever moves. A look was ten seconds.
//!
//! [1] memcached 1.4.24, slabs.c, slab_automove_decision.

use super::Spec;
use crate::slab::{Look, Slab, held, one_page, slabs};
use crate::{Plan, Snapshot};

/// The registry entry.
pub const SPEC: Spec = Spec { name: "automove_former", by_curves: false, plan };

/// Number of looks in a row.
const LOOKS: usize = 3;

fn plan(snapshot: &Snapshot) -> Plan {
    let all = || slabs(snapshot);
    let back = |slab: &Slab, looks: usize| -> Option<Look> {
        let at = slab.window.len().checked_sub(looks)?;
        Some(slab.window[at])
    };
    let winner = |looks: usize| {
        let evicted = |slab: &Slab| back(slab, looks).map_or(0, |look| look.evicted);
        let some = all().filter(|(_, slab)| evicted(slab) > 0);
        some.max_by_key(|(at, slab)| (evicted(slab), std::cmp::Reverse(*at))).map(|(at, _)| at)
    };
    let to = winner(1).filter(|&to| (2..=LOOKS).all(|looks| winner(looks) == Some(to)));
    let is_calm = |slab: &Slab| {
        slab.pages > 2
            && (1..=LOOKS).all(|looks| back(slab, looks).is_some_and(|look| look.evicted == 0))
    };
    let from = all().find(|(_, slab)| is_calm(slab)).map(|(at, _)| at);
    let division = match (from, to) {
        (Some(from), Some(to)) => one_page(snapshot, from, to),
        _ => held(snapshot),
    };
    Plan::of(SPEC.name, snapshot, &division, vec![])
}

#[cfg(test)]
mod tests {
    use super::super::test_slabs::{pages, with_windows};
    use super::*;

    fn evicted(counts: [u64; 3]) -> Vec<Look> {
        counts.map(|evicted| Look { evicted, ..Look::default() }).into()
    }

    #[test]
    fn three_calm_looks_and_three_wins() {
        let busy = evicted([5, 5, 5]);
        let division = |all: &[(u64, Vec<Look>)]| pages(&plan(&with_windows(all)));
        assert_eq!(division(&[(3, evicted([0, 0, 0])), (1, busy.clone())]), [2, 2]);
        // Two pages are too few to give. One eviction, or another winner, prevents a move too.
        assert_eq!(division(&[(2, evicted([0, 0, 0])), (1, busy.clone())]), [2, 1]);
        assert_eq!(division(&[(3, evicted([1, 0, 0])), (1, busy.clone())]), [3, 1]);
        let others = [(3, evicted([0, 0, 0])), (1, busy.clone()), (1, evicted([9, 0, 0]))];
        assert_eq!(division(&others), [3, 1, 1]);
        assert_eq!(division(&[(3, vec![Look::default(); 2]), (1, busy)]), [3, 1]);
    }
}
