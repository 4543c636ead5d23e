//! Many candidates, drawn by buckets of the table.
//!
//! What lies in a bucket was thrown together by the hash, so it is a random sample of its tenant,
//! and five items come for one line. A few buckets are of few tenants: so where several have items,
//! each second place of a bucket is looked at, and more are drawn. Buckets are drawn two evictions
//! before they are wanted:
//!
//! ```text
//!   eviction n               n + 1                 n + 2
//!   draw numbers ── buckets ──▶ read ── items ──▶ rank, and the lowest leaves
//! ```
//!
//! Only numbers are kept in the meantime, so it does no harm if what lies in a bucket changes.
//! Items of one tenant are ranked side by side, by what their tags would tell; the lowest is then
//! ranked by itself, for a rank may know reasons to spare it that a tag does not tell.

use super::{APART, Candidate, Of, Round, Seen, least, saturated};
use crate::table::{Place, Table};
use base::{TenantId, Tick};
use policy::rank::Tag;

/// Buckets drawn ahead, at most.
const AHEAD: usize = 16;
/// Each `step`th place of a bucket holds about as many items, or a few more: one bucket drawn too
/// few is waited for twice.
const fn mean(step: usize) -> usize {
    (Table::PLACES - 3).div_ceil(step)
}

/// A bucket drawn, and the first of its places that are looked at.
#[derive(Clone, Copy, Debug)]
struct Drawn {
    tenant: TenantId,
    bucket: u32,
    first: u8,
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
const SIDE: usize = 64;

/// Items of one tenant that may leave.
struct Side {
    len: usize,
    places: [Place; SIDE],
    tags: [Tag; SIDE],
    sizes: [u32; SIDE],
    ranks: [f32; SIDE],
}

impl Side {
    const NONE: Self = Self {
        len: 0,
        places: [Place::NONE; SIDE],
        tags: [Tag::linked(0); SIDE],
        sizes: [0; SIDE],
        ranks: [0.0; SIDE],
    };

    #[inline]
    fn push(&mut self, place: Place, tag: Tag, size: u32) {
        let at = self.len % SIDE;
        (self.places[at], self.tags[at], self.sizes[at]) = (place, tag, size);
        self.len += 1;
    }

    /// The first of the lowest rank, if that is below `bound`.
    fn lowest(&self, bound: f32) -> Option<usize> {
        let least = least(&self.ranks[..self.len]);
        let first = || self.ranks.iter().position(|&rank| rank == least);
        (least < bound).then(first).flatten()
    }
}

impl<O: Of> Round<'_, O> {
    /// Whether candidates are drawn so: more than can be drawn apart at once, or as many where that
    /// does no harm. Models of sampled LRU go by draws apart from each other, which those of a
    /// bucket are not quite; what learns goes by what it sees.
    pub(super) fn draws_buckets(&self) -> bool {
        let fewest = if self.evictor.rank.learns() { APART } else { APART + 1 };
        usize::from(self.evictor.k) >= fewest && !self.evictor.pool
    }

    /// Makes the lowest of K that are drawn by buckets leave, of each of which every `STEP`th place
    /// is looked at.
    pub(super) fn run_by_buckets<const STEP: usize>(&mut self) -> u64 {
        let own = self.want.tenant.filter(|_| self.want.own);
        if self.ahead.own != own {
            *self.ahead = Ahead { own, ..Ahead::default() };
        }
        let k = usize::from(self.evictor.k);
        let (mut left, mut draws) = (k, STEP * (O::DRAWS.0 * k + O::DRAWS.1) / Table::PLACES);
        let (mut best, mut next) = (None::<Candidate>, None);
        let mut side = Side::NONE;
        // Of several tenants all that came ahead are looked at: some tenant's are the last.
        while (left > 0 || STEP > 1 && (next.is_some() || !self.ahead.items.is_empty()))
            && draws > 0
        {
            side.len = 0;
            let (share, mut drawn) = next.take().unwrap_or_else(|| self.next_bucket::<STEP>());
            loop {
                draws -= 1;
                if let Some(dead) = self.look::<STEP>(share, drawn, &mut side) {
                    let freed = self.expire(self.shares[share].tenant, dead);
                    self.look_ahead::<STEP>();
                    return freed;
                }
                let is_enough = STEP == 1 || self.ahead.items.is_empty();
                if side.len >= left && is_enough || draws == 0 || side.len + Table::PLACES > SIDE {
                    break;
                }
                match self.next_bucket::<STEP>() {
                    (of, another) if of == share => drawn = another,
                    other => {
                        next = Some(other);
                        break;
                    }
                }
            }
            left = left.saturating_sub(side.len);
            best = self.lower(best, share, &mut side);
        }
        let freed = match best.or_else(|| self.search()) {
            Some(victim) => self.remove(&victim),
            None => 0,
        };
        self.look_ahead::<STEP>();
        freed
    }

    /// Looks at the items drawn. Returns one that is dead, if there is one.
    #[inline]
    fn look<const STEP: usize>(
        &self,
        share: usize,
        drawn: Drawn,
        side: &mut Side,
    ) -> Option<Place> {
        let share = &self.shares[share];
        let table = &self.tenants[usize::from(share.tenant)].table;
        let (spare, loose) = (self.want.spare, share.loose);
        let mut dead = None;
        table.look_at::<STEP>(drawn.bucket, drawn.first, |place, item| {
            let Seen { stamps, size, is_dead } = Seen::of(item, self.want.now);
            if size > loose || spare != 0 && table.word(place) == spare {
                return;
            }
            if is_dead {
                dead = Some(place);
            } else if self.of.has(|| stamps) {
                side.push(place, Tag::capped(stamps, self.tick), saturated(size));
            }
        });
        dead
    }

    /// The lowest of those looked at, if it is below the best of others, or that.
    fn lower(&self, best: Option<Candidate>, share: usize, side: &mut Side) -> Option<Candidate> {
        let tenant = self.shares[share].tenant;
        let table = &self.tenants[usize::from(tenant)].table;
        let Self { evictor, tick, .. } = self;
        let alone = |side: &Side, at: usize| {
            let (stamps, now) = (table.get(side.places[at]).stamps(), Tick(*tick));
            let meta = stamps.meta(side.sizes[at], *tick);
            evictor.rank.rank_in(tenant, stamps.hit_class(), &meta, now)
        };
        let Side { len, tags, sizes, ranks, .. } = &mut *side;
        if !evictor.rank.rank_tags(tenant, &tags[..*len], &sizes[..], Tick(*tick), ranks) {
            for at in 0..side.len {
                side.ranks[at] = alone(side, at);
            }
        }
        let bound = best.map_or(f32::INFINITY, |best| best.rank);
        while let Some(at) = side.lowest(bound) {
            let rank = alone(side, at);
            if rank <= side.ranks[at] {
                let place = side.places[at];
                return Some(Candidate { rank, share, place, word: table.word(place) });
            }
            side.ranks[at] = rank;
        }
        // Where all are spared one of them goes.
        let any = || {
            let place = side.places[0];
            Candidate { rank: f32::INFINITY, share, place, word: table.word(place) }
        };
        best.or_else(|| (side.len > 0).then(any))
    }

    /// What was drawn ahead, if its tenant may lose items now, or another.
    fn next_bucket<const STEP: usize>(&mut self) -> (usize, Drawn) {
        while let Some(drawn) = self.ahead.items.pop() {
            if let Some(share) = self.shares.iter().position(|share| share.tenant == drawn.tenant) {
                return (share, drawn);
            }
        }
        let share = self.share();
        (share, self.draw_bucket::<STEP>(share))
    }

    /// Draws a bucket of a share, whose line is on its way then.
    #[inline]
    fn draw_bucket<const STEP: usize>(&mut self, share: usize) -> Drawn {
        let tenant = self.shares[share].tenant;
        let bucket = self.tenants[usize::from(tenant)].table.draw_bucket(self.prng);
        let first = if STEP == 1 { 0 } else { self.prng.below(STEP as u64) as u8 };
        Drawn { tenant, bucket, first }
    }

    /// Has the items brought of those buckets that are here, and draws others: at equal distances
    /// along all items, so that a tenant which has its part of them is met, and what is of one
    /// tenant comes together.
    fn look_ahead<const STEP: usize>(&mut self) {
        let Ahead { buckets, items, .. } = &mut *self.ahead;
        std::mem::swap(buckets, items);
        for &Drawn { tenant, bucket, first } in &*items {
            self.tenants[usize::from(tenant)].table.expect_items::<STEP>(bucket, first);
        }
        self.ahead.buckets.clear();
        let count = usize::from(self.evictor.k).div_ceil(mean(STEP)).min(AHEAD);
        let total: usize = self.shares.iter().map(|share| share.len).sum();
        let distance = (total / count).max(1);
        let (mut next, mut before) = (self.prng.below(distance as u64) as usize, 0);
        for share in 0..self.shares.len() {
            before += self.shares[share].len;
            // What it had may have left just now.
            let len = self.tenants[usize::from(self.shares[share].tenant)].table.len();
            while next < before && self.ahead.buckets.len() < count {
                next += distance;
                if len > 0 {
                    let drawn = self.draw_bucket::<STEP>(share);
                    self.ahead.buckets.push(drawn);
                }
            }
        }
    }
}
