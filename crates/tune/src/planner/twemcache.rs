//! Twemcache's random eviction of pages [1]. If no chunk is free, an item gets one from a page of
//! any class, drawn at random. All items of that page are evicted.
//!
//! So a class takes a page for every page's worth of items that it writes, and loses pages in
//! proportion to the pages it has. Its share of the pages approaches its share of the bytes
//! written. Here the draws of an epoch are made at its end. A draw of the class's own page moves
//! nothing.
//!
//! [1] Twemcache, slabs.c, eviction by random slab (its default).

use super::Spec;
use crate::slab::{held, slabs};
use crate::{Plan, Snapshot};
use base::{Bytes, Prng, hash};

/// The registry entry.
pub const SPEC: Spec = Spec { name: "twemcache", by_curves: false, plan };

fn plan(snapshot: &Snapshot) -> Plan {
    let mut division = held(snapshot);
    let mut pages: Vec<u64> = vec![0; snapshot.pools.len()];
    let (mut seed, mut page) = (0, Bytes(0));
    for (at, slab) in slabs(snapshot) {
        (pages[at], page) = (slab.pages, slab.page);
        let last = slab.last();
        for count in [last.requests, last.evicted, slab.pages] {
            seed = hash::mix(seed ^ count);
        }
    }
    // A plan is a function of the snapshot, and so are its draws.
    let mut prng = Prng::new(seed);
    for (to, slab) in slabs(snapshot) {
        let (evicted, chunks) = (slab.last().evicted, slab.chunks());
        let rest = prng.chance((evicted % chunks) as f64 / chunks as f64);
        for _ in 0..evicted / chunks + u64::from(rest) {
            let all: u64 = pages.iter().sum();
            let mut draw = prng.below(all.max(1));
            let drawn = pages.iter().position(|&pages| {
                let here = draw < pages;
                draw = draw.wrapping_sub(pages);
                here
            });
            // The last page of a class holds its next item.
            if let Some(from) = drawn.filter(|&from| from != to && pages[from] > 1)
                && division[from].0 >= page
            {
                pages[from] -= 1;
                pages[to] += 1;
                division[from].0 -= page;
                division[to].0 += page;
            }
        }
    }
    Plan::of(SPEC.name, snapshot, &division, vec![])
}

#[cfg(test)]
mod tests {
    use super::super::test_slabs::{pages, snapshot};
    use super::*;
    use crate::slab::Look;

    /// Two classes with equal writes end with equal pages, whatever they had. A class without
    /// writes ends with its last page.
    #[test]
    fn pages_follow_what_is_written() {
        let writes = |evicted| Look { evicted, requests: evicted, ..Look::default() };
        let (mut have, mut sums) = (vec![50, 10, 3], [0; 2]);
        for epoch in 0..2_000 {
            let mut looks = [writes(10), writes(10), writes(0)];
            looks[0].requests += epoch;
            let all: Vec<_> = have.iter().copied().zip(looks).collect();
            have = pages(&plan(&snapshot(&all)));
            assert_eq!(have.iter().sum::<u64>(), 63);
            if epoch >= 1_000 {
                sums = [sums[0] + have[0], sums[1] + have[1]];
            }
        }
        assert_eq!(have[2], 1);
        let share = sums[0] as f64 / (sums[0] + sums[1]) as f64;
        assert!((share - 0.5).abs() < 0.05, "{share}");
    }
}
