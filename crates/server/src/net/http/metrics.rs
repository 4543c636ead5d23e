//! The metrics of this server: those of its report, and those that only a server has.

use crate::observe::report::report;
use crate::server::Server;
use crate::services::transfers::TransferState;
use base::{Bytes, TenantId};
use dashboard::metrics::{Page, facts, status};
use std::sync::atomic::Ordering;
use store::CompressionStats;

/// The whole text of the metrics.
pub(super) fn text(server: &Server) -> String {
    let mut page = Page::default();
    server_facts(server, &mut page);
    memory(server, &mut page);
    traffic(server, &mut page);
    saves(server, &mut page);
    pauses(server, &mut page);
    if let Some(known) = &server.observed.pilot.shown().status {
        status(known, &mut page);
    }
    facts(&report(server), &mut page);
    compression(server, &mut page);
    transfers(server, &mut page);
    page.text()
}

fn server_facts(server: &Server, page: &mut Page) {
    let view = server.view.now();
    page.metric("info", "gauge", "Version and settings as labels; always 1.");
    let labels = [
        ("version", env!("CARGO_PKG_VERSION")),
        ("policy", &view.settings.maxmemory_policy.name()),
        ("recipe", &view.settings.recipe.to_string()),
    ];
    page.sample("info", &labels, 1);
    page.gauge("clients_max", "Limit of connected clients (maxclients).", view.settings.maxclients);
    let (user, system) = crate::text::os::cpu_seconds();
    page.metric("cpu_seconds_total", "counter", "Processor time of the server.");
    page.sample("cpu_seconds_total", &[("mode", "user")], user);
    page.sample("cpu_seconds_total", &[("mode", "system")], system);
}

fn memory(server: &Server, page: &mut Page) {
    let reserve = server.store.reserve();
    page.gauge(
        "memory_reserve_bytes",
        "Memory of maxmemory that is reserved for the allocator.",
        reserve.0,
    );
    let load = |value: &std::sync::atomic::AtomicU64| value.load(Ordering::Relaxed);
    let clients = server.clients.all();
    let buffers: u64 = clients.iter().map(|c| load(&c.input) + load(&c.output)).sum();
    page.gauge("client_buffer_bytes", "Memory of unfinished commands and unread replies.", buffers);
}

fn traffic(server: &Server, page: &mut Page) {
    let totals = server.stats.since_start(server.counters());
    page.counter("connections_total", "Connections accepted.", totals.connections);
    page.counter(
        "connections_rejected_total",
        "Connections refused because of maxclients.",
        totals.rejected_connections,
    );
    page.counter("received_bytes_total", "Bytes received from clients.", totals.net_in);
    page.counter("sent_bytes_total", "Bytes sent to clients.", totals.net_out);
    let called = || totals.commands.iter().enumerate().filter(|(_, c)| c.calls + c.rejected > 0);
    page.metric("commands_total", "counter", "Commands that ran.");
    for (number, counted) in called() {
        let name = crate::facts::table::name_of(number as u16);
        page.sample("commands_total", &[("command", name)], counted.calls);
    }
    page.metric("commands_failed_total", "counter", "Commands answered with an error.");
    for (number, counted) in called().filter(|(_, c)| c.failed + c.rejected > 0) {
        let name = crate::facts::table::name_of(number as u16);
        let failed = counted.failed + counted.rejected;
        page.sample("commands_failed_total", &[("command", name)], failed);
    }
    page.metric("commands_seconds_total", "counter", "Time of commands, estimated from a sample.");
    for (number, counted) in called().filter(|(_, c)| c.timed > 0) {
        let name = crate::facts::table::name_of(number as u16);
        let seconds = counted.micros() as f64 / 1e6;
        page.sample("commands_seconds_total", &[("command", name)], seconds);
    }
    command_times(server, page);
    page.metric("errors_total", "counter", "Error replies, by the first word of the error.");
    for (code, count) in server.stats.errors() {
        page.sample("errors_total", &[("code", &code)], count);
    }
    let load = |value: &std::sync::atomic::AtomicU64| value.load(Ordering::Relaxed);
    page.metric(
        "clients_cut_total",
        "counter",
        "Clients closed because a buffer reached its limit.",
    );
    let (query, output) = (&server.stats.query_limit_closed, &server.stats.output_limit_closed);
    page.sample("clients_cut_total", &[("buffer", "query")], load(query));
    page.sample("clients_cut_total", &[("buffer", "output")], load(output));
}

/// The times of commands as histograms, from the timed calls; CONFIG RESETSTAT begins them anew.
fn command_times(server: &Server, page: &mut Page) {
    /// The upper ends of the buckets, in microseconds.
    const ENDS: [u64; 13] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000, 100_000, 1_000_000];
    let totals = server.stats.totals(server.counters());
    let seconds = |micros: u64| micros as f64 / 1e6;
    let help = "Time of a command inside the server, from the timed calls.";
    page.metric("command_duration_seconds", "histogram", help);
    for (number, counted) in server.stats.latencies() {
        let name = crate::facts::table::name_of(number);
        let mut bucket = |end: &str, calls: u64| {
            let labels = [("command", name), ("le", end)];
            page.sample("command_duration_seconds_bucket", &labels, calls);
        };
        let within = |end: u64| {
            let inside = counted.iter().filter(|(edge, _)| *edge <= end);
            inside.map(|(_, calls)| calls).sum::<u64>()
        };
        for end in ENDS {
            bucket(&seconds(end).to_string(), within(end));
        }
        bucket("+Inf", within(u64::MAX));
        let spent = totals.commands.get(usize::from(number)).map_or(0, |one| one.timed_us);
        page.sample("command_duration_seconds_sum", &[("command", name)], seconds(spent));
        page.sample("command_duration_seconds_count", &[("command", name)], within(u64::MAX));
    }
}

/// Counts of warm-restart files and copies.
fn saves(server: &Server, page: &mut Page) {
    let (saved, failed) = server.saved.warm.saves();
    page.metric("saves_total", "counter", "Warm-restart files and copies written.");
    page.sample("saves_total", &[("result", "saved")], saved);
    page.sample("saves_total", &[("result", "failed")], failed);
    let is_failing = u8::from(server.saved.warm.is_failing());
    page.gauge(
        "save_failing",
        "1 if the last save failed or the next one will fail; else 0.",
        is_failing,
    );
}

/// The time that operations took to make room, for all operations of both protocols.
fn pauses(server: &Server, page: &mut Page) {
    /// The upper ends of the buckets, in nanoseconds.
    const ENDS: [u64; 12] = [
        500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000,
        10_000_000,
    ];
    let pauses = server.store.pauses();
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    let help = "Time that an operation spent on evictions, if it evicted.";
    page.metric("eviction_pause_seconds", "histogram", help);
    for end in ENDS {
        let label = seconds(end).to_string();
        page.sample("eviction_pause_seconds_bucket", &[("le", &label)], pauses.within(end));
    }
    page.sample("eviction_pause_seconds_bucket", &[("le", "+Inf")], pauses.count);
    page.sample("eviction_pause_seconds_sum", &[], seconds(pauses.nanos));
    page.sample("eviction_pause_seconds_count", &[], pauses.count);
    page.gauge(
        "eviction_pause_max_seconds",
        "Longest time that an operation spent on evictions.",
        seconds(pauses.nanos_max),
    );
    let help = "Most items or pages that a single operation evicted.";
    page.gauge("eviction_pause_max_victims", help, pauses.victims_max);
}

/// Compressed items, and the work for them.
fn compression(server: &Server, page: &mut Page) {
    type Read = fn(&CompressionStats) -> f64;
    let view = server.view.now();
    let all = server.store.all_compression_stats();
    let read: [(&str, &str, &str, Read); 7] = [
        ("compressed_items", "gauge", "Items whose values are compressed.", |of| of.items as f64),
        (
            "compressed_plain_bytes",
            "gauge",
            "Bytes of the compressed values before compression.",
            |of| of.plain.0 as f64,
        ),
        ("compressed_stored_bytes", "gauge", "Bytes of the compressed values as stored.", |of| {
            of.stored.0 as f64
        }),
        ("compression_dictionary_bytes", "gauge", "Memory of the dictionaries.", |of| {
            of.dictionary_bytes.0 as f64
        }),
        (
            "compression_seconds_total",
            "counter",
            "Processor time to compress values, whether or not the server kept the result.",
            |of| of.write_nanos as f64 / 1e9,
        ),
        (
            "decompression_seconds_total",
            "counter",
            "Processor time to decompress values for clients.",
            |of| of.read_nanos as f64 / 1e9,
        ),
        (
            "compression_corrupt_total",
            "counter",
            "Compressed values that were corrupt and became misses.",
            |of| of.corrupt as f64,
        ),
    ];
    for (name, kind, help, of) in read {
        page.metric(name, kind, help);
        for (tenant, stats) in view.names.iter().zip(&all) {
            page.sample(name, &[("tenant", tenant)], of(stats));
        }
    }
}

/// Reads one number of a tenant's transfers.
type Show = fn(&TransferState) -> u64;

/// Dumps and loads, if the settings allow any.
fn transfers(server: &Server, page: &mut Page) {
    let view = server.view.now();
    if view.settings.dump_max == Bytes(0) {
        return;
    }
    let all: Vec<_> = (0..view.names.len() as TenantId)
        .map(|id| {
            (&view.names[usize::from(id)], server.saved.transfers.shown(id), server.store.away(id))
        })
        .collect();
    let help = "Time between two peaks of a periodic load.";
    page.metric("tide_period_seconds", "gauge", help);
    for (tenant, shown, _) in &all {
        if let Some(period) = shown.period_s {
            page.sample("tide_period_seconds", &[("tenant", tenant)], period);
        }
    }
    page.metric("dump_items", "gauge", "Items with a current copy on disk.");
    for (tenant, _, (items, _)) in &all {
        page.sample("dump_items", &[("tenant", tenant)], items);
    }
    page.metric("dump_index_bytes", "gauge", "Memory of the index of dumped items.");
    for (tenant, _, (_, index)) in &all {
        page.sample("dump_index_bytes", &[("tenant", tenant)], index.0);
    }
    let read: [(&str, &str, &str, Show); 5] = [
        ("dump_disk_bytes", "gauge", "Disk space of dumps.", |shown| shown.disk),
        ("dumps_total", "counter", "Completed dumps.", |shown| shown.dumps),
        ("dumped_items_total", "counter", "Items copied to disk by dumps.", |shown| shown.dumped),
        ("loads_total", "counter", "Completed loads of dumps.", |shown| shown.loads),
        ("loaded_items_total", "counter", "Items brought back by loads.", |shown| shown.loaded),
    ];
    for (name, kind, help, of) in read {
        page.metric(name, kind, help);
        for (tenant, shown, _) in &all {
            page.sample(name, &[("tenant", tenant)], of(shown));
        }
    }
}
