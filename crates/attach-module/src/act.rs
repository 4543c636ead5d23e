//! Carries plans out.
//!
//! If tenants share one pool the server evicts, and the plan sets its `maxmemory-samples`. If
//! tenants have pools of their own, the module evicts keys of a pool above its budget before the
//! server has to. It draws K keys of the pool and evicts the one idle longest. Until memory was
//! full once, the module enforces only each tenant's `max`. It never evicts a key used within the
//! last second.
//!
//! If the recipe ranks keys, `room.rs` evicts.
//!
//! The module works in ticks of a server timer, for a limited time in each. The timer runs only
//! while there is work.

use crate::draw::Draws;
use crate::module::Module;
use crate::room::Room;
use crate::server::{Context, avoids_replica_traffic, processor_us};
use base::{Bytes, TenantId};
use std::cell::{Cell, RefCell};
use tune::{Evictor, PoolStep, Step};

/// Time between two ticks, in milliseconds.
const TICK_MS: i64 = 2;

/// Work in one tick, in microseconds of CPU time.
const WORK_US: u64 = 500;

/// The most keys to evict from one tenant before the next choice of a tenant.
const RUN: f64 = 8.0;

/// Memory counts as full from this share of the limit on.
const FULL: f64 = 0.97;

/// Memory no longer counts as full below this share.
const EMPTY: f64 = 0.7;

/// Whether the module carries plans out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ActingState {
    /// Its settings do not let it act.
    #[default]
    Observing,
    Acting,
    /// A condition of the server forbids it; the text names the condition.
    Held(&'static str),
}

/// The acting part of the module.
#[derive(Debug)]
pub(crate) struct Hand {
    pools: RefCell<Vec<PoolStep>>,
    pub(crate) state: RefCell<ActingState>,
    /// Whether memory is full, so that budgets count.
    is_full: Cell<bool>,
    /// Whether a timer of the server is pending.
    is_armed: Cell<bool>,
    pub(crate) draws: Draws,
    pub(crate) room: Room,
    /// `maxmemory-samples`: the value before the module's, and the module's.
    found_k: RefCell<Option<String>>,
    set_k: Cell<u8>,
    pub(crate) evicted: Cell<u64>,
    /// Evictions postponed because all drawn keys had just been used.
    pub(crate) spared: Cell<u64>,
    /// The longest tick, in microseconds of CPU time.
    pub(crate) longest_us: Cell<u64>,
    /// Ticks with work.
    pub(crate) ticks: Cell<u64>,
    /// CPU time of all these ticks, in microseconds.
    pub(crate) ticks_us: Cell<u64>,
}

/// A tenant of a pool above its budget.
struct Above {
    tenant: TenantId,
    /// Keys to evict before the next choice of a tenant.
    keys: u32,
    evictor: Evictor,
}

impl Hand {
    pub(crate) fn new() -> Self {
        Self {
            pools: RefCell::default(),
            state: RefCell::default(),
            is_full: Cell::new(false),
            is_armed: Cell::new(false),
            draws: Draws::new(),
            room: Room::new(),
            found_k: RefCell::default(),
            set_k: Cell::new(0),
            evicted: Cell::new(0),
            spared: Cell::new(0),
            longest_us: Cell::new(0),
            ticks: Cell::new(0),
            ticks_us: Cell::new(0),
        }
    }

    /// Whether the module may act now.
    pub(crate) fn is_acting(&self) -> bool {
        *self.state.borrow() == ActingState::Acting
    }

    /// Whether the module evicts by rank now.
    pub(crate) fn ranks(&self) -> bool {
        let pools = self.pools.borrow();
        self.is_acting() && matches!(&pools[..], [pool] if pool.evictor.policy == "gittins")
    }

    /// Stores the pools of a step; without a step, none.
    pub(crate) fn follow(&self, step: Option<Step>) {
        *self.pools.borrow_mut() = step.map_or_else(Vec::new, |step| step.pools);
    }

    /// The budget of the pool that one tenant has alone.
    pub(crate) fn budget(&self, tenant: TenantId) -> Option<Bytes> {
        let pools = self.pools.borrow();
        pools.iter().find(|pool| pool.tenants == [tenant]).map(|pool| pool.budget)
    }

    /// The check ten times a second. `used` and `limit` are the bytes that eviction counts.
    pub(crate) fn look(&self, module: &Module, context: Context<'_>, used: u64, limit: u64) {
        let share = used as f64 / limit.max(1) as f64;
        if limit > 0 && share >= FULL {
            self.is_full.set(true);
        } else if share < EMPTY {
            self.is_full.set(false);
        }
        let shared = match &self.pools.borrow()[..] {
            [pool] if pool.class.is_none() && !self.ranks() => Some(pool.evictor),
            _ => None,
        };
        match shared.filter(|_| self.is_acting()) {
            Some(evictor) => self.set_k(context, evictor.k),
            None => self.restore_k(context),
        }
        if self.has_work(module) {
            self.arm(module, context);
        }
    }

    /// Starts a timer for the next tick, unless one is pending.
    pub(crate) fn arm(&self, module: &Module, context: Context<'_>) {
        if !self.is_armed.replace(true) {
            module.arm(context, TICK_MS);
        }
    }

    /// Notes that the timer has fired.
    pub(crate) fn arrived(&self) {
        self.is_armed.set(false);
    }

    fn has_work(&self, module: &Module) -> bool {
        if self.ranks() {
            return self.room.has_work(module);
        }
        let may = self.is_acting() && self.pools.borrow().len() > 1;
        may && (self.is_full.get() || self.most_above(module, &[]).is_some())
    }

    fn set_k(&self, context: Context<'_>, k: u8) {
        if self.set_k.get() == k {
            return;
        }
        if self.found_k.borrow().is_none() {
            *self.found_k.borrow_mut() = context.config(c"maxmemory-samples");
        }
        context.set_config(c"maxmemory-samples", &k.max(1).to_string());
        self.set_k.set(k);
    }

    /// Restores the server's own value.
    pub(crate) fn restore_k(&self, context: Context<'_>) {
        let found = self.found_k.borrow_mut().take();
        if let Some(found) = found {
            context.set_config(c"maxmemory-samples", &found);
            self.set_k.set(0);
        }
    }

    /// One tick of the timer.
    pub(crate) fn tick(&self, module: &Module, context: Context<'_>) {
        if !self.has_work(module) {
            return;
        }
        let begun_us = processor_us();
        let took_us = || processor_us().saturating_sub(begun_us);
        let is_late = || took_us() >= WORK_US;
        if context.is_serving_master() && !avoids_replica_traffic() {
            if self.ranks() {
                self.room.make(module, context, &is_late);
            }
            // Tenants whose drawn keys had all just been used.
            let mut spared = vec![];
            while !self.ranks() && !is_late() {
                let Some(above) = self.most_above(module, &spared) else { break };
                for _ in 0..above.keys {
                    if is_late() {
                        break;
                    }
                    if !self.evict_one(module, context, &above, &is_late) {
                        self.spared.set(self.spared.get() + 1);
                        spared.push(above.tenant);
                        break;
                    }
                }
            }
        }
        let took_us = took_us();
        self.longest_us.set(self.longest_us.get().max(took_us));
        self.ticks.set(self.ticks.get() + 1);
        self.ticks_us.set(self.ticks_us.get() + took_us);
        // Evictions by rank wait for the next write.
        if !self.ranks() || self.room.has_work(module) {
            self.arm(module, context);
        }
    }

    /// A tenant of the pool that exceeds its budget by the largest share. Among the tenants of that
    /// pool the choice is random, in proportion to the bytes they hold.
    fn most_above(&self, module: &Module, but: &[TenantId]) -> Option<Above> {
        let tenants = module.tenants.borrow();
        let pools = self.pools.borrow();
        let members = |pool: &PoolStep| -> Vec<(TenantId, f64)> {
            let is_of =
                |id: &&TenantId| pool.class.is_none_or(|class| tenants.class(**id) == class);
            pool.tenants.iter().filter(is_of).map(|&id| (id, tenants.used(id))).collect()
        };
        let may_have = |pool: &PoolStep| {
            let most = |id: &TenantId| tenants.all.get(usize::from(*id))?.config.max;
            let most = pool.tenants.iter().map(most).sum::<Option<Bytes>>();
            // Until memory was full, only a tenant's `max` is a bound.
            match most {
                _ if self.is_full.get() => pool.budget.as_f64(),
                Some(most) if pool.class.is_none() => most.as_f64(),
                _ => f64::INFINITY,
            }
        };
        let above = pools.iter().filter_map(|pool| {
            let members = members(pool);
            let used: f64 = members.iter().map(|(_, used)| used).sum();
            // One key of excess is tolerated, or a key would be evicted and come back.
            let key = members.first().map_or(0.0, |(id, _)| tenants.each(usize::from(*id)));
            let (most, above) = (may_have(pool), used - may_have(pool) - key);
            let is_left = members.iter().any(|(id, _)| !but.contains(id));
            (above > 0.0 && is_left).then_some((
                above / most.max(key),
                above,
                members,
                pool.evictor,
            ))
        });
        let (_, above, mut members, evictor) = above.max_by(|a, b| a.0.total_cmp(&b.0))?;
        members.retain(|(id, _)| !but.contains(id));
        let used: f64 = members.iter().map(|(_, used)| used).sum();
        let mut point = self.draws.prng.borrow_mut().unit() * used;
        let chosen = members.iter().find(|(_, used)| {
            point -= used;
            point < 0.0
        });
        let (tenant, _) = *chosen.or(members.first())?;
        let keys = (above / tenants.each(usize::from(tenant)).max(1.0)).ceil();
        Some(Above { tenant, keys: keys.clamp(1.0, RUN) as u32, evictor })
    }

    /// Evicts a key of a tenant; false if all keys met had just been used.
    fn evict_one(
        &self,
        module: &Module,
        context: Context<'_>,
        above: &Above,
        is_late: &dyn Fn() -> bool,
    ) -> bool {
        let chosen =
            self.draws.choose(&module.tenants, context, above.tenant, above.evictor, is_late);
        let Some(chosen) = chosen else { return false };
        context.evict(chosen.name.name());
        self.evicted.set(self.evicted.get() + 1);
        if let Some(tenant) = module.tenants.borrow_mut().get_mut(above.tenant) {
            tenant.evicted += 1;
        }
        true
    }
}
