//! Who leaves: sampled eviction in one shard.
//!
//! Every shard holds a random sample of every tenant, so a shard that needs room evicts among its
//! own items and asks nobody, but for what is large beside it (`room.rs`). First the pool is
//! chosen, the one furthest above its budget; then up to K of its items are drawn, each entry of
//! its tables with equal chance, and scored by the pool's rank: the very file that scores them in
//! the simulator. The lowest goes.
//!
//! With `pool`, up to 16 good candidates are kept for later evictions, as Redis does
//! (`evict/kept.rs`). This doubles the effective K at hardly any cost, and nothing younger than the
//! recency rank 1 - 1/K is ever evicted.
//!
//! An eviction looks at K items that no cache of the processor holds. So all places are drawn
//! first, and nothing depends on what is found in one of them before the others are under way:
//! the K waits become one. More than sixteen are drawn by buckets, and by a rank that learns as few
//! as a bucket holds (`evict/buckets.rs`).
//!
//! A tenant at or below its min is passed over, unless the room is for itself. What is known to be
//! dead goes before all that lives (`expire.rs`), and a dead item that is drawn goes at once,
//! whatever its rank.

mod buckets;
mod kept;

pub(crate) use buckets::Ahead;
pub(crate) use kept::Kept;

use crate::classes::Ghosts;
use crate::item::{Owned, Ref};
use crate::learn::{self, lived};
use crate::shard::Shard;
use crate::sizes::{Sizes, heap_class};
use crate::table::{END, Place};
use crate::tenant::{Account, Tenant};
use crate::{Cause, Evictor, Now, Pool};
use base::{Prng, TenantId, Tick};
use policy::rank::Stamps;
use policy::rank::lhd::{Lived, Ranks};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Buckets searched for anything evictable when draws met nothing.
const SEARCH_MAX: usize = 1024;

/// What room is needed for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want {
    /// Whose write it is; `None` for the sweep.
    pub(crate) tenant: Option<TenantId>,
    /// Whether only the tenant's own items may go: it is at its max.
    pub(crate) own: bool,
    /// The [`Table::word`](crate::table::Table::word) of the item that is being written.
    pub(crate) spare: usize,
    pub(crate) now: Now,
}

/// The pools, with their tenants' accounts at hand: replaced as a whole.
#[derive(Debug)]
pub(crate) struct Pools {
    pools: Vec<Members>,
    /// By tenant.
    of: Vec<usize>,
}

#[derive(Debug)]
struct Members {
    class: Option<u8>,
    budget: u64,
    evictor: Evictor,
    accounts: Vec<(TenantId, Arc<Account>)>,
}

impl Members {
    fn used_of(&self, account: &Account) -> u64 {
        self.class.map_or_else(|| account.used(), |class| account.class(class).load(Relaxed))
    }

    fn used(&self) -> u64 {
        self.accounts.iter().map(|(_, account)| self.used_of(account)).sum()
    }

    /// Bytes above the budget as a share of it; below 0 for bytes below.
    fn overdraft(&self) -> f64 {
        (self.used() as f64 - self.budget as f64) / self.budget.max(1) as f64
    }

    /// Bytes above the budget.
    fn excess(&self) -> u64 {
        self.used().saturating_sub(self.budget)
    }
}

impl Pools {
    /// Tenants that no pool names join the first. A rank that learns is `learnt`, if anything is.
    pub(crate) fn new(
        pools: &[Pool],
        accounts: &[Arc<Account>],
        learnt: Option<&Arc<Ranks>>,
    ) -> Self {
        let of: Vec<_> = (0..accounts.len() as TenantId)
            .map(|tenant| pools.iter().position(|p| p.tenants.contains(&tenant)).unwrap_or(0))
            .collect();
        let members = |at: usize, pool: &Pool| Members {
            class: pool.class,
            budget: pool.budget.0,
            evictor: match learnt.filter(|_| pool.evictor.rank.learns()) {
                Some(ranks) => Evictor { rank: Arc::clone(ranks) as _, ..pool.evictor },
                None => pool.evictor.clone(),
            },
            accounts: (of.iter().zip(accounts).enumerate())
                .filter(|(tenant, (home, _))| {
                    **home == at
                        || pool.class.is_some() && pool.tenants.contains(&(*tenant as TenantId))
                })
                .map(|(tenant, (_, account))| (tenant as TenantId, Arc::clone(account)))
                .collect(),
        };
        let pools = pools.iter().enumerate().map(|(at, pool)| members(at, pool)).collect();
        Self { pools, of }
    }

    pub(crate) fn len(&self) -> usize {
        self.pools.len()
    }

    /// How items of a tenant are chosen to leave.
    pub(crate) fn evictor(&self, tenant: TenantId) -> &Evictor {
        &self.pools[self.of[tenant as usize]].evictor
    }

    /// Whether items of a tenant leave for others at all.
    pub(crate) fn evicts(&self, tenant: TenantId) -> bool {
        self.evictor(tenant).k > 0
    }

    /// The tenants whose items are chosen to leave as this pool says; none if none are.
    pub(crate) fn tenants_of(&self, pool: usize) -> impl Iterator<Item = TenantId> {
        let evicts = self.pools[pool].evictor.k > 0;
        let of_pool = (0..).zip(&self.of).filter(move |&(_, &of)| evicts && of == pool);
        of_pool.map(|(tenant, _)| tenant)
    }

    /// Whether the rank of a pool learns.
    pub(crate) fn learns(&self, pool: usize) -> bool {
        self.pools[pool].evictor.rank.learns()
    }

    /// Whether what victims of a tenant are worth is learnt here as it is there.
    pub(crate) fn ranks_like(&self, other: &Self, tenant: TenantId) -> bool {
        let learns = |pools: &Self| Some(pools.learns(*pools.of.get(usize::from(tenant))?));
        learns(self) == learns(other)
    }

    /// The pool of a tenant.
    pub(crate) fn pool_of(&self, tenant: TenantId) -> usize {
        self.of[usize::from(tenant)]
    }

    /// The tenants of a pool; none if it evicts nothing.
    pub(crate) fn tenants_that_evict(&self, pool: usize) -> impl Iterator<Item = TenantId> {
        let members = &self.pools[pool];
        let evicts = members.evictor.k > 0;
        members.accounts.iter().filter(move |_| evicts).map(|(tenant, _)| *tenant)
    }

    /// Whether another pool than the tenant's is above its budget, by `bytes` at least.
    pub(crate) fn owes(&self, tenant: TenantId, bytes: u64) -> bool {
        let victim = self.victim(Some(tenant));
        victim != self.of[tenant as usize] && self.pools[victim].excess() >= bytes
    }

    /// Whether any pool evicts at all.
    pub(crate) fn evict(&self) -> bool {
        self.pools.iter().any(|pool| pool.evictor.k > 0)
    }

    /// The pool that is to give: the one furthest above its budget, or the requester's if none
    /// is; for the sweep, which has no pool of its own, the one nearest to its budget then.
    fn victim(&self, tenant: Option<TenantId>) -> usize {
        if self.pools.len() == 1 {
            return 0;
        }
        let overdrafts = self.pools.iter().map(Members::overdraft).enumerate();
        let worst = overdrafts.max_by(|a, b| a.1.total_cmp(&b.1));
        match (worst, tenant) {
            (Some((at, overdraft)), Some(_)) if overdraft > 0.0 => at,
            (_, Some(tenant)) => self.of[tenant as usize],
            (Some((at, _)), None) => at,
            (None, None) => 0,
        }
    }
}

/// A tenant that may lose items now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    tenant: TenantId,
    /// Items here: its weight in draws.
    len: usize,
    /// Bytes it may lose.
    loose: u64,
}

/// Places drawn one by one, and at once.
const APART: usize = 16;

/// An item drawn.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    rank: f32,
    /// Index into the shares.
    share: usize,
    place: Place,
}

/// A place drawn, perhaps without an item.
#[derive(Clone, Copy, Debug, Default)]
struct Drawn {
    share: usize,
    place: Place,
    word: usize,
}

/// What an eviction wants to know of an item, read from it in one go.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    stamps: Stamps,
    size: u64,
    is_dead: bool,
}

impl Seen {
    #[inline]
    fn of(item: Ref, now: Now) -> Self {
        let size = heap_class(item.contents());
        Self { stamps: item.stamps(), size, is_dead: item.is_dead(now.unix_ms) }
    }
}

impl Shard {
    /// Makes one item leave, for a write in another shard or for none. As [`Shard::evict`].
    pub(crate) fn evict_for_others(&mut self, want: &Want) -> u64 {
        let freed = self.evict(want);
        self.scrap = None;
        freed
    }

    /// Makes one item leave and returns the bytes charged for it, which stay reserved in the
    /// store's memory and are the caller's now; 0 if nothing here may leave. The item itself is
    /// the shard's scrap: what is written next may be made of it. What is due to die goes first.
    pub(crate) fn evict(&mut self, want: &Want) -> u64 {
        let freed = self.bury(want);
        if freed > 0 {
            return freed;
        }
        if self.ghosts.is_some() {
            return self.evict_by_class(want);
        }
        if let (Some(tenant), true) = (want.tenant, want.own) {
            return self.evict_from(self.pools.of[tenant as usize], None, want);
        }
        let first = self.pools.victim(want.tenant);
        let freed = self.evict_from(first, None, want);
        if freed > 0 {
            return freed;
        }
        // Nothing of that pool is here: the requester's own, then any.
        let own = want.tenant.map_or(first, |tenant| self.pools.of[tenant as usize]);
        let others = (0..self.pools.len()).filter(|&pool| pool != own);
        let order = std::iter::once(own).chain(others).filter(|&pool| pool != first);
        order.map(|pool| self.evict_from(pool, None, want)).find(|&freed| freed > 0).unwrap_or(0)
    }

    /// The same where pools are classes of penalties: the class that is furthest above its budget
    /// gives, and where it has nothing here the next. Items of a class have no table of their own,
    /// so more are drawn until enough of it are met.
    #[cold]
    fn evict_by_class(&mut self, want: &Want) -> u64 {
        let pools = self.pools.pools.iter().map(Members::overdraft).enumerate();
        let mut pools: Vec<_> = pools.collect();
        pools.sort_by(|a, b| b.1.total_cmp(&a.1));
        for &(pool, _) in &pools {
            let freed = self.evict_from(pool, self.pools.pools[pool].class, want);
            if freed > 0 {
                return freed;
            }
        }
        // What is here may be of classes that have no pool yet, as when a recipe has just begun.
        let mut any = pools.into_iter().map(|(pool, _)| self.evict_from(pool, None, want));
        any.find(|&freed| freed > 0).unwrap_or(0)
    }

    /// Makes an item of the heap layout leave that nobody chose; returns the bytes that are free
    /// now, which its account has back already. None where its tenant may not lose it.
    pub(crate) fn evict_at(&mut self, number: TenantId, place: Place, now: Now) -> Option<u64> {
        let tenant = &mut self.tenants[usize::from(number)];
        if tenant.table.get(place).is_dead(now.unix_ms) {
            learn::ends(
                lived(self.lives.as_ref(), self.lane),
                number,
                tenant.table.get(place),
                self.tick,
            );
            return Some(tenant.expire(place));
        }
        let charge = heap_class(tenant.table.get(place).contents());
        if !tenant.account.try_give(charge) {
            return None;
        }
        let (item, bytes) =
            leaves(tenant, number, place, lived(self.lives.as_ref(), self.lane), self.tick);
        if let Some(ghosts) = &mut self.ghosts {
            ghosts.leave(self.seed, number, &item);
        }
        Some(bytes + charge)
    }

    /// Evicts an item of a class from the tenants of a pool, or of any class.
    fn evict_from(&mut self, pool: usize, class: Option<u8>, want: &Want) -> u64 {
        if let Sizes::Slab(_) = self.sizes {
            return self.evict_page(pool, want);
        }
        let Self { pools, tenants, kept, shares, prng, tick, scrap, ghosts, seed, .. } = self;
        let lived = lived(self.lives.as_ref(), self.lane);
        let ahead = &mut self.ahead[pool];
        let members = &pools.pools[pool];
        if members.evictor.k == 0 {
            return 0;
        }
        shares.clear();
        shares.extend(members.accounts.iter().filter_map(|(tenant, account)| {
            let tenant_here = &tenants[*tenant as usize];
            let len = if tenant_here.has_class(class) { tenant_here.table.len() } else { 0 };
            let loose = match want.tenant {
                Some(own) if own == *tenant => u64::MAX,
                _ if want.own => 0,
                _ => account.loose(),
            };
            (len > 0 && loose > 0).then_some(Share { tenant: *tenant, len, loose })
        }));
        if shares.is_empty() {
            return 0;
        }
        let evictor = &members.evictor;
        let kept = &mut kept[pool];
        let (tick, seed) = (*tick, *seed);
        if let (Some(class), Some(ghosts)) = (class, ghosts) {
            let of = OfClass { class, ghosts, seed };
            Round { of, evictor, tenants, kept, ahead, shares, prng, scrap, want, tick, lived }
                .run()
        } else {
            let of = OfAny;
            Round { of, evictor, tenants, kept, ahead, shares, prng, scrap, want, tick, lived }
                .run()
        }
    }
}

/// Takes a victim out, whose charge the account has back already, and tells who counts; returns
/// with it the bytes of the table that are free now.
fn leaves(
    tenant: &mut Tenant,
    number: TenantId,
    place: Place,
    lived: Option<&Lived>,
    tick: u64,
) -> (Owned, u64) {
    let (item, bytes) = tenant.take(place);
    learn::ends(lived, number, item.view(), tick);
    crate::departed::leaves(&mut tenant.departures, item.view(), Cause::Evicted, tick);
    tenant.account.give(bytes);
    tenant.counters.evicted += 1;
    tenant.counters.evicted_bytes += heap_class(item.view().contents());
    (item, bytes)
}

/// Which items an eviction is about.
trait Of {
    /// Draws of places before it is left with what it has: for each candidate, and in any case.
    const DRAWS: (usize, usize);
    /// Whether an item is one of them.
    fn has(&self, stamps: impl FnOnce() -> Stamps) -> bool;
    /// An item of this tenant leaves.
    fn loses(&mut self, tenant: TenantId, item: &Owned);
}

/// All.
struct OfAny;

impl Of for OfAny {
    // Two places in three hold an item, so that far fewer draws than this find K items. It is
    // left with fewer, or none, only in tables of a few items.
    const DRAWS: (usize, usize) = (4, APART);

    #[inline]
    fn has(&self, _: impl FnOnce() -> Stamps) -> bool {
        true
    }

    #[inline]
    fn loses(&mut self, _: TenantId, _: &Owned) {}
}

/// Those whose penalties are of a class.
struct OfClass<'a> {
    class: u8,
    ghosts: &'a mut Ghosts,
    seed: u64,
}

impl Of for OfClass<'_> {
    const DRAWS: (usize, usize) = (32, 8 * APART);

    fn has(&self, stamps: impl FnOnce() -> Stamps) -> bool {
        stamps().penalty_class() == self.class
    }

    fn loses(&mut self, tenant: TenantId, item: &Owned) {
        self.ghosts.leave(self.seed, tenant, item);
    }
}

/// The lowest rank; none is NaN.
#[inline]
pub(crate) fn least(ranks: &[f32]) -> f32 {
    // Four side by side, or each comparison would wait for the one before.
    let lower = |a: f32, b: f32| if b < a { b } else { a };
    let (fours, rest) = ranks.as_chunks::<4>();
    let [a, b, c, d] = fours.iter().fold([f32::INFINITY; 4], |least, four| {
        std::array::from_fn(|at| lower(least[at], four[at]))
    });
    rest.iter().copied().fold(lower(lower(a, b), lower(c, d)), lower)
}

/// The bits of a rank that tell where it stands.
const STANDS: u32 = 31;
/// What is marked from here on ranks without end.
const ENDLESS: f32 = f32::from_bits(f32::MAX.to_bits() & !STANDS);

/// A rank that tells where it stands, below 32, in its last bits, which so no longer count: who has
/// the lowest of several is known without a branch that depends on them.
#[inline]
const fn marked(rank: f32, at: usize) -> f32 {
    let rank = rank.max(-f32::MAX).min(f32::MAX);
    f32::from_bits(rank.to_bits() & !STANDS | at as u32 & STANDS)
}

/// Where a marked rank stands.
#[inline]
const fn stands(marked: f32) -> usize {
    (marked.to_bits() & STANDS) as usize
}

/// Where the lowest of marked ranks stands, if one is below `bound` and has an end.
#[inline]
fn lowest(marked: &[f32], bound: f32) -> Option<usize> {
    let least = least(marked);
    (least < bound && least < ENDLESS).then_some(stands(least))
}

/// Bytes, as ranks count them.
pub(crate) fn saturated(bytes: u64) -> u32 {
    bytes.try_into().unwrap_or(u32::MAX)
}

/// One eviction from one pool.
struct Round<'a, O> {
    of: O,
    evictor: &'a Evictor,
    tenants: &'a mut [Tenant],
    kept: &'a mut Kept,
    ahead: &'a mut Ahead,
    shares: &'a [Share],
    prng: &'a mut Prng,
    scrap: &'a mut Option<Owned>,
    want: &'a Want,
    tick: u64,
    lived: Option<&'a Lived>,
}

impl<O: Of> Round<'_, O> {
    fn run(&mut self) -> u64 {
        if self.draws_buckets() {
            return self.run_by_buckets();
        }
        let mut left = usize::from(self.evictor.k);
        let mut best: Option<Candidate> = None;
        let mut batch = [Drawn::default(); APART];
        let mut draws = O::DRAWS.0 * left + O::DRAWS.1;
        // Looked at now, the best of those kept is on its way while others are drawn.
        self.drop_stale();
        while left > 0 && draws > 0 {
            let found = self.draw(left, &mut batch);
            draws = draws.saturating_sub(left.min(APART));
            let drawn = &batch[..found.min(left)];
            // Nothing is decided in this loop, so the processor fetches all these items at once.
            let mut seen = [Seen::default(); APART];
            for (seen, drawn) in seen.iter_mut().zip(drawn) {
                let tenant = self.shares[drawn.share].tenant;
                let item = self.tenants[tenant as usize].table.get(drawn.place);
                *seen = Seen::of(item, self.want.now);
            }
            for (&Drawn { share: at, place, word }, seen) in drawn.iter().zip(&seen) {
                let share = &self.shares[at];
                let Seen { stamps, size, is_dead } = *seen;
                if self.is_spared(share, size, word) {
                    continue;
                }
                if is_dead {
                    return self.expire(share.tenant, place);
                }
                if !self.of.has(|| stamps) {
                    continue;
                }
                let meta = stamps.meta(saturated(size), self.tick);
                let (rank, now) = (&self.evictor.rank, Tick(self.tick));
                let rank = rank.rank_in(share.tenant, stamps.hit_class(), &meta, now);
                let candidate = Candidate { rank, share: at, place };
                if self.evictor.pool {
                    self.kept.keep(rank, stamps.last, share.tenant, place);
                }
                if best.is_none_or(|best| rank < best.rank) {
                    best = Some(candidate);
                }
                left -= 1;
            }
        }
        let kept = if self.evictor.pool { self.take_kept() } else { None };
        match kept.or(best).or_else(|| self.search()) {
            Some(victim) => self.remove(&victim),
            None => 0,
        }
    }

    /// One that is dead leaves.
    fn expire(&mut self, at: TenantId, place: Place) -> u64 {
        let tenant = &mut self.tenants[usize::from(at)];
        learn::ends(self.lived, at, tenant.table.get(place), self.tick);
        tenant.counters.expired_for_room += 1;
        tenant.expire(place)
    }

    /// Draws places of the tables, each with the same chance, where `left` items are wanted. Those
    /// that hold an item come first in `batch`; returns how many they are.
    fn draw(&mut self, left: usize, batch: &mut [Drawn; APART]) -> usize {
        let mut found = 0;
        let mut note = |share, (place, word)| {
            // Written in any case, and kept if there is an item: no branch to guess wrong.
            batch[found] = Drawn { share, place, word };
            found += usize::from(word != 0);
        };
        // One place in three holds none.
        let count = (left + left / 2 + 1).min(APART);
        if let [only] = self.shares {
            let table = &self.tenants[only.tenant as usize].table;
            (0..count).for_each(|_| note(0, table.draw(self.prng)));
            return found;
        }
        for _ in 0..count {
            let share = self.share();
            let tenant = &self.tenants[self.shares[share].tenant as usize];
            note(share, tenant.table.draw(self.prng));
        }
        found
    }

    /// Draws a share, in proportion to its items.
    #[inline]
    fn share(&mut self) -> usize {
        if let [_] = self.shares {
            return 0;
        }
        let total: usize = self.shares.iter().map(|share| share.len).sum();
        let mut r = self.prng.below(total as u64) as usize;
        let mine = self.shares.iter().position(|share| {
            let is_mine = r < share.len;
            r = r.wrapping_sub(share.len);
            is_mine
        });
        mine.expect("r is below the sum of the lengths")
    }

    #[inline]
    fn is_spared(&self, share: &Share, size: u64, word: usize) -> bool {
        size > share.loose || self.want.spare == word
    }

    /// The rank of the item at a place, by all that is known of it.
    fn rank_at(&self, tenant: TenantId, place: Place) -> f32 {
        let item = self.tenants[usize::from(tenant)].table.get(place);
        let (stamps, size) = (item.stamps(), heap_class(item.contents()));
        let meta = stamps.meta(saturated(size), self.tick);
        self.evictor.rank.rank_in(tenant, stamps.hit_class(), &meta, Tick(self.tick))
    }

    /// Walks from a random point on to the first item that may leave.
    fn search(&mut self) -> Option<Candidate> {
        for (at, share) in self.shares.iter().enumerate() {
            let table = &self.tenants[share.tenant as usize].table;
            let mut position = self.prng.below(END);
            for _ in 0..SEARCH_MAX.min(table.buckets() + 1) {
                let may_leave = |item: Ref, word| {
                    let size = heap_class(item.contents());
                    !self.is_spared(share, size, word) && self.of.has(|| item.stamps())
                };
                if let Some(place) = table.find_at(position, may_leave) {
                    return Some(Candidate { rank: 0.0, share: at, place });
                }
                position = table.next(position) % END;
            }
        }
        None
    }

    fn remove(&mut self, victim: &Candidate) -> u64 {
        let number = self.shares[victim.share].tenant;
        let is_own = self.want.tenant == Some(number);
        let tenant = &mut self.tenants[number as usize];
        let charge = heap_class(tenant.table.get(victim.place).contents());
        if is_own {
            tenant.account.give(charge);
        } else if !tenant.account.try_give(charge) {
            // Other shards took what it could spare in the meantime.
            return 0;
        }
        let (item, bytes) = leaves(tenant, number, victim.place, self.lived, self.tick);
        self.of.loses(number, &item);
        *self.scrap = Some(item);
        bytes + charge
    }
}
