//! Moves pages between two plans, by exact counts: from a class whose pages are worth almost
//! nothing to a class whose pages are worth much more.
//!
//! A plan takes a minute, because its curves need bursts of watching. When the sizes of values
//! change, that is late: items of the old sizes hold pages that nobody reads, while items of the
//! new sizes share a few pages. The server counts the hits of each class, exactly and at no cost.
//! It also counts the hits on cold items, which are evicted next:
//!
//! ```text
//!   worth of a page   of a giver, at most:   the more of  hits / pages,  cold hits / cold pages
//!                     of a taker, at least:  the less of the two, where items are evicted
//! ```
//!
//! Under LRU, the last page of a class gets no more hits than its mean page. The exception is a
//! class that is read in a loop, and there the hits are on cold items. So the larger number bounds
//! the loss of the giver. The next page of the taker lies behind its last one, so the smaller
//! number is close to its gain. Both numbers are counts, known to about their square root. Pages
//! move at once where the gain exceeds the loss `TIMES` times; below that, curves decide. No more
//! pages move than the taker fills until the next look: the giver loses a page at once, and the
//! page starts empty.

use super::told::{ClassStats, MemcachedStats, PAGE};
use std::collections::{HashSet, VecDeque};

/// Numbers of looks, a second apart, of which the first and the last are compared: few for clear
/// differences, many for classes that are seldom read.
const FEW: usize = 4;
const MANY: usize = 16;
/// Minimum ratio of the taker's gain by a page to the giver's loss.
const TIMES: f64 = 2.0;
/// Margin of a count in standard deviations (its square root), and hits that a count of none may
/// still hide.
const SPREADS: f64 = 2.0;
const UNSEEN: f64 = 4.0;
/// Number of spare pages with which a class loses nothing by giving one.
const SPARE: u64 = 2;
/// Maximum number of pages that move before the next look, and the divisor that gives the same
/// limit as a part of the giver's pages.
const PAGES_MAX: u64 = 10;
const PART_MAX: u64 = 4;

/// Pages that are to move now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Transfer {
    pub(super) from: u8,
    pub(super) to: u8,
    pub(super) pages: u64,
    /// Hits of one page within the looks: the giver's loss at most, and the taker's gain at least.
    pub(super) loses: f64,
    pub(super) gains: f64,
}

/// Classes at the last looks, up to `MANY`.
#[derive(Debug, Default)]
pub(super) struct Counts {
    looks: VecDeque<Vec<ClassStats>>,
}

/// Change of one class between the first look and the last.
struct Change {
    class: ClassStats,
    /// Means of the first look and the last.
    pages: f64,
    cold_pages: f64,
    hits: f64,
    cold_hits: f64,
    evicted: u64,
    /// Pages that its writes fill.
    filled: u64,
    /// Whether the class has as many pages as before.
    is_same: bool,
    /// Pages of free chunks now, and those that no write has touched.
    free: u64,
    spare: u64,
}

impl Change {
    fn of(before: &ClassStats, class: ClassStats) -> Self {
        let mean = |a: u64, b: u64| a.midpoint(b) as f64;
        let change = |of: fn(&ClassStats) -> u64| of(&class).saturating_sub(of(before));
        Self {
            class,
            pages: mean(before.pages, class.pages).max(1.0),
            cold_pages: mean(before.cold, class.cold) * class.share as f64 / PAGE as f64,
            hits: change(|class| class.hits) as f64,
            cold_hits: change(|class| class.cold_hits) as f64,
            evicted: change(|class| class.evicted),
            filled: change(|class| class.sets) * class.share / PAGE,
            is_same: class.pages == before.pages,
            free: class.free * class.share / PAGE,
            // A class that was given pages is filling them.
            spare: if class.free < before.free || class.pages != before.pages {
                0
            } else {
                before.free * class.share / PAGE
            },
        }
    }

    /// Upper bound of the hits on the last page. Where no item is cold, all hits may be on it.
    fn loses(&self) -> f64 {
        let most = |count: f64| count + SPREADS * count.sqrt() + UNSEEN;
        if self.spare >= SPARE {
            return 0.0;
        }
        let by_hits = most(self.hits) / self.pages;
        if self.cold_pages > 0.0 {
            by_hits.max(most(self.cold_hits) / self.cold_pages.max(1.0))
        } else {
            by_hits.max(self.hits)
        }
    }

    /// Lower bound of the hits that a further page would get.
    fn gains(&self) -> f64 {
        let least = |count: f64| (count - SPREADS * count.sqrt()).max(0.0);
        if self.evicted == 0 || self.free > 0 || self.cold_pages <= 0.0 {
            return 0.0;
        }
        (least(self.hits) / self.pages).min(least(self.cold_hits) / self.cold_pages)
    }
}

impl Counts {
    /// Keeps the classes of one look.
    pub(super) fn look(&mut self, told: &MemcachedStats) {
        if self.looks.len() == MANY {
            self.looks.pop_front();
        }
        self.looks.push_back(told.classes.clone());
    }

    /// Changes over the last `looks` looks; empty while there are fewer.
    fn changes(&self, looks: usize) -> Vec<Change> {
        let first = self.looks.len().checked_sub(looks).and_then(|at| self.looks.get(at));
        let (Some(first), Some(last)) = (first, self.looks.back()) else { return vec![] };
        let change = |class: &ClassStats| {
            let before = first.iter().find(|before| before.number == class.number)?;
            Some(Change::of(before, *class))
        };
        last.iter().filter_map(change).collect()
    }

    /// Classes that evicted items lately. No other class can use a further page.
    pub(super) fn evicting(&self) -> HashSet<u8> {
        let changes = self.changes(FEW.min(self.looks.len()));
        changes.iter().filter(|one| one.evicted > 0).map(|one| one.class.number).collect()
    }

    /// Transfer that should happen at once, if there is one.
    pub(super) fn transfer(&self) -> Option<Transfer> {
        let plain = transfer(&self.changes(FEW));
        plain.or_else(|| {
            let mut changes = self.changes(MANY);
            // Counts of a class whose pages changed cannot be compared.
            changes.retain(|one| one.is_same);
            Some(Transfer { pages: 1, ..transfer(&changes)? })
        })
    }
}

fn transfer(changes: &[Change]) -> Option<Transfer> {
    let taker = changes.iter().max_by(|a, b| a.gains().total_cmp(&b.gains()))?;
    let others = changes.iter().filter(|one| one.class.number != taker.class.number);
    let giver =
        others.filter(|one| one.class.pages > 1).min_by(|a, b| a.loses().total_cmp(&b.loses()))?;
    let (loses, gains) = (giver.loses(), taker.gains());
    // A class at most doubles before the next look.
    let takes = PAGES_MAX.min(taker.class.pages).min(taker.filled);
    let pages = takes.min(giver.class.pages / PART_MAX).max(1);
    let (from, to) = (giver.class.number, taker.class.number);
    (gains > TIMES * loses).then_some(Transfer { from, to, pages, loses, gains })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(number: u8, pages: u64) -> ClassStats {
        let share = 1_024;
        let cold = pages * PAGE / share / 2;
        ClassStats { number, share, pages, cold, ..ClassStats::default() }
    }

    /// The transfer after `FEW` looks whose counts rise from `before` to `after`.
    fn transfer(before: &[ClassStats], after: &[ClassStats]) -> Option<Transfer> {
        let mut counts = Counts::default();
        let told = |classes: &[ClassStats]| MemcachedStats {
            classes: classes.to_vec(),
            ..MemcachedStats::default()
        };
        for _ in 1..FEW {
            counts.look(&told(before));
            assert_eq!(counts.transfer(), None, "too few looks");
        }
        counts.look(&told(after));
        counts.transfer()
    }

    #[test]
    fn what_nobody_reads_gives_its_pages_at_once() {
        let before = [class(1, 60), class(2, 4)];
        let read = ClassStats { hits: 800, cold_hits: 200, evicted: 900, sets: 9_000, ..before[1] };
        let found = transfer(&before, &[before[0], read]).unwrap();
        assert_eq!((found.from, found.to, found.pages), (1, 2, 4));
        // 200 cold hits, less twice their square root, on two cold pages.
        assert!((found.gains - (200.0 - 2.0 * 200f64.sqrt()) / 2.0).abs() < 1e-9);
        let slow = ClassStats { sets: 2_500, ..read };
        let found = transfer(&before, &[before[0], slow]).unwrap();
        assert_eq!(found.pages, 2, "no more than it fills");
        let empty = ClassStats { free: 1_024, ..read };
        assert_eq!(transfer(&before, &[before[0], empty]), None, "it has a page to fill");
        let idle = ClassStats { evicted: 0, ..read };
        assert_eq!(transfer(&before, &[before[0], idle]), None, "it needs no more");
        let scan = ClassStats { hits: 0, cold_hits: 0, ..read };
        assert_eq!(transfer(&before, &[before[0], scan]), None, "nothing of it is read again");
        let small = [class(1, 1), before[1]];
        assert_eq!(transfer(&small, &[small[0], read]), None, "the last page stays");
    }

    #[test]
    fn what_is_read_a_little_less_keeps_its_pages() {
        let before = [class(1, 32), class(2, 32)];
        let of =
            |at: usize, hits, cold_hits| ClassStats { hits, cold_hits, evicted: 9, ..before[at] };
        let busy = of(1, 32_000, 8_000);
        assert_eq!(transfer(&before, &[of(0, 18_000, 4_500), busy]), None);
        assert!(transfer(&before, &[of(0, 6_000, 1_500), busy]).is_some());
        // A loop: it has few hits for its pages, all of them on items that are evicted next.
        let looped = ClassStats { cold: 1_024, ..of(0, 3_000, 3_000) };
        assert_eq!(transfer(&before, &[looped, busy]), None);
        let spare = [ClassStats { free: 2_048, ..before[0] }, before[1]];
        let free = ClassStats { free: 2_048, ..of(0, 30_000, 8_000) };
        assert!(transfer(&spare, &[free, busy]).is_some(), "it has two pages of nothing");
        let filling = ClassStats { free: 2_047, ..free };
        assert_eq!(transfer(&spare, &[filling, busy]), None, "it is filling them");
    }

    /// Three seconds of counts say nothing about classes that are seldom read, and fifteen do.
    #[test]
    fn what_is_read_seldom_takes_longer() {
        let mut counts = Counts::default();
        for look in 0..MANY as u64 {
            let read = |class: ClassStats, hits: u64| {
                let (hits, evicted, cold_hits) = (look * hits, look * 9, look * hits / 4);
                ClassStats { hits, evicted, cold_hits, ..class }
            };
            let classes = vec![read(class(1, 8), 4), read(class(2, 8), 40)];
            assert_eq!(counts.transfer(), None, "{look}");
            counts.look(&MemcachedStats { classes, ..MemcachedStats::default() });
        }
        let found = counts.transfer().unwrap();
        assert_eq!((found.from, found.to, found.pages), (1, 2, 1));
    }
}
