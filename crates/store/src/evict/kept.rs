//! Good candidates that are kept for later evictions.
//!
//! Sixteen places, as in Redis, in no order: their ranks are one line of memory, and where a rank
//! is without end a place is free. So both whom the next eviction takes and whom a better one
//! replaces are found by looking at that line, and nothing is ever moved.
//!
//! A candidate is kept as numbers, not as a pointer: its place, and when it was last used, which is
//! another time for each item. When its turn comes it is dropped if no item of this time is there
//! any more: it went, or was used since, and a hot key is not evicted for its past.

use super::{Candidate, ENDLESS, Of, Round, least, lowest, marked, stands};
use crate::sizes::heap_class;
use crate::table::Place;
use base::TenantId;

const MAX: usize = 16;

/// The candidates kept by a pool.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// Marked, and [`free`] where nobody is.
    ranks: [f32; MAX],
    /// When they were last used.
    lasts: [u32; MAX],
    at: [(TenantId, Place); MAX],
}

impl Default for Kept {
    fn default() -> Self {
        let ranks = std::array::from_fn(free);
        Self { ranks, lasts: [0; MAX], at: [(0, Place::NONE); MAX] }
    }
}

/// The rank of nobody.
const fn free(at: usize) -> f32 {
    marked(f32::INFINITY, at)
}

impl Kept {
    /// Keeps the candidate at a place if its rank is below another's or there is room. Whether the
    /// next higher rank is worth a try.
    #[inline]
    pub(super) fn keep(&mut self, rank: f32, last: u32, tenant: TenantId, place: Place) -> bool {
        let highest = -least(&self.ranks.map(|rank| -rank));
        if rank >= highest {
            return false;
        }
        // Whoever was found to be spared is known as long as nobody comes in its place.
        if !self.lasts.contains(&last) {
            let at = stands(highest) % MAX;
            self.ranks[at] = marked(rank, at);
            (self.lasts[at], self.at[at]) = (last, (tenant, place));
        }
        true
    }

    /// Where those are that are kept.
    #[cfg(test)]
    pub(crate) fn places(&self) -> impl Iterator<Item = (TenantId, Place)> {
        let all = self.ranks.iter().zip(&self.at);
        all.filter(|(rank, _)| **rank < ENDLESS).map(|(_, &at)| at)
    }
}

impl<O: Of> Round<'_, O> {
    /// Has the bucket of the best of those kept brought from memory.
    #[inline]
    pub(super) fn expect_kept(&self) {
        if let Some(at) = lowest(&self.kept.ranks, ENDLESS) {
            let (tenant, place) = self.kept.at[at];
            self.tenants[usize::from(tenant)].table.expect_at(place);
        }
    }

    /// Has the item itself brought from memory. The bucket should be here.
    #[inline]
    pub(super) fn expect_kept_item(&self) {
        if let Some(at) = lowest(&self.kept.ranks, ENDLESS) {
            let (tenant, place) = self.kept.at[at];
            self.tenants[usize::from(tenant)].table.expect_item_at(place);
        }
    }

    /// Drops the best of those kept as long as they are not what they were: there is room for
    /// others then, and the best that is, is on its way.
    #[inline]
    pub(super) fn drop_stale(&mut self) {
        while let Some(at) = lowest(&self.kept.ranks, ENDLESS) {
            if self.is_current(at) {
                break;
            }
            self.kept.ranks[at] = free(at);
        }
    }

    /// Whether a candidate is still in its place, unused.
    #[inline]
    fn is_current(&self, at: usize) -> bool {
        let (tenant, place) = self.kept.at[at];
        let item = self.tenants[usize::from(tenant)].table.at(place);
        item.is_some_and(|item| item.stamps().last == self.kept.lasts[at])
    }

    /// Takes the best kept candidate that is still there, unused since, and may leave. One that
    /// ranks higher by now than when it was kept waits for its turn. Those that may not leave at
    /// all for now are not kept: they would stand in the way of others.
    pub(super) fn take_kept(&mut self) -> Option<Candidate> {
        let mut ranks = self.kept.ranks;
        while let Some(at) = lowest(&ranks, ENDLESS) {
            let (tenant, place) = self.kept.at[at];
            let share = self.shares.iter().position(|share| share.tenant == tenant);
            if self.want.own && share.is_none() {
                ranks[at] = free(at);
                continue;
            }
            let table = &self.tenants[usize::from(tenant)].table;
            let may_leave = |share: &usize| {
                let size = heap_class(table.get(place).contents());
                !self.is_spared(&self.shares[*share], size, table.word(place))
            };
            let share = share.filter(|_| self.is_current(at)).filter(may_leave);
            let rank = share.map_or(f32::INFINITY, |_| self.rank_at(tenant, place));
            let now = marked(rank, at);
            if let Some(share) = share
                && now <= ranks[at]
            {
                self.kept.ranks[at] = free(at);
                return Some(Candidate { rank, share, place });
            }
            (ranks[at], self.kept.ranks[at]) = (now, now);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lowest ranks of all that came are kept, each item once.
    #[test]
    fn the_best_are_kept() {
        let mut kept = Kept::default();
        assert!(lowest(&kept.ranks, ENDLESS).is_none());
        for n in 1..=100u32 {
            let rank = (n * 37 % 101) as f32;
            assert!(kept.keep(rank, n, 0, Place::NONE) || n > 16);
            kept.keep(rank, n, 0, Place::NONE);
        }
        let mut ranks = kept.ranks.map(f32::round);
        ranks.sort_by(f32::total_cmp);
        assert_eq!(ranks, std::array::from_fn(|at| at as f32 + 1.0));
        let at = lowest(&kept.ranks, ENDLESS).expect("sixteen are kept");
        assert_eq!(kept.lasts[at] * 37 % 101, 1);
        kept.ranks[at] = free(at);
        assert!(kept.keep(1e9, 500, 0, Place::NONE), "there is room");
        assert!(!kept.keep(1e9, 501, 0, Place::NONE), "there is none");
    }
}
