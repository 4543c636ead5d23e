//! Pools that are slab classes: the plant's data about their pages, and the counts of the last
//! epochs.
//!
//! ```text
//!   page     1 MB, of one class at a time          ┌────┬────┬────┬────┐
//!   chunk    room for one item of the class        │item│item│item│free│
//!   class    items that need chunks of one size    └────┴────┴────┴────┘
//! ```
//!
//! Memory moves between classes in whole pages. Planners that do not divide by curves use a
//! *window*: the counts of each of the last epochs. The window is part of the snapshot, so that a
//! planner with a memory is still a pure function.

use crate::Evictor;
use crate::plant::{Reading, SlabClass, Target};
use crate::snapshot::{Pool, Promise, Snapshot};
use base::{Bytes, MissRatio, TenantId};
use curve::MissRatioCurve;
use policy::rank::Victims;
use std::collections::{HashMap, VecDeque};

/// Number of epochs in a window: the number of samples in memcached's automover.
pub const WINDOW: usize = 10;

/// The most units of a plan in pages: with more, a plan takes tenths of a second.
pub const UNITS_MAX: usize = 1024;

/// The least extent of a curve, as a share of the bytes in a class.
const REACH: f64 = 0.9;

/// A slab class in a [`Snapshot`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slab {
    /// Bytes of a page.
    pub page: Bytes,
    /// Bytes of a chunk.
    pub chunk: Bytes,
    /// Pages that it holds.
    pub pages: u64,
    /// Recent worth of its victims, if the policy ranks by hit density.
    pub victims: Victims,
    /// The last epochs, oldest first.
    pub window: Vec<Look>,
}

/// The counts of a slab class in one epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Look {
    /// Requests: reads, and writes that fill no miss.
    pub requests: u64,
    /// Reads that missed.
    pub misses: u64,
    /// Reads.
    pub reads: u64,
    /// Items evicted for want of a chunk.
    pub evicted: u64,
    /// Hits on items close to eviction: the last page's worth of the order.
    pub tail_hits: u64,
    /// Requests since the last use of its next victim, at the end of the epoch.
    pub tail_age: u64,
    /// Free chunks at the end of the epoch.
    pub free: u64,
    /// Whether it gained or lost a page.
    pub dirty: bool,
}

impl Slab {
    /// Chunks in a page.
    pub fn chunks(&self) -> u64 {
        (self.page.0 / self.chunk.0.max(1)).max(1)
    }

    /// The counts of the last epoch; zeros before the first.
    pub fn last(&self) -> Look {
        self.window.last().copied().unwrap_or_default()
    }

    /// A straight line from the counts, for a class with too few requests for another curve: hits
    /// in proportion to the memory, up to the present pages. Without it the class would keep its
    /// first pages for ever. `None` without reads or pages.
    pub fn straight(&self) -> Option<MissRatioCurve> {
        let sum = |of: fn(&Look) -> u64| self.window.iter().map(of).sum::<u64>() as f64;
        let (reads, misses) = (sum(|look| look.reads), sum(|look| look.misses));
        let held = Bytes(self.page.0 * self.pages);
        (reads > 0.0 && held > Bytes(0))
            .then(|| MissRatioCurve::new([(held, MissRatio::of(misses, reads))]))
    }

    /// Whether a curve reaches as far as the class is filled. A shorter curve has not seen all
    /// items of the class, and treats the rest as useless.
    pub(crate) fn is_reached_by(&self, curve: &MissRatioCurve) -> bool {
        let filled = (self.page.0 * self.pages).saturating_sub(self.chunk.0 * self.last().free);
        curve.extent().as_f64() >= REACH * filled as f64
    }

    /// Whether the class evicted an item in the last epoch.
    pub fn evicts(&self) -> bool {
        self.last().evicted > 0
    }
}

/// Pools that are slab classes, with their positions.
pub(crate) fn slabs(snapshot: &Snapshot) -> impl Iterator<Item = (usize, &Slab)> + Clone {
    let of = |(at, pool): (usize, &'_ Pool)| -> Option<usize> { pool.slab.as_ref().map(|_| at) };
    let places: Vec<_> = snapshot.pools.iter().enumerate().filter_map(of).collect();
    places.into_iter().filter_map(|at| Some((at, snapshot.pools[at].slab.as_ref()?)))
}

/// The present division: the pages of slab classes, and the budgets of other pools.
pub(crate) fn held(snapshot: &Snapshot) -> Vec<(Bytes, Evictor)> {
    let of = |pool: &Pool| {
        let pages = |slab: &Slab| Bytes(slab.page.0 * slab.pages);
        (pool.slab.as_ref().map_or(pool.budget, pages), pool.evictor)
    };
    let division: Vec<_> = snapshot.pools.iter().map(of).collect();
    let sum: u128 = division.iter().map(|(bytes, _)| u128::from(bytes.0)).sum();
    if sum <= u128::from(snapshot.memory.0) {
        return division;
    }
    // The limit fell, and pages are not yet returned: each pool keeps its part of the limit.
    let scale = snapshot.memory.as_f64() / sum as f64;
    division.into_iter().map(|(b, evictor)| (Bytes((b.as_f64() * scale) as u64), evictor)).collect()
}

/// The present division, but with one page moved from pool `from` to pool `to`.
pub(crate) fn one_page(snapshot: &Snapshot, from: usize, to: usize) -> Vec<(Bytes, Evictor)> {
    let mut division = held(snapshot);
    let page = snapshot.pools[from].slab.as_ref().map_or(Bytes(0), |slab| slab.page);
    if from != to && division[from].0 >= page {
        division[from].0 -= page;
        division[to].0 += page;
    }
    division
}

/// The windows of all classes, which the pilot fills.
#[derive(Clone, Debug, Default)]
pub(crate) struct Windows {
    of: HashMap<(TenantId, u8), Window>,
}

#[derive(Clone, Debug, Default)]
struct Window {
    before: Counts,
    now: SlabClass,
    looks: VecDeque<Look>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    shown: SlabClass,
    gets: u64,
    misses: u64,
    sets: u64,
}

impl Windows {
    /// Ends an epoch: adds the counts since the last one to the windows.
    pub(crate) fn epoch(&mut self, reading: &Reading) {
        for &shown in &reading.slabs {
            let tenant = reading.tenants.iter().find(|tenant| tenant.id == shown.tenant);
            let part = tenant.map(|tenant| tenant.part(Some(shown.class))).unwrap_or_default();
            let now = Counts { shown, gets: part.gets, misses: part.misses, sets: part.sets };
            let window = self.of.entry((shown.tenant, shown.class)).or_default();
            let old = std::mem::replace(&mut window.before, now);
            let misses = now.misses.saturating_sub(old.misses);
            let sets = now.sets.saturating_sub(old.sets);
            let reads = now.gets.saturating_sub(old.gets);
            window.now = shown;
            window.looks.push_back(Look {
                requests: reads + sets - sets.min(misses),
                misses,
                reads,
                evicted: shown.evicted.saturating_sub(old.shown.evicted),
                tail_hits: shown.tail_hits.saturating_sub(old.shown.tail_hits),
                tail_age: shown.tail_age,
                free: shown.free,
                dirty: shown.pages != old.shown.pages,
            });
            if window.looks.len() > WINDOW {
                window.looks.pop_front();
            }
        }
    }

    /// The class with its window, if the plant ever showed it.
    pub(crate) fn slab(&self, tenant: TenantId, class: u8) -> Option<Slab> {
        let Window { now, looks, .. } = self.of.get(&(tenant, class))?;
        Some(Slab {
            page: now.page,
            chunk: now.chunk,
            pages: now.pages,
            victims: now.victims,
            window: looks.iter().copied().collect(),
        })
    }
}

/// The cost of an epoch, relative to the promise, from which on the next plan is early: a smaller
/// excess is chance.
const BROKEN: f64 = 1.1;

/// Whether the last epoch broke a promise.
pub fn is_broken(promise: &Promise, pools: &[Pool]) -> bool {
    let (mut reads, mut cost) = (0.0, 0.0);
    for pool in promise.pools.iter().map(|&at| &pools[at]) {
        let Some(slab) = &pool.slab else { continue };
        reads += slab.last().reads as f64;
        let misses = slab.last().misses as f64;
        cost += match promise.target {
            Target::MissRatio(_) => misses,
            Target::MeanUs(_) => misses * pool.penalty_us,
        };
    }
    let (Target::MissRatio(target) | Target::MeanUs(target)) = promise.target;
    cost > BROKEN * target * reads
}

/// Requests until every pool has turned over its memory after a plan that moves at most `pages_max`
/// pages (LAMA, equation 8). Before that, the effect of the plan is not visible. Pools that hardly
/// miss would take for ever, and are left out.
pub fn turnover(pools: &[Pool], pages_max: u64) -> Option<u64> {
    let all: u64 = pools.iter().filter_map(|pool| Some(pool.slab.as_ref()?.last().requests)).sum();
    let of = |pool: &Pool| {
        let slab = pool.slab.as_ref()?;
        let last = slab.last();
        // At least one miss in a thousand requests of all pools.
        let enough = last.misses > 0 && last.misses * 1_000 >= all;
        let pages = (2 * slab.pages).min(slab.pages + pages_max);
        let items = (pages * slab.chunks()) as f64;
        enough.then(|| items * all as f64 / last.misses as f64)
    };
    pools.iter().filter_map(of).reduce(f64::max).map(|requests| requests as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planner::test_slabs;
    use crate::plant::{Part, TenantReading};

    /// A window has differences, and forgets old epochs.
    #[test]
    fn windows_hold_what_was_counted_in_each_epoch() {
        let mut windows = Windows::default();
        for epoch in 1..=12u64 {
            let part = Part { class: 3, gets: 100 * epoch, misses: 10 * epoch, ..Part::default() };
            let part = Part { sets: 15 * epoch, ..part };
            let slab = SlabClass {
                class: 3,
                page: Bytes(1_000),
                chunk: Bytes(96),
                pages: epoch.min(7),
                evicted: epoch * epoch,
                ..SlabClass::default()
            };
            windows.epoch(&Reading {
                tenants: vec![TenantReading { classes: vec![part], ..TenantReading::default() }],
                slabs: vec![slab],
                ..Reading::default()
            });
        }
        let slab = windows.slab(0, 3).unwrap();
        assert_eq!((slab.pages, slab.chunks(), slab.window.len()), (7, 10, WINDOW));
        let last = slab.last();
        assert_eq!((last.requests, last.misses, last.evicted), (105, 10, 144 - 121));
        let dirty: Vec<_> = slab.window.iter().map(|look| look.dirty).collect();
        assert_eq!(dirty[..5], [true; 5]);
        assert_eq!(dirty[5..], [false; 5]);
        assert!(windows.slab(1, 3).is_none());
    }

    /// Ten pages that hit half of the reads: five pages would hit a quarter.
    #[test]
    fn the_unknown_is_a_straight_line() {
        let look = Look { reads: 40, misses: 20, ..Look::default() };
        let slab = Slab { page: Bytes(100), pages: 10, window: vec![look; 2], ..Slab::default() };
        let curve = slab.straight().unwrap();
        assert_eq!(curve.at(Bytes(1_000)), MissRatio(0.5));
        assert_eq!(curve.at(Bytes(500)), MissRatio(0.75));
        assert_eq!(curve.at(Bytes(9_000)), MissRatio(0.5));
        assert!(Slab { window: vec![], ..slab }.straight().is_none());
    }

    #[test]
    fn a_curve_of_less_than_is_held_is_short() {
        let slab = Slab { page: Bytes(100), pages: 10, chunk: Bytes(10), ..Slab::default() };
        let curve = |end| MissRatioCurve::new([(Bytes(end), MissRatio(0.5))]);
        assert!(slab.is_reached_by(&curve(900)) && !slab.is_reached_by(&curve(890)));
    }

    /// 100 of 1 000 reads may miss: 110 are chance, 111 are not, over all classes together.
    #[test]
    fn a_broken_promise_is_seen_over_all_classes() {
        let pools = |misses: [u64; 2]| {
            let looks = misses.map(|misses| Look { reads: 500, misses, ..Look::default() });
            let mut all = test_slabs::snapshot(&looks.map(|look| (1, look))).pools;
            for pool in &mut all {
                pool.penalty_us = 20.0;
            }
            all
        };
        for target in [Target::MissRatio(0.1), Target::MeanUs(2.0)] {
            let promise = Promise { name: String::new(), pools: vec![0, 1], target, priority: 0 };
            let broken = |misses| is_broken(&promise, &pools(misses));
            assert_eq!([[0, 110], [111, 0], [60, 60]].map(broken), [false, true, true]);
        }
    }

    /// Ten pages of a hundred chunks, and a bound of five more pages. One request in two is of the
    /// class, and one in five of those misses: 1 500 items come in 15 000 requests.
    #[test]
    fn the_slowest_pool_sets_the_pace() {
        let slab = |pages, requests, misses| Slab {
            page: Bytes(10_000),
            chunk: Bytes(100),
            pages,
            window: vec![Look { requests, misses, ..Look::default() }],
            ..Slab::default()
        };
        let pool = |slab| Pool { slab: Some(slab), ..Pool::default() };
        let pools = [pool(slab(10, 500, 100)), pool(slab(3, 500, 400)), pool(slab(9, 0, 0))];
        assert_eq!(turnover(&pools, 5), Some(15_000));
        assert_eq!(turnover(&pools[2..], 5), None);
    }
}
