//! The live store as the pilot's plant, and the thread that runs the pilot.
//!
//! The thread looks at the store a few times an epoch, so that the queues of samples stay short,
//! and publishes what there is to show on a [`Board`] once an epoch. Nothing of the hot path waits
//! for it: workers pass samples on through bounded queues that drop when full, and read budgets
//! as they find them.
//!
//! With recipe `static`, or a `maxmemory-policy` that names one itself, the loop is off: nothing is
//! sampled, timed, modelled or moved, and the thread only looks whether the settings changed.

use crate::config::{Policy, Settings};
use crate::pools;
use crate::shared::{Shared, View};
use base::{Bytes, Filter, Micros, TenantId};
use policy::rank::klru::Klru;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::{ClassStats, Evictor, Pool};
use tune::pilot::Status;
use tune::snapshot::Candidate;
use tune::{Known, Part, Pilot, Plant, PoolStep, Reading, Recipe, Step, Tenant, recipe};

/// Looks at the store in an epoch: so many that queues do not overflow.
const LOOKS: u32 = 5;

/// Least and most time between two looks.
const LOOK_MIN: Duration = Duration::from_millis(20);
const LOOK_MAX: Duration = Duration::from_millis(200);

/// Seeds the models: the sample is the same in every run.
const SEED: u64 = 1;

/// What penalties measured until an epoch ago weigh against those since.
const PENALTY_KEEP: f64 = 0.95;

/// Fetches below which their mean cost is not used.
const FETCHES_MIN: f64 = 16.0;

/// What the pilot last had to show.
#[derive(Debug, Default)]
pub(crate) struct Board(Mutex<Arc<Shown>>);

/// The pilot as of an epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    /// None while the loop is off.
    pub(crate) status: Option<Status>,
    /// The pools in force; empty while the loop is off.
    pub(crate) pools: Vec<PoolStep>,
    /// What the pilot would take into another run, where that is wanted.
    pub(crate) known: Option<Known>,
    /// The curves of each tenant, one a policy.
    pub(crate) curves: Vec<(TenantId, Vec<Candidate>)>,
}

impl Board {
    /// What there is to show.
    pub(crate) fn shown(&self) -> Arc<Shown> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn show(&self, shown: Shown) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(shown);
    }
}

impl Shown {
    /// The pool of a tenant, if the loop is on and makes pools of tenants.
    pub(crate) fn pool(&self, tenant: TenantId) -> Option<&PoolStep> {
        self.pools.iter().find(|pool| pool.tenants.contains(&tenant) && pool.class.is_none())
    }
}

/// The recipe in force: `static` unless the settings leave the policy to the recipe.
pub(crate) fn recipe_of(settings: &Settings) -> Recipe {
    let name = if settings.maxmemory_policy == Policy::Auto { &settings.recipe } else { "static" };
    recipe::parse(name).unwrap_or(*recipe::ALL[0])
}

/// Whether the recipe steers the store, or the store is a plain cache.
pub(crate) fn is_steered(settings: &Settings) -> bool {
    recipe_of(settings).model.is_some()
}

/// The store, as the pilot sees it.
#[derive(Debug)]
struct Live<'a> {
    shared: &'a Shared,
    view: Arc<View>,
    /// By tenant.
    filters: Vec<Filter>,
    dropped: u64,
    pools: Vec<PoolStep>,
}

impl Plant for Live<'_> {
    fn read(&mut self) -> Reading {
        let store = &self.shared.store;
        let mut samples = vec![];
        self.dropped += store.drain(&mut samples);
        let part = |class: &ClassStats| Part {
            class: class.class,
            used: class.used,
            gets: class.gets,
            misses: class.misses,
            sets: class.sets,
            penalty: (class.penalty.count >= FETCHES_MIN && class.penalty.mean > Micros(0))
                .then_some(class.penalty.mean),
        };
        let tenant = |number: usize| {
            let id = number as TenantId;
            let (stats, bounds) = (store.tenant_stats(id), self.view.tenant(id));
            let measured = stats.penalty.count >= FETCHES_MIN && stats.penalty.mean > Micros(0);
            Tenant {
                id,
                name: bounds.name,
                used: stats.used,
                items: stats.len.items,
                gets: stats.counters.gets(),
                misses: stats.counters.misses,
                sets: stats.counters.sets,
                penalty: measured.then_some(stats.penalty.mean),
                min: bounds.min,
                max: bounds.max,
                weight: bounds.weight,
                classes: store.class_stats(id).iter().map(part).collect(),
            }
        };
        Reading {
            now: self.shared.clock.micros(),
            limit: store.limit().saturating_sub(store.reserve()),
            tenants: (0..self.view.names.len()).map(tenant).collect(),
            samples,
            dropped: self.dropped,
            ..Reading::default()
        }
    }

    fn apply(&mut self, step: &Step) {
        let pool = |pool: &PoolStep| Pool {
            tenants: pool.tenants.clone(),
            class: pool.class,
            budget: pool.budget,
            evictor: Evictor { rank: Arc::new(Klru), k: pool.evictor.k, pool: pool.evictor.pool },
        };
        let pools: Vec<_> = step.pools.iter().map(pool).collect();
        self.shared.store.set_pools(&pools);
        self.pools.clone_from(&step.pools);
        let mut filters = vec![Filter::NONE; self.view.names.len()];
        for pool in &step.pools {
            for &tenant in &pool.tenants {
                let widest = &mut filters[usize::from(tenant)];
                if pool.filter.threshold() > widest.threshold() {
                    *widest = pool.filter;
                }
            }
        }
        self.tap(filters);
    }
}

impl Live<'_> {
    /// Chooses the keys to sample of each tenant. Fetches are timed while anything is sampled.
    fn tap(&mut self, filters: Vec<Filter>) {
        let store = &self.shared.store;
        for (at, &filter) in filters.iter().enumerate() {
            if self.filters.get(at) != Some(&filter) {
                store.set_tap(at as TenantId, filter);
            }
        }
        let is_on = |filters: &[Filter]| filters.iter().any(|&filter| filter != Filter::NONE);
        if is_on(&filters) != is_on(&self.filters) {
            store.set_stopwatch(is_on(&filters));
        }
        self.filters = filters;
    }

    /// A plain cache: one pool, as the settings say.
    fn release(&mut self) {
        self.tap(vec![Filter::NONE; self.view.names.len()]);
        self.shared.store.drain(&mut vec![]);
        self.shared
            .store
            .set_pools(&pools::shared_pool(&self.view.settings, self.view.names.len()));
        self.pools.clear();
    }
}

/// Runs the pilot until the server ends.
pub(crate) fn run(shared: &Shared) {
    let view = shared.view();
    let mut live = Live { shared, view, filters: vec![], dropped: 0, pools: vec![] };
    let mut pilot: Option<Pilot> = None;
    let mut known = None;
    while !shared.is_stopping() {
        if let Some(view) = shared.newer(&live.view) {
            live.view = view;
        }
        let recipe = recipe_of(&live.view.settings);
        if known != Some(recipe) {
            known = Some(recipe);
            if recipe.model.is_some() {
                pilot = Some(Pilot::new(recipe, SEED));
            } else {
                pilot = None;
                live.release();
            }
            shared.board.show(Shown::default());
        }
        if let Some(pilot) = &mut pilot {
            if let Some(known) = shared.warm.take_known() {
                pilot.recall(known);
                shared.board.show(Shown::default());
            }
            fly(pilot, &mut live);
        }
        let look = Duration::from_micros(recipe.epoch.0) / LOOKS;
        std::thread::park_timeout(look.clamp(LOOK_MIN, LOOK_MAX));
    }
}

/// One look, and what follows at the end of an epoch.
fn fly(pilot: &mut Pilot, live: &mut Live<'_>) {
    let ended = pilot.tick(live);
    let board = &live.shared.board;
    if ended {
        live.shared.store.fade_penalties(PENALTY_KEEP);
    }
    if ended || board.shown().status.is_none() {
        let tenants = 0..live.view.names.len() as TenantId;
        let curves = tenants.map(|tenant| (tenant, pilot.curves(tenant).to_vec()));
        board.show(Shown {
            status: Some(pilot.status()),
            pools: live.pools.clone(),
            known: live.shared.warm.is_wanted().then(|| pilot.known()),
            curves: curves.collect(),
        });
    }
}

/// Memory in use and the limit that is divided.
pub(crate) fn memory(shared: &Shared) -> (Bytes, Bytes) {
    let store = &shared.store;
    (store.used(), store.limit().saturating_sub(store.reserve()))
}
