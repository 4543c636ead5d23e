//! `stats` and its reports.
//!
//! The names are memcached's. For its slab classes there is one class here, number 1, because any
//! item can make room for any other. It has all of memory, in chunks of an item's mean size. Fields
//! without a meaning here are left out.

use super::admin::MEMCACHED_VERSION;
use super::request::{Ask, Done, UNKNOWN};
use super::{detail, dump};
use crate::facts::memcached_events::{Event, NAMES};
use crate::observe::report::report;
use crate::services::memcached_detail::DELIMITER;
use ::report::facts;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::atomic::Ordering;
use store::{Counters, Scope};

/// The size of a chunk while there are no items.
const CHUNK: u64 = 16;
/// The width of a step in `stats sizes`, in bytes.
const SIZE_STEP: u64 = 32;

impl Ask<'_> {
    fn stat(&mut self, name: &str, value: impl Display) {
        self.print(format_args!("STAT {name} {value}\r\n"));
    }
}

/// Counts of events that do not happen here, but that exporters read.
const ABSENT: &[&str] = &[
    "conn_yields",
    "crawler_items_checked",
    "direct_reclaims",
    "evicted_active",
    "evicted_unfetched",
    "expired_unfetched",
    "get_flushed",
    "hash_bytes",
    "hash_is_expanding",
    "hash_power_level",
    "listen_disabled_num",
    "log_watcher_sent",
    "log_watcher_skipped",
    "log_worker_dropped",
    "log_worker_written",
    "lru_crawler_running",
    "lru_crawler_starts",
    "lru_bumps_dropped",
    "lru_maintainer_juggles",
    "lrutail_reflocked",
    "malloc_fails",
    "moves_to_cold",
    "moves_to_warm",
    "moves_within_lru",
    "read_buf_bytes",
    "read_buf_bytes_free",
    "read_buf_count",
    "read_buf_oom",
    "reserved_fds",
    "response_obj_bytes",
    "response_obj_count",
    "response_obj_oom",
    "round_robin_fallback",
    "slab_global_page_pool",
    "slab_reassign_busy_deletes",
    "slab_reassign_busy_items",
    "slab_reassign_chunk_rescues",
    "slab_reassign_evictions_nomem",
    "slab_reassign_inline_reclaim",
    "slab_reassign_rescues",
    "slab_reassign_running",
    "slabs_moved",
    "time_in_listen_disabled_us",
    "unexpected_napi_ids",
];

/// memcached's counts of a class and of its hot, warm, cold and temporary lists. Larder has no such
/// lists: victims are drawn from all items.
const ABSENT_OF_ITEMS: &[&str] = &[
    "age",
    "age_hot",
    "age_warm",
    "evicted_nonzero",
    "evicted_time",
    "evicted_unfetched",
    "expired_unfetched",
    "hits_to_cold",
    "hits_to_hot",
    "hits_to_temp",
    "hits_to_warm",
    "moves_to_cold",
    "moves_to_warm",
    "moves_within_lru",
    "number_cold",
    "number_hot",
    "number_temp",
    "number_warm",
    "tailrepairs",
];

pub(super) fn stats(ask: &mut Ask<'_>) -> Done {
    match ask.request.get(1) {
        None => general(ask),
        Some(b"items") => items(ask),
        Some(b"slabs") => slabs(ask),
        Some(b"sizes") => sizes(ask),
        Some(b"settings") => settings(ask),
        Some(b"larder") => larder(ask),
        Some(b"tenants") => tenants(ask),
        Some(b"conns") => connections(ask),
        Some(b"detail") => return detail::command(ask),
        Some(b"cachedump") => return dump::cachedump(ask),
        Some(b"sizes_enable" | b"sizes_disable") => ask.stat("sizes_status", "enabled"),
        Some(b"reset") => {
            ask.server.stats.reset(ask.server.counters(), None);
            ask.server.memcached.detail.reset();
            return ask.line("RESET");
        }
        Some(_) => return Err(UNKNOWN),
    }
    ask.line("END")
}

/// The sums over all tenants.
fn counters(ask: &Ask<'_>) -> Counters {
    ask.server.stats.totals(ask.server.counters()).store
}

fn general(ask: &mut Ask<'_>) {
    let server = ask.server;
    let totals = server.stats.totals(server.counters());
    let (user, system) = crate::text::os::cpu_seconds();
    let settings = &ask.view.settings;
    let (used, limit) = server.memory();
    ask.stat("pid", std::process::id());
    ask.stat("uptime", ask.now.micros.0 / 1_000_000);
    ask.stat("time", ask.now.unix_ms / 1_000);
    ask.stat("version", MEMCACHED_VERSION);
    ask.stat("larder_version", env!("CARGO_PKG_VERSION"));
    ask.stat("pointer_size", usize::BITS);
    ask.stat("rusage_user", format_args!("{user:.6}"));
    ask.stat("rusage_system", format_args!("{system:.6}"));
    ask.stat("max_connections", settings.maxclients);
    ask.stat("curr_connections", server.clients.all().len());
    ask.stat("connection_structures", server.clients.all().len());
    ask.stat("total_connections", totals.connections);
    ask.stat("rejected_connections", totals.rejected_connections);
    for (name, value) in NAMES.iter().zip(server.stats.events()) {
        ask.stat(name, value);
    }
    ask.stat("get_expired", totals.store.misses_expired);
    ask.stat("idle_kicks", server.stats.idle_closed.load(Ordering::Relaxed));
    ask.stat("log_watchers", server.audience.monitors.watchers());
    ask.stat("bytes_read", totals.net_in);
    ask.stat("bytes_written", totals.net_out);
    ask.stat("limit_maxbytes", limit.0);
    ask.stat("accepting_conns", 1);
    ask.stat("threads", server.clients.mailboxes().len());
    ask.stat("bytes", used.0);
    ask.stat("curr_items", server.store.len(Scope::ALL).items);
    ask.stat("total_items", totals.store.sets);
    ask.stat("expired", totals.store.expired);
    ask.stat("evictions", totals.store.evicted);
    // Flushed items free their memory at once, so they count as reclaimed.
    ask.stat("reclaimed", totals.store.expired + totals.flushed);
    ask.stat("crawler_reclaimed", totals.store.expired);
    ask.stat("total_malloced", used.0);
    for name in ABSENT {
        ask.stat(name, 0);
    }
}

fn items(ask: &mut Ask<'_>) {
    let counted = counters(ask);
    ask.stat("items:1:number", ask.server.store.len(Scope::ALL).items);
    ask.stat("items:1:mem_requested", ask.server.store.used().0);
    ask.stat("items:1:evicted", counted.evicted);
    ask.stat("items:1:reclaimed", counted.expired);
    let refused = ask.server.stats.events()[Event::StoreNoMemory as usize];
    ask.stat("items:1:outofmemory", refused);
    ask.stat("items:1:crawler_reclaimed", counted.expired);
    for name in ABSENT_OF_ITEMS {
        ask.print(format_args!("STAT items:1:{name} 0\r\n"));
    }
}

fn slabs(ask: &mut Ask<'_>) {
    let counted = counters(ask);
    let (used, limit) = ask.server.memory();
    let taken = ask.server.store.len(Scope::ALL).items;
    let chunk = used.0.checked_div(taken).map_or(CHUNK, |size| size.max(1));
    let total = limit.0.max(used.0) / chunk;
    ask.stat("1:chunk_size", chunk);
    ask.stat("1:chunks_per_page", total);
    ask.stat("1:total_pages", 1);
    ask.stat("1:total_chunks", total);
    ask.stat("1:used_chunks", taken);
    ask.stat("1:free_chunks", total.saturating_sub(taken));
    ask.stat("1:free_chunks_end", 0);
    ask.stat("1:get_hits", counted.hits);
    let events = ask.server.stats.events();
    for event in [
        Event::CmdSet,
        Event::DeleteHits,
        Event::IncrHits,
        Event::DecrHits,
        Event::CasHits,
        Event::CasBadval,
        Event::TouchHits,
    ] {
        ask.print(format_args!("STAT 1:{} {}\r\n", NAMES[event as usize], events[event as usize]));
    }
    ask.stat("active_slabs", 1);
    ask.stat("total_malloced", used.0);
}

/// The number of items of each size. This walks over all of them.
fn sizes(ask: &mut Ask<'_>) {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    let mut cursor = 0;
    loop {
        cursor = ask.server.store.scan(Scope::ALL, cursor, 1_000, ask.now, |found| {
            let step = found.item.charge().0.div_ceil(SIZE_STEP) * SIZE_STEP;
            *counts.entry(step).or_default() += 1;
        });
        if cursor == 0 {
            break;
        }
    }
    for (size, count) in counts {
        ask.stat(&size.to_string(), count);
    }
}

fn settings(ask: &mut Ask<'_>) {
    let settings = &ask.view.settings;
    let evicts = settings.maxmemory_policy.evicts();
    let yes_no = |value| if value { "yes" } else { "no" };
    let needs_auth = !ask.view.tokens.is_empty() || !settings.is_open();
    let path = settings.memcached_unixsocket.display().to_string();
    let delimiter = settings.memcached_delimiter.unwrap_or(DELIMITER);
    ask.stat("maxbytes", ask.server.memory().1.0);
    ask.stat("maxconns", settings.maxclients);
    ask.stat("tcpport", settings.memcached_port);
    ask.stat("udpport", 0);
    ask.stat("inter", settings.memcached_addresses().join(","));
    ask.stat("evictions", if evicts { "on" } else { "off" });
    ask.stat("domain_socket", if path.is_empty() { "NULL" } else { &path });
    ask.stat("umask", format_args!("{:o}", settings.unixsocketperm));
    ask.stat("num_threads", settings.io_threads);
    ask.stat("stat_key_prefix", char::from(delimiter));
    ask.stat("detail_enabled", yes_no(ask.server.memcached.detail.is_on()));
    ask.stat("cas_enabled", yes_no(settings.memcached_cas));
    ask.stat("tcp_backlog", settings.tcp_backlog);
    ask.stat("binding_protocol", "ascii");
    ask.stat("auth_enabled_ascii", yes_no(needs_auth));
    ask.stat("auth_enabled_sasl", "no");
    ask.stat("item_size_max", settings.memcached_item_max.0);
    ask.stat("maxconns_fast", "yes");
    ask.stat("flush_enabled", yes_no(settings.memcached_flush_all));
    ask.stat("dump_enabled", yes_no(settings.memcached_dump));
    ask.stat("watch_enabled", yes_no(settings.memcached_watch));
    ask.stat("idle_timeout", settings.timeout);
    ask.stat("shutdown_command", yes_no(settings.memcached_shutdown));
    ask.stat("ssl_enabled", yes_no(settings.memcached_tls));
    ask.stat("client_flags_size", size_of::<u32>());
    ask.stat("memory_file", &settings.warm_restart_file);
    // The crawler here is the sweep of expired items, which always runs.
    ask.stat("lru_crawler", "yes");
    ask.stat("lru_crawler_sleep", crate::services::clock::SWEEP_PERIOD.as_micros());
    ask.stat("lru_maintainer_thread", "no");
    for name in
        ["lru_crawler_tocrawl", "hot_lru_pct", "warm_lru_pct", "hot_max_factor", "warm_max_factor"]
    {
        ask.stat(name, 0);
    }
}

/// The numbers of the whole cache, as in `/metrics` and INFO.
fn larder(ask: &mut Ask<'_>) {
    for (name, number) in facts::of_server(&facts::present(&report(ask.server))) {
        ask.stat(name, facts::show(number));
    }
}

fn tenants(ask: &mut Ask<'_>) {
    for tenant in &facts::present(&report(ask.server)).tenants {
        for (name, number) in facts::of_tenant(tenant) {
            let name = name.strip_prefix("tenant_").unwrap_or(&name);
            ask.stat(&format!("{}:{name}", tenant.name), facts::show(number));
        }
    }
}

/// Every socket, with its state.
fn connections(ask: &mut Ask<'_>) {
    let now_ms = ask.now.micros.0 / 1_000;
    let server = ask.server;
    for (fd, address) in server.process.sockets() {
        ask.print(format_args!(
            "STAT {fd}:addr {address}\r\nSTAT {fd}:state conn_listening\r\n\
             STAT {fd}:secs_since_last_cmd {}\r\n",
            now_ms / 1_000
        ));
    }
    for client in server.clients.all() {
        let idle = now_ms.saturating_sub(client.last_ms.load(Ordering::Relaxed)) / 1_000;
        let state = if client.id == ask.session.client.id {
            "conn_parse_cmd"
        } else if server.audience.monitors.has(client.id) {
            "conn_watch"
        } else if client.output.load(Ordering::Relaxed) > 0 {
            "conn_mwrite"
        } else if client.input.load(Ordering::Relaxed) > 0 {
            "conn_nread"
        } else {
            "conn_read"
        };
        let fd = client.fd;
        let [address, local] = [&client.address, &client.local].map(|address| {
            // A Unix socket has no port.
            match address.strip_suffix(":0").filter(|_| client.listener == 0) {
                Some(path) => format!("unix:{path}"),
                None => format!("tcp:{address}"),
            }
        });
        ask.print(format_args!(
            "STAT {fd}:addr {address}\r\nSTAT {fd}:listen_addr {local}\r\n\
             STAT {fd}:state {state}\r\nSTAT {fd}:secs_since_last_cmd {idle}\r\n"
        ));
    }
}
