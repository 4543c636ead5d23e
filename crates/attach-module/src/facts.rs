//! The facts about an attached server, in the words of the report, and their history.

use crate::exchange::{Exchange, Look};
use base::{Micros, TenantId};
use report::plans::Plans;
use report::{Change, ChangeKind, Counters, History, Point, Report, Server, Tenant, plans};
use std::time::{SystemTime, UNIX_EPOCH};
use tune::snapshot::Candidate;
use tune::{Pilot, Step, TenantReading};

/// The stretch of which moves of memory are reported, in seconds.
const MOVES_S: u64 = 3_600;

/// Maximum number of changes in a report.
const CHANGES_MAX: usize = 64;

/// The time, in seconds since 1970.
fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// The pool that a tenant has for itself, if any.
pub(crate) fn own_pool(step: Option<&Step>, tenant: TenantId) -> Option<&tune::PoolStep> {
    step?.pools.iter().find(|pool| pool.tenants == [tenant])
}

/// The report on the server as of now.
pub(crate) fn report(
    exchange: &Exchange,
    look: &Look,
    pilot: Option<&Pilot>,
    step: Option<&Step>,
    curves: &[Vec<Candidate>],
    now: Micros,
) -> Report {
    let history = exchange.history();
    let at = unix_s();
    let names: Vec<_> = look.tenants.iter().map(|tenant| tenant.name.as_str()).collect();
    let shifts = history.shifts(&names, at);
    let lately = history.lately_since(&shifts, at);
    let mut tenants: Vec<_> = look
        .tenants
        .iter()
        .zip(shifts)
        .map(|(known, shift)| {
            let evicted = look.evicted.get(usize::from(known.id)).copied().unwrap_or_default();
            let mut tenant = tenant(known, step, evicted);
            tenant.target = look.goals.iter().find(|goal| goal.tenant == known.id).map(|goal| {
                match goal.target {
                    tune::Target::MissRatio(ratio) => ratio.to_string(),
                    tune::Target::MeanUs(us) => format!("{us}us"),
                }
            });
            tenant.recent = history.of(Some(&known.name), lately);
            tenant.first_reads_fall = history.first_reads_fall(&known.name, lately);
            tenant.curve = curves.get(usize::from(known.id)).and_then(|all| plans::curve(all));
            tenant.twice_the_ttl = pilot.and_then(|pilot| pilot.twice_the_ttl(known.id));
            tenant.penalty_us = tenant.recent.miss_us().or(tenant.penalty_us);
            tenant.shift = shift;
            tenant
        })
        .collect();
    tenants.retain(|tenant| {
        tenant.name != tune::tenant::DEFAULT_NAME
            || look.tenants.len() == 1
            || tenant.items > 0
            || tenant.counters.reads() > 0
    });
    let changes: Vec<_> = history.changes().rev().take(CHANGES_MAX).cloned().collect();
    Report {
        server: Server { quiet_s: lately.quiet_s, ..server(look, pilot, now, at, &history) },
        recent: history.of(None, lately),
        tenants,
        changes: changes.into_iter().rev().collect(),
        moves: history.moves(at.saturating_sub(MOVES_S), at),
        forecasts: history.forecasts(),
        ..Report::default()
    }
}

fn server(look: &Look, pilot: Option<&Pilot>, now: Micros, at: u64, history: &History) -> Server {
    let status = pilot.map(Pilot::status);
    let models = status.as_ref().map_or(0, |s| s.model_bytes.0 + s.observer_bytes.0);
    Server {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        now_unix_s: at,
        utc_offset_s: 0,
        uptime_s: now.0 / 1_000_000,
        quiet_s: 0,
        recipe: look.recipe.map(|recipe| recipe.to_string()).unwrap_or_default(),
        policy: look.server.policy.clone(),
        maxmemory: look.server.limit,
        divided: look.limit.0,
        used: look.tenants.iter().map(|tenant| tenant.used.0).sum(),
        resident: look.server.resident,
        machine: look.server.machine,
        clients: 0,
        refused: 0,
        sampled: status.map_or(0.0, |status| status.rate),
        models: models + history.bytes() as u64,
        compression: String::new(),
    }
}

fn tenant(known: &TenantReading, step: Option<&Step>, evicted: u64) -> Tenant {
    let pool = own_pool(step, known.id);
    let policy = pool.or_else(|| step?.pools.iter().find(|p| p.tenants.contains(&known.id)));
    Tenant {
        name: known.name.clone(),
        used: known.used.0,
        budget: pool.map(|pool| pool.budget.0),
        min: known.min.0,
        max: known.max.map(|max| max.0),
        weight: known.weight,
        policy: policy.map(|pool| pool.evictor.to_string()).unwrap_or_default(),
        items: known.items,
        counters: Counters {
            hits: known.gets.saturating_sub(known.misses),
            misses: known.misses,
            writes: known.sets,
            evicted,
            ..Counters::default()
        },
        penalty_us: known.penalty.map(Micros::as_f64),
        ..Tenant::default()
    }
}

/// Writes the history: the activity of every tenant once a second, changes, and plans that came
/// into force.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    second: u64,
    /// Reads and misses of each tenant at the last look.
    before: Vec<(u64, u64)>,
    generation: u64,
    state: String,
    plans: Plans,
}

impl Recorder {
    /// Records a look. Returns true if it began a new second, and otherwise records nothing.
    pub(crate) fn look(
        &mut self,
        exchange: &Exchange,
        look: &Look,
        pilot: Option<&Pilot>,
        step: Option<&Step>,
    ) -> bool {
        let now = unix_s();
        if now <= self.second {
            return false;
        }
        self.second = now;
        if self.generation != look.generation {
            let recipe = look.recipe.map(|recipe| recipe.to_string()).unwrap_or_default();
            let text = format!("attached with recipe {recipe}, {} tenants", look.tenants.len());
            let kind = ChangeKind::Start;
            exchange.history().note(Change { unix_s: now, kind, text, ..Change::default() });
            *self = Self { second: now, generation: look.generation, ..Self::default() };
        }
        if self.state != look.state {
            self.state.clone_from(&look.state);
            let text = look.state.clone();
            let kind = ChangeKind::Setting;
            exchange.history().note(Change { unix_s: now, kind, text, ..Change::default() });
        }
        if let Some(pilot) = pilot {
            self.plans.note(pilot.history(), now, &mut exchange.history());
        }
        self.before.resize(look.tenants.len(), (0, 0));
        let mut points = vec![];
        for (known, before) in look.tenants.iter().zip(&mut self.before) {
            let (gets, misses) = (known.gets, known.misses);
            let missed = misses.saturating_sub(before.1);
            let penalty = known.penalty.map_or(0.0, Micros::as_f64);
            points.push(Point {
                unix_s: small(now),
                // A tenant's reads may be an estimate. They are at least its misses, which are
                // reads too.
                reads: small(gets.saturating_sub(before.0).max(missed)),
                misses: small(missed),
                wait_ms: (missed as f64 * penalty / 1e3) as f32,
                used_kib: small(known.used.0 >> 10),
                budget_kib: small(own_pool(step, known.id).map_or(0, |p| p.budget.0 >> 10)),
                forecast: -1.0,
                ..Point::default()
            });
            *before = (gets, misses);
        }
        let names = look.tenants.iter().map(|tenant| tenant.name.as_str());
        exchange.history().push(names.zip(points));
        exchange.history().complete(now);
        true
    }
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
