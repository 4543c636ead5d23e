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
use crate::services::published::{PilotSnapshot, SampleFacts};
use crate::settings::pools::{self, recipe_of};
use base::{Bytes, Micros, TenantId};
use live::{Known, Live};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tune::periodic::Turn;
use tune::pilot::Status;
use tune::planner::guard;
use tune::{Pilot, Recipe};

/// The number of looks at the store in an epoch: enough that the queues do not overflow.
const LOOKS: u32 = 5;

/// The least and the longest time between two looks.
const LOOK_MIN: Duration = Duration::from_millis(20);
const LOOK_MAX: Duration = Duration::from_millis(200);

/// The seed of the models: the sample is the same in every run.
const SEED: u64 = 1;

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
    let view = server.view.now();
    let known = known(&view);
    let mut steering =
        Steering { server, view, known, live: Live::default(), valleys: HashMap::new() };
    let mut pilot: Option<Pilot> = None;
    let mut followed = None;
    let mut recorder = Recorder::default();
    while !server.process.is_stopping() {
        if let Some(view) = server.view.newer(&steering.view) {
            steering.known = self::known(&view);
            steering.view = view;
        }
        let recipe = recipe_of(&steering.view.settings);
        if followed != Some(recipe) {
            followed = Some(recipe);
            steering.follow(&recipe);
            pilot = recipe.steers().then(|| Pilot::new(recipe, SEED));
            server.observed.pilot.show(PilotSnapshot::default());
        }
        if let Some(pilot) = &mut pilot {
            if let Some(known) = server.saved.warm.take_known() {
                pilot.recall(known);
                server.observed.pilot.show(PilotSnapshot::default());
            }
            steering.look(pilot, recorder.window_s());
            steering.turn(pilot);
        } else {
            server.saved.transfers.take_turned();
        }
        recorder.look(server, &steering.view, pilot.as_ref());
        server.saved.warm.leave_if_asked(|| pilot.as_ref().map(Pilot::known));
        let look = Duration::from_micros(recipe.epoch.0) / LOOKS;
        std::thread::park_timeout(look.clamp(LOOK_MIN, LOOK_MAX));
    }
    if let Some(pilot) = &mut pilot
        && server.saved.warm.is_wanted()
    {
        pilot.end(&mut steering.live.on(&server.store, &steering.known, server.clock.now()));
        server.saved.warm.leave(Some(pilot.known()));
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
        let published = &server.observed.pilot;
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
        for (tenant, turn) in self.server.saved.transfers.take_turned() {
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
