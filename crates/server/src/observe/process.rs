//! Facts about the process that a report shows: connections, times of commands, memory by use,
//! threads.

use crate::facts::table::name_of;
use crate::server::Clients;
use crate::services::stats::{CommandTotals, Stats, Totals};
use crate::services::thread_times::ThreadTimes;
use ::report::{CommandTimes, MEMORY, MemoryUse, Process, ThreadUse};
use std::sync::atomic::{AtomicU64, Ordering};
use store::Store;

/// The parts of a server that know its process.
pub(crate) struct Parts<'a> {
    pub(crate) stats: &'a Stats,
    pub(crate) store: &'a Store,
    pub(crate) clients: &'a Clients,
    pub(crate) threads: &'a ThreadTimes,
}

/// The facts about this process, whose `resident` bytes hold `models` bytes of models and history.
pub(super) fn process(
    parts: &Parts<'_>,
    totals: &Totals,
    clients_max: usize,
    (resident, models): (u64, u64),
) -> Process {
    let load = |value: &AtomicU64| value.load(Ordering::Relaxed);
    let [commands_per_s, received, sent] = [0, 1, 2].map(|at| load(&parts.stats.per_second[at]));
    let pauses = parts.store.pauses();
    let mean = pauses.nanos as f64 / pauses.count.max(1) as f64;
    let (query, output) = (&parts.stats.query_limit_closed, &parts.stats.output_limit_closed);
    Process {
        clients_max: clients_max as u64,
        connections: totals.connections,
        refused_connections: totals.rejected_connections,
        cut: load(query) + load(output),
        commands_per_s,
        bytes_per_s: (received, sent),
        commands: commands(parts, totals),
        memory: memory(parts, resident, models),
        reserve: parts.store.reserve().0,
        threads: threads(parts),
        evicting: pauses.count,
        evicting_us: (mean / 1e3, pauses.nanos_max as f64 / 1e3),
    }
}

/// The commands that were called, the one with the most time in total first.
fn commands(parts: &Parts<'_>, totals: &Totals) -> Vec<CommandTimes> {
    let timed = parts.stats.latencies();
    let called = totals.commands.iter().enumerate().filter(|(_, c)| c.calls + c.rejected > 0);
    let command = |(number, counted): (usize, &CommandTotals)| {
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

/// Resident memory by its use, with an explanation.
fn memory(parts: &Parts<'_>, resident: u64, models: u64) -> Vec<MemoryUse> {
    const HELP: [&str; MEMORY.len()] = [
        "Items: keys, values and their metadata, with free chunks of their pages.",
        "The tables that find items, and the wheels that find expired ones.",
        "Models, samples and history of self-tuning.",
        "Unfinished commands and unread replies of clients.",
        "The program, stacks of threads, scripts, and what the allocator keeps.",
    ];
    let bytes = memory_by_use(parts, resident, models);
    let part = |((&name, help), bytes): ((&&str, &str), u64)| MemoryUse {
        name: name.to_owned(),
        bytes,
        help: help.to_owned(),
    };
    MEMORY.iter().zip(HELP).zip(bytes).map(part).collect()
}

/// Bytes by use, in the order of [`MEMORY`]. They add up to resident memory: the last is the rest.
pub(crate) fn memory_by_use(parts: &Parts<'_>, resident: u64, models: u64) -> [u64; MEMORY.len()] {
    let clients = parts.clients.all();
    let load = |value: &AtomicU64| value.load(Ordering::Relaxed);
    let buffers: u64 = clients.iter().map(|one| load(&one.input) + load(&one.output)).sum();
    let tables = parts.store.table_bytes().0;
    let data = parts.store.used().0.saturating_sub(tables);
    let mut left = resident;
    let mut known = [data, tables, models, buffers]
        .map(|bytes| {
            // Pages that were never written are charged, but not resident.
            let bytes = bytes.min(left);
            left -= bytes;
            bytes
        })
        .into_iter();
    std::array::from_fn(|_| known.next().unwrap_or(left))
}

/// The threads, those of clients first.
fn threads(parts: &Parts<'_>) -> Vec<ThreadUse> {
    let commands = |name: &str| {
        let number: usize = name.strip_prefix("worker-")?.parse().ok()?;
        let worker = parts.stats.workers.get(number)?;
        Some(worker.commands.iter().map(|command| command.calls.get()).sum())
    };
    let mut all: Vec<_> = parts
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
