//! Eviction by rank, ahead of need: the recipe `auto`.
//!
//! The module keeps a reserve of memory free, so that the server seldom has to evict itself. It
//! works in ticks of the timer, after writes, while the reserve is not full. In each step it walks
//! past some keys, ranks them, and evicts the lowest of these and of the sixteen lowest before.
//! If writes are faster, the server evicts by its own policy: then the reserve grows. While the
//! server evicts nothing, it shrinks.
//!
//! Large keys are candidates as soon as they are written, so a large one of little worth leaves
//! at once, and not those that it would have to evict.
//!
//! A tenant above its `max` loses keys first, whether or not memory is full. A tenant below its
//! `min` loses none.

use crate::draw::Draws;
use crate::filter::hash_of;
use crate::module::Module;
use crate::name::OwnName;
use crate::server::{Context, Found, used_ratio};
use crate::tenants::{OVERHEAD, plain_size};
use base::penalty::of_class;
use base::{TenantId, Tick};
use policy::rank::{Meta, Rank};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use tune::POOL;

/// Keys that the walk passes for each eviction.
const DRAWN: u32 = 8;
/// Keys of a tenant above its `max` that it passes: the walk passes keys of others too.
const DRAWN_OF_ONE: u32 = 3;
/// The most steps of the walk for one eviction.
const STEPS: u32 = 96;
/// The most candidates whose rank has risen before one is evicted all the same.
const RISEN_MAX: u32 = 24;
/// The most large new keys that wait to be ranked.
const LARGE_MAX: usize = 32;
/// The reserve, as shares of the limit.
const RESERVE_MIN: f64 = 1.0 / 400.0;
const RESERVE_MAX: f64 = 1.0 / 25.0;
/// Factors of the reserve: if the server evicted more than the share of all evictions in the last
/// tenth of a second, and if it evicted nothing.
const SHARE_MAX: f64 = 0.01;
const GROW: f64 = 1.4;
const SHRINK: f64 = 0.997;
/// Reserves below the limit from which on writes start the timer.
const NEAR: f64 = 4.0;
/// Weight that earlier evictions keep at each tenth of a second, in the counts for people.
const KEEP: f64 = 0.998;
/// Bytes of an element of a collection that was not measured.
const ELEMENT: usize = 64;

/// A key that may be evicted.
#[derive(Debug)]
struct Pick {
    db: u16,
    name: OwnName,
    hash: u64,
    tenant: TenantId,
    size: f64,
    /// Whether the size is measured: that of a collection is estimated at first.
    is_exact: bool,
    rank: f32,
}

/// The candidates, the lowest rank last.
#[derive(Debug, Default)]
struct Picks(Vec<Pick>);

impl Picks {
    fn has_place(&self, rank: f32) -> bool {
        self.0.len() < POOL as usize || self.0.first().is_some_and(|first| rank < first.rank)
    }

    fn push(&mut self, pick: Pick) {
        if self.0.iter().any(|known| known.hash == pick.hash && known.db == pick.db) {
            return;
        }
        let at = self.0.partition_point(|known| known.rank > pick.rank);
        self.0.insert(at, pick);
        if self.0.len() > POOL as usize {
            self.0.remove(0);
        }
    }
}

/// The part of the module that evicts by rank.
#[derive(Debug)]
pub(crate) struct Room {
    rank: RefCell<Arc<dyn Rank>>,
    picks: RefCell<Picks>,
    /// Candidates of tenants above their `max`.
    above: RefCell<Picks>,
    /// Large keys written since the last tick.
    large: RefCell<Vec<(u16, OwnName)>>,
    /// `maxmemory`, and the reserve as a share of it.
    limit: Cell<f64>,
    reserve: Cell<f64>,
    /// Whether memory is so full that writes start the timer.
    is_near: Cell<bool>,
    /// Requests to keys a second, and their number at the last look.
    pace: Cell<f64>,
    ticks: Cell<u64>,
    /// Keys that the server evicted, and the counts of both sides at the last look.
    pub(crate) server_evicted: Cell<u64>,
    before: Cell<(u64, u64)>,
    /// Evictions of the last minute or so, by the module and by the server.
    recent: Cell<(f64, f64)>,
    /// Whether the module evicts just now, so that events of evictions are its own.
    pub(crate) is_evicting: Cell<bool>,
}

impl Room {
    pub(crate) fn new() -> Self {
        Self {
            rank: RefCell::new(Arc::new(policy::rank::gittins::LiveRank::unlearnt(true))),
            picks: RefCell::default(),
            above: RefCell::default(),
            large: RefCell::default(),
            limit: Cell::new(0.0),
            reserve: Cell::new(RESERVE_MIN),
            is_near: Cell::new(false),
            pace: Cell::new(0.0),
            ticks: Cell::new(0),
            server_evicted: Cell::new(0),
            before: Cell::default(),
            recent: Cell::default(),
            is_evicting: Cell::new(false),
        }
    }

    /// Forgets all candidates, after a change of tenants.
    pub(crate) fn forget(&self) {
        self.picks.take();
        self.above.take();
        self.large.take();
        self.is_near.set(false);
    }

    /// Ranks by what was learnt meanwhile.
    pub(crate) fn learn(&self, rank: Arc<dyn Rank>) {
        *self.rank.borrow_mut() = rank;
    }

    /// The look ten times a second: the limit, the pace of requests, and the reserve.
    pub(crate) fn look(&self, limit: u64, tick: u64, evicted: u64) {
        self.limit.set(limit as f64);
        let pace = 10.0 * tick.saturating_sub(self.ticks.replace(tick)) as f64;
        self.pace.set(self.pace.get() + 0.05 * (pace - self.pace.get()));
        let now = (evicted, self.server_evicted.get());
        let before = self.before.replace(now);
        let own = now.0.saturating_sub(before.0) as f64;
        let servers = now.1.saturating_sub(before.1) as f64;
        let factor = if servers > SHARE_MAX * (own + servers) {
            GROW
        } else if servers == 0.0 {
            SHRINK
        } else {
            1.0
        };
        self.reserve.set((self.reserve.get() * factor).clamp(RESERVE_MIN, RESERVE_MAX));
        let recent = self.recent.get();
        self.recent.set((KEEP * recent.0 + own, KEEP * recent.1 + servers));
        self.is_near.set(used_ratio() > 1.0 - NEAR * self.reserve.get());
    }

    /// Evictions of the last minutes, by each side.
    pub(crate) fn work(&self) -> crate::exchange::Work {
        let (module, server) = self.recent.get();
        crate::exchange::Work { module, server }
    }

    /// The reserve, in bytes.
    pub(crate) fn reserve(&self) -> u64 {
        (self.reserve.get() * self.limit.get()) as u64
    }

    /// Whether writes start the timer.
    #[inline]
    pub(crate) fn is_near(&self) -> bool {
        self.is_near.get()
    }

    /// Bytes above the memory that the module wants to leave in use.
    fn excess(&self) -> f64 {
        self.limit.get() * (used_ratio() + self.reserve.get() - 1.0)
    }

    /// Whether there is anything to evict now.
    pub(crate) fn has_work(&self, module: &Module) -> bool {
        self.limit.get() > 0.0
            && (self.excess() > 0.0 || module.tenants.borrow().above_max().is_some())
    }

    /// Notes a large key that was just written.
    pub(crate) fn wrote_large(&self, db: u16, key: &[u8]) {
        let mut large = self.large.borrow_mut();
        if large.len() < LARGE_MAX && self.is_near.get() {
            large.push((db, OwnName::of(key)));
        }
    }

    /// Evicts until enough memory is free, or until it is late.
    pub(crate) fn make(&self, module: &Module, context: Context<'_>, is_late: &dyn Fn() -> bool) {
        while !is_late() {
            let above = module.tenants.borrow().above_max();
            let Some(tenant) = above else { break };
            if self.evict_one(module, context, Some(tenant), is_late).is_none() {
                break;
            }
        }
        if is_late() {
            return;
        }
        for (db, name) in self.large.take() {
            let found = context.select(db).then(|| context.look(name.name(), true)).flatten();
            if let Some(found) = found {
                self.meet(module, db, name.name().bytes(), &found, None);
            }
        }
        let mut excess = self.excess();
        while excess > 0.0 && !is_late() {
            let Some(size) = self.evict_one(module, context, None, is_late) else { break };
            // The memory of a large collection is freed later, by another thread.
            excess -= size;
        }
    }

    /// Evicts the key of lowest rank, of one tenant or of all that may lose one. Returns its bytes.
    fn evict_one(
        &self,
        module: &Module,
        context: Context<'_>,
        only: Option<TenantId>,
        is_late: &dyn Fn() -> bool,
    ) -> Option<f64> {
        self.draw(module, context, only, is_late);
        let pick = self.lowest(module, context, only)?;
        self.is_evicting.set(true);
        context.evict(pick.name.name());
        self.is_evicting.set(false);
        let hand = &module.hand;
        hand.evicted.set(hand.evicted.get() + 1);
        if let Some(tenant) = module.tenants.borrow_mut().get_mut(pick.tenant) {
            tenant.evicted += 1;
        }
        Some(pick.size)
    }

    /// Passes some keys, and keeps the lowest.
    fn draw(
        &self,
        module: &Module,
        context: Context<'_>,
        only: Option<TenantId>,
        is_late: &dyn Fn() -> bool,
    ) {
        if let Some(tenant) = only
            && module.tenants.borrow().by_ring(tenant)
        {
            let mut see = |db, key: &[u8], found: &Found| {
                self.meet(module, db, key, found, only);
            };
            Draws::pass_ring(&module.tenants, context, tenant, DRAWN, &mut see);
            return;
        }
        let dbs = module.tenants.borrow().dbs.clone();
        let all: u64 = dbs.iter().map(|(_, keys)| keys).sum();
        if all == 0 {
            return;
        }
        let (met, drawn) = (Cell::new(0), if only.is_some() { DRAWN_OF_ONE } else { DRAWN });
        let mut see = |db, key: &[u8], found: &Found| {
            met.set(met.get() + u32::from(self.meet(module, db, key, found, only)));
        };
        for step in 0..STEPS {
            if met.get() >= drawn || step % 16 == 15 && is_late() {
                break;
            }
            let db = module.hand.draws.any_db(&dbs, all);
            module.hand.draws.pass(&module.tenants, context, db, &mut see);
        }
    }

    /// Ranks a key that was met, and keeps it if it is among the lowest. Returns whether it may be
    /// evicted.
    fn meet(
        &self,
        module: &Module,
        db: u16,
        key: &[u8],
        found: &Found,
        only: Option<TenantId>,
    ) -> bool {
        let (tenant, size) = {
            let tenants = module.tenants.borrow();
            let plain = match found.length {
                Some(length) => plain_size(key.len(), length),
                None => OVERHEAD + (key.len() + found.elements * ELEMENT) as u64,
            };
            (tenants.owner(db, key), plain as f64 * tenants.scale())
        };
        let is_free = module.hand.draws.is_free(key, found);
        if !is_free || only.is_some_and(|only| only != tenant) {
            return false;
        }
        if only.is_none() && module.tenants.borrow().is_below_min(tenant) {
            return false;
        }
        let hash = hash_of(key);
        let rank = self.rank(module, hash, tenant, size, found.idle_ms);
        let picks = if only.is_some() { &self.above } else { &self.picks };
        let mut picks = picks.borrow_mut();
        if picks.has_place(rank) {
            let (name, is_exact) = (OwnName::of(key), found.length.is_some());
            picks.push(Pick { db, name, hash, tenant, size, is_exact, rank });
        }
        true
    }

    /// The rank of a key, by its stamps. One without stamps counts as never hit, and idle for as
    /// long as the server says.
    fn rank(&self, module: &Module, hash: u64, tenant: TenantId, size: f64, idle_ms: i64) -> f32 {
        let keys = &module.eye.keys;
        let size = size.clamp(1.0, f64::from(u32::MAX)) as u32;
        let meta = if let Some(past) = keys.past(hash) {
            let (age, hits) = (u64::from(past.age), u32::from(past.hits));
            let life = age + u64::from(past.interval) * u64::from(hits);
            let penalty = of_class(crate::stamps::class_of_code(past.penalty));
            Meta { age, life, hits, size, penalty }
        } else {
            let age = (idle_ms.max(0) as f64 / 1e3 * self.pace.get()) as u64;
            Meta { age, life: age, hits: 0, size, penalty: base::Micros(0) }
        };
        self.rank.borrow().rank_in(tenant, 0, &meta, Tick(keys.tick()))
    }

    /// Takes the candidate of lowest rank that is still there and whose rank has not risen above
    /// the next one's.
    fn lowest(
        &self,
        module: &Module,
        context: Context<'_>,
        only: Option<TenantId>,
    ) -> Option<Pick> {
        let place = if only.is_some() { &self.above } else { &self.picks };
        let mut risen = 0;
        loop {
            let mut pick = place.borrow_mut().0.pop()?;
            if only.is_some_and(|only| only != pick.tenant) {
                continue;
            }
            let found = context.select(pick.db).then(|| context.look(pick.name.name(), true));
            // The key may have been removed since it was met, and its tenant may be poor now.
            let Some(found) = found.flatten() else { continue };
            let is_free = module.hand.draws.is_free(pick.name.name().bytes(), &found);
            if !is_free || only.is_none() && module.tenants.borrow().is_below_min(pick.tenant) {
                continue;
            }
            if !pick.is_exact {
                pick.is_exact = true;
                pick.size = context.memory_usage(pick.name.name()).map_or(pick.size, |b| b as f64);
            }
            pick.rank = self.rank(module, pick.hash, pick.tenant, pick.size, found.idle_ms);
            let next = place.borrow().0.last().map(|next| next.rank);
            if next.is_none_or(|next| pick.rank <= next) || risen >= RISEN_MAX {
                return Some(pick);
            }
            risen += 1;
            place.borrow_mut().push(pick);
        }
    }
}
