//! The pools that a recipe makes of the present tenants, and their bounds.

use super::state::{PENALTY_DEFAULT_US, Pilot, PoolCounters, Steered};
use crate::Reading;
use crate::budgets::{fit, members, natural};
use crate::known::{KnownPool, RECALL_EPOCHS};
use crate::recipe::WantedPool;
use crate::trust::Trust;
use crate::watch::{Watch, keys_max};
use base::Bytes;

/// The least memory of a pool, so that its refill can be observed: one megabyte, or less where the
/// limit is small.
const FLOOR: Bytes = Bytes::MIB;

impl Pilot {
    /// Makes the pools of the recipe for the present tenants. True if anything changed.
    pub(super) fn form_pools(&mut self, reading: &Reading) -> bool {
        let has_pool = |class| self.pools.iter().any(|pool| pool.class == Some(class));
        let wanted = self.recipe.pools.wanted(reading, has_pool);
        let is_there = |wanted: &WantedPool, pool: &Steered| {
            wanted.tenants == pool.tenants && wanted.class == pool.class
        };
        if wanted.len() == self.pools.len()
            && wanted.iter().zip(&self.pools).all(|(wanted, pool)| is_there(wanted, pool))
        {
            return self.limit != reading.limit && self.resize(reading);
        }
        let mut old = std::mem::take(&mut self.pools);
        let model = self.recipe.model.map(|name| {
            curve::find(name).unwrap_or_else(|error| panic!("{}: {error}", self.recipe.name))
        });
        let keys_max = keys_max(&self.recipe, wanted.len(), reading);
        let mut is_fresh = vec![];
        for wanted in wanted {
            let known = old.iter().position(|pool| is_there(&wanted, pool));
            is_fresh.push(known.is_none());
            let WantedPool { name, tenants, class, sizes } = wanted;
            let fresh = || Steered {
                name: name.clone(),
                tenants: tenants.clone(),
                class,
                sizes: sizes.clone(),
                budget: natural(reading, &tenants, class),
                evictor: self.recipe.evictors[0],
                watch: model.map(|spec| {
                    let budget = natural(reading, &tenants, class);
                    Watch::new(spec, &self.recipe, keys_max, budget, self.seed)
                }),
                gets: None,
                used: Bytes(0),
                held: Bytes(0),
                reads_per_s: 0.0,
                ops_per_s: 0.0,
                penalty_us: PENALTY_DEFAULT_US,
                switched: 0,
            };
            let mut pool = known.map_or_else(fresh, |at| old.swap_remove(at));
            pool.name = name;
            self.pools.push(pool);
        }
        self.goal = self.recalled.take().and_then(|known| {
            let goal = self.take_over(&known, &is_fresh);
            // A class has its pool when the first of its items is back.
            let is_there = |old: &KnownPool| self.pools.iter().any(|pool| pool.name == old.name);
            let is_young = self.epoch < known.epoch + u64::from(RECALL_EPOCHS);
            let is_wanted = is_young && !known.pools.iter().all(is_there);
            self.recalled = is_wanted.then_some(known);
            self.is_recalled = true;
            goal
        });
        for pool in &self.pools {
            for tenant in members(reading, &pool.tenants) {
                let part = tenant.part(pool.class);
                self.counts
                    .entry((tenant.id, pool.class))
                    .or_insert_with(|| PoolCounters::of(&part));
            }
        }
        self.last_moves = vec![];
        self.trust = Trust::default();
        self.resize(reading)
    }

    /// Adopts another limit. Budgets and goal keep their proportions.
    fn resize(&mut self, reading: &Reading) -> bool {
        let old = std::mem::replace(&mut self.limit, reading.limit);
        if old == Bytes(0) {
            self.goal = None;
        }
        if old == Bytes(0) || self.is_first_come() {
            self.take_natural(reading);
        }
        if reading.model_memory.is_some() {
            let keys = keys_max(&self.recipe, self.pools.len(), reading);
            self.observer.allow(keys.saturating_mul(self.pools.len()));
            let watches = self.pools.iter_mut().filter_map(|pool| pool.watch.as_mut());
            watches.for_each(|watch| watch.allow(keys));
        }
        let bounds: Vec<_> = self.pools.iter().map(|pool| self.bounds(reading, pool)).collect();
        let had: Vec<_> = self.pools.iter().map(|pool| pool.budget).collect();
        for (pool, budget) in self.pools.iter_mut().zip(fit(&had, &bounds, self.limit)) {
            pool.budget = budget;
        }
        for (budget, _) in self.goal.iter_mut().flatten() {
            *budget = Bytes((budget.as_f64() / old.as_f64() * self.limit.as_f64()) as u64);
        }
        if old > Bytes(0) {
            self.trust.scale(self.limit.as_f64() / old.as_f64());
        }
        true
    }

    /// Whether pages still go to the first class that asks. Until the first decision, the memory
    /// that classes held at first does not predict their later need.
    pub(super) fn is_first_come(&self) -> bool {
        self.recipe.pools.needs_pages() && self.goal.is_none() && self.decided == 0
    }

    /// Lends the memory beyond the floor of pools that were never read and hold nothing. Such a
    /// pool belongs to a tenant without requests or, until the first decision, to items of unknown
    /// penalty.
    pub(super) fn lend_idle(&mut self, reading: &Reading) {
        let is_undecided = self.goal.is_none() && self.decided == 0 && !self.is_recalled;
        if !self.recipe.pools.may_lend(is_undecided) {
            return;
        }
        let is_idle = |pool: &Steered| {
            members(reading, &pool.tenants).all(|tenant| {
                let part = tenant.part(pool.class);
                let is_whole = pool.class.is_none();
                part.gets == 0 && (part.used == Bytes(0) || is_whole && tenant.items == 0)
            })
        };
        let bounds: Vec<_> = self
            .pools
            .iter()
            .map(|pool| {
                let (floor, cap) = self.bounds(reading, pool);
                (floor, if is_idle(pool) { Some(floor) } else { cap })
            })
            .collect();
        let lends =
            |(pool, (floor, _)): (&Steered, &(Bytes, _))| is_idle(pool) && pool.budget > *floor;
        if self.pools.iter().all(is_idle) || !self.pools.iter().zip(&bounds).any(lends) {
            return;
        }
        let had: Vec<_> = self.pools.iter().map(|pool| pool.budget).collect();
        for (pool, budget) in self.pools.iter_mut().zip(fit(&had, &bounds, self.limit)) {
            pool.budget = budget;
        }
        if let Some(goal) = &mut self.goal {
            let wanted: Vec<_> = goal.iter().map(|(budget, _)| *budget).collect();
            for ((budget, _), fits) in goal.iter_mut().zip(fit(&wanted, &bounds, self.limit)) {
                *budget = fits;
            }
        }
    }

    /// Sets each pool's budget to its natural one.
    pub(super) fn take_natural(&mut self, reading: &Reading) {
        for pool in &mut self.pools {
            pool.budget = natural(reading, &pool.tenants, pool.class);
        }
    }

    /// The floor and the cap of a pool.
    pub(super) fn bounds(&self, reading: &Reading, pool: &Steered) -> (Bytes, Option<Bytes>) {
        let members = || members(reading, &pool.tenants);
        // A tenant's own bounds apply to all its classes together; the plant enforces them.
        let is_whole = pool.class.is_none();
        if let Some(class) = pool.class.filter(|_| pool.sizes.is_some()) {
            // An item needs a page.
            let slab = pool.tenants.first().and_then(|&tenant| self.windows.slab(tenant, class));
            return (slab.map_or(Bytes(0), |slab| slab.page), None);
        }
        let cap = members().map(|t| t.max.filter(|_| is_whole)).sum::<Option<Bytes>>();
        let own: Bytes = members().filter(|_| is_whole).map(|tenant| tenant.min).sum();
        let least = FLOOR.min(Bytes(reading.limit.0 / (20 * self.pools.len().max(1) as u64)));
        (cap.map_or(own.max(least), |cap| own.max(least.min(cap))), cap)
    }
}
