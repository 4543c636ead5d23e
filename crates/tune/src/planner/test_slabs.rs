//! Snapshots of slab classes, for the tests of planners.

use crate::slab::{Look, Slab};
use crate::snapshot::{Candidate, Pool};
use crate::{Objective, Plan, Snapshot};
use curve::{Bytes, MissRatio, MissRatioCurve};

const PAGE: u64 = 1_000;

/// An epoch with this number of requests and misses, and as many evictions as misses.
pub(crate) fn look(requests: u64, misses: u64) -> Look {
    Look { requests, reads: requests, misses, evicted: misses, ..Look::default() }
}

/// Classes with these numbers of pages, ten chunks each, after one epoch.
pub(crate) fn snapshot(slabs: &[(u64, Look)]) -> Snapshot {
    let with: Vec<_> = slabs.iter().map(|&(pages, look)| (pages, vec![look])).collect();
    with_windows(&with)
}

/// Classes with these numbers of pages after several epochs.
pub(super) fn with_windows(slabs: &[(u64, Vec<Look>)]) -> Snapshot {
    let pool = |(pages, window): &(u64, Vec<Look>)| Pool {
        budget: Bytes(PAGE * pages),
        reads_per_s: window.last().map_or(0.0, |look| look.reads as f64),
        slab: Some(Slab {
            page: Bytes(PAGE),
            chunk: Bytes(PAGE / 10),
            pages: *pages,
            window: window.clone(),
            ..Slab::default()
        }),
        ..Pool::default()
    };
    let pages: u64 = slabs.iter().map(|(pages, _)| pages).sum();
    Snapshot {
        memory: Bytes(PAGE * pages),
        units_max: pages as usize,
        band: None,
        objective: Objective::Misses,
        switch_margin: 0.0,
        pools: slabs.iter().map(pool).collect(),
        goals: vec![],
    }
}

/// A curve from the miss ratios of 0, 1, 2 … pages.
pub(super) fn curve(ratios: &[f64]) -> Vec<Candidate> {
    let points = ratios.iter().zip(0..).skip(1).flat_map(|(&ratio, pages)| {
        let before = ratios[pages as usize - 1];
        let at = PAGE * pages;
        [(Bytes(at - 1), MissRatio(before)), (Bytes(at), MissRatio(ratio))]
    });
    vec![Candidate::new(Pool::default().evictor, MissRatioCurve::new(points))]
}

/// Pages of each pool in a plan.
pub(super) fn pages(plan: &Plan) -> Vec<u64> {
    plan.pools.iter().map(|share| share.budget.0 / PAGE).collect()
}
