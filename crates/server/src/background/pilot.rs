//! The thread that runs the pilot over the live store (`live`).
//!
//! The thread samples the state of the store a few times in an epoch, so that the queues of samples
//! stay short. Once an epoch it publishes its results on a [`PublishedStatus`]. The hot path never
//! waits for it: workers pass samples through bounded queues that drop when full, and read the
//! current budgets.
//!
//! With recipe `static`, or with a `maxmemory-policy` that names a policy itself, the loop is off:
//! nothing is sampled, timed, modelled or planned. Then the thread only waits for changed settings.

use super::history_writer::Recorder;
use crate::server::{Server, View};
use crate::settings::config::Settings;
use crate::settings::pools;
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

/// The number of looks at the store in an epoch: enough that the queues do not overflow.
const LOOKS: u32 = 5;

/// The least and the longest time between two looks.
const LOOK_MIN: Duration = Duration::from_millis(20);
const LOOK_MAX: Duration = Duration::from_millis(200);

/// The seed of the models: the sample is the same in every run.
const SEED: u64 = 1;

/// The status that the pilot published last.
#[derive(Debug, Default)]
pub(crate) struct PublishedStatus(Mutex<Arc<PilotSnapshot>>);

/// The results of the pilot at the end of an epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct PilotSnapshot {
    /// The pilot's status; `None` while the loop is off.
    pub(crate) status: Option<Status>,
    /// The pools in force; empty while the loop is off.
    pub(crate) pools: Vec<PoolStep>,
    /// The curves of each tenant, one for each policy.
    pub(crate) curves: Vec<(TenantId, Vec<Candidate>)>,
    /// Further results of the sampled keys, by tenant.
    pub(crate) told: Vec<SampleFacts>,
    /// Plays of recent requests at other sizes and under other policies.
    pub(crate) replayed: Option<Arc<Replayed>>,
}

/// Results of a tenant's sampled keys, beside its curves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleFacts {
    /// The share of reads of expired keys that twice the time to live would have answered.
    pub(crate) twice_the_ttl: Option<f64>,
    /// The number of sampled hits by the logarithm of the size.
    pub(crate) hits: [u32; SIZES],
}

impl PublishedStatus {
    /// The status that was published last.
    pub(crate) fn shown(&self) -> Arc<PilotSnapshot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn show(&self, shown: PilotSnapshot) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(shown);
    }
}

impl PilotSnapshot {
    /// The memory and the policy of a tenant's pool, or of all pools that are its own. `None` while
    /// the loop is off, or if tenants share pools by size class.
    pub(crate) fn pool(&self, tenant: TenantId) -> Option<(Bytes, tune::Evictor)> {
        let own = |pool: &&PoolStep| {
            pool.tenants == [tenant] || pool.tenants.contains(&tenant) && pool.class.is_none()
        };
        let evictor = self.pools.iter().find(own)?.evictor;
        Some((self.pools.iter().filter(own).map(|pool| pool.budget).sum(), evictor))
    }
}

impl PilotSnapshot {
    /// The memory of the pools that belong to this tenant alone; `None` if it shares a pool.
    pub(crate) fn own_pool(&self, tenant: TenantId) -> Option<Bytes> {
        let own: Vec<_> = self.pools.iter().filter(|pool| pool.tenants == [tenant]).collect();
        (!own.is_empty()).then(|| own.iter().map(|pool| pool.budget).sum())
    }
}

/// The recipe in force: `static`, unless the policy is `auto`.
pub(crate) fn recipe_of(settings: &Settings) -> Recipe {
    if settings.maxmemory_policy.is_auto() {
        return settings.recipe;
    }
    recipe::parse("static").unwrap_or(*recipe::ALL[0])
}

/// Whether the recipe steers the store; otherwise the store is a plain cache.
pub(crate) fn is_steered(settings: &Settings) -> bool {
    recipe_of(settings).steers()
}

/// The tenants of the settings, for the pilot.
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
    server: &'a Server,
    view: Arc<View>,
    known: Vec<Known>,
    live: Live,
    /// The division of memory at each tenant's last valley.
    valleys: HashMap<TenantId, Vec<(String, Bytes)>>,
}

/// Runs the pilot until the server ends.
pub(crate) fn run(server: &Server) {
    let view = server.view();
    let known = known(&view);
    let mut steering =
        Steering { server, view, known, live: Live::default(), valleys: HashMap::new() };
    let mut pilot: Option<Pilot> = None;
    let mut followed = None;
    let mut recorder = Recorder::default();
    while !server.is_stopping() {
        if let Some(view) = server.newer(&steering.view) {
            steering.known = self::known(&view);
            steering.view = view;
        }
        let recipe = recipe_of(&steering.view.settings);
        if followed != Some(recipe) {
            followed = Some(recipe);
            steering.follow(&recipe);
            pilot = recipe.steers().then(|| Pilot::new(recipe, SEED));
            server.published.show(PilotSnapshot::default());
        }
        if let Some(pilot) = &mut pilot {
            if let Some(known) = server.warm.take_known() {
                pilot.recall(known);
                server.published.show(PilotSnapshot::default());
            }
            steering.look(pilot, recorder.window_s());
            steering.turn(pilot);
        } else {
            server.transfers.take_turned();
        }
        recorder.look(server, &steering.view, pilot.as_ref());
        server.warm.leave_if_asked(|| pilot.as_ref().map(Pilot::known));
        let look = Duration::from_micros(recipe.epoch.0) / LOOKS;
        std::thread::park_timeout(look.clamp(LOOK_MIN, LOOK_MAX));
    }
    if let Some(pilot) = &mut pilot
        && server.warm.is_wanted()
    {
        pilot.end(&mut steering.live.on(&server.store, &steering.known, server.clock.now()));
        server.warm.leave(Some(pilot.known()));
    }
}

impl Steering<'_> {
    /// Begins to follow a recipe.
    fn follow(&mut self, recipe: &Recipe) {
        let store = &self.server.store;
        self.live.follow(store, recipe);
        self.valleys.clear();
        if !recipe.steers() {
            let pools = pools::shared_pool(&self.view.settings, self.view.names.len());
            self.live.release(store, &pools);
        }
    }

    /// Looks at the store once, and publishes the results at the end of an epoch.
    fn look(&mut self, pilot: &mut Pilot, window_s: u64) {
        let Self { server, known, live, .. } = self;
        let now = server.clock.now();
        let ended = live::tick(pilot, &mut live.on(&server.store, known, now));
        let published = &server.published;
        let played = pilot.play(now.micros.saturating_sub(Micros::from_secs(window_s)));
        if ended || played || published.shown().status.is_none() {
            let tenants = 0..known.len() as TenantId;
            let curves = tenants.map(|tenant| (tenant, pilot.curves(tenant).to_vec()));
            let told = tenants_told(pilot, known.len());
            let status = pilot.status();
            say(&published.shown(), &status);
            published.show(PilotSnapshot {
                status: Some(status),
                pools: live.pools().to_vec(),
                curves: curves.collect(),
                told,
                replayed: pilot.replayed().cloned(),
            });
        }
    }

    /// Notes the division of memory when a tenant's load falls, and restores it when the load
    /// returns.
    fn turn(&mut self, pilot: &mut Pilot) {
        for (tenant, turn) in self.server.transfers.take_turned() {
            match turn {
                Turn::Valley => _ = self.valleys.insert(tenant, pilot.division()),
                Turn::Peak => {
                    // Only plans move pages.
                    let division = self.valleys.remove(&tenant);
                    if let Some(division) = division.filter(|_| !self.live.moves_pages()) {
                        let Self { server, known, live, .. } = self;
                        let now = server.clock.now();
                        pilot.restore(&division, &mut live.on(&server.store, known, now));
                    }
                }
            }
        }
    }
}

fn tenants_told(pilot: &Pilot, tenants: usize) -> Vec<SampleFacts> {
    let of = |tenant| SampleFacts {
        twice_the_ttl: pilot.twice_the_ttl(tenant),
        hits: pilot.hits_by_size(tenant),
    };
    (0..tenants as TenantId).map(of).collect()
}

/// Logs new notes of a plan, such as a promise that memory cannot keep. It leaves out the notes of
/// a guard, which compare policies: LARDER PLAN shows them.
fn say(before: &PilotSnapshot, status: &Status) {
    let notes = |status: &Status| match &status.plan {
        Some(plan) if plan.planner != guard::SPEC.name => plan.notes.clone(),
        _ => vec![],
    };
    let known = before.status.as_ref().map_or(vec![], notes);
    for note in unsaid(&known, &notes(status)) {
        tracing::warn!("the plan: {note}");
    }
}

/// The notes that are not among the `known` ones. Notes that differ only in numbers count as equal,
/// because a plan is made every second with slightly different numbers.
fn unsaid<'a>(known: &[String], notes: &'a [String]) -> Vec<&'a String> {
    let is_figure = |word: &str| word.trim_end_matches([';', ',']).parse::<f64>().is_ok();
    let words = |note: &String| -> Vec<String> {
        note.split(' ').filter(|word| !is_figure(word)).map(str::to_owned).collect()
    };
    let known: Vec<_> = known.iter().map(words).collect();
    notes.iter().filter(|note| !known.contains(&words(note))).collect()
}

/// The memory in use, and the limit that is divided.
pub(crate) fn memory(server: &Server) -> (Bytes, Bytes) {
    let store = &server.store;
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
