//! The store as the pilot's plant. The server, a cache in process and the lab all use this one.
//!
//! [`Live`] is the state between two looks. [`Live::on`] joins it with the store and the owner's
//! settings of the tenants for one look. The hot path never waits for a look: samples pass through
//! bounded queues that drop when full, and requests read the current budgets.

use crate::evictor::evictor;
use crate::pages::Pages;
use crate::readings::{Known, model_memory, tenants};
use base::{Filter, TenantId};
use store::{Now, Pauses, Pool, Store};
use tune::{Goal, Plant, PoolStep, Reading, Recipe, Step};

/// The cost of an eviction counts as measured only after this many operations that evicted.
const EVICTIONS_MIN: u64 = 256;

/// The pilot's state for a store, kept between two looks.
#[derive(Debug, Default)]
pub struct Live {
    /// The filter of sampled keys, by tenant.
    filters: Vec<Filter>,
    dropped: u64,
    pools: Vec<PoolStep>,
    /// The plan of pages, if pools are size classes.
    pages: Option<Pages>,
    /// The store's pauses at the time when the policies in force began.
    pauses: Pauses,
    /// Time of one eviction in microseconds; 0 if too few were measured.
    eviction_us: f64,
    /// Whether a pool's rank depends on the cost of a miss.
    is_priced: bool,
}

/// A store under the pilot's control, for one look.
#[derive(Debug)]
pub struct Look<'a> {
    live: &'a mut Live,
    store: &'a Store,
    known: &'a [Known],
    now: Now,
}

impl Live {
    /// Joins the state with the store and its tenants for a look at the time `now`.
    pub fn on<'a>(&'a mut self, store: &'a Store, known: &'a [Known], now: Now) -> Look<'a> {
        Look { live: self, store, known, now }
    }

    /// The pools in force.
    pub fn pools(&self) -> &[PoolStep] {
        &self.pools
    }

    /// Whether pages move by plan, not by themselves.
    pub fn moves_pages(&self) -> bool {
        self.pages.is_some()
    }

    /// Begins to follow a recipe.
    pub fn follow(&mut self, store: &Store, recipe: &Recipe) {
        let by_size = recipe.pools.needs_pages();
        store.count_sizes(by_size);
        store.move_pages(&[]);
        // A learning policy may be replaced by another and return later.
        store.keep_lessons(recipe.evictors.len() > 1);
        store.balance_pages(!by_size || recipe.balances_ranks());
        self.pages = by_size.then(Pages::default);
    }

    /// Ends the control: the store becomes a plain cache with these pools.
    pub fn release(&mut self, store: &Store, pools: &[Pool]) {
        self.pages = None;
        store.keep_lessons(false);
        self.put(store, pools);
        self.tap(store, vec![Filter::NONE; store.tenants()]);
        store.drain(&mut vec![]);
        self.pools.clear();
    }

    /// Puts pools in force.
    fn put(&mut self, store: &Store, pools: &[Pool]) {
        self.is_priced = pools.iter().any(|pool| pool.evictor.rank.is_priced());
        store.set_pools(pools);
    }

    /// Chooses the keys to sample of each tenant. The store times fetches while it samples, while a
    /// rank depends on penalties, or while pools are size classes.
    fn tap(&mut self, store: &Store, filters: Vec<Filter>) {
        for (at, &filter) in filters.iter().enumerate() {
            if self.filters.get(at) != Some(&filter) {
                store.set_tap(at as TenantId, filter);
            }
        }
        let is_on = filters.iter().any(|&filter| filter != Filter::NONE);
        // The size of a miss is the size that its fetch brings.
        store.set_stopwatch(is_on || self.is_priced || self.pages.is_some());
        self.filters = filters;
    }

    /// Measures the time of an eviction under the policy in force. With several pools nothing is
    /// measured, because an operation does not report the pool of its victim.
    fn measure_evictions(&mut self, store: &Store) {
        let [_] = &self.pools[..] else { return };
        let pauses = store.pauses();
        if pauses.count >= self.pauses.count + EVICTIONS_MIN
            && let Some(nanos) = pauses.of_a_victim_since(&self.pauses)
        {
            self.eviction_us = nanos / 1e3;
        }
    }

    fn set_pools(&mut self, store: &Store, step: &Step) {
        let Some(pages) = &mut self.pages else {
            let pool = |pool: &PoolStep| Pool {
                tenants: pool.tenants.clone(),
                class: pool.class,
                budget: pool.budget,
                evictor: evictor(pool.evictor),
            };
            return self.put(store, &step.pools.iter().map(pool).collect::<Vec<_>>());
        };
        pages.want(&step.pools, store.page());
        let first = step.pools.first().map(|pool| pool.evictor);
        if let Some(first) = first.filter(|_| pages.evictor != first) {
            pages.evictor = Some(first);
            let tenants = (0..store.tenants() as TenantId).collect();
            let evictor = evictor(first);
            self.put(store, &[Pool { tenants, class: None, budget: store.limit(), evictor }]);
        }
    }
}

impl Plant for Look<'_> {
    fn read(&mut self) -> Reading {
        let Self { live, store, known, now } = self;
        let mut samples = vec![];
        live.dropped += store.drain(&mut samples);
        live.measure_evictions(store);
        let goal = |(known, tenant): (&Known, TenantId)| {
            known.goal.map(|(target, priority)| Goal { tenant, target, priority })
        };
        let mut reading = Reading {
            now: now.micros,
            limit: store.limit().saturating_sub(store.reserve()),
            used: store.used(),
            model_memory: Some(model_memory(store)),
            tenants: tenants(store, known),
            samples,
            dropped: live.dropped,
            goals: known.iter().zip(0..).filter_map(goal).collect(),
            eviction_us: live.eviction_us,
            ..Reading::default()
        };
        if let Some(pages) = &mut live.pages {
            pages.look(store, &mut reading, *now);
        }
        reading
    }

    fn apply(&mut self, step: &Step) {
        let Self { live, store, .. } = self;
        live.set_pools(store, step);
        store.set_prices(&step.prices.iter().map(|&price| price as f32).collect::<Vec<_>>());
        let evictors = |pools: &[PoolStep]| pools.iter().map(|p| p.evictor).collect::<Vec<_>>();
        if evictors(&live.pools) != evictors(&step.pools) {
            // From here on another policy's evictions are timed.
            (live.pauses, live.eviction_us) = (store.pauses(), 0.0);
        }
        live.pools.clone_from(&step.pools);
        live.tap(store, widest(&step.pools, store.tenants()));
    }
}

/// The filter of each tenant: the filter of its pool, or the widest one of several pools.
fn widest(pools: &[PoolStep], tenants: usize) -> Vec<Filter> {
    let mut filters = vec![Filter::NONE; tenants];
    for pool in pools {
        for &tenant in &pool.tenants {
            if let Some(widest) = filters.get_mut(usize::from(tenant))
                && pool.filter.threshold() > widest.threshold()
            {
                *widest = pool.filter;
            }
        }
    }
    filters
}

/// Runs one look, in which an epoch may end, and returns whether it did. At the end of an epoch the
/// measured penalties fade.
pub fn tick(pilot: &mut tune::Pilot, look: &mut Look<'_>) -> bool {
    let ended = pilot.tick(look);
    if ended {
        look.store.fade_penalties(PENALTY_KEEP);
    }
    ended
}

/// Weight of the penalties measured before the end of an epoch against later ones.
pub const PENALTY_KEEP: f64 = 0.95;
