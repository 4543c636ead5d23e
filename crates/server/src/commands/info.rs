//! INFO and MEMORY STATS: the state of the server, under the names that exporters expect.

use crate::call::{Call, Command, Done};
use crate::facts::REDIS_VERSION;
use crate::facts::table::get;
use crate::observe::compression;
use crate::observe::report::report;
use crate::server::Clients;
use crate::services::scripts::Scripts;
use ::report::{Report, facts};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use store::Scope;

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[Command::new("info", -1, 0, info)
    .categories(&["dangerous"])
    .doc("server", "1.0.0", "The state of the server.")];

type Section = fn(&Call<'_>, &mut Fields);

/// The sections in order. A section with `false` is shown only if the client asks for it.
const SECTIONS: &[(&str, bool, Section)] = &[
    ("Server", true, server),
    ("Clients", true, clients),
    ("Memory", true, memory),
    ("Persistence", true, persistence),
    ("Stats", true, stats),
    ("Replication", true, replication),
    ("CPU", true, cpu),
    ("Modules", true, |_, _| {}),
    ("Commandstats", false, commandstats),
    ("Errorstats", true, errorstats),
    ("Latencystats", false, latencystats),
    ("Cluster", true, |call, out| {
        out.add("cluster_enabled", u8::from(call.view.cluster.is_some()));
    }),
    ("Keyspace", true, keyspace),
    ("Larder", true, larder),
    ("Tenants", true, tenants),
    ("Compression", true, |call, out| {
        out.text += &compression::lines(&call.view.names, &call.view.settings, &call.server.store);
    }),
];

/// Lines of `name:value`, and the report, which is made when a field needs it.
struct Fields {
    text: String,
    report: Option<Arc<Report>>,
}

impl Fields {
    fn add(&mut self, name: &str, value: impl std::fmt::Display) {
        // Writing to a String does not fail.
        let _ = write!(self.text, "{name}:{value}\r\n");
    }

    fn report(&mut self, call: &Call<'_>) -> Arc<Report> {
        Arc::clone(self.report.get_or_insert_with(|| report(call.server)))
    }
}

fn info(call: &mut Call<'_>) -> Done {
    let asked: Vec<String> = call
        .args
        .iter_from(1)
        .map(|name| String::from_utf8_lossy(name).to_ascii_lowercase())
        .collect();
    let everything = asked.iter().any(|name| name == "all" || name == "everything");
    let default = asked.is_empty() || asked.iter().any(|name| name == "default");
    let mut fields = Fields { text: String::new(), report: None };
    for (name, usual, section) in SECTIONS {
        let named = asked.iter().any(|asked| asked.eq_ignore_ascii_case(name));
        if everything || default && *usual || named {
            if !fields.text.is_empty() {
                fields.text.push_str("\r\n");
            }
            let _ = write!(fields.text, "# {name}\r\n");
            section(call, &mut fields);
        }
    }
    call.out.verbatim(&fields.text);
    Ok(())
}

fn server(call: &Call<'_>, out: &mut Fields) {
    let server = call.server;
    let uptime = call.now.micros.0 / 1_000_000;
    out.add("redis_version", REDIS_VERSION);
    out.add("larder_version", env!("CARGO_PKG_VERSION"));
    out.add("redis_git_sha1", "00000000");
    out.add("redis_git_dirty", 0);
    out.add("redis_build_id", env!("CARGO_PKG_VERSION"));
    out.add("redis_mode", call.view.mode());
    out.add("os", format_args!("{} {}", std::env::consts::OS, std::env::consts::ARCH));
    out.add("arch_bits", usize::BITS);
    out.add("multiplexing_api", server.process.driver());
    out.add("process_id", std::process::id());
    out.add("process_supervised", "no");
    out.add("run_id", server.process.run_id());
    let port = match call.session.client.listener {
        0 => call.view.settings.port,
        port => port,
    };
    out.add("tcp_port", port);
    out.add("server_time_usec", call.now.unix_ms * 1_000);
    out.add("uptime_in_seconds", uptime);
    out.add("uptime_in_days", uptime / 86_400);
    out.add("hz", 10);
    out.add("configured_hz", 10);
    let executable = std::env::current_exe().map(|path| path.display().to_string());
    let file =
        server.process.file().as_ref().map(|file| file.display().to_string()).unwrap_or_default();
    out.add("executable", executable.unwrap_or_default());
    out.add("config_file", file);
    out.add("io_threads_active", i32::from(server.clients.mailboxes().len() > 1));
    for (at, listener) in server.process.listening().iter().enumerate() {
        out.add(&format!("listener{at}"), listener);
    }
}

fn clients(call: &Call<'_>, out: &mut Fields) {
    let all = call.server.clients.all();
    let load = |value: &std::sync::atomic::AtomicU64| value.load(Ordering::Relaxed);
    out.add("connected_clients", all.len());
    out.add("cluster_connections", 0);
    out.add("maxclients", call.view.settings.maxclients);
    let input = all.iter().map(|client| load(&client.input)).max().unwrap_or(0);
    let output = all.iter().map(|client| load(&client.output)).max().unwrap_or(0);
    out.add("client_recent_max_input_buffer", input);
    out.add("client_recent_max_output_buffer", output);
    out.add("blocked_clients", all.iter().filter(|client| client.waits()).count());
    out.add("tracking_clients", call.server.audience.tracking.counts().clients);
    let listen = all.iter().filter(|client| client.listens());
    out.add("pubsub_clients", listen.count());
    out.add("clients_in_timeout_table", 0);
    out.add("total_blocking_keys", call.server.turns.blocked.keys());
    out.add("total_blocking_keys_on_nokey", 0);
    out.add("watching_clients", all.iter().filter(|client| load(&client.watched) > 0).count());
    let pause = call.server.turns.pause.left(call.now.micros.0 / 1_000);
    let (reason, actions) = match pause {
        None => ("none", "none"),
        Some((_, true)) => ("client_pause", "all"),
        Some((_, false)) => ("client_pause", "write"),
    };
    out.add("paused_reason", reason);
    out.add("paused_actions", actions);
    out.add("paused_timeout_milliseconds", pause.map_or(0, |(left_ms, _)| left_ms));
}

/// A size in the form of INFO's `_human` fields.
fn human(bytes: u64) -> String {
    let value = bytes as f64;
    match bytes {
        0..0x400 => format!("{bytes}B"),
        0x400..0x10_0000 => format!("{:.2}K", value / 1024.0),
        0x10_0000..0x4000_0000 => format!("{:.2}M", value / 1024.0 / 1024.0),
        _ => format!("{:.2}G", value / 1024.0 / 1024.0 / 1024.0),
    }
}

fn ratio(a: u64, b: u64) -> f64 {
    if b == 0 { 0.0 } else { a as f64 / b as f64 }
}

fn buffers(clients: &Clients) -> u64 {
    let load = |value: &std::sync::atomic::AtomicU64| value.load(Ordering::Relaxed);
    clients.all().iter().map(|client| load(&client.input) + load(&client.output)).sum()
}

fn memory(call: &Call<'_>, out: &mut Fields) {
    let (used, limit) = call.server.memory();
    let (used, limit, resident) = (used.0, limit.0, call.server.stats.resident().0);
    let peak = call.server.stats.used_peak.load(Ordering::Relaxed).max(used);
    let total = crate::text::os::machine_memory();
    for (name, bytes) in [
        ("used_memory", used),
        ("used_memory_rss", resident),
        ("used_memory_peak", peak),
        ("total_system_memory", total),
        ("maxmemory", limit),
    ] {
        out.add(name, bytes);
        out.add(&format!("{name}_human"), human(bytes));
    }
    out.add("used_memory_peak_perc", format_args!("{:.2}%", 100.0 * ratio(used, peak)));
    let overhead = buffers(&call.server.clients) + call.server.scripts.usage.bytes();
    out.add("used_memory_overhead", overhead);
    out.add("used_memory_startup", 0);
    out.add("used_memory_dataset", used);
    out.add("used_memory_dataset_perc", "100.00%");
    out.add("allocator_allocated", used);
    out.add("allocator_active", resident);
    out.add("allocator_resident", resident);
    out.add("maxmemory_policy", &*call.view.settings.maxmemory_policy.name());
    out.add("mem_fragmentation_ratio", format_args!("{:.2}", ratio(resident, used)));
    out.add("mem_fragmentation_bytes", resident as i64 - used as i64);
    out.add("mem_not_counted_for_evict", 0);
    out.add("mem_replication_backlog", 0);
    out.add("mem_clients_slaves", 0);
    out.add("mem_clients_normal", buffers(&call.server.clients));
    out.add("mem_aof_buffer", 0);
    out.add("mem_allocator", "jemalloc");
    out.add("active_defrag_running", 0);
    let (pending, freed) = call.server.store.lazily_freed();
    out.add("lazyfree_pending_objects", pending);
    out.add("lazyfreed_objects", freed);
    scripts(&call.server.scripts, out);
    absent(out, "mem_total_replication_buffers mem_cluster_links");
    // The allocator's own numbers are unknown: fragmentation is resident memory beyond the used
    // bytes.
    let beyond = resident.saturating_sub(used);
    out.add("allocator_frag_ratio", format_args!("{:.2}", ratio(resident, used)));
    out.add("allocator_frag_bytes", beyond);
    out.add("allocator_rss_ratio", "1.00");
    out.add("allocator_rss_bytes", 0);
    out.add("rss_overhead_ratio", "1.00");
    out.add("rss_overhead_bytes", 0);
}

/// The memory of scripts. One interpreter runs both scripts and functions.
fn scripts(scripts: &Scripts, out: &mut Fields) {
    let usage = &scripts.usage;
    let load = |value: &std::sync::atomic::AtomicU64| value.load(Ordering::Relaxed);
    let (vm, eval, functions) =
        (load(&usage.vm), load(&usage.script_bytes), load(&usage.function_bytes));
    for (name, bytes) in [
        ("used_memory_lua", vm),
        ("used_memory_vm_total", vm),
        ("used_memory_scripts", eval + functions),
    ] {
        out.add(&format!("{name}_human"), human(bytes));
    }
    for (name, bytes) in [
        ("used_memory_vm_eval", vm),
        ("used_memory_lua", vm),
        ("used_memory_scripts_eval", eval),
        ("used_memory_vm_functions", 0),
        ("used_memory_vm_total", vm),
        ("used_memory_functions", functions),
        ("used_memory_scripts", eval + functions),
        ("number_of_cached_scripts", load(&usage.scripts)),
        ("number_of_functions", load(&usage.functions)),
        ("number_of_libraries", load(&usage.libraries)),
    ] {
        out.add(name, bytes);
    }
}

/// Fields about features that Larder lacks. They are always zero, but exporters look for them.
fn absent(out: &mut Fields, names: &str) {
    for name in names.split_whitespace() {
        out.add(name, 0);
    }
}

fn persistence(call: &Call<'_>, out: &mut Fields) {
    out.add("loading", 0);
    out.add("async_loading", u8::from(call.server.saved.warm.is_restoring()));
    out.add("rdb_changes_since_last_save", 0);
    out.add("rdb_bgsave_in_progress", 0);
    let warm = &call.server.saved.warm;
    out.add("rdb_last_save_time", warm.saved_at().unwrap_or(call.server.process.started_unix()));
    out.add("rdb_last_bgsave_status", if warm.is_failing() { "err" } else { "ok" });
    out.add("rdb_last_bgsave_time_sec", -1);
    out.add("rdb_current_bgsave_time_sec", -1);
    out.add("rdb_last_load_keys_loaded", warm.restored());
    out.add("aof_enabled", 0);
    out.add("aof_rewrite_in_progress", 0);
    out.add("aof_rewrite_scheduled", 0);
    out.add("aof_last_bgrewrite_status", "ok");
    out.add("aof_last_write_status", "ok");
    out.add("aof_last_rewrite_time_sec", -1);
    out.add("aof_current_rewrite_time_sec", -1);
    out.add("rdb_saves", warm.saves().0);
    absent(
        out,
        "aof_rewrites aof_last_cow_size rdb_last_cow_size rdb_last_load_keys_expired \
         current_cow_peak current_cow_size current_cow_size_age current_save_keys_processed \
         current_save_keys_total module_fork_in_progress module_fork_last_cow_size",
    );
}

fn stats(call: &Call<'_>, out: &mut Fields) {
    let server = call.server;
    let totals = server.stats.totals(server.counters());
    let load = |value: &std::sync::atomic::AtomicU64| value.load(Ordering::Relaxed);
    let per_second = &server.stats.per_second;
    out.add("total_connections_received", totals.connections);
    out.add("total_commands_processed", totals.calls());
    out.add("instantaneous_ops_per_sec", load(&per_second[0]));
    out.add("total_net_input_bytes", totals.net_in);
    out.add("total_net_output_bytes", totals.net_out);
    let kbps = |value: u64| value as f64 / 1024.0;
    out.add("instantaneous_input_repl_kbps", "0.00");
    out.add("instantaneous_output_repl_kbps", "0.00");
    out.add("instantaneous_input_kbps", format_args!("{:.2}", kbps(load(&per_second[1]))));
    out.add("instantaneous_output_kbps", format_args!("{:.2}", kbps(load(&per_second[2]))));
    out.add("rejected_connections", totals.rejected_connections);
    out.add("sync_full", 0);
    out.add("sync_partial_ok", 0);
    out.add("sync_partial_err", 0);
    out.add("expired_keys", totals.store.expired);
    out.add("expired_stale_perc", "0.00");
    out.add("expired_time_cap_reached_count", 0);
    let sweeping_ms = load(&server.stats.expire_us) / 1_000;
    out.add("expire_cycle_cpu_milliseconds", sweeping_ms);
    out.add("evicted_keys", totals.store.evicted);
    out.add("not_admitted", totals.store.not_admitted);
    out.add("evicted_clients", 0);
    out.add("evicted_scripts", load(&server.scripts.usage.evicted));
    let pauses = server.store.pauses();
    let us = |nanos: u64| format!("{:.1}", nanos as f64 / 1e3);
    out.add("eviction_pauses", pauses.count);
    out.add("eviction_pause_us_p99", us(pauses.quantile(0.99)));
    out.add("eviction_pause_us_p99.99", us(pauses.quantile(0.9999)));
    out.add("eviction_pause_us_max", us(pauses.nanos_max));
    out.add("eviction_pause_victims_max", pauses.victims_max);
    out.add("total_eviction_exceeded_time", 0);
    out.add("current_eviction_exceeded_time", 0);
    out.add("keyspace_hits", totals.store.hits);
    out.add("keyspace_misses", totals.store.misses);
    out.add(
        "pubsub_channels",
        server.audience.pubsub.channels(crate::services::pubsub::Kind::Channel, None).len(),
    );
    out.add("pubsub_patterns", server.audience.pubsub.patterns());
    out.add("latest_fork_usec", 0);
    out.add("total_forks", 0);
    out.add("slave_expires_tracked_keys", 0);
    out.add("active_defrag_hits", 0);
    out.add("active_defrag_misses", 0);
    out.add("total_error_replies", server.stats.errors().values().sum::<u64>());
    absent(
        out,
        "total_net_repl_input_bytes total_net_repl_output_bytes active_defrag_key_hits \
         active_defrag_key_misses total_active_defrag_time current_active_defrag_time \
         unexpected_error_replies dump_payload_sanitizations \
         migrate_cached_sockets reply_buffer_shrinks reply_buffer_expands",
    );
    let tracked = server.audience.tracking.counts();
    out.add("tracking_total_keys", tracked.keys);
    out.add("tracking_total_items", tracked.items);
    out.add("tracking_total_prefixes", tracked.prefixes);
    let sharded =
        server.audience.pubsub.channels(crate::services::pubsub::Kind::Sharded, None).len();
    out.add("pubsubshard_channels", sharded);
    out.add("total_reads_processed", totals.reads);
    out.add("total_writes_processed", totals.writes);
    // Every thread reads and writes its own connections.
    let threaded = server.clients.mailboxes().len() > 1;
    out.add("io_threaded_reads_processed", if threaded { totals.reads } else { 0 });
    out.add("io_threaded_writes_processed", if threaded { totals.writes } else { 0 });
    out.add("eventloop_cycles", totals.polls);
    for (name, count) in server.logs.acl.counts() {
        out.add(name, count);
    }
    out.add("client_query_buffer_limit_disconnections", load(&server.stats.query_limit_closed));
    out.add("client_output_buffer_limit_disconnections", load(&server.stats.output_limit_closed));
}

fn replication(call: &Call<'_>, out: &mut Fields) {
    out.add("role", "master");
    out.add("connected_slaves", 0);
    out.add("master_failover_state", "no-failover");
    out.add("master_replid", call.server.process.run_id());
    out.add("master_replid2", "0".repeat(40));
    out.add("master_repl_offset", 0);
    out.add("second_repl_offset", -1);
    out.add("repl_backlog_active", 0);
    out.add("repl_backlog_size", 0);
    out.add("repl_backlog_first_byte_offset", 0);
    out.add("repl_backlog_histlen", 0);
}

fn cpu(_: &Call<'_>, out: &mut Fields) {
    let (user, system) = crate::text::os::cpu_seconds();
    out.add("used_cpu_sys", format_args!("{system:.6}"));
    out.add("used_cpu_user", format_args!("{user:.6}"));
    // There is no main thread: all threads serve.
    out.add("used_cpu_sys_main_thread", format_args!("{system:.6}"));
    out.add("used_cpu_user_main_thread", format_args!("{user:.6}"));
    out.add("used_cpu_sys_children", "0.000000");
    out.add("used_cpu_user_children", "0.000000");
    out.add("used_active_time_main_thread", format_args!("{:.6}", system + user));
}

fn commandstats(call: &Call<'_>, out: &mut Fields) {
    let totals = call.server.stats.totals(call.server.counters());
    for (number, counted) in totals.commands.iter().enumerate() {
        if counted.calls + counted.rejected == 0 {
            continue;
        }
        let micros = counted.micros();
        let value = format!(
            "calls={},usec={micros},usec_per_call={:.2},rejected_calls={},failed_calls={}",
            counted.calls,
            ratio(micros, counted.calls),
            counted.rejected,
            counted.failed
        );
        out.add(&format!("cmdstat_{}", get(number as u16).name), value);
    }
}

fn errorstats(call: &Call<'_>, out: &mut Fields) {
    for (code, count) in call.server.stats.errors() {
        out.add(&format!("errorstat_{code}"), format_args!("count={count}"));
    }
}

fn latencystats(call: &Call<'_>, out: &mut Fields) {
    for (number, buckets) in call.server.stats.latencies() {
        let all: u64 = buckets.iter().map(|(_, count)| count).sum();
        let quantile = |q: f64| {
            let goal = (q * all as f64).ceil().max(1.0) as u64;
            let mut sum = 0;
            let found = buckets.iter().find(|(_, count)| {
                sum += count;
                sum >= goal
            });
            found.map_or(0, |(edge, _)| *edge) as f64
        };
        let percentiles = call.view.settings.latency_percentiles.iter();
        let all: Vec<_> = percentiles.map(|p| format!("p{p}={:.3}", quantile(p / 100.0))).collect();
        let value = all.join(",");
        out.add(&format!("latency_percentiles_usec_{}", get(number).name), value);
    }
}

fn keyspace(call: &Call<'_>, out: &mut Fields) {
    for db in 0..call.view.settings.databases {
        let len = call.server.store.len(Scope::db(db as u8));
        if len.items > 0 {
            let value = format!("keys={},expires={},avg_ttl=0", len.items, len.expires);
            out.add(&format!("db{db}"), value);
        }
    }
}

fn larder(call: &Call<'_>, out: &mut Fields) {
    for (name, number) in facts::of_server(&facts::present(&out.report(call))) {
        out.add(name, facts::show(number));
    }
}

fn tenants(call: &Call<'_>, out: &mut Fields) {
    for tenant in &facts::present(&out.report(call)).tenants {
        let all: Vec<_> = facts::of_tenant(tenant)
            .map(|(name, number)| {
                let name = name.strip_prefix("tenant_").unwrap_or(&name);
                format!("{name}={}", facts::show(number))
            })
            .collect();
        out.add(&format!("tenant_{}", tenant.name), all.join(","));
    }
}

/// Replies to MEMORY STATS.
pub(super) fn memory_stats(call: &mut Call<'_>) -> Done {
    let (used, _) = call.server.memory();
    let resident = call.server.stats.resident();
    let keys = call.server.store.len(Scope::ALL).items;
    let clients = buffers(&call.server.clients);
    let fields = [
        ("peak.allocated", call.server.stats.used_peak.load(Ordering::Relaxed).max(used.0)),
        ("total.allocated", used.0),
        ("startup.allocated", 0),
        ("replication.backlog", 0),
        ("clients.slaves", 0),
        ("clients.normal", clients),
        ("overhead.total", clients),
        ("keys.count", keys),
        ("keys.bytes-per-key", used.0.checked_div(keys).unwrap_or(0)),
        ("dataset.bytes", used.0),
        ("allocator.allocated", used.0),
        ("allocator.resident", resident.0),
    ];
    call.out.map(fields.len() + 1);
    for (name, value) in fields {
        call.out.bulk(name.as_bytes());
        call.out.integer(value as i64);
    }
    call.out.bulk(b"fragmentation");
    call.out.double(ratio(resident.0, used.0));
    Ok(())
}
