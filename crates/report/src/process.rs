//! The process that serves the cache: connections, times of commands, memory by use, threads.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_upper_edges() {
        assert_eq!(CommandTimes::quantiles(&[]), None);
        assert_eq!(CommandTimes::quantiles(&[(3, 1)]), Some([3, 3, 3]));
        let counted = [(1, 500), (2, 480), (10, 19), (1_000, 1)];
        assert_eq!(CommandTimes::quantiles(&counted), Some([1, 10, 10]));
    }
}
