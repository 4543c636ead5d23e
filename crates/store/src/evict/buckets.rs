//! Many candidates, drawn by whole buckets of the table.
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

use super::{APART, Candidate, Of, Round, Seen, least, saturated};
use crate::table::{Place, Table};
use base::{TenantId, Tick};
use policy::rank::Tag;

/// Buckets drawn ahead, at most.
const AHEAD: usize = 16;
/// A bucket has about as many items, or a few more: one drawn too few is waited for twice.
const MEAN: usize = Table::PLACES - 3;

/// Buckets drawn before they are wanted, with their tenants.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// The tenant whose own items they are for: what is drawn from one alone is no sample of all.
    own: Option<TenantId>,
    /// Those that are on their way, and those whose items are.
    buckets: Vec<(TenantId, u32)>,
    items: Vec<(TenantId, u32)>,
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
        ranks: [f32::INFINITY; SIDE],
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
    /// bucket are not quite; what learns goes by what it sees. And of several tenants a few buckets
    /// would be of few.
    pub(super) fn draws_buckets(&self) -> bool {
        let are_alike = self.shares.len() == 1 && self.evictor.rank.learns();
        let fewest = if are_alike { APART } else { APART + 1 };
        usize::from(self.evictor.k) >= fewest && !self.evictor.pool
    }

    /// Makes the lowest of K that are drawn by buckets leave.
    pub(super) fn run_by_buckets(&mut self) -> u64 {
        let own = self.want.tenant.filter(|_| self.want.own);
        if self.ahead.own != own {
            *self.ahead = Ahead { own, ..Ahead::default() };
        }
        let k = usize::from(self.evictor.k);
        let (mut left, mut draws) = (k, (O::DRAWS.0 * k + O::DRAWS.1) / Table::PLACES);
        let (mut best, mut next) = (None::<Candidate>, None);
        while left > 0 && draws > 0 {
            let mut side = Side::NONE;
            let (share, mut nth) = next.take().unwrap_or_else(|| self.next_bucket());
            loop {
                draws -= 1;
                if let Some(dead) = self.look(share, nth, &mut side) {
                    let freed = self.expire(self.shares[share].tenant, dead);
                    self.look_ahead();
                    return freed;
                }
                if side.len >= left || draws == 0 || side.len + Table::PLACES > SIDE {
                    break;
                }
                match self.next_bucket() {
                    (of, another) if of == share => nth = another,
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
        self.look_ahead();
        freed
    }

    /// Looks at the items of a bucket. Returns one that is dead, if there is one.
    fn look(&self, share: usize, nth: u32, side: &mut Side) -> Option<Place> {
        let share = &self.shares[share];
        let table = &self.tenants[usize::from(share.tenant)].table;
        let (spare, loose) = (self.want.spare, share.loose);
        let mut dead = None;
        table.look_at(nth, |place, item| {
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

    /// A bucket drawn ahead, if its tenant may lose items now, or another.
    fn next_bucket(&mut self) -> (usize, u32) {
        while let Some((tenant, nth)) = self.ahead.items.pop() {
            if let Some(share) = self.shares.iter().position(|share| share.tenant == tenant) {
                return (share, nth);
            }
        }
        let share = self.share();
        let table = &self.tenants[usize::from(self.shares[share].tenant)].table;
        (share, table.draw_bucket(self.prng))
    }

    /// Has the items brought of those buckets that are here, and draws others.
    fn look_ahead(&mut self) {
        let Ahead { buckets, items, .. } = &mut *self.ahead;
        std::mem::swap(buckets, items);
        for (tenant, nth) in &*items {
            self.tenants[usize::from(*tenant)].table.expect_items(*nth);
        }
        self.ahead.buckets.clear();
        for _ in 0..usize::from(self.evictor.k).div_ceil(MEAN).min(AHEAD) {
            let tenant = self.shares[self.share()].tenant;
            let table = &self.tenants[usize::from(tenant)].table;
            if table.len() > 0 {
                self.ahead.buckets.push((tenant, table.draw_bucket(self.prng)));
            }
        }
    }
}
