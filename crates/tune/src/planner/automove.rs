//! The present automover of memcached, 1.6 [1]: a balance of ages over a window of ten looks.
//!
//! The class whose victims were idle longest, on the mean of the window, gives a page to the class
//! whose victims were idle shortest. The conditions: the shortest is less than 0.8 of the longest,
//! and the window is full. The receiver evicts now, and did so in more than half of the looks, or
//! had more than a quarter of all evictions. A class with more than two and a half pages of free
//! chunks, whose pages did not change in the window, gives one to the class in need. A look is a
//! second.
//!
//! [1] memcached 1.6, slab_automove.c.

use super::Spec;
use crate::slab::{Slab, WINDOW, held, one_page, slabs};
use crate::{Plan, Snapshot};

/// The registry entry.
pub const SPEC: Spec = Spec { name: "automove", by_curves: false, plan };

/// `slab_automove_ratio`.
const RATIO: f64 = 0.8;

/// Pages of free chunks that a class may keep, and pages that a giver keeps.
const FREE_PAGES: f64 = 2.5;
const PAGES_MIN: u64 = 2;

fn plan(snapshot: &Snapshot) -> Plan {
    let all = || slabs(snapshot).filter(|(_, slab)| slab.pages > 0);
    let age = |slab: &Slab| {
        let sum: u64 = slab.window.iter().map(|look| look.tail_age).sum();
        sum as f64 / slab.window.len().max(1) as f64
    };
    let evicted = |slab: &Slab| slab.window.iter().map(|look| look.evicted).sum::<u64>();
    let evicted_by_all: u64 = all().map(|(_, slab)| evicted(slab)).sum();
    let needs = |slab: &Slab| {
        let looks = slab.window.iter().filter(|look| look.evicted > 0).count();
        slab.evicts() && (2 * looks > slab.window.len() || 4 * evicted(slab) > evicted_by_all)
    };
    let needy = all().filter(|(_, slab)| needs(slab));
    let youngest = needy.min_by(|(_, a), (_, b)| age(a).total_cmp(&age(b)));
    let rich = all().filter(|(_, slab)| slab.pages > PAGES_MIN);
    let oldest = rich.max_by(|(_, a), (_, b)| age(a).total_cmp(&age(b)));
    let idle = all().find(|(_, slab)| {
        let free = slab.last().free as f64 / slab.chunks() as f64;
        free > FREE_PAGES && slab.window.iter().all(|look| !look.dirty)
    });
    let full = |slab: &Slab| slab.window.len() >= WINDOW;
    let division = match (idle, oldest, youngest) {
        (Some((from, _)), _, Some((to, _))) if from != to => one_page(snapshot, from, to),
        (_, Some((from, old)), Some((to, young)))
            if full(young) && age(young) < RATIO * age(old) =>
        {
            one_page(snapshot, from, to)
        }
        _ => held(snapshot),
    };
    Plan::of(SPEC.name, snapshot, &division, vec![])
}

#[cfg(test)]
mod tests {
    use super::super::test_slabs::{pages, with_windows};
    use super::*;
    use crate::slab::Look;

    fn looks(tail_age: u64, evicted: u64, count: usize) -> Vec<Look> {
        vec![Look { evicted, tail_age, ..Look::default() }; count]
    }

    fn division(all: &[(u64, Vec<Look>)]) -> Vec<u64> {
        pages(&plan(&with_windows(all)))
    }

    #[test]
    fn the_oldest_gives_to_the_youngest() {
        let (old, young) = (looks(100, 5, WINDOW), looks(79, 5, WINDOW));
        assert_eq!(division(&[(3, old.clone()), (3, young.clone())]), [2, 4]);
        // Similar ages, a window not yet full, too few pages, or no recent eviction.
        assert_eq!(division(&[(3, old.clone()), (3, looks(80, 5, WINDOW))]), [3, 3]);
        assert_eq!(division(&[(3, old.clone()), (3, looks(79, 5, WINDOW - 1))]), [3, 3]);
        assert_eq!(division(&[(2, old.clone()), (3, young.clone())]), [2, 3]);
        let mut calm = young;
        calm[WINDOW - 1].evicted = 0;
        assert_eq!(division(&[(3, old), (3, calm)]), [3, 3]);
    }

    /// Unused chunks go to the class in need, whatever the ages.
    #[test]
    fn free_pages_are_given_up() {
        let mut free = looks(0, 0, 3);
        free[2].free = 26;
        assert_eq!(division(&[(4, free.clone()), (3, looks(9, 5, 3))]), [3, 4]);
        free[0].dirty = true;
        assert_eq!(division(&[(4, free), (3, looks(9, 5, 3))]), [4, 3]);
    }
}
