//! The process that serves the cache: connections, times of commands, memory by use, threads.

use crate::rings::RingStep;
use base::Cause;
use serde::{Deserialize, Serialize};

/// The process that serves the cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// The limit of connected clients (`maxclients`).
    pub clients_max: u64,
    /// Connections accepted since the start.
    pub connections: u64,
    /// Connections refused since the start because of `maxclients`.
    pub refused_connections: u64,
    /// Clients closed since the start because a buffer reached its limit.
    pub cut: u64,
    /// Commands in the last second.
    pub commands_per_s: u64,
    /// Bytes received and sent in the last second.
    pub bytes_per_s: (u64, u64),
    /// The commands that were called, the one with the most time in total first.
    pub commands: Vec<CommandTimes>,
    /// The parts of resident memory; their sum is resident memory.
    pub memory: Vec<MemoryUse>,
    /// Bytes of `maxmemory` that are kept free for the process itself.
    pub reserve: u64,
    /// The threads, those of clients first.
    pub threads: Vec<ThreadUse>,
    /// Operations that evicted something, since the start.
    pub evicting: u64,
    /// Mean and longest time that such an operation spent on evictions, in microseconds.
    pub evicting_us: (f64, f64),
}

/// The calls of one command since the start, with their times from a sample of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CommandTimes {
    /// Its name.
    pub name: String,
    /// Calls.
    pub calls: u64,
    /// Calls answered with an error.
    pub failed: u64,
    /// The mean time of a call, in microseconds; `None` where no call was timed.
    pub mean_us: Option<f64>,
    /// Times that 50, 99 and 99.9 % of the calls do not exceed, in microseconds, to a whole
    /// microsecond.
    pub quantiles_us: Option<[u64; 3]>,
}

/// The quantiles of [`CommandTimes::quantiles_us`].
pub const QUANTILES: [f64; 3] = [0.5, 0.99, 0.999];

impl CommandTimes {
    /// The quantiles of counted times: (upper edge in microseconds, calls), in order.
    pub fn quantiles(counted: &[(u64, u64)]) -> Option<[u64; 3]> {
        let all: u64 = counted.iter().map(|(_, calls)| calls).sum();
        let quantile = |share: f64| {
            let mut left = (share * all as f64).ceil() as u64;
            let within = counted.iter().find(|(_, calls)| {
                left = left.saturating_sub(*calls);
                left == 0
            });
            within.map_or(0, |(edge, _)| *edge)
        };
        (all > 0).then(|| QUANTILES.map(quantile))
    }

    /// The time of all calls together, in microseconds.
    pub fn total_us(&self) -> f64 {
        self.mean_us.unwrap_or_default() * self.calls as f64
    }
}

/// A part of resident memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// Its use, in a word or two.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
    /// A sentence that explains the use.
    pub help: String,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadUse {
    /// Its name.
    pub name: String,
    /// The share of the last seconds in which it used a processor; `None` before the second look.
    pub busy: Option<f64>,
    /// Processor time since the start, in seconds.
    pub cpu_s: f64,
    /// Commands since the start; `None` if the thread serves no clients.
    pub commands: Option<u64>,
}

/// The parts of resident memory, in the order of [`ProcessPoint::memory_kib`].
pub const MEMORY: [&str; 5] = ["data", "tables", "models", "buffers", "rest"];

/// The process in one step of its series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessPoint {
    /// The end of the step, in Unix seconds.
    pub unix_s: u32,
    /// Connected clients at the end of the step.
    pub clients: u32,
    /// Commands.
    pub commands: u32,
    /// Commands whose time was measured.
    pub timed: u32,
    /// Times that 50 and 99 % of them do not exceed, in microseconds. In a step of several seconds,
    /// the mean over these commands of the figures of their seconds.
    pub quantiles_us: [f32; 2],
    /// The parts of resident memory at the end of the step, in KiB, in the order of [`MEMORY`].
    pub memory_kib: [u32; MEMORY.len()],
    /// Items that were evicted, expired and deleted.
    pub left: [u32; 3],
}

impl ProcessPoint {
    /// The causes of [`Self::left`].
    pub const LEFT: [Cause; 3] = [Cause::Evicted, Cause::Expired, Cause::Deleted];
}

impl RingStep for ProcessPoint {
    fn unix_s(&self) -> u32 {
        self.unix_s
    }

    fn add(&mut self, later: &Self) {
        let timed = self.timed.saturating_add(later.timed);
        for (own, more) in self.quantiles_us.iter_mut().zip(later.quantiles_us) {
            let sum = *own * self.timed as f32 + more * later.timed as f32;
            *own = sum / timed.max(1) as f32;
        }
        for (sum, more) in self.left.iter_mut().zip(later.left) {
            *sum = sum.saturating_add(more);
        }
        self.timed = timed;
        self.commands = self.commands.saturating_add(later.commands);
        (self.unix_s, self.clients, self.memory_kib) =
            (later.unix_s, later.clients, later.memory_kib);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step of several seconds has their commands, their clients and memory at its end, and times
    /// weighted by the commands that were timed.
    #[test]
    fn steps_add_up() {
        let second = |unix_s, timed, us: f32| ProcessPoint {
            unix_s,
            clients: unix_s,
            commands: 10 * timed,
            timed,
            quantiles_us: [us, 2.0 * us],
            memory_kib: [unix_s; MEMORY.len()],
            left: [1, 2, 3],
        };
        let sum = ProcessPoint::sum(&[second(1, 3, 10.0), second(2, 0, 0.0), second(3, 1, 50.0)]);
        let end = ProcessPoint { left: [3, 6, 9], commands: 40, timed: 4, ..second(3, 1, 20.0) };
        assert_eq!(sum, end);
    }

    #[test]
    fn quantiles_are_upper_edges() {
        assert_eq!(CommandTimes::quantiles(&[]), None);
        assert_eq!(CommandTimes::quantiles(&[(3, 1)]), Some([3, 3, 3]));
        let counted = [(1, 500), (2, 480), (10, 19), (1_000, 1)];
        assert_eq!(CommandTimes::quantiles(&counted), Some([1, 10, 10]));
    }
}
