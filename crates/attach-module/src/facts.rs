//! The facts about an attached server, in the words of the report, and their history.

use crate::exchange::{Exchange, Look};
use base::{Bytes, Micros, TenantId};
use report::{
    Change, Counters, Curve, Forecasts, History, Moved, Point, Report, Server, Shift, Tenant,
};
use std::time::{SystemTime, UNIX_EPOCH};
use tune::pilot::{Decision, Epoch};
use tune::snapshot::{Candidate, best};
use tune::{Pilot, Step, TenantReading};

/// The stretch that *lately* means, in seconds.
const RECENT_S: u64 = 600;

/// How far back a change of a tenant's misses is looked for.
const SHIFT_S: u64 = 2 * 3_600;

/// Points of a series in which a change is sought.
const SHIFT_POINTS: usize = 120;

/// Points of a curve.
const POINTS: u64 = 32;

/// Changes that are shown.
const CHANGES_MAX: usize = 64;

/// A share of the memory that changes hands by a plan and is worth a line.
const MOVED_MIN: f64 = 0.02;

/// The time, in seconds since 1970.
fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// The policy and the memory of the pool that is a tenant's alone.
pub(crate) fn own_pool(step: Option<&Step>, tenant: TenantId) -> Option<&tune::PoolStep> {
    step?.pools.iter().find(|pool| pool.tenants == [tenant])
}

/// All that is known now.
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
    let mut tenants: Vec<_> = look
        .tenants
        .iter()
        .map(|known| {
            let evicted = look.evicted.get(usize::from(known.id)).copied().unwrap_or_default();
            let mut tenant = tenant(known, step, evicted);
            tenant.target = look.goals.iter().find(|goal| goal.tenant == known.id).map(|goal| {
                match goal.target {
                    tune::Target::MissRatio(ratio) => ratio.to_string(),
                    tune::Target::MeanUs(us) => format!("{us}us"),
                }
            });
            tenant.recent = history.recent(Some(&known.name), at, RECENT_S);
            tenant.curve = curves.get(usize::from(known.id)).and_then(|all| curve(all));
            tenant.twice_the_ttl = pilot.and_then(|pilot| pilot.twice_the_ttl(known.id));
            let from = at.saturating_sub(SHIFT_S);
            tenant.shift = Shift::of(&coarse(&history.since(Some(&known.name), from)));
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
        server: server(look, pilot, now, at, &history),
        recent: history.recent(None, at, RECENT_S),
        tenants,
        changes: changes.into_iter().rev().collect(),
        forecasts: Forecasts::of(history.errors()),
        policies: vec![],
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

/// The best of the policies at each size.
fn curve(candidates: &[Candidate]) -> Option<Curve> {
    let first = candidates.first()?;
    let end = candidates.iter().map(|candidate| candidate.curve.extent()).max()?;
    let mut sizes: Vec<_> = (0..=POINTS).map(|step| Bytes(end.0 / POINTS * step)).collect();
    sizes.dedup();
    let mut curve = Curve { reads: first.reads.min(1e15), ..Curve::default() };
    for size in sizes {
        curve.sizes.push(size.0);
        curve.ratios.push(best(candidates, size).map_or(1.0, |(ratio, _)| ratio));
    }
    Some(curve)
}

fn coarse(points: &[Point]) -> Vec<Point> {
    let each = points.len().div_ceil(SHIFT_POINTS).max(1);
    points.chunks(each).map(Point::sum).collect()
}

/// Writes the history: once a second what every tenant did since, and plans that came into force.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    second: u64,
    /// Reads and misses of each tenant at the last look.
    before: Vec<(u64, u64)>,
    generation: u64,
    state: String,
    /// The last epoch noted, and whether its change waits for what came of it.
    epoch: u64,
    awaited: bool,
}

impl Recorder {
    /// One look; true once a second.
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
            exchange.history().note(Change { unix_s: now, text, ..Change::default() });
            *self = Self { second: now, generation: look.generation, ..Self::default() };
        }
        if self.state != look.state {
            self.state.clone_from(&look.state);
            let text = look.state.clone();
            exchange.history().note(Change { unix_s: now, text, ..Change::default() });
        }
        if let Some(pilot) = pilot {
            self.note_plans(exchange, pilot, now);
        }
        self.before.resize(look.tenants.len(), (0, 0));
        let mut points = vec![];
        for (known, before) in look.tenants.iter().zip(&mut self.before) {
            let (gets, misses) = (known.gets, known.misses);
            let missed = misses.saturating_sub(before.1);
            let penalty = known.penalty.map_or(0.0, Micros::as_f64);
            points.push(Point {
                unix_s: small(now),
                // A tenant's reads may be an estimate; its misses are reads.
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
        true
    }

    fn note_plans(&mut self, exchange: &Exchange, pilot: &Pilot, unix_s: u64) {
        let epochs = pilot.history();
        for (at, epoch) in epochs.iter().enumerate() {
            if self.awaited && epoch.epoch == self.epoch && epoch.outcome.is_some() {
                if let Some(change) = exchange.history().last_change() {
                    (change.expected, change.came) = (epoch.forecast, epoch.outcome);
                }
                self.awaited = false;
            }
            if epoch.epoch <= self.epoch {
                continue;
            }
            self.epoch = epoch.epoch;
            let before = at.checked_sub(1).and_then(|at| epochs.get(at));
            if let Some(change) = change_of(epoch, before, unix_s) {
                exchange.history().note(change);
                self.awaited = true;
            }
        }
    }
}

/// A plan that came into force, if it moved anything worth a line.
fn change_of(epoch: &Epoch, before: Option<&Epoch>, unix_s: u64) -> Option<Change> {
    let text = match epoch.decision {
        Decision::Adopted => "a plan is in force",
        Decision::Reversed => "a plan takes back the one before",
        Decision::FellBack => "an earlier division is in force again, for the last broke its word",
        Decision::Learning | Decision::Kept | Decision::Cooling | Decision::Advised => return None,
    };
    let all: u64 = epoch.pools.iter().map(|pool| pool.budget.0).sum();
    let old = |name: &str| before?.pools.iter().find(|pool| pool.name == name);
    let mut moved = vec![];
    let mut phrases = vec![text.to_owned()];
    for pool in &epoch.pools {
        let Some(old) = old(&pool.name) else { continue };
        if old.evictor != pool.evictor {
            phrases.push(format!("{} evicts by {}", pool.name, pool.evictor));
        }
        let (before, after) = (old.budget.0, pool.budget.0);
        if after.abs_diff(before) as f64 >= MOVED_MIN * all as f64 {
            moved.push(Moved { tenant: pool.name.clone(), before, after });
        }
    }
    let promised = Some(epoch.gain).filter(|gain| gain.is_finite() && *gain > 0.0);
    let is_news = phrases.len() > 1 || !moved.is_empty();
    let text = phrases.join(", ");
    is_news.then_some(Change { unix_s, text, moved, promised, expected: None, came: None })
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
