//! The live store as the pilot's plant, and the thread that runs the pilot.
//!
//! The thread looks at the store a few times an epoch, so that the queues of samples stay short,
//! and publishes what there is to show on a [`Board`] once an epoch. Nothing of the hot path waits
//! for it: workers pass samples on through bounded queues that drop when full, and read budgets
//! as they find them.
//!
//! With recipe `static`, or a `maxmemory-policy` that names one itself, the loop is off: nothing is
//! sampled, timed, modelled or planned, and the thread only looks whether the settings changed.

mod pages;

use crate::config::{Policy, Settings};
use crate::pools;
use crate::shared::{Shared, View};
use base::{Bytes, Filter, TenantId};
use pages::Pages;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::{Pauses, Pool};
use tune::pilot::Status;
use tune::recipe::Pools;
use tune::snapshot::Candidate;
use tune::tides::Turn;
use tune::{Goal, Pilot, Plant, PoolStep, Reading, Recipe, Step, Tenant, recipe};

/// Looks at the store in an epoch: so many that queues do not overflow.
const LOOKS: u32 = 5;

/// Least and most time between two looks.
const LOOK_MIN: Duration = Duration::from_millis(20);
const LOOK_MAX: Duration = Duration::from_millis(200);

/// Seeds the models: the sample is the same in every run.
const SEED: u64 = 1;

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
    /// The memory and the policy of the pool a tenant is in, or of all those of its own, where the
    /// loop is on and pools are not shared by the classes of several tenants.
    pub(crate) fn pool(&self, tenant: TenantId) -> Option<(Bytes, tune::Evictor)> {
        let own = |pool: &&PoolStep| {
            pool.tenants == [tenant] || pool.tenants.contains(&tenant) && pool.class.is_none()
        };
        let evictor = self.pools.iter().find(own)?.evictor;
        Some((self.pools.iter().filter(own).map(|pool| pool.budget).sum(), evictor))
    }
}

/// The recipe in force: `static` unless the settings leave the policy to the recipe.
pub(crate) fn recipe_of(settings: &Settings) -> Recipe {
    let name = if settings.maxmemory_policy == Policy::Auto { &settings.recipe } else { "static" };
    recipe::parse(name).unwrap_or(*recipe::ALL[0])
}

/// Whether the recipe steers the store, or the store is a plain cache.
pub(crate) fn is_steered(settings: &Settings) -> bool {
    recipe_of(settings).steers()
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
    /// Where pools are classes of sizes.
    pages: Option<Pages>,
    /// What evictions took, until those in force began.
    pauses: Pauses,
    /// What one takes, in microseconds; 0 where too few were measured.
    eviction_us: f64,
    /// The division at each tenant's last ebb.
    ebbs: HashMap<TenantId, Vec<(String, Bytes)>>,
}

impl Plant for Live<'_> {
    fn read(&mut self) -> Reading {
        let store = &self.shared.store;
        let mut samples = vec![];
        self.dropped += store.drain(&mut samples);
        self.measure_evictions();
        let tenant = |number: usize| {
            let id = number as TenantId;
            let config = self.view.tenant(id);
            Tenant {
                min: config.min,
                max: config.max,
                weight: config.weight,
                ..live::tenant(store, id, &config.name)
            }
        };
        let goal = |number: usize| {
            let tenant = number as TenantId;
            let config = self.view.tenant(tenant);
            config.target.map(|target| Goal { tenant, target, priority: config.priority })
        };
        let numbers = 0..self.view.names.len();
        let mut reading = Reading {
            now: self.shared.clock.micros(),
            limit: store.limit().saturating_sub(store.reserve()),
            model_memory: live::model_memory(store),
            tenants: numbers.clone().map(tenant).collect(),
            samples,
            dropped: self.dropped,
            goals: numbers.filter_map(goal).collect(),
            eviction_us: self.eviction_us,
            ..Reading::default()
        };
        if let Some(pages) = &mut self.pages {
            pages.look(store, &mut reading, self.shared.clock.now());
        }
        reading
    }

    fn apply(&mut self, step: &Step) {
        self.set_pools(step);
        let k = |pools: &[PoolStep]| pools.iter().map(|pool| pool.evictor).collect::<Vec<_>>();
        if k(&self.pools) != k(&step.pools) {
            // What comes from here on is another eviction's time.
            (self.pauses, self.eviction_us) = (self.shared.store.pauses(), 0.0);
        }
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

/// Evictions of which the median is believed.
const EVICTIONS_MIN: u64 = 256;

impl Live<'_> {
    fn set_pools(&mut self, step: &Step) {
        let store = &self.shared.store;
        let Some(pages) = &mut self.pages else {
            let pools: Vec<_> = step.pools.iter().map(live::pool).collect();
            return store.set_pools(&pools);
        };
        pages.want(&step.pools, store.page());
        let evictor = step.pools.first().map(|pool| pool.evictor);
        if evictor.is_some() && pages.evictor != evictor {
            pages.evictor = evictor;
            store.set_pools(&[Pool {
                tenants: (0..self.view.names.len() as TenantId).collect(),
                class: None,
                budget: store.limit(),
                evictor: live::evictor(step.pools[0].evictor),
            }]);
        }
    }

    /// Begins to follow a recipe.
    fn follow(&mut self, recipe: &Recipe) {
        let by_size = recipe.pools == Pools::Slab;
        self.shared.store.count_sizes(by_size);
        self.shared.store.move_pages(&[]);
        self.shared.store.balance_pages(!by_size || recipe.balances_ranks());
        self.pages = by_size.then(Pages::default);
    }

    /// What an eviction takes since the policy in force is: of a single pool, for an operation does
    /// not say which pool lost.
    fn measure_evictions(&mut self) {
        let [_] = &self.pools[..] else { return };
        let pauses = self.shared.store.pauses();
        if pauses.count >= self.pauses.count + EVICTIONS_MIN
            && let Some(nanos) = pauses.of_a_victim_since(&self.pauses)
        {
            self.eviction_us = nanos / 1e3;
        }
    }

    /// Chooses the keys to sample of each tenant. Fetches are timed while anything is sampled.
    fn tap(&mut self, filters: Vec<Filter>) {
        let store = &self.shared.store;
        for (at, &filter) in filters.iter().enumerate() {
            if self.filters.get(at) != Some(&filter) {
                store.set_tap(at as TenantId, filter);
            }
        }
        let is_on = |filters: &[Filter]| filters.iter().any(|&filter| filter != Filter::NONE);
        // A miss is of the size that its fetch brings.
        store.set_stopwatch(is_on(&filters) || self.pages.is_some());
        self.filters = filters;
    }

    /// A plain cache: one pool, as the settings say.
    fn release(&mut self) {
        self.pages = None;
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
    let mut live = Live {
        shared,
        view,
        filters: vec![],
        dropped: 0,
        pools: vec![],
        pages: None,
        pauses: Pauses::default(),
        eviction_us: 0.0,
        ebbs: HashMap::new(),
    };
    let mut pilot: Option<Pilot> = None;
    let mut known = None;
    while !shared.is_stopping() {
        if let Some(view) = shared.newer(&live.view) {
            live.view = view;
        }
        let recipe = recipe_of(&live.view.settings);
        if known != Some(recipe) {
            known = Some(recipe);
            live.follow(&recipe);
            live.ebbs.clear();
            if recipe.steers() {
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
            turn(pilot, &mut live);
        } else {
            shared.tide.take_turned();
        }
        shared.warm.leave_if_asked(|| pilot.as_ref().map(Pilot::known));
        let look = Duration::from_micros(recipe.epoch.0) / LOOKS;
        std::thread::park_timeout(look.clamp(LOOK_MIN, LOOK_MAX));
    }
    if let Some(pilot) = &mut pilot
        && shared.warm.is_wanted()
    {
        pilot.end(&mut live);
        shared.warm.leave(Some(pilot.known()));
    }
}

/// One look, and what follows at the end of an epoch.
fn fly(pilot: &mut Pilot, live: &mut Live<'_>) {
    let ended = pilot.tick(live);
    let board = &live.shared.board;
    if ended {
        live.shared.store.fade_penalties(live::PENALTY_KEEP);
    }
    if ended || board.shown().status.is_none() {
        let tenants = 0..live.view.names.len() as TenantId;
        let curves = tenants.map(|tenant| (tenant, pilot.curves(tenant).to_vec()));
        let status = pilot.status();
        say(&board.shown(), &status);
        board.show(Shown {
            status: Some(status),
            pools: live.pools.clone(),
            curves: curves.collect(),
        });
    }
}

/// A tenant whose load comes back finds the division that it left.
fn turn(pilot: &mut Pilot, live: &mut Live<'_>) {
    for (tenant, turn) in live.shared.tide.take_turned() {
        match turn {
            Turn::Ebb => _ = live.ebbs.insert(tenant, pilot.division()),
            Turn::Flood => {
                // Pages are moved by plans alone.
                let division = live.ebbs.remove(&tenant).filter(|_| live.pages.is_none());
                if let Some(division) = division {
                    pilot.expect(&division, live);
                }
            }
        }
    }
}

/// Logs what a plan has to say beside its figures, once: a promise that memory cannot keep.
fn say(before: &Shown, status: &Status) {
    let notes = |status: &Status| status.plan.as_ref().map_or(vec![], |plan| plan.notes.clone());
    let known = before.status.as_ref().map_or(vec![], notes);
    for note in notes(status).iter().filter(|note| !known.contains(note)) {
        tracing::warn!("the plan: {note}");
    }
}

/// Memory in use and the limit that is divided.
pub(crate) fn memory(shared: &Shared) -> (Bytes, Bytes) {
    let store = &shared.store;
    (store.used(), store.limit().saturating_sub(store.reserve()))
}
