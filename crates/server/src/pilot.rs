//! The thread that runs the pilot over the live store (`live`).
//!
//! The thread looks at the store a few times an epoch, so that the queues of samples stay short,
//! and publishes what there is to show on a [`PublishedStatus`] once an epoch. Nothing of the hot
//! path waits for it: workers pass samples on through bounded queues that drop when full, and read
//! budgets as they find them.
//!
//! With recipe `static`, or a `maxmemory-policy` that names one itself, the loop is off: nothing is
//! sampled, timed, modelled or planned, and the thread only looks whether the settings changed.

use crate::config::Settings;
use crate::pools;
use crate::recorder::Recorder;
use crate::shared::{Shared, View};
use base::{Bytes, Micros, TenantId};
use live::{Known, Live};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tune::periodic::Turn;
use tune::pilot::{Replayed, SIZES, Status};
use tune::planner::guard;
use tune::snapshot::Candidate;
use tune::{Pilot, PoolStep, Recipe, recipe};

/// Looks at the store in an epoch: so many that queues do not overflow.
const LOOKS: u32 = 5;

/// Least and most time between two looks.
const LOOK_MIN: Duration = Duration::from_millis(20);
const LOOK_MAX: Duration = Duration::from_millis(200);

/// Seeds the models: the sample is the same in every run.
const SEED: u64 = 1;

/// The status that the pilot published last.
#[derive(Debug, Default)]
pub(crate) struct PublishedStatus(Mutex<Arc<Shown>>);

/// The pilot as of an epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    /// None while the loop is off.
    pub(crate) status: Option<Status>,
    /// The pools in force; empty while the loop is off.
    pub(crate) pools: Vec<PoolStep>,
    /// The curves of each tenant, one a policy.
    pub(crate) curves: Vec<(TenantId, Vec<Candidate>)>,
    /// What sampled keys told of each tenant.
    pub(crate) told: Vec<Told>,
    /// Plays of the requests of late at other sizes and under other policies.
    pub(crate) replayed: Option<Arc<Replayed>>,
}

/// What the sampled keys of a tenant told, beside its curves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    /// Of the reads of expired keys, those that twice the time to live would have answered.
    pub(crate) twice_the_ttl: Option<f64>,
    /// Sampled hits by the logarithm of the size.
    pub(crate) hits: [u32; SIZES],
}

impl PublishedStatus {
    /// The status published last.
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

impl Shown {
    /// The memory of the pools that are a tenant's alone; nothing where it shares one.
    pub(crate) fn own_pool(&self, tenant: TenantId) -> Option<Bytes> {
        let own: Vec<_> = self.pools.iter().filter(|pool| pool.tenants == [tenant]).collect();
        (!own.is_empty()).then(|| own.iter().map(|pool| pool.budget).sum())
    }
}

/// The recipe in force: `static` unless the settings leave the policy to the recipe.
pub(crate) fn recipe_of(settings: &Settings) -> Recipe {
    if settings.maxmemory_policy.is_auto() {
        return settings.recipe;
    }
    recipe::parse("static").unwrap_or(*recipe::ALL[0])
}

/// Whether the recipe steers the store, or the store is a plain cache.
pub(crate) fn is_steered(settings: &Settings) -> bool {
    recipe_of(settings).steers()
}

/// The tenants as the settings have them.
fn known(view: &View) -> Vec<Known> {
    let known = |at: usize| {
        let tenant = view.tenant(at as TenantId);
        Known {
            name: tenant.name.clone(),
            min: tenant.min,
            max: tenant.max,
            weight: tenant.weight,
            goal: tenant.target.map(|target| (target, tenant.priority)),
        }
    };
    (0..view.names.len()).map(known).collect()
}

/// The state that stays between two looks.
#[derive(Debug)]
struct Steering<'a> {
    shared: &'a Shared,
    view: Arc<View>,
    known: Vec<Known>,
    live: Live,
    /// The division at each tenant's last valley.
    valleys: HashMap<TenantId, Vec<(String, Bytes)>>,
}

/// Runs the pilot until the server ends.
pub(crate) fn run(shared: &Shared) {
    let view = shared.view();
    let known = known(&view);
    let mut steering =
        Steering { shared, view, known, live: Live::default(), valleys: HashMap::new() };
    let mut pilot: Option<Pilot> = None;
    let mut followed = None;
    let mut recorder = Recorder::default();
    while !shared.is_stopping() {
        if let Some(view) = shared.newer(&steering.view) {
            steering.known = self::known(&view);
            steering.view = view;
        }
        let recipe = recipe_of(&steering.view.settings);
        if followed != Some(recipe) {
            followed = Some(recipe);
            steering.follow(&recipe);
            pilot = recipe.steers().then(|| Pilot::new(recipe, SEED));
            shared.published.show(Shown::default());
        }
        if let Some(pilot) = &mut pilot {
            if let Some(known) = shared.warm.take_known() {
                pilot.recall(known);
                shared.published.show(Shown::default());
            }
            steering.look(pilot, recorder.window_s());
            steering.turn(pilot);
        } else {
            shared.transfers.take_turned();
        }
        recorder.look(shared, &steering.view, pilot.as_ref());
        shared.warm.leave_if_asked(|| pilot.as_ref().map(Pilot::known));
        let look = Duration::from_micros(recipe.epoch.0) / LOOKS;
        std::thread::park_timeout(look.clamp(LOOK_MIN, LOOK_MAX));
    }
    if let Some(pilot) = &mut pilot
        && shared.warm.is_wanted()
    {
        pilot.end(&mut steering.live.on(&shared.store, &steering.known, shared.clock.now()));
        shared.warm.leave(Some(pilot.known()));
    }
}

impl Steering<'_> {
    /// Begins to follow a recipe.
    fn follow(&mut self, recipe: &Recipe) {
        let store = &self.shared.store;
        self.live.follow(store, recipe);
        self.valleys.clear();
        if !recipe.steers() {
            let pools = pools::shared_pool(&self.view.settings, self.view.names.len());
            self.live.release(store, &pools);
        }
    }

    /// One look, and what follows at the end of an epoch.
    fn look(&mut self, pilot: &mut Pilot, window_s: u64) {
        let Self { shared, known, live, .. } = self;
        let now = shared.clock.now();
        let ended = live::tick(pilot, &mut live.on(&shared.store, known, now));
        let published = &shared.published;
        let played = pilot.play(now.micros.saturating_sub(Micros::from_secs(window_s)));
        if ended || played || published.shown().status.is_none() {
            let tenants = 0..known.len() as TenantId;
            let curves = tenants.map(|tenant| (tenant, pilot.curves(tenant).to_vec()));
            let told = tenants_told(pilot, known.len());
            let status = pilot.status();
            say(&published.shown(), &status);
            published.show(Shown {
                status: Some(status),
                pools: live.pools().to_vec(),
                curves: curves.collect(),
                told,
                replayed: pilot.replayed().cloned(),
            });
        }
    }

    /// A tenant whose load comes back finds the division that it left.
    fn turn(&mut self, pilot: &mut Pilot) {
        for (tenant, turn) in self.shared.transfers.take_turned() {
            match turn {
                Turn::Valley => _ = self.valleys.insert(tenant, pilot.division()),
                Turn::Peak => {
                    // Pages are moved by plans alone.
                    let division = self.valleys.remove(&tenant);
                    if let Some(division) = division.filter(|_| !self.live.moves_pages()) {
                        let Self { shared, known, live, .. } = self;
                        let now = shared.clock.now();
                        pilot.restore(&division, &mut live.on(&shared.store, known, now));
                    }
                }
            }
        }
    }
}

fn tenants_told(pilot: &Pilot, tenants: usize) -> Vec<Told> {
    let of = |tenant| Told {
        twice_the_ttl: pilot.twice_the_ttl(tenant),
        hits: pilot.hits_by_size(tenant),
    };
    (0..tenants as TenantId).map(of).collect()
}

/// Logs what a plan has to say beside its figures, once: a promise that memory cannot keep. How the
/// policies of a guard compare is nobody's fault: LARDER PLAN has that.
fn say(before: &Shown, status: &Status) {
    let notes = |status: &Status| match &status.plan {
        Some(plan) if plan.planner != guard::SPEC.name => plan.notes.clone(),
        _ => vec![],
    };
    let known = before.status.as_ref().map_or(vec![], notes);
    for note in unsaid(&known, &notes(status)) {
        tracing::warn!("the plan: {note}");
    }
}

/// The notes that were not among the `known`. One that comes again with other figures is the same:
/// a plan is made every second, and what a promise needs is a little other in each.
fn unsaid<'a>(known: &[String], notes: &'a [String]) -> Vec<&'a String> {
    let is_figure = |word: &str| word.trim_end_matches([';', ',']).parse::<f64>().is_ok();
    let words = |note: &String| -> Vec<String> {
        note.split(' ').filter(|word| !is_figure(word)).map(str::to_owned).collect()
    };
    let known: Vec<_> = known.iter().map(words).collect();
    notes.iter().filter(|note| !known.contains(&words(note))).collect()
}

/// Memory in use and the limit that is divided.
pub(crate) fn memory(shared: &Shared) -> (Bytes, Bytes) {
    let store = &shared.store;
    (store.used(), store.limit().saturating_sub(store.reserve()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_said_again_only_where_more_than_its_figures_changed() {
        let note = |name: &str, need: &str| format!("{name}: 70.0 % hits needs {need} MiB");
        let before = [note("web2", "1.95")];
        let after = [note("web2", "2.01"), note("web3", "2.01")];
        assert_eq!(unsaid(&[], &before), [&before[0]]);
        assert_eq!(unsaid(&before, &after), [&after[1]]);
    }
}
