//! Writes the history: once a second the activity of every tenant since then and that of the
//! process (`process_writer.rs`), and each change of settings and plans when it happens.
//!
//! It runs on the pilot's thread, even while the loop is off. Once a minute it also notes the miss
//! ratio that the report expects of each tenant for the next minute. The actual ratio is compared
//! with it later.

use super::process_writer::ProcessRecorder;
use crate::observe::report;
use crate::server::{Server, View};
use crate::settings::config::TenantConfig;
use crate::settings::pools::recipe_of;
use ::report::claim::{self, Claim};
use ::report::plans::Plans;
use ::report::sizing::Sizing;
use ::report::{Change, ChangeKind, Point, Report};
use base::{Bytes, Causes, TenantId};
use tune::Pilot;

/// The time for which a cache counts as new, in seconds.
const STARTED_S: u64 = 300;

/// The time between two searches for changes of load, in seconds.
const SHIFTS_S: u64 = 10;

/// The span of measurements to which curves are adjusted for the next minute, in seconds.
const MEASURED_S: u64 = 120;

/// The counters of a tenant at the last look.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    reads: u64,
    misses: u64,
    causes: Causes,
    sampled: u64,
}

/// The settings of which changes are noted.
#[derive(Clone, Debug, PartialEq)]
struct Noted {
    recipe: String,
    policy: String,
    maxmemory: Bytes,
    tenants: Vec<TenantConfig>,
}

impl Noted {
    fn of(view: &View) -> Self {
        let settings = &view.settings;
        Self {
            recipe: recipe_of(settings).to_string(),
            policy: settings.maxmemory_policy.name(),
            maxmemory: settings.maxmemory,
            tenants: settings.tenants.clone(),
        }
    }

    /// The differences, as one phrase each, and the claims that a report made for each.
    fn differences(&self, new: &Self, report: Option<&Report>) -> Vec<(String, Vec<Claim>)> {
        let mut all = vec![];
        if self.recipe != new.recipe {
            all.push((format!("recipe is now {} (was {})", new.recipe, self.recipe), vec![]));
        }
        if self.policy != new.policy {
            let text = format!("maxmemory-policy is now {} (was {})", new.policy, self.policy);
            let claim = report.and_then(|report| claim::policy(report, &new.policy));
            all.push((text, claim.into_iter().collect()));
        }
        if self.maxmemory != new.maxmemory {
            let text = format!("maxmemory is now {} (was {})", new.maxmemory, self.maxmemory);
            let claims = report.map(|report| claim::of_maxmemory(report, new.maxmemory.0));
            all.push((text, claims.unwrap_or_default()));
        }
        for tenant in &new.tenants {
            match self.tenants.iter().find(|old| old.name == tenant.name) {
                None => all.push((format!("tenant {} is new", tenant.name), vec![])),
                Some(old) if old != tenant => {
                    let report = report.filter(|_| old.min != tenant.min);
                    let known =
                        report.and_then(|report| Some((report, report.tenant(&tenant.name)?)));
                    let claims = known.map(|(report, own)| claim::floor(report, own, tenant.min.0));
                    all.push((format!("tenant line: {tenant}"), claims.unwrap_or_default()));
                }
                Some(_) => {}
            }
        }
        for old in &self.tenants {
            if new.tenants.iter().all(|tenant| tenant.name != old.name) {
                all.push((format!("the line of tenant {} was removed", old.name), vec![]));
            }
        }
        all
    }
}

/// The state between two looks.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    second: u64,
    minute: u64,
    tenants: Vec<Before>,
    process: ProcessRecorder,
    /// The miss ratio that is expected of each tenant in this minute.
    expected: Vec<Option<f64>>,
    noted: Option<Noted>,
    /// The report of the last minute: what was known before a setting changed.
    report: Option<Report>,
    plans: Plans,
    window_s: u64,
}

impl Recorder {
    /// The span of the report's figures, in seconds, as of the last look.
    pub(crate) const fn window_s(&self) -> u64 {
        self.window_s
    }

    /// Looks once. It writes a point at most once a second.
    pub(crate) fn look(&mut self, server: &Server, view: &View, pilot: Option<&Pilot>) {
        let unix_s = server.clock.now().unix_ms / 1_000;
        if unix_s <= self.second {
            return;
        }
        self.second = unix_s;
        self.note_settings(server, view, unix_s);
        if let Some(pilot) = pilot {
            self.plans.note(pilot.history(), unix_s, &mut server.observed.lock_history());
        }
        if unix_s / 60 != self.minute {
            self.minute = unix_s / 60;
            let report = report::new_report(server);
            let mut history = server.observed.lock_history();
            history.note_curves(unix_s, &report.tenants);
            history.note_gain(&report);
            drop(history);
            self.expected = expected(server, report.clone());
            self.report = Some(report);
        }
        self.write(server, view, pilot, unix_s);
        let mut history = server.observed.lock_history();
        if unix_s.is_multiple_of(SHIFTS_S) {
            history.note_shifts(unix_s);
        }
        history.complete(unix_s);
        self.window_s = history.window_s(unix_s);
    }

    fn write(&mut self, server: &Server, view: &View, pilot: Option<&Pilot>, unix_s: u64) {
        let all = server.store.all_stats();
        let shown = server.observed.pilot.shown();
        let (parts, models) = (report::parts_of(server), report::models(&shown));
        let mut history = server.observed.lock_history();
        self.process.write(&parts, &all, models, &mut history, small(unix_s));
        drop(history);
        self.tenants.resize(all.len(), Before::default());
        let mut points = Vec::with_capacity(all.len());
        for (at, (stats, before)) in all.iter().zip(&mut self.tenants).enumerate() {
            let tenant = at as TenantId;
            let now = Before {
                reads: stats.counters.gets(),
                misses: stats.counters.misses,
                causes: pilot.map(|pilot| as_seen(pilot.causes(tenant))).unwrap_or_default(),
                sampled: pilot.map_or(0, |pilot| pilot.sampled_misses(tenant)),
            };
            let misses = now.misses.saturating_sub(before.misses);
            let mut causes = [0; _];
            for ((sum, new), old) in causes.iter_mut().zip(now.causes).zip(before.causes) {
                *sum = small(new.saturating_sub(old));
            }
            let budget = shown.own_pool(tenant).map_or(0, |budget| budget.0);
            let expected = self.expected.get(at).copied().flatten();
            points.push(Point {
                unix_s: small(unix_s),
                reads: small(now.reads.saturating_sub(before.reads)),
                misses: small(misses),
                causes,
                sampled: small(now.sampled.saturating_sub(before.sampled)),
                wait_ms: (misses as f64 * stats.penalty.mean.as_f64() / 1e3) as f32,
                used_kib: small(stats.used.0 >> 10),
                budget_kib: small(budget >> 10),
                forecast: expected.map_or(-1.0, |ratio| ratio as f32),
            });
            *before = now;
        }
        let names = view.names.iter().map(String::as_str);
        server.observed.lock_history().push(names.zip(points));
    }

    fn note_settings(&mut self, server: &Server, view: &View, unix_s: u64) {
        let now = Noted::of(view);
        let (kind, differences) = match &self.noted {
            None => {
                let (recipe, memory) = (&now.recipe, now.maxmemory);
                let text = format!("started with recipe {recipe}, maxmemory {memory}");
                (ChangeKind::Start, vec![(text, vec![])])
            }
            Some(before) if *before == now => return,
            Some(before) => (ChangeKind::Setting, before.differences(&now, self.report.as_ref())),
        };
        self.noted = Some(now);
        let mut history = server.observed.lock_history();
        for (text, claims) in differences {
            history.note(Change { unix_s, kind, text, claims, ..Change::default() });
        }
    }
}

/// The miss ratio that the report expects of each tenant with its current memory: by its curve,
/// adjusted to the measurements of the last minutes. Empty for a cache that has just started.
fn expected(server: &Server, mut report: Report) -> Vec<Option<f64>> {
    if server.clock.micros().0 / 1_000_000 < STARTED_S {
        return vec![];
    }
    let history = server.observed.lock_history();
    let of = |tenant: &mut ::report::Tenant| {
        let now = report.server.now_unix_s;
        tenant.recent = history.recent(Some(&tenant.name), now, MEASURED_S);
        Some(Sizing::of(tenant)?.at(tenant.used).ratio)
    };
    report.tenants.iter_mut().map(of).collect()
}

/// Causes that only grow. A read of an unknown key keeps that cause in its second, even if it later
/// turns out that the read came too early.
const fn as_seen(causes: Causes) -> Causes {
    let [never, evicted, expired, deleted, early] = causes;
    [never + early, evicted, expired, deleted, early]
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
