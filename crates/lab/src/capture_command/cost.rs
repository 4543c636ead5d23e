//! The server's cost of being watched, by its own account.
//!
//! The server's CPU time and number of commands are read at the edges of the windows, so they are
//! known inside and outside. The cost is the additional CPU time of a command inside. The figures
//! are of the server's whole process, and the load differs between the two times. So the
//! measurement gives the order of magnitude, not the per cent.

use serde::Serialize;

/// A server's counters at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    /// Time since the capture began, in seconds.
    pub(crate) at: f64,
    /// CPU time used, in seconds.
    pub(crate) cpu: f64,
    pub(crate) commands: u64,
    /// Reads that missed.
    pub(crate) misses: u64,
}

/// Time, CPU time and counts between readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Spent {
    /// Time, in seconds.
    pub(crate) seconds: f64,
    /// CPU time, in seconds.
    pub(crate) cpu_seconds: f64,
    /// Commands carried out.
    pub(crate) commands: u64,
    /// Reads that missed.
    pub(crate) misses: u64,
}

/// Minimum number of commands for a figure per command.
const COMMANDS_MIN: u64 = 200;

impl Spent {
    pub(crate) fn add(&mut self, from: &Reading, to: &Reading) {
        self.seconds += to.at - from.at;
        self.cpu_seconds += (to.cpu - from.cpu).max(0.0);
        self.commands += to.commands.saturating_sub(from.commands);
        self.misses += to.misses.saturating_sub(from.misses);
    }

    /// Microseconds of CPU time per command, if there are enough commands.
    pub(crate) fn us_a_command(&self) -> Option<f64> {
        let enough = self.commands >= COMMANDS_MIN && self.cpu_seconds > 0.0;
        enough.then(|| 1e6 * self.cpu_seconds / self.commands as f64)
    }

    pub(crate) fn commands_a_second(&self) -> f64 {
        self.commands as f64 / self.seconds.max(1e-9)
    }

    /// CPU time as a share of one core.
    pub(crate) fn busy(&self) -> f64 {
        self.cpu_seconds / self.seconds.max(1e-9)
    }
}

/// CPU time and counts inside the windows and outside them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Cost {
    /// Outside the windows.
    pub(crate) without: Spent,
    /// In the windows.
    pub(crate) with: Spent,
}

impl Cost {
    /// Additional CPU time of a command in the windows, as a share.
    pub(crate) fn more(&self) -> Option<f64> {
        Some(self.with.us_a_command()? / self.without.us_a_command()? - 1.0)
    }

    /// The cost in a sentence.
    pub(crate) fn sentence(&self, how: &str) -> String {
        let (Some(without), Some(with), Some(more)) =
            (self.without.us_a_command(), self.with.us_a_command(), self.more())
        else {
            return "The cost of watching is not known: the server ran too few commands."
                .to_owned();
        };
        let busy = 100.0 * (self.with.busy() - self.without.busy());
        format!(
            "During {how} a command took {with:.1} µs of the server's CPU time, and {without:.1} \
             µs at other times ({:+.0} %); the server ran {:.0} and {:.0} commands per second. In \
             all, watching changed its CPU use by {busy:+.0} % of a core.",
            100.0 * more,
            self.with.commands_a_second(),
            self.without.commands_a_second(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_is_by_command() {
        let reading = |at, cpu, commands| Reading { at, cpu, commands, misses: 0 };
        let mut cost = Cost::default();
        assert_eq!(cost.more(), None);
        cost.without.add(&reading(0.0, 1.0, 0), &reading(2.0, 1.2, 20_000));
        cost.with.add(&reading(2.0, 1.2, 20_000), &reading(4.0, 1.56, 38_000));
        assert!((cost.more().unwrap() - 1.0).abs() < 1e-9);
        let text = cost.sentence("MONITOR");
        for part in ["20.0 µs", "10.0 µs", "+100 %", "9000 and 10000", "+8 % of a core"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        cost.with.commands = 3;
        assert!(cost.sentence("MONITOR").contains("too few"));
    }
}
