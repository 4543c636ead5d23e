//! Candidates for eviction, and the sizes of keys.
//!
//! The module walks through the keys in the order of their hashes. That order is independent of
//! their use, so the walk is as good as random draws. It costs a third of the server's random key,
//! and keys of other tenants that it meets are candidates too. Keys of a tenant that the walk meets
//! too rarely come from the tenant's ring. Where a plan's policy keeps good candidates from one
//! eviction to the next, sixteen are kept.

use crate::arriving::Arriving;
use crate::name::OwnName;
use crate::scan::Scan;
use crate::server::{Context, Found};
use crate::tenants::{Tenants, plain_size};
use base::{Prng, TenantId};
use std::cell::{Cell, RefCell};
use tune::{Evictor, POOL};

/// The most steps of the walk for one eviction: each meets about one key.
const STEPS: u32 = 256;

/// A client may just have written a key with a shorter idle time. The server counts idle times in
/// seconds, so a reported two seconds means more than one.
const IDLE_MS: i64 = 2_000;

/// Share of the collections to measure: each takes the server some microseconds.
const MEASURED: f64 = 0.1;

/// A key that may be evicted.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) db: u16,
    pub(crate) name: OwnName,
    /// The key with the highest rank is evicted first.
    rank: i64,
}

/// The candidates of a tenant, the best last.
#[derive(Debug, Default)]
struct DrawnKeys {
    best: Vec<Candidate>,
    /// Keys met since the last choice.
    fresh: u32,
}

/// The walks, and the candidates they found.
#[derive(Debug)]
pub(crate) struct Draws {
    walks: RefCell<Vec<(u16, Scan)>>,
    /// Candidates by tenant.
    pools: RefCell<Vec<DrawnKeys>>,
    /// Whether only keys with a time to live may be evicted.
    pub(crate) volatile: Cell<bool>,
    pub(crate) arriving: Arriving,
    pub(crate) prng: RefCell<Prng>,
}

/// The rank by idle time, or by few uses where the server counts uses.
const fn rank(found: &Found) -> i64 {
    if found.idle_ms >= 0 { found.idle_ms } else { -found.uses }
}

impl DrawnKeys {
    /// Notes a key that may be evicted; calls `name` only if the pool keeps the key.
    fn push(&mut self, db: u16, rank: i64, keep: usize, name: impl FnOnce() -> OwnName) {
        let at = self.best.partition_point(|other| other.rank < rank);
        let is_full = self.best.len() >= keep;
        if is_full && at == 0 {
            return;
        }
        self.best.insert(at, Candidate { db, name: name(), rank });
        if is_full {
            self.best.remove(0);
        }
    }
}

impl Draws {
    pub(crate) fn new() -> Self {
        Self {
            walks: RefCell::default(),
            pools: RefCell::default(),
            volatile: Cell::new(false),
            arriving: Arriving::default(),
            prng: RefCell::new(Prng::new(2)),
        }
    }

    /// Forgets all candidates, after a change of tenants.
    pub(crate) fn forget(&self) {
        self.pools.borrow_mut().clear();
    }

    /// Whether a key may be evicted, however young it is.
    pub(crate) fn is_free(&self, key: &[u8], found: &Found) -> bool {
        (found.expires || !self.volatile.get()) && !self.arriving.has(key)
    }

    fn may_go(&self, key: &[u8], found: &Found) -> bool {
        let is_old = found.idle_ms < 0 || found.idle_ms >= IDLE_MS;
        is_old && self.is_free(key, found)
    }

    /// The key of a tenant to evict next, if any key met may be evicted.
    pub(crate) fn choose(
        &self,
        known: &RefCell<Tenants>,
        context: Context<'_>,
        tenant: TenantId,
        evictor: Evictor,
        is_late: &dyn Fn() -> bool,
    ) -> Option<Candidate> {
        let wanted = u32::from(evictor.k.max(1));
        let by_ring = known.borrow().by_ring(tenant);
        if by_ring {
            self.draw_ring(known, context, tenant, evictor);
        } else {
            let dbs = known.borrow().dbs_of(tenant);
            let all: u64 = dbs.iter().map(|(_, keys)| keys).sum();
            for step in 0..STEPS {
                let is_done = all == 0 || self.fresh(tenant) >= wanted;
                if is_done || step % 16 == 15 && is_late() {
                    break;
                }
                let db = self.any_db(&dbs, all);
                self.walk(known, context, db, Some(evictor));
            }
        }
        loop {
            let best = {
                let mut pools = self.pools.borrow_mut();
                let pool = pools.get_mut(usize::from(tenant))?;
                // The next choice meets other keys, whether or not these can be evicted.
                pool.fresh = 0;
                pool.best.pop()?
            };
            // The key may have been used or removed since it was met.
            context.select(best.db);
            let found = context.look(best.name.name(), true);
            if found.is_some_and(|found| self.may_go(best.name.name().bytes(), &found)) {
                let mut pools = self.pools.borrow_mut();
                let pool = pools.get_mut(usize::from(tenant))?;
                if !evictor.pool {
                    pool.best.clear();
                }
                return Some(best);
            }
        }
    }

    fn fresh(&self, tenant: TenantId) -> u32 {
        self.pools.borrow().get(usize::from(tenant)).map_or(0, |pool| pool.fresh)
    }

    /// Notes a key that was met, and keeps it if it may be evicted.
    fn meet(&self, tenant: TenantId, db: u16, (key, found): (&[u8], &Found), evictor: Evictor) {
        let mut pools = self.pools.borrow_mut();
        if pools.len() <= usize::from(tenant) {
            pools.resize_with(usize::from(tenant) + 1, DrawnKeys::default);
        }
        let pool = &mut pools[usize::from(tenant)];
        pool.fresh += 1;
        if self.may_go(key, found) {
            let keep = if evictor.pool { POOL as usize } else { usize::from(evictor.k.max(1)) };
            pool.push(db, rank(found), keep, || OwnName::of(key));
        }
    }

    /// One of these databases, in proportion to their keys, `all` together.
    pub(crate) fn any_db(&self, dbs: &[(u16, u64)], all: u64) -> u16 {
        let mut point = self.prng.borrow_mut().below(all);
        let db = dbs.iter().find(|(_, keys)| {
            let is_here = point < *keys;
            point = point.saturating_sub(*keys);
            is_here
        });
        db.map_or(0, |(db, _)| *db)
    }

    /// Draws K keys from a tenant's ring.
    fn draw_ring(
        &self,
        known: &RefCell<Tenants>,
        context: Context<'_>,
        tenant: TenantId,
        evictor: Evictor,
    ) {
        let mut see = |db, key: &[u8], found: &Found| {
            self.meet(tenant, db, (key, found), evictor);
        };
        Self::pass_ring(known, context, tenant, evictor.k.max(1).into(), &mut see);
    }

    /// Passes `count` keys of a tenant's ring. Learns sizes.
    pub(crate) fn pass_ring(
        known: &RefCell<Tenants>,
        context: Context<'_>,
        tenant: TenantId,
        count: u32,
        see: &mut dyn FnMut(u16, &[u8], &Found),
    ) {
        for _ in 0..count {
            let drawn = {
                let mut tenants = known.borrow_mut();
                tenants.get_mut(tenant).and_then(|tenant| tenant.ring.draw())
            };
            let Some((at, db, bytes)) = drawn else { break };
            let name = OwnName::of(&bytes);
            let found = if context.select(db) { context.look(name.name(), true) } else { None };
            let mut tenants = known.borrow_mut();
            let Some(found) = found else {
                if let Some(tenant) = tenants.get_mut(tenant) {
                    tenant.ring.forget(at);
                }
                continue;
            };
            if let Some(length) = found.length {
                tenants.drew(tenant, plain_size(bytes.len(), length));
            }
            drop(tenants);
            see(db, &bytes, &found);
        }
    }

    /// One step of the walk through a database. Learns sizes. With an `evictor`, also takes
    /// candidates of every tenant, as many as it keeps.
    fn walk(
        &self,
        known: &RefCell<Tenants>,
        context: Context<'_>,
        db: u16,
        evictor: Option<Evictor>,
    ) {
        let mut see = |db, key: &[u8], found: &Found| {
            if let Some(evictor) = evictor {
                let owner = known.borrow().owner(db, key);
                self.meet(owner, db, (key, found), evictor);
            }
        };
        self.pass(known, context, db, &mut see);
    }

    /// One step of the walk through a database: passes a few keys to `see`. Learns sizes.
    pub(crate) fn pass(
        &self,
        known: &RefCell<Tenants>,
        context: Context<'_>,
        db: u16,
        see: &mut dyn FnMut(u16, &[u8], &Found),
    ) {
        if !context.select(db) {
            return;
        }
        let mut walks = self.walks.borrow_mut();
        let at = walks.iter().position(|(of, _)| *of == db).unwrap_or_else(|| {
            walks.push((db, Scan::new()));
            walks.len() - 1
        });
        let mut collections = vec![];
        let is_more = walks[at].1.go_on(context, &mut |key, found| {
            let mut tenants = known.borrow_mut();
            let owner = tenants.owner(db, key);
            match found.length {
                Some(length) => tenants.drew(owner, plain_size(key.len(), length)),
                None if self.prng.borrow_mut().chance(MEASURED) => {
                    collections.push((owner, OwnName::of(key)));
                }
                None => {}
            }
            drop(tenants);
            see(db, key, &found);
        });
        if !is_more {
            walks.swap_remove(at);
        }
        drop(walks);
        for (owner, name) in collections {
            if let Some(usage) = context.memory_usage(name.name()) {
                let mut tenants = known.borrow_mut();
                let plain = usage as f64 / tenants.scale();
                tenants.drew(owner, plain as u64);
            }
        }
    }

    /// Learns the sizes of some keys.
    pub(crate) fn explore(&self, known: &RefCell<Tenants>, context: Context<'_>, steps: usize) {
        let dbs = known.borrow().dbs.clone();
        for (db, _) in dbs {
            (0..steps).for_each(|_| self.walk(known, context, db, None));
        }
        let tenants = known.borrow().all.len() as TenantId;
        for tenant in 0..tenants {
            let by_ring = known.borrow().by_ring(tenant);
            if by_ring {
                self.draw_ring(known, context, tenant, Evictor::klru(5));
            }
        }
    }
}
