//! Many candidates, drawn by buckets of the table.
//!
//! What lies in a bucket was thrown together by the hash, so it is a random sample of its tenant,
//! and five items come for one line. Buckets are drawn two evictions before they are wanted:
//!
//! ```text
//!   eviction n               n + 1                 n + 2
//!   draw numbers ── buckets ──▶ read ── items ──▶ rank, and the lowest leaves
//! ```
//!
//! Only numbers are kept in the meantime, so it does no harm if what lies in a bucket changes.
//! Items of one tenant are ranked side by side, by what their tags would tell; the lowest is then
//! ranked by itself, for a rank may know reasons to spare it that a tag does not tell.
//!
//! Where good candidates are kept, those that were drawn only compete to be kept, and the lowest of
//! all kept leaves. So few buckets suffice, and it does not matter of how few tenants they are.

use super::{Candidate, ENDLESS, Of, Round, Seen, Share, lowest, marked, saturated};
use crate::table::{Place, Table};
use base::{TenantId, Tick};
use policy::rank::Tag;

/// Buckets drawn ahead, at most.
const AHEAD: usize = 16;
/// A bucket holds about as many items, or a few more: one drawn too few is waited for twice.
const MEAN: usize = Table::PLACES - 3;

/// A bucket drawn.
#[derive(Clone, Copy, Debug)]
struct Drawn {
    tenant: TenantId,
    bucket: u32,
}

/// Buckets drawn before they are wanted.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// The tenant whose own items they are for: what is drawn from one alone is no sample of all.
    own: Option<TenantId>,
    /// Those that are on their way, and those whose items are.
    buckets: Vec<Drawn>,
    items: Vec<Drawn>,
}

/// Items ranked side by side, at most.
const SIDE: usize = 32;
/// Tags that a rank looks at together.
const LINE: usize = 16;

/// Items of one tenant that may leave.
struct Side {
    share: usize,
    len: usize,
    places: [Place; SIDE],
    tags: [Tag; SIDE],
    lasts: [u32; SIDE],
    sizes: [u32; SIDE],
    ranks: [f32; SIDE],
}

impl Side {
    const NONE: Self = Self {
        share: 0,
        len: 0,
        places: [Place::NONE; SIDE],
        tags: [Tag::linked(0); SIDE],
        lasts: [0; SIDE],
        sizes: [1; SIDE],
        ranks: [0.0; SIDE],
    };

    #[inline]
    fn push(&mut self, place: Place, tag: Tag, last: u32, size: u32) {
        let at = self.len % SIDE;
        (self.places[at], self.tags[at], self.lasts[at]) = (place, tag, last);
        self.sizes[at] = size;
        self.len += 1;
    }

    /// Those that there are, and behind them tags of no item to the end of a line.
    #[inline]
    fn lines(&mut self) -> usize {
        let end = self.len.next_multiple_of(LINE);
        self.tags[self.len..end].fill(Tag::linked(0));
        end
    }

    /// Marks the ranks, and those behind them that are none.
    #[inline]
    fn mark(&mut self, end: usize) {
        for (at, rank) in self.ranks[..end].iter_mut().enumerate() {
            *rank = marked(*rank, at);
        }
    }
}

impl<O: Of> Round<'_, O> {
    /// Whether candidates are drawn so: more than can be drawn apart at once, or as many as there
    /// are in a bucket where that does no harm. Models of sampled LRU go by draws apart from each
    /// other, which those of a bucket are not quite; what learns goes by what it sees.
    pub(super) fn draws_buckets(&self) -> bool {
        let fewest = if self.evictor.rank.learns() { MEAN } else { super::APART + 1 };
        usize::from(self.evictor.k) >= fewest
    }

    /// Makes the lowest of K that are drawn by buckets leave, or the lowest of those kept.
    pub(super) fn run_by_buckets(&mut self) -> u64 {
        let own = self.want.tenant.filter(|_| self.want.own);
        if self.ahead.own != own {
            *self.ahead = Ahead { own, ..Ahead::default() };
        }
        // What is kept is of all tenants, so where only one's may leave twice as many are drawn.
        let keeps = self.evictor.pool && own.is_none();
        let k = usize::from(self.evictor.k) << u32::from(self.evictor.pool && !keeps);
        let (buckets, most) = (k.div_ceil(MEAN), (O::DRAWS.0 * k + O::DRAWS.1) / Table::PLACES);
        if keeps {
            self.expect_kept_item();
        }
        let (mut best, mut side, mut drawn, mut found) = (None, Side::NONE, 0, 0);
        while drawn < most && if keeps { drawn < buckets || found == 0 } else { found < k } {
            let (share, bucket) = self.next_bucket();
            if share != side.share || side.len + Table::PLACES > SIDE {
                best = self.compare(&mut side, best, keeps);
                (side.len, side.share) = (0, share);
            }
            let before = side.len;
            if let Some(dead) = self.look(bucket, &mut side) {
                let freed = self.expire(self.shares[share].tenant, dead);
                self.look_ahead(buckets, keeps);
                return freed;
            }
            (drawn, found) = (drawn + 1, found + side.len - before);
        }
        best = self.compare(&mut side, best, keeps);
        if keeps {
            best = self.take_kept();
        }
        let freed = match best.or_else(|| self.search()) {
            Some(victim) => self.remove(&victim),
            None => 0,
        };
        self.look_ahead(buckets, keeps);
        freed
    }

    /// Looks at the items drawn. Returns one that is dead, if there is one.
    #[inline]
    fn look(&self, bucket: u32, side: &mut Side) -> Option<Place> {
        let Share { tenant, loose, .. } = self.shares[side.share];
        let table = &self.tenants[usize::from(tenant)].table;
        let mut dies = false;
        table.look_at(bucket, |place, item| {
            let Seen { stamps, size, is_dead } = Seen::of(item, self.want.now);
            dies |= is_dead;
            if size <= loose && self.of.has(|| stamps) {
                let tag = Tag::capped(stamps, self.tick);
                side.push(place, tag, stamps.last, saturated(size));
            }
        });
        if dies { self.dead(tenant, loose, bucket) } else { None }
    }

    /// An item of a bucket that is dead and may leave.
    #[cold]
    fn dead(&self, tenant: TenantId, loose: u64, bucket: u32) -> Option<Place> {
        let mut dead = None;
        self.tenants[usize::from(tenant)].table.look_at(bucket, |place, item| {
            let Seen { size, is_dead, .. } = Seen::of(item, self.want.now);
            if is_dead && size <= loose && !self.is_being_written(tenant, place) {
                dead = Some(place);
            }
        });
        dead
    }

    /// Whether room is made for the item at a place.
    fn is_being_written(&self, tenant: TenantId, place: Place) -> bool {
        let spare = self.want.spare;
        spare != 0 && self.tenants[usize::from(tenant)].table.word(place) == spare
    }

    /// Ranks those looked at by what their tags would tell, and keeps the lowest, or returns the
    /// best of all so far.
    fn compare(
        &mut self,
        side: &mut Side,
        best: Option<Candidate>,
        keeps: bool,
    ) -> Option<Candidate> {
        if side.len == 0 {
            return best;
        }
        let (tenant, now, end) = (self.shares[side.share].tenant, Tick(self.tick), side.lines());
        let Side { tags, sizes, ranks, .. } = &mut *side;
        if !self.evictor.rank.rank_tags(tenant, &tags[..end], &sizes[..end], now, ranks) {
            side.ranks[side.len..end].fill(f32::INFINITY);
            for at in 0..side.len {
                side.ranks[at] = self.rank_at(tenant, side.places[at]);
            }
        }
        side.mark(end);
        if !keeps {
            return self.lower(best, side, end);
        }
        // The lowest first, so that no other has its place for a moment.
        while let Some(at) = lowest(&side.ranks[..end], ENDLESS) {
            if !self.kept.keep(side.ranks[at], side.lasts[at], tenant, side.places[at]) {
                break;
            }
            side.ranks[at] = f32::INFINITY;
        }
        None
    }

    /// The lowest of those looked at, if it is below the best of others, or that.
    fn lower(&self, best: Option<Candidate>, side: &mut Side, end: usize) -> Option<Candidate> {
        let share = side.share;
        let tenant = self.shares[share].tenant;
        let bound = best.map_or(f32::INFINITY, |best| best.rank);
        while let Some(at) = lowest(&side.ranks[..end], bound) {
            let place = side.places[at];
            let rank = if self.is_being_written(tenant, place) {
                f32::INFINITY
            } else {
                self.rank_at(tenant, place)
            };
            let now = marked(rank, at);
            if now <= side.ranks[at] {
                return Some(Candidate { rank, share, place });
            }
            side.ranks[at] = now;
        }
        // Where all are spared one of them goes.
        let may_leave = |place: &&Place| !self.is_being_written(tenant, **place);
        let any = || side.places[..side.len].iter().find(may_leave);
        best.or_else(|| any().map(|&place| Candidate { rank: f32::INFINITY, share, place }))
    }

    /// What was drawn ahead, if its tenant may lose items now, or another: of which share, and the
    /// bucket.
    #[inline]
    fn next_bucket(&mut self) -> (usize, u32) {
        while let Some(Drawn { tenant, bucket }) = self.ahead.items.pop() {
            if let Some(share) = self.shares.iter().position(|share| share.tenant == tenant) {
                return (share, bucket);
            }
        }
        let share = self.share();
        (share, self.draw_bucket(share).bucket)
    }

    /// Draws a bucket of a share, whose line is on its way then.
    #[inline]
    fn draw_bucket(&mut self, share: usize) -> Drawn {
        let tenant = self.shares[share].tenant;
        let bucket = self.tenants[usize::from(tenant)].table.draw_bucket(self.prng);
        Drawn { tenant, bucket }
    }

    /// Has those brought that are wanted next: the best of those kept, the items of the buckets
    /// that are here, and so many buckets more. Where some are kept they are of one tenant, which
    /// has its part of all evictions; otherwise at equal distances along all items, so that a
    /// tenant which has its part of them is met, and what is of one tenant comes together.
    fn look_ahead(&mut self, count: usize, keeps: bool) {
        if keeps {
            self.expect_kept();
        }
        let Ahead { buckets, items, .. } = &mut *self.ahead;
        std::mem::swap(buckets, items);
        for &Drawn { tenant, bucket } in &*items {
            self.tenants[usize::from(tenant)].table.expect_items(bucket);
        }
        self.ahead.buckets.clear();
        let count = count.min(AHEAD);
        let total: usize = self.shares.iter().map(|share| share.len).sum();
        let (draws, each) = if keeps { (1, count) } else { (count, 1) };
        let distance = (total / draws).max(1);
        let (mut next, mut before) = (self.prng.below(distance as u64) as usize, 0);
        for share in 0..self.shares.len() {
            before += self.shares[share].len;
            // What it had may have left just now.
            let len = self.tenants[usize::from(self.shares[share].tenant)].table.len();
            while next < before && self.ahead.buckets.len() < count {
                next += distance;
                for _ in 0..if len > 0 { each } else { 0 } {
                    let drawn = self.draw_bucket(share);
                    self.ahead.buckets.push(drawn);
                }
            }
        }
    }
}
