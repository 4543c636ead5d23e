//! Facebook's balance of ages: all classes should evict items of equal idle time, as one LRU list
//! over all of them would [1].
//!
//! A class is in need if it evicts, and its next victim's idle time is at least 20 % below the mean
//! of the others' next victims. It gets the page with the oldest item of all. Time is counted in
//! requests. Ages do not show the number of requests to a class, and bytes of large and small items
//! count alike. So the result is close to an undivided cache, not to the best division.
//!
//! [1] Nishtala et al. Scaling Memcache at Facebook. NSDI '13, section 4.1.

use super::Spec;
use crate::slab::{Slab, held, one_page, slabs};
use crate::{Plan, Snapshot};

/// The registry entry.
pub const SPEC: Spec = Spec { name: "facebook", by_curves: false, plan };

/// The least difference to the others' mean age for a class in need, as a share.
const MORE_RECENT: f64 = 0.2;

fn plan(snapshot: &Snapshot) -> Plan {
    let age = |slab: &Slab| slab.last().tail_age as f64;
    let all = || slabs(snapshot).filter(|(_, slab)| slab.pages > 0 && age(slab) > 0.0);
    let (sum, count) = all().fold((0.0, 0.0), |(sum, n), (_, slab)| (sum + age(slab), n + 1.0));
    let needy = all().filter(|(_, slab)| {
        let others = (sum - age(slab)) / (count - 1.0);
        count > 1.0 && slab.evicts() && age(slab) <= (1.0 - MORE_RECENT) * others
    });
    let to = needy.min_by(|(_, a), (_, b)| age(a).total_cmp(&age(b))).map(|(at, _)| at);
    let givers = all().filter(|(_, slab)| slab.pages > 1);
    let from = givers.max_by(|(_, a), (_, b)| age(a).total_cmp(&age(b))).map(|(at, _)| at);
    let division = match (from, to) {
        (Some(from), Some(to)) => one_page(snapshot, from, to),
        _ => held(snapshot),
    };
    Plan::of(SPEC.name, snapshot, &division, vec![])
}

#[cfg(test)]
mod tests {
    use super::super::test_slabs::{pages, snapshot};
    use super::*;
    use crate::slab::Look;

    fn aged(tail_age: u64, evicted: u64) -> Look {
        Look { evicted, tail_age, ..Look::default() }
    }

    #[test]
    fn the_youngest_gets_from_the_oldest() {
        let all = [(2, aged(100, 5)), (2, aged(900, 5)), (2, aged(500, 5))];
        assert_eq!(pages(&plan(&snapshot(&all))), [3, 1, 2]);
    }

    /// Within a fifth of the mean of the others, or without an eviction, no class is in need. No
    /// class gives its last page.
    #[test]
    fn who_is_not_in_need_gets_nothing() {
        let near = [(2, aged(81, 5)), (2, aged(100, 5))];
        assert_eq!(pages(&plan(&snapshot(&near))), [2, 2]);
        assert_eq!(pages(&plan(&snapshot(&[(2, aged(80, 5)), (2, aged(100, 5))]))), [3, 1]);
        assert_eq!(pages(&plan(&snapshot(&[(2, aged(10, 0)), (2, aged(100, 5))]))), [2, 2]);
        assert_eq!(pages(&plan(&snapshot(&[(2, aged(10, 9)), (1, aged(100, 5))]))), [2, 1]);
    }
}
