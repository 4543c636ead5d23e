//! Facts about the process that a report shows: connections, times of commands, memory by use,
//! threads.

use crate::facts::table::name_of;
use crate::server::Server;
use ::report::{CommandTimes, MemoryUse, Process, ThreadUse};
use std::sync::atomic::{AtomicU64, Ordering};

/// The facts about this process, whose `resident` bytes hold `models` bytes of models and history.
pub(super) fn process(server: &Server, resident: u64, models: u64) -> Process {
    let load = |value: &AtomicU64| value.load(Ordering::Relaxed);
    let totals = server.stats.since_start(server.counters());
    let [commands_per_s, received, sent] = [0, 1, 2].map(|at| load(&server.stats.per_second[at]));
    let pauses = server.store.pauses();
    let mean = pauses.nanos as f64 / pauses.count.max(1) as f64;
    let (query, output) = (&server.stats.query_limit_closed, &server.stats.output_limit_closed);
    Process {
        clients_max: server.view.now().settings.maxclients as u64,
        connections: totals.connections,
        refused_connections: totals.rejected_connections,
        cut: load(query) + load(output),
        commands_per_s,
        bytes_per_s: (received, sent),
        commands: commands(server, &totals),
        memory: memory(server, resident, models),
        reserve: server.store.reserve().0,
        threads: threads(server),
        evicting: pauses.count,
        evicting_us: (mean / 1e3, pauses.nanos_max as f64 / 1e3),
    }
}

/// The commands that were called, the one with the most time in total first.
fn commands(server: &Server, totals: &crate::services::stats::Totals) -> Vec<CommandTimes> {
    let timed = server.stats.latencies();
    let called = totals.commands.iter().enumerate().filter(|(_, c)| c.calls + c.rejected > 0);
    let command = |(number, counted): (usize, &crate::services::stats::CommandTotals)| {
        let number = number as u16;
        let calls = counted.calls.max(1) as f64;
        CommandTimes {
            name: name_of(number).to_owned(),
            calls: counted.calls,
            failed: counted.failed + counted.rejected,
            mean_us: (counted.timed > 0 && counted.calls > 0)
                .then(|| counted.micros() as f64 / calls),
            quantiles_us: timed.get(&number).and_then(|counted| CommandTimes::quantiles(counted)),
        }
    };
    let mut all: Vec<_> = called.map(command).collect();
    all.sort_by(|a, b| b.total_us().total_cmp(&a.total_us()));
    all
}

/// Resident memory by its use. The parts add up to resident memory: the last one is the rest.
fn memory(server: &Server, resident: u64, models: u64) -> Vec<MemoryUse> {
    let clients = server.clients.all();
    let load = |value: &AtomicU64| value.load(Ordering::Relaxed);
    let buffers: u64 = clients.iter().map(|one| load(&one.input) + load(&one.output)).sum();
    let tables = server.store.table_bytes().0;
    let data = server.store.used().0.saturating_sub(tables);
    let parts = [
        ("data", data, "Items: keys, values and their metadata, with free chunks of their pages."),
        ("tables", tables, "The tables that find items, and the wheels that find expired ones."),
        ("models", models, "Models, samples and history of the loop."),
        ("buffers", buffers, "Unfinished commands and unread replies of clients."),
    ];
    let mut left = resident;
    let mut all: Vec<_> = parts
        .into_iter()
        .map(|(name, bytes, help)| {
            // Pages that were never written are charged, but not resident.
            let bytes = bytes.min(left);
            left -= bytes;
            MemoryUse { name: name.to_owned(), bytes, help: help.to_owned() }
        })
        .collect();
    all.push(MemoryUse {
        name: "rest".to_owned(),
        bytes: left,
        help: "The program, stacks of threads, scripts, and what the allocator keeps.".to_owned(),
    });
    all
}

/// The threads, those of clients first.
fn threads(server: &Server) -> Vec<ThreadUse> {
    let commands = |name: &str| {
        let number: usize = name.strip_prefix("worker-")?.parse().ok()?;
        let worker = server.stats.workers.get(number)?;
        Some(worker.commands.iter().map(|command| command.calls.get()).sum())
    };
    let mut all: Vec<_> = server
        .observed
        .threads
        .shown()
        .into_iter()
        .map(|(name, cpu_s, busy)| ThreadUse { commands: commands(&name), name, busy, cpu_s })
        .collect();
    all.sort_by(|a, b| {
        let key = |one: &ThreadUse| (one.commands.is_none(), one.name.clone());
        key(a).cmp(&key(b))
    });
    all
}
