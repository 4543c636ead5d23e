//! The metrics, in the text format of Prometheus.
//!
//! Names begin with `larder_`; what belongs to a tenant has its name as a label, and nothing has a
//! label of which there may be many (no keys, no clients).

use crate::pilot::Shown;
use crate::report::report;
use crate::shared::Shared;
use crate::transfer;
use ::report::{Report, facts, finding};
use base::{Bytes, TenantId};
use std::fmt::{Display, Write};
use std::sync::atomic::Ordering;
use tune::pilot::PoolEpoch;

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
    let shown = shared.published.shown();
    classes(&shown, &mut page);
    pilot(&shown, &mut page);
    facts(&report(shared), &mut page);
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
    page.gauge("clients_max", "Clients that may be connected.", view.settings.maxclients);
    let (user, system) = crate::housekeeping::cpu_seconds();
    page.metric("cpu_seconds_total", "counter", "Time of processors.");
    page.sample("cpu_seconds_total", &[("mode", "user")], user);
    page.sample("cpu_seconds_total", &[("mode", "system")], system);
}

fn memory(shared: &Shared, page: &mut Page) {
    let reserve = shared.store.reserve();
    page.gauge("memory_reserve_bytes", "Of that, set aside for the allocator.", reserve.0);
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

/// Pages of each class of sizes, and what was forecast and came of it, where the recipe divides
/// pages.
fn classes(shown: &Shown, page: &mut Page) {
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

fn pilot(shown: &Shown, page: &mut Page) {
    let Some(status) = &shown.status else { return };
    page.counter("epochs_total", "Rounds of the loop.", status.epoch);
    page.counter("samples_total", "Requests the models saw.", status.samples);
    page.counter("samples_dropped_total", "Samples lost to full queues.", status.dropped);
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

/// Every fact of the report, and what it finds.
fn facts(report: &Report, page: &mut Page) {
    for fact in facts::OF_SERVER {
        page.metric(fact.name, fact.kind.name(), fact.help);
        if let Some(number) = (fact.of)(report) {
            page.sample(fact.name, &[], number);
        }
    }
    for fact in facts::OF_TENANTS {
        page.metric(fact.name, fact.kind.name(), fact.help);
        for tenant in &report.tenants {
            if let Some(number) = (fact.of)(tenant) {
                page.sample(fact.name, &[("tenant", &tenant.name)], number);
            }
        }
    }
    for split in facts::SPLITS {
        page.metric(split.name, "gauge", split.help);
        for tenant in &report.tenants {
            for (value, number) in (split.of)(tenant) {
                page.sample(split.name, &[("tenant", &tenant.name), (split.label, value)], number);
            }
        }
    }
    page.metric("findings", "gauge", "What LARDER ADVISE finds, by kind and severity.");
    for one in &finding::all(report) {
        let tenant = one.tenant.as_deref().unwrap_or_default();
        let severity = one.severity.name();
        let labels =
            [("finding", one.finding.as_str()), ("severity", severity), ("tenant", tenant)];
        page.sample("findings", &labels, 1);
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
