//! The product with its report: the live store under the pilot, and the report that the server
//! would give.
//!
//! The history is written once a virtual second, as by the server's recorder. A report is made on
//! demand. It plays the sampled requests, as the server's pilot does once a minute. Steering does
//! not depend on reports, so a run without reports gives the same result.
//!
//! A setting can be changed during a run ([`Reported::set`]), to test a claim about that setting.

use super::LivePlant;
use crate::plant::{Bounds, Counts, SimulatedStore, Simulation};
use base::{Access, Bytes, Causes, Micros, TenantId};
use report::claim::Setting;
use report::{
    Change, ChangeKind, Compressed, History, Point, Recent, Report, Server, Shift, Shrinks, Tenant,
    plans, plays, sizing,
};
use store::ValueSamples;
use tune::Recipe;

/// When the virtual clock begins, in seconds of Unix time.
const EPOCH_S: u64 = 1_700_000_000;

/// The counts of a tenant at the last look.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    counts: Counts,
    causes: Causes,
    sampled: u64,
}

/// A store under the pilot, with its history.
#[derive(Debug)]
pub(crate) struct Reported {
    simulation: Simulation<LivePlant>,
    history: History,
    names: Vec<String>,
    bounds: Vec<Bounds>,
    before: Vec<Before>,
    second: u64,
    /// Whether values have contents of which reports tell how far they shrink.
    has_values: bool,
    /// Whether a policy was set, so that the pilot no longer steers the store.
    is_set: bool,
}

impl Reported {
    /// An empty store of `maxmemory` bytes for these tenants.
    pub(crate) fn new(recipe: Recipe, maxmemory: Bytes, bounds: &[Bounds], seed: u64) -> Self {
        let plant = LivePlant::new(&recipe, maxmemory, bounds, seed);
        let mut history = History::default();
        let text = "started".to_owned();
        let kind = ChangeKind::Start;
        history.note(Change { unix_s: EPOCH_S, kind, text, ..Change::default() });
        Self {
            simulation: Simulation::over(plant, recipe, seed),
            history,
            names: bounds.iter().map(|one| one.name.clone()).collect(),
            bounds: bounds.to_vec(),
            before: vec![Before::default(); bounds.len()],
            second: 0,
            has_values: false,
            is_set: false,
        }
    }

    /// This store, with values of which this share of the bytes does not shrink.
    pub(crate) fn with_values(mut self, dense: f64) -> Self {
        self.simulation.plant.set_dense(dense);
        self.has_values = true;
        self
    }

    /// Serves a request. If `is_of_nothing`, the key is never written: the read misses, and no
    /// fetch follows.
    pub(crate) fn access(&mut self, access: &Access, is_of_nothing: bool) {
        while self.second < access.time.0 / 1_000_000 {
            self.second += 1;
            self.record();
        }
        if !self.is_set {
            self.simulation.look(access);
        }
        if is_of_nothing {
            self.simulation.plant.seek(access);
        } else {
            self.simulation.plant.access(access);
        }
    }

    /// The counts of a tenant so far.
    pub(crate) fn counts(&self, tenant: usize) -> Counts {
        self.simulation.plant.counts(tenant as TenantId)
    }

    /// Records the activity of every tenant in the last second.
    fn record(&mut self) {
        let mut points = Vec::with_capacity(self.names.len());
        let (plant, pilot) = (&self.simulation.plant, &self.simulation.pilot);
        if self.has_values {
            plant.sample_value();
        }
        for (at, before) in self.before.iter_mut().enumerate() {
            let tenant = at as TenantId;
            let [never, evicted, expired, deleted, early] = pilot.causes(tenant);
            let now = Before {
                counts: plant.counts(tenant),
                causes: [never + early, evicted, expired, deleted, early],
                sampled: pilot.sampled_misses(tenant),
            };
            let mut causes = [0; _];
            for ((sum, new), old) in causes.iter_mut().zip(now.causes).zip(before.causes) {
                *sum = small(new.saturating_sub(old));
            }
            let waited = now.counts.waited.saturating_sub(before.counts.waited);
            points.push(Point {
                unix_s: small(EPOCH_S + self.second),
                reads: small(now.counts.gets - before.counts.gets),
                misses: small(now.counts.misses - before.counts.misses),
                causes,
                sampled: small(now.sampled.saturating_sub(before.sampled)),
                wait_ms: (waited.as_f64() / 1e3) as f32,
                used_kib: small(plant.used_by(tenant).0 >> 10),
                budget_kib: 0,
                forecast: -1.0,
            });
            *before = now;
        }
        self.history.push(self.names.iter().map(String::as_str).zip(points));
        let now = EPOCH_S + self.second;
        if self.second.is_multiple_of(10) {
            self.history.note_shifts(now);
        }
        self.history.complete(now);
    }

    /// The report that the server would make now.
    pub(crate) fn report(&mut self) -> Report {
        let now_unix_s = EPOCH_S + self.second;
        let now = Micros::from_secs(self.second);
        let window = Micros::from_secs(self.history.window_s(now_unix_s));
        for _ in 0..64 {
            if self.simulation.pilot.play(now.saturating_sub(window)) {
                break;
            }
        }
        let (plant, pilot) = (&self.simulation.plant, &self.simulation.pilot);
        let names: Vec<_> = self.names.iter().map(String::as_str).collect();
        let shifts = self.history.shifts(&names, now_unix_s);
        let lately = self.history.lately(now_unix_s);
        let is_divided = pilot.recipe().divides_by_tenant();
        let tenant = |(at, (bounds, shift)): (usize, (&Bounds, Option<Shift>))| {
            let id = at as TenantId;
            let recent = self.history.of(Some(&bounds.name), lately);
            Tenant {
                name: bounds.name.clone(),
                used: plant.used_by(id).0,
                min: bounds.min.0,
                max: bounds.max.map(|max| max.0),
                weight: bounds.weight,
                items: plant.items_of(id),
                policy: plant.evictor(id).to_string(),
                budget: is_divided.then(|| plant.budget(id)).flatten().map(|budget| budget.0),
                penalty_us: recent.miss_us(),
                first_reads_fall: self.history.first_reads_fall(&bounds.name, lately),
                twice_the_ttl: pilot.twice_the_ttl(id),
                curve: plans::curve(pilot.curves(id)),
                recent,
                shift,
                compressed: Compressed {
                    sampled: self.has_values.then(|| shrinks(plant.value_samples(id))),
                    ..Compressed::default()
                },
                ..Tenant::default()
            }
        };
        let limit = plant.limit().0;
        let mut report = Report {
            server: Server {
                now_unix_s,
                uptime_s: self.second,
                quiet_s: lately.quiet_s,
                recipe: pilot.recipe().to_string(),
                policy: "auto".to_owned(),
                maxmemory: limit,
                divided: limit,
                used: plant.used().0,
                resident: plant.used().0,
                machine: 64 << 30,
                compression: if self.has_values { "no".to_owned() } else { String::new() },
                ..Server::default()
            },
            tenants: self.bounds.iter().zip(shifts).enumerate().map(tenant).collect(),
            changes: self.history.changes().cloned().collect(),
            moves: self.history.moves(lately.from_unix_s, now_unix_s),
            forecasts: self.history.forecasts(),
            ..Report::default()
        };
        report.recent = Recent::sum(report.tenants.iter().map(|tenant| &tenant.recent));
        let since = now.saturating_sub(window);
        if let Some(replayed) = pilot.replayed().filter(|replayed| replayed.at > since) {
            plays::take(&mut report, replayed, |evictor| evictor.setting());
        }
        let saves: Vec<_> = report.tenants.iter().map(sizing::mib_saves_us).collect();
        for (tenant, saves) in report.tenants.iter_mut().zip(saves) {
            tenant.mib_saves_us = saves;
        }
        report.check().unwrap_or_else(|error| panic!("{error}"));
        report
    }

    /// Applies the setting that a claim is about.
    pub(crate) fn set(&mut self, setting: &Setting) {
        let plant = &mut self.simulation.plant;
        match setting {
            Setting::Policy { policy } => {
                let name = policy.trim_start_matches("allkeys-");
                let text = if name == "lru" { "klru:k=5:pool=16".to_owned() } else { name.into() };
                let choice = policy::parse(&text).and_then(|choice| choice.evictor());
                plant.release(choice.unwrap_or_else(|error| panic!("{policy}: {error}")));
                self.is_set = true;
            }
            Setting::Memory { divided } => plant.set_limit(Bytes(*divided)),
            Setting::Floor { tenant, bytes } => {
                let place = self.names.iter().position(|name| name == tenant);
                let Some(place) = place else { panic!("there is no tenant {tenant}") };
                self.bounds[place].min = Bytes(*bytes);
                plant.bound(place, &self.bounds[place]);
            }
            Setting::Compression => plant.compress(),
            // The load's to set.
            Setting::TwiceTheTtl { .. } => {}
        }
        let (unix_s, kind) = (EPOCH_S + self.second, ChangeKind::Setting);
        let text = format!("{setting:?}");
        self.history.note(Change { unix_s, kind, text, ..Change::default() });
    }
}

fn shrinks(samples: ValueSamples) -> Shrinks {
    Shrinks {
        values: samples.values,
        values_to: samples.ratio(),
        memory_to: samples.charge_ratio(),
    }
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
