//! Writes the history of the process: once a second its clients, memory, commands and their times,
//! and what left the cache since then.

use crate::observe::process::{Parts, memory_by_use};
use ::report::{CommandTimes, History, ProcessPoint};
use std::collections::BTreeMap;
use store::TenantStats;

/// The counters of the process at the last look.
#[derive(Debug, Default)]
pub(super) struct ProcessRecorder {
    commands: u64,
    /// Timed commands by the upper edge of their time in microseconds.
    times: BTreeMap<u64, u64>,
    left: [u64; 3],
}

impl ProcessRecorder {
    /// Writes one point into the history. `all` has the counts of every tenant, and the models
    /// take `models` bytes.
    pub(super) fn write(
        &mut self,
        parts: &Parts<'_>,
        all: &[TenantStats],
        models: u64,
        history: &mut History,
        unix_s: u32,
    ) {
        let mut times = BTreeMap::new();
        for (edge, calls) in parts.stats.latencies().into_values().flatten() {
            *times.entry(edge).or_default() += calls;
        }
        // Counts begin again with CONFIG RESETSTAT.
        let new = |(edge, calls): (&u64, &u64)| {
            let before = self.times.get(edge).copied().unwrap_or_default();
            (*edge, if *calls >= before { calls - before } else { *calls })
        };
        let counted: Vec<(u64, u64)> = times.iter().map(new).collect();
        let quantiles = CommandTimes::quantiles(&counted).unwrap_or_default();
        let commands = parts.stats.workers.iter().flat_map(|worker| &worker.commands);
        let commands = commands.map(|command| command.calls.get()).sum();
        let sum = |of: fn(&TenantStats) -> u64| all.iter().map(of).sum();
        let left = [
            sum(|stats| stats.counters.evicted),
            sum(|stats| stats.counters.expired),
            sum(|stats| stats.counters.deletes),
        ];
        let before = std::mem::replace(self, Self { commands, times, left });
        let resident = parts.stats.resident().0;
        let models = models + history.bytes() as u64;
        let memory = memory_by_use(parts, resident, models);
        history.push_process(&ProcessPoint {
            unix_s,
            clients: small(parts.clients.all().len() as u64),
            commands: small(commands.saturating_sub(before.commands)),
            timed: small(counted.iter().map(|(_, calls)| calls).sum()),
            quantiles_us: [quantiles[0] as f32, quantiles[1] as f32],
            memory_kib: memory.map(|bytes| small(bytes >> 10)),
            left: std::array::from_fn(|at| small(left[at].saturating_sub(before.left[at]))),
        });
    }
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
