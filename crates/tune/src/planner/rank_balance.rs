//! Rank balance: a page goes from the class whose victims have the lowest worth to the class whose
//! victims have the highest, by [`policy::rank::balance`]. A plant that balances its parts itself
//! shows no victims, and keeps its division.

use super::Spec;
use crate::slab::{Slab, held, one_page, slabs};
use crate::{Plan, Snapshot};
use policy::rank::balance::{BETTER_LEARNT, Class, balance};

/// The registry entry.
pub const SPEC: Spec = Spec { name: "rank_balance", by_curves: false, plan };

fn plan(snapshot: &Snapshot) -> Plan {
    let all: Vec<_> = slabs(snapshot).collect();
    let class = |slab: &Slab| Class {
        pages: slab.pages,
        free: slab.last().free as f64 / slab.chunks() as f64,
        evicts: slab.evicts(),
        victims: slab.victims,
        may_give: true,
    };
    let classes: Vec<_> = all.iter().map(|(_, slab)| class(slab)).collect();
    let division = match balance(&classes, BETTER_LEARNT) {
        Some((from, to)) => one_page(snapshot, all[from].0, all[to].0),
        None => held(snapshot),
    };
    Plan::of(SPEC.name, snapshot, &division, vec![])
}

#[cfg(test)]
mod tests {
    use super::super::test_slabs::{look, pages, snapshot};
    use super::*;
    use policy::rank::Victims;

    /// One page at a time moves between pools.
    #[test]
    fn the_plan_moves_a_page() {
        let mut classes = snapshot(&[(3, look(9, 9)), (2, look(9, 9)), (1, look(9, 9))]);
        for (pool, density) in classes.pools.iter_mut().zip([1.0, 2.0, 4.0]) {
            pool.slab.as_mut().unwrap().victims = of(density);
        }
        assert_eq!(pages(&plan(&classes)), [2, 2, 2]);
        classes.pools[2].slab.as_mut().unwrap().victims = of(1.0);
        classes.pools[1].slab.as_mut().unwrap().victims = of(1.05);
        assert_eq!(pages(&plan(&classes)), [3, 2, 1]);
    }

    fn of(density: f64) -> Victims {
        Victims { count: 100, density }
    }
}
