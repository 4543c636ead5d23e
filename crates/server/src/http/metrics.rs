//! The metrics, in the text format of Prometheus.
//!
//! Names begin with `larder_`; what belongs to a tenant has its name as a label, and nothing has a
//! label of which there may be many (no keys, no clients).

use crate::pilot::Shown;
use crate::report::report;
use crate::shared::Shared;
use crate::transfer;
use ::report::Report;
use ::report::finding::{self, Severity};
use base::{Bytes, Cause, TenantId};
use std::fmt::{Display, Write};
use std::sync::atomic::Ordering;
use store::TenantStats;
use tune::pilot::PoolEpoch;
use tune::snapshot::best;

/// Lines of the format, each metric with what it means.
struct Page(String);

/// A label's name and value.
type Label<'a> = (&'a str, &'a str);

impl Page {
    /// Begins a metric of `kind` (counter or gauge).
    fn metric(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a String does not fail.
        let _ = write!(self.0, "# HELP larder_{name} {help}\n# TYPE larder_{name} {kind}\n");
    }

    /// A sample of a metric that was begun.
    fn sample(&mut self, name: &str, labels: &[Label<'_>], value: impl Display) {
        let _ = write!(self.0, "larder_{name}");
        for (at, (label, text)) in labels.iter().enumerate() {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{}{label}=\"{text}\"", if at == 0 { '{' } else { ',' });
        }
        let _ = writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }

    fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.metric(name, "counter", help);
        self.sample(name, &[], value);
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.metric(name, "gauge", help);
        self.sample(name, &[], value);
    }
}

/// The whole page.
pub(super) fn text(shared: &Shared) -> String {
    let mut page = Page(String::with_capacity(16 << 10));
    server(shared, &mut page);
    memory(shared, &mut page);
    traffic(shared, &mut page);
    pauses(shared, &mut page);
    tenants(shared, &mut page);
    pilot(&shared.published.shown(), &mut page);
    answers(&report(shared), &mut page);
    transfers(shared, &mut page);
    page.0
}

fn server(shared: &Shared, page: &mut Page) {
    let view = shared.view();
    page.metric("info", "gauge", "What runs, always 1.");
    let labels = [
        ("version", env!("CARGO_PKG_VERSION")),
        ("policy", &view.settings.maxmemory_policy.name()),
        ("recipe", &view.settings.recipe.to_string()),
    ];
    page.sample("info", &labels, 1);
    page.gauge("uptime_seconds", "Since it started.", shared.clock.micros().0 / 1_000_000);
    page.gauge("clients", "Connected clients.", shared.clients.all().len());
    page.gauge("clients_max", "Clients that may be connected.", view.settings.maxclients);
    let (user, system) = crate::housekeeping::cpu_seconds();
    page.metric("cpu_seconds_total", "counter", "Time of processors.");
    page.sample("cpu_seconds_total", &[("mode", "user")], user);
    page.sample("cpu_seconds_total", &[("mode", "system")], system);
}

fn memory(shared: &Shared, page: &mut Page) {
    let (used, limit) = shared.memory();
    page.gauge("memory_used_bytes", "Data with its metadata and tables.", used.0);
    page.gauge("memory_max_bytes", "What that may be (maxmemory); 0 for no limit.", limit.0);
    let reserve = shared.store.reserve();
    page.gauge("memory_reserve_bytes", "Of that, set aside for the allocator.", reserve.0);
    page.gauge("memory_resident_bytes", "Memory of the process.", shared.resident().0);
    let load = |value: &std::sync::atomic::AtomicU64| value.load(Ordering::Relaxed);
    let clients = shared.clients.all();
    let buffers: u64 = clients.iter().map(|c| load(&c.input) + load(&c.output)).sum();
    page.gauge("client_buffer_bytes", "Unfinished commands and unread replies.", buffers);
}

fn traffic(shared: &Shared, page: &mut Page) {
    let totals = shared.stats.since_start(shared.counters());
    page.counter("connections_total", "Connections accepted.", totals.connections);
    page.counter(
        "connections_rejected_total",
        "Connections above maxclients.",
        totals.rejected_connections,
    );
    page.counter("received_bytes_total", "Bytes from clients.", totals.net_in);
    page.counter("sent_bytes_total", "Bytes to clients.", totals.net_out);
    let called = || totals.commands.iter().enumerate().filter(|(_, c)| c.calls + c.rejected > 0);
    page.metric("commands_total", "counter", "Commands carried out.");
    for (number, counted) in called() {
        let name = crate::commands::name_of(number as u16);
        page.sample("commands_total", &[("command", name)], counted.calls);
    }
    page.metric("commands_failed_total", "counter", "Commands answered with an error.");
    for (number, counted) in called().filter(|(_, c)| c.failed + c.rejected > 0) {
        let name = crate::commands::name_of(number as u16);
        let failed = counted.failed + counted.rejected;
        page.sample("commands_failed_total", &[("command", name)], failed);
    }
    page.metric(
        "commands_seconds_total",
        "counter",
        "Time of commands, estimated from a sample of them.",
    );
    for (number, counted) in called().filter(|(_, c)| c.timed > 0) {
        let name = crate::commands::name_of(number as u16);
        let seconds = counted.micros() as f64 / 1e6;
        page.sample("commands_seconds_total", &[("command", name)], seconds);
    }
    page.metric("errors_total", "counter", "Error replies by their first word.");
    for (code, count) in shared.stats.errors() {
        page.sample("errors_total", &[("code", &code)], count);
    }
    let load = |value: &std::sync::atomic::AtomicU64| value.load(Ordering::Relaxed);
    page.metric("clients_cut_total", "counter", "Clients closed at a limit of their buffers.");
    let (query, output) = (&shared.stats.query_limit_closed, &shared.stats.output_limit_closed);
    page.sample("clients_cut_total", &[("buffer", "query")], load(query));
    page.sample("clients_cut_total", &[("buffer", "output")], load(output));
}

/// Time that operations took to make room, all of them, by either protocol.
fn pauses(shared: &Shared, page: &mut Page) {
    /// Upper ends of the buckets, in nanoseconds.
    const ENDS: [u64; 12] = [
        500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000,
        10_000_000,
    ];
    let pauses = shared.store.pauses();
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    let help = "Time that operations spent evicting, those that did.";
    page.metric("eviction_pause_seconds", "histogram", help);
    for end in ENDS {
        let label = seconds(end).to_string();
        page.sample("eviction_pause_seconds_bucket", &[("le", &label)], pauses.within(end));
    }
    page.sample("eviction_pause_seconds_bucket", &[("le", "+Inf")], pauses.count);
    page.sample("eviction_pause_seconds_sum", &[], seconds(pauses.nanos));
    page.sample("eviction_pause_seconds_count", &[], pauses.count);
    page.gauge("eviction_pause_max_seconds", "The longest.", seconds(pauses.nanos_max));
    let help = "Victims of a single operation, at most: items or pages.";
    page.gauge("eviction_pause_max_victims", help, pauses.victims_max);
}

/// Reads a number of a tenant.
type Read = fn(&TenantStats) -> u64;

fn tenants(shared: &Shared, page: &mut Page) {
    let view = shared.view();
    let shown = shared.published.shown();
    let all: Vec<(TenantId, String, TenantStats)> = view
        .names
        .iter()
        .enumerate()
        .map(|(at, name)| (at as TenantId, name.clone(), shared.store.tenant_stats(at as TenantId)))
        .collect();
    let counters: &[(&str, &str, Read)] = &[
        ("hits_total", "Reads that found their item.", |t| t.counters.hits),
        ("writes_total", "Writes of a value.", |t| t.counters.sets),
        ("deletes_total", "Items removed on request.", |t| t.counters.deletes),
        ("expired_total", "Items that died of age.", |t| t.counters.expired),
        ("expired_swept_total", "Of those, found by the sweep.", |t| t.counters.expired_swept),
        ("expired_for_room_total", "Of those, found by writes that needed room.", |t| {
            t.counters.expired_for_room
        }),
        ("evicted_total", "Items that left to make room.", |t| t.counters.evicted),
        ("evicted_bytes_total", "Bytes of those.", |t| t.counters.evicted_bytes),
    ];
    for (name, help, read) in counters {
        page.metric(name, "counter", help);
        for (_, tenant, stats) in &all {
            page.sample(name, &[("tenant", tenant)], read(stats));
        }
    }
    page.metric(
        "misses_total",
        "counter",
        "Reads that found nothing: a dead item (expired), or none (absent).",
    );
    for (_, tenant, stats) in &all {
        let (missed, dead) = (stats.counters.misses, stats.counters.misses_expired);
        page.sample("misses_total", &[("tenant", tenant), ("kind", "expired")], dead);
        page.sample("misses_total", &[("tenant", tenant), ("kind", "absent")], missed - dead);
    }
    let gauges: &[(&str, &str, Read)] = &[
        ("tenant_used_bytes", "Memory of a tenant.", |t| t.used.0),
        ("tenant_items", "Items of a tenant.", |t| t.len.items),
    ];
    for (name, help, read) in gauges {
        page.metric(name, "gauge", help);
        for (_, tenant, stats) in &all {
            page.sample(name, &[("tenant", tenant)], read(stats));
        }
    }
    page.metric("tenant_min_bytes", "gauge", "Memory that others may not take.");
    for (id, tenant, _) in &all {
        page.sample("tenant_min_bytes", &[("tenant", tenant)], view.tenant(*id).min.0);
    }
    page.metric("tenant_max_bytes", "gauge", "Memory it may take, where there is a limit.");
    for (id, tenant, _) in &all {
        if let Some(max) = view.tenant(*id).max {
            page.sample("tenant_max_bytes", &[("tenant", tenant)], max.0);
        }
    }
    page.metric("tenant_budget_bytes", "gauge", "Memory the plan in force gives to its pool.");
    for (id, tenant, _) in &all {
        if let Some((budget, _)) = shown.pool(*id) {
            page.sample("tenant_budget_bytes", &[("tenant", tenant)], budget.0);
        }
    }
    pages(&shown, page);
    page.metric("miss_penalty_seconds", "gauge", "Mean cost of a miss, where it was measured.");
    for (_, tenant, stats) in &all {
        if stats.penalty.count > 0.0 {
            let seconds = stats.penalty.mean.0 as f64 / 1e6;
            page.sample("miss_penalty_seconds", &[("tenant", tenant)], seconds);
        }
    }
    predictions(&shown, &all, page);
}

/// Pages of each class of sizes, and what was forecast and came of it, where the recipe divides
/// pages.
fn pages(shown: &Shown, page: &mut Page) {
    let history = shown.status.as_ref().map_or(&[][..], |status| &status.history);
    let [.., before, last] = history else { return };
    let by_class = |pool: &&PoolEpoch| pool.pages.is_some();
    if last.pools.iter().any(|pool| by_class(&pool)) {
        page.metric("class_pages", "gauge", "Pages that a class of sizes holds.");
        for pool in last.pools.iter().filter(by_class) {
            page.sample("class_pages", &[("class", &pool.name)], pool.pages.unwrap_or(0));
        }
        let forecast: fn(&PoolEpoch) -> Option<f64> = |pool| pool.forecast;
        for (name, help, of) in [
            ("class_forecast", "Miss ratio that was expected of the epoch that ended.", forecast),
            ("class_outcome", "Miss ratio of the epoch that ended.", |pool| pool.outcome),
        ] {
            page.metric(name, "gauge", help);
            for pool in before.pools.iter().filter(by_class) {
                if let Some(ratio) = of(pool) {
                    page.sample(name, &[("class", &pool.name)], ratio);
                }
            }
        }
    }
}

/// Miss ratios that half, all and twice the memory would give, by the curve of the best policy.
fn predictions(shown: &Shown, all: &[(TenantId, String, TenantStats)], page: &mut Page) {
    page.metric(
        "predicted_miss_ratio",
        "gauge",
        "Miss ratio with half, the same and twice the memory the tenant has.",
    );
    for (id, tenant, stats) in all {
        let found = shown.curves.iter().find(|(of, _)| of == id);
        for (size, factor) in [("0.5x", 0.5), ("1x", 1.0), ("2x", 2.0)] {
            let bytes = Bytes((stats.used.as_f64() * factor) as u64);
            if let Some((ratio, _)) = found.and_then(|(_, candidates)| best(candidates, bytes)) {
                page.sample("predicted_miss_ratio", &[("tenant", tenant), ("size", size)], ratio);
            }
        }
    }
}

fn pilot(shown: &Shown, page: &mut Page) {
    let Some(status) = &shown.status else { return };
    page.counter("epochs_total", "Rounds of the loop.", status.epoch);
    page.gauge("sample_ratio", "Share of the keys that are sampled.", status.rate);
    page.counter("samples_total", "Requests the models saw.", status.samples);
    page.counter("samples_dropped_total", "Samples lost to full queues.", status.dropped);
    page.gauge("model_bytes", "Memory of the models.", status.model_bytes.0);
    let observer = status.observer_bytes.0;
    page.gauge("observer_bytes", "Memory of what joins misses with their fills.", observer);
    if let Some(epoch) = status.history.last() {
        let help = "What the last plan promised to save, as a share of the cost.";
        page.gauge("plan_gain_ratio", help, epoch.gain);
        page.gauge("plan_threshold_ratio", "What it had to promise.", epoch.threshold);
        page.gauge("plan_moved_bytes", "Bytes that changed hands.", epoch.moved.0);
    }
    // The last epoch whose outcome is known: its forecast and what came of it.
    let known = status.history.iter().rev().nth(1);
    let pools = known.map_or(&[][..], |epoch| &epoch.pools);
    page.metric("forecast_miss_ratio", "gauge", "Miss ratio expected of a pool in an epoch.");
    for pool in pools {
        if let Some(ratio) = pool.forecast {
            page.sample("forecast_miss_ratio", &[("pool", &pool.name)], ratio);
        }
    }
    page.metric("outcome_miss_ratio", "gauge", "Miss ratio measured in that epoch.");
    for pool in pools {
        if let Some(ratio) = pool.outcome {
            page.sample("outcome_miss_ratio", &[("pool", &pool.name)], ratio);
        }
    }
}

/// What the report makes of it all, over the last ten minutes.
fn answers(report: &Report, page: &mut Page) {
    page.metric(
        "miss_cause_ratio",
        "gauge",
        "Share of the reads that missed lately, by cause, from sampled keys.",
    );
    for tenant in &report.tenants {
        for cause in Cause::ALL {
            if let Some(share) = tenant.recent.missed_for(cause) {
                let labels = [("tenant", tenant.name.as_str()), ("cause", cause.name())];
                page.sample("miss_cause_ratio", &labels, share);
            }
        }
    }
    let help = "Waiting for misses in every second, lately: misses times what one costs.";
    page.metric("waiting_ratio", "gauge", help);
    for tenant in &report.tenants {
        let seconds = tenant.recent.wait_ms_per_s() / 1e3;
        page.sample("waiting_ratio", &[("tenant", &tenant.name)], seconds);
    }
    page.metric("findings", "gauge", "What LARDER ADVISE finds, by kind and severity.");
    let found = finding::all(report);
    for one in &found {
        let severity = match one.severity {
            Severity::Note => "note",
            Severity::Advice => "advice",
            Severity::Warning => "warning",
        };
        let tenant = one.tenant.as_deref().unwrap_or_default();
        let labels =
            [("finding", one.finding.as_str()), ("severity", severity), ("tenant", tenant)];
        page.sample("findings", &labels, 1);
    }
    let help = "95 % of the forecasts of miss ratios were off by no more.";
    page.metric("forecast_error_ratio", "gauge", help);
    if report.forecasts.count > 0 {
        page.sample("forecast_error_ratio", &[], report.forecasts.most);
    }
}

/// Reads a number of what is shown of a tenant's transfers.
type Show = fn(&transfer::Shown) -> u64;

/// Dumps and loads, where anything may be.
fn transfers(shared: &Shared, page: &mut Page) {
    let view = shared.view();
    if view.settings.dump_max == Bytes(0) {
        return;
    }
    let all: Vec<_> = (0..view.names.len() as TenantId)
        .map(|id| (&view.names[usize::from(id)], shared.transfers.shown(id), shared.store.away(id)))
        .collect();
    let help = "From one peak to the next, where a load has a period.";
    page.metric("tide_period_seconds", "gauge", help);
    for (tenant, shown, _) in &all {
        if let Some(period) = shown.period_s {
            page.sample("tide_period_seconds", &[("tenant", tenant)], period);
        }
    }
    page.metric("dump_items", "gauge", "Items with a good copy on the disk.");
    for (tenant, _, (items, _)) in &all {
        page.sample("dump_items", &[("tenant", tenant)], items);
    }
    page.metric("dump_index_bytes", "gauge", "Memory that tells them from outdated ones.");
    for (tenant, _, (_, index)) in &all {
        page.sample("dump_index_bytes", &[("tenant", tenant)], index.0);
    }
    let read: [(&str, &str, &str, Show); 5] = [
        ("dump_disk_bytes", "gauge", "Disk that dumps take.", |shown| shown.disk),
        ("dumps_total", "counter", "Dumps that ended.", |shown| shown.dumps),
        ("dumped_items_total", "counter", "Items they copied.", |shown| shown.dumped),
        ("loads_total", "counter", "Loads that ended.", |shown| shown.loads),
        ("loaded_items_total", "counter", "Items they brought back.", |shown| shown.loaded),
    ];
    for (name, kind, help, of) in read {
        page.metric(name, kind, help);
        for (tenant, shown, _) in &all {
            page.sample(name, &[("tenant", tenant)], of(shown));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let mut page = Page(String::new());
        page.gauge("a", "A.", 1);
        page.sample("b", &[("x", "q\"\\\n"), ("y", "2")], 0.5);
        assert_eq!(
            page.0,
            "# HELP larder_a A.\n# TYPE larder_a gauge\nlarder_a 1\n\
             larder_b{x=\"q\\\"\\\\\\n\",y=\"2\"} 0.5\n"
        );
    }
}
