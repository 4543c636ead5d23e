//! The report: every fact that LARDER, the dashboard, `larder top` and the metrics show, gathered
//! from the store, the pilot and the history.

use super::process::{Parts, process};
use crate::server::{Server, View};
use crate::services::published::Reports;
use crate::services::published::{PilotSnapshot, SampleFacts};
use crate::services::top_keys::TopKeys;
use crate::settings::config::Value;
use crate::settings::pools::recipe_of;
use crate::text::os::{machine_memory, thread_time};
use ::report::{
    Compressed, CostClass, Counters, FetchClass, History, HotKey, Recent, Report, SAMPLES_MIN,
    Server as ServerFacts, Shrinks, SizeClass, TENANTS_MAX, Tenant, plans, plays, sizing,
};
use base::{Bytes, Micros, TenantId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use store::{CompressionStats, PenaltyClassStats, TenantStats};
use tune::Target;
use tune::pilot::SIZES;

/// The largest number of tenants with a division by size, because each needs a look at all shards.
const SIZED_MAX: usize = 64;

/// The largest number of hot keys for each tenant.
const HOT_KEYS_MAX: usize = 8;

/// The stretch of which moves of memory are reported, in seconds.
const MOVES_S: u64 = 3_600;

/// The largest number of changes.
const CHANGES_MAX: usize = 64;

/// The current report. If reports have taken 50 ms of processor time in this second, it is the last
/// one. So a client that asks all the time does not keep a worker from other clients.
pub(crate) fn report(server: &Server) -> Arc<Report> {
    const SPENT_MAX: Duration = Duration::from_millis(50);
    let second = server.clock.micros().0 / 1_000_000;
    let reports = || server.observed.lock_reports();
    {
        let mut kept = reports();
        if kept.second != second {
            *kept = Reports { second, ..Reports::default() };
        }
        if let Some(last) = kept.last.as_ref().filter(|_| kept.spent >= SPENT_MAX) {
            return Arc::clone(last);
        }
    }
    let start = thread_time();
    let made = Arc::new(new_report(server));
    let mut kept = reports();
    kept.spent += thread_time().saturating_sub(start);
    kept.last = Some(Arc::clone(&made));
    made
}

/// A report that is made now.
pub(crate) fn new_report(server: &Server) -> Report {
    // This is a copy, so that the pilot does not wait for this report.
    let history = server.observed.lock_history().clone();
    report_of(server, &history)
}

/// A report that is made now, with this history.
pub(crate) fn report_of(server: &Server, history: &History) -> Report {
    let view = server.view.now();
    let shown = server.observed.pilot.shown();
    let now_unix_s = server.clock.now().unix_ms / 1_000;
    let mut hottest = TopKeys::default();
    for worker in &server.stats.workers {
        hottest.add(&worker.hottest());
    }
    let stats = server.store.all_stats();
    let compression = server.store.all_compression_stats();
    let mut tenants = Vec::with_capacity(view.names.len());
    let names: Vec<_> = view.names.iter().map(String::as_str).collect();
    let shifts = history.shifts(&names, now_unix_s);
    let lately = history.lately(now_unix_s);
    for (at, ((name, stats), shift)) in view.names.iter().zip(&stats).zip(shifts).enumerate() {
        let id = at as TenantId;
        let told = shown.told.get(at);
        let mut tenant = tenant(&view, &shown, id, stats);
        tenant.policy = policy_of(server, &view, &shown, id);
        tenant.recent = history.of(Some(name), lately);
        if lately.quiet_s == 0 {
            tenant.silent_s = history.silent_s(name, now_unix_s);
        }
        tenant.first_reads_fall = history.first_reads_fall(name, lately);
        // One span for all figures: what a miss costs is of the same misses.
        tenant.penalty_us = tenant.recent.miss_us().or(tenant.penalty_us);
        tenant.shift = shift;
        tenant.compressed = compressed(server, id, compression.get(at));
        tenant.hot_keys = hottest.of(id).into_iter().take(HOT_KEYS_MAX).map(hot_key).collect();
        tenant.twice_the_ttl = told.and_then(|told| told.twice_the_ttl);
        if at < SIZED_MAX && tenant.used > 0 {
            tenant.sizes = sizes(server, id, told);
            tenant.costs = costs(server, id);
            tenant.fetches = fetches(server, id);
        }
        tenants.push(tenant);
    }
    let mut facts = server_facts(server, &view, &shown, now_unix_s);
    facts.models += history.bytes() as u64;
    facts.quiet_s = lately.quiet_s;
    let changes: Vec<_> = history.changes().rev().take(CHANGES_MAX).cloned().collect();
    // Totals are sums of rows; if tenants are very many, not all have a series.
    let recent = if tenants.len() < TENANTS_MAX {
        Recent::sum(tenants.iter().map(|tenant| &tenant.recent))
    } else {
        history.of(None, lately)
    };
    let mut report = Report {
        server: facts,
        recent,
        tenants,
        changes: changes.into_iter().rev().collect(),
        moves: history.moves(now_unix_s.saturating_sub(MOVES_S), now_unix_s),
        forecasts: history.forecasts(),
        gains: history.gains(now_unix_s),
        ..Report::default()
    };
    // Claims rest on no load from before the last change.
    let back_s = now_unix_s.saturating_sub(lately.from_unix_s);
    let since = server.clock.micros().saturating_sub(Micros::from_secs(back_s));
    if let Some(replayed) = shown.replayed.as_ref().filter(|replayed| replayed.at > since) {
        plays::take(&mut report, replayed, |evictor| evictor.setting());
    }
    history.widen(&mut report.tenants, lately);
    let saves: Vec<_> = report.tenants.iter().map(sizing::mib_saves_us).collect();
    for (tenant, saves) in report.tenants.iter_mut().zip(saves) {
        tenant.mib_saves_us = saves;
    }
    let totals = server.stats.since_start(server.counters());
    let bytes = (report.server.resident, report.server.models);
    report.process = Some(process(&parts_of(server), &totals, view.settings.maxclients, bytes));
    debug_assert_eq!(report.check(), Ok(()));
    report
}

fn server_facts(
    server: &Server,
    view: &View,
    shown: &PilotSnapshot,
    now_unix_s: u64,
) -> ServerFacts {
    let settings = &view.settings;
    let (used, divided) = memory(server);
    let status = shown.status.as_ref();
    let offset = jiff::Zoned::now().offset().seconds();
    ServerFacts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        now_unix_s,
        utc_offset_s: offset,
        uptime_s: server.clock.micros().0 / 1_000_000,
        quiet_s: 0,
        recipe: recipe_of(settings).to_string(),
        policy: settings.maxmemory_policy.name(),
        maxmemory: settings.maxmemory.0,
        divided: if settings.maxmemory == Bytes(0) { 0 } else { divided.0 },
        used: used.0,
        resident: server.stats.resident().0,
        machine: machine_memory(),
        clients: server.clients.all().len() as u64,
        refused: server.stats.errors().get("OOM").copied().unwrap_or_default(),
        sampled: status.map_or(0.0, |status| status.rate),
        models: models(shown),
        compression: settings.compression.mode.show(),
    }
}

/// Bytes of models and observer.
pub(crate) fn models(shown: &PilotSnapshot) -> u64 {
    let status = shown.status.as_ref();
    status.map_or(0, |status| status.model_bytes.0 + status.observer_bytes.0)
}

/// The parts of a server that know its process.
pub(crate) fn parts_of(server: &Server) -> Parts<'_> {
    let Server { stats, store, clients, observed, .. } = server;
    Parts { stats, store, clients, threads: &observed.threads }
}

fn tenant(view: &View, shown: &PilotSnapshot, id: TenantId, stats: &TenantStats) -> Tenant {
    let config = view.tenant(id);
    let counters = &stats.counters;
    let curve = shown.curves.iter().find(|(tenant, _)| *tenant == id);
    Tenant {
        used: stats.used.0,
        budget: shown.own_pool(id).map(|budget| budget.0),
        min: config.min.0,
        max: config.max.map(|max| max.0),
        weight: config.weight,
        target: config.target.map(|target| match target {
            Target::MissRatio(ratio) => ratio.to_string(),
            Target::MeanUs(us) => format!("{us}us"),
        }),
        line: view
            .settings
            .tenants
            .iter()
            .find(|one| one.name == config.name)
            .map(ToString::to_string),
        items: stats.len.items,
        counters: Counters {
            hits: counters.hits,
            misses: counters.misses,
            misses_expired: counters.misses_expired,
            writes: counters.sets,
            deletes: counters.deletes,
            expired: counters.expired,
            expired_swept: counters.expired_swept,
            expired_for_room: counters.expired_for_room,
            evicted: counters.evicted,
            evicted_bytes: counters.evicted_bytes,
            not_admitted: counters.not_admitted,
        },
        penalty_us: (stats.penalty.count >= 1.0).then(|| stats.penalty.mean.as_f64()),
        curve: curve.and_then(|(_, candidates)| plans::curve(candidates)),
        name: config.name,
        ..Tenant::default()
    }
}

/// The compressed values of a tenant, and how far sampled values shrink.
fn compressed(server: &Server, id: TenantId, stats: Option<&CompressionStats>) -> Compressed {
    let stats = stats.copied().unwrap_or_default();
    let samples = server.store.value_samples(id);
    Compressed {
        items: stats.items,
        plain: stats.plain.0,
        stored: stats.stored.0,
        processor_us: (stats.read_nanos + stats.write_nanos) as f64 / 1e3,
        sampled: (samples.values >= SAMPLES_MIN).then(|| Shrinks {
            values: samples.values,
            values_to: samples.ratio(),
            memory_to: samples.charge_ratio(),
        }),
    }
}

fn policy_of(server: &Server, view: &View, shown: &PilotSnapshot, id: TenantId) -> String {
    match shown.pool(id) {
        Some((_, evictor)) => evictor.to_string(),
        None if view.settings.maxmemory_policy.is_auto() => {
            format!("{:?}", server.store.evictor(id).rank)
        }
        None => view.settings.maxmemory_policy.name(),
    }
}

fn hot_key((key, share): (&[u8], f64)) -> HotKey {
    HotKey { key: String::from_utf8_lossy(key).into_owned(), share }
}

/// Items and hits by powers of two of their size.
fn sizes(server: &Server, id: TenantId, told: Option<&SampleFacts>) -> Vec<SizeClass> {
    let mut all: BTreeMap<u32, SizeClass> = BTreeMap::new();
    for class in server.store.size_class_stats(id, server.clock.now()) {
        if class.items == 0 {
            continue;
        }
        // Items with pages to themselves have no chunk size, so their mean size is used.
        let size = if class.chunk.0 > 0 { class.chunk.0 } else { class.bytes.0 / class.items };
        let power = size.max(1).ilog2();
        let sum =
            all.entry(power).or_insert(SizeClass { size: 2 << power, ..SizeClass::default() });
        sum.used += class.bytes.0;
        sum.items += class.items;
    }
    for (power, &hits) in told.map_or(&[0; SIZES][..], |told| &told.hits).iter().enumerate() {
        if let Some(sum) = all.get_mut(&(power as u32)) {
            sum.hits += u64::from(hits);
        }
    }
    all.into_values().collect()
}

/// Misses and memory by the class of the cost of a miss.
fn costs(server: &Server, id: TenantId) -> Vec<CostClass> {
    let all = server.store.penalty_class_stats(id);
    let known = all.iter().filter(|class| class.misses > 0 && class.class > 0);
    let cost = |class: &PenaltyClassStats| CostClass {
        us: base::penalty::of_class(class.class).as_f64(),
        misses: class.misses,
        used: class.used.0,
    };
    known.map(cost).collect()
}

/// The timed misses by the class of their cost, from the first to the last class with any.
fn fetches(server: &Server, id: TenantId) -> Vec<FetchClass> {
    let weights = server.store.fetch_times(id);
    let all: f64 = weights.iter().sum();
    let known = |weight: &f64| *weight > 0.0;
    let ends = weights.iter().position(known).zip(weights.iter().rposition(known));
    let Some((first, last)) = ends else { return vec![] };
    let class = |at: usize| FetchClass {
        us: base::penalty::above(at as u8).as_f64(),
        share: weights[at] / all,
    };
    (first..=last).map(class).collect()
}

/// The memory in use, and the limit that is divided.
pub(crate) fn memory(server: &Server) -> (Bytes, Bytes) {
    let store = &server.store;
    (store.used(), store.limit().saturating_sub(store.reserve()))
}
