//! PSA, periodic slab allocation [1]. At intervals of misses, a page goes from the class with the
//! lowest risk to the class with the most misses. Risk is measured in requests a page.
//!
//! The risk is a mean over the class, and not the cost of its last page. The class with the most
//! misses may also have the lowest risk: then nothing moves any more, though a better division may
//! be a page away (LAMA, figure 2). An epoch is the period: one page each.
//!
//! [1] Carra, Michiardi. Memory partitioning in Memcached: an experimental performance analysis.
//!     ICC '14.

use super::Spec;
use crate::slab::{held, one_page, slabs};
use crate::{Plan, Snapshot};

/// The registry entry.
pub const SPEC: Spec = Spec { name: "psa", by_curves: false, plan };

fn plan(snapshot: &Snapshot) -> Plan {
    let all = slabs(snapshot);
    let needy = all.clone().filter(|(_, slab)| slab.last().misses > 0);
    let to = needy.max_by_key(|(_, slab)| slab.last().misses).map(|(at, _)| at);
    let risk = |slab: &crate::slab::Slab| slab.last().requests as f64 / slab.pages as f64;
    // The last page of a class holds its next item.
    let from = all
        .filter(|(at, slab)| slab.pages > 1 || (slab.pages == 1 && Some(*at) == to))
        .min_by(|(_, a), (_, b)| risk(a).total_cmp(&risk(b)))
        .map(|(at, _)| at);
    let division = match (from, to) {
        (Some(from), Some(to)) => one_page(snapshot, from, to),
        _ => held(snapshot),
    };
    Plan::of(SPEC.name, snapshot, &division, vec![])
}

#[cfg(test)]
mod tests {
    use super::super::test_slabs::{look, pages, snapshot};
    use super::*;
    use crate::slab::Look;

    /// The class with the most misses gets a page from the class with the fewest requests a page.
    #[test]
    fn a_page_goes_from_low_risk_to_many_misses() {
        let looks = [(100, 10), (100, 50), (30, 5)].map(|(r, m)| look(r, m));
        let plan = plan(&snapshot(&[(2, looks[0]), (2, looks[1]), (3, looks[2])]));
        assert_eq!(pages(&plan), [2, 3, 2]);
    }

    /// LAMA's figure 2: class 1 has one page and 6 requests a period, all of which miss; class 2
    /// has two pages, 13 requests and 4 misses. Class 1 has the most misses and the lowest risk, so
    /// nothing moves, and the better division (2, 1) is never reached.
    #[test]
    fn the_trap() {
        let snapshot = snapshot(&[(1, look(6, 6)), (2, look(13, 4))]);
        assert_eq!(pages(&plan(&snapshot)), [1, 2]);
    }

    #[test]
    fn the_last_page_stays() {
        let idle = Look::default();
        assert_eq!(pages(&plan(&snapshot(&[(1, idle), (3, look(9, 9))]))), [1, 3]);
        assert_eq!(pages(&plan(&snapshot(&[(2, idle), (3, idle)]))), [2, 3]);
    }
}
