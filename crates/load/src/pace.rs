//! When each request is sent, and from which time its latency counts.
//!
//! In a *closed loop* each connection sends its next request when it has the last answer. The load
//! follows the server: a stall of the server delays requests, and these never appear late. In an
//! *open loop* requests have their own times, whatever the server does, and the latency counts from
//! the intended time, also while every connection is busy: no coordinated omission. The open loop
//! shows the latency of users at a rate; the closed loop shows the cost of a request.

use base::Micros;
use std::time::Duration;

/// How requests are spaced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Each connection sends when it has the last answer.
    Closed,
    /// A closed loop that never gets ahead of a rate. A run that fell behind shifts its times and
    /// does not catch up, because a rush would count as latency.
    ClosedAtMost {
        /// Requests a second, over all connections.
        rate: f64,
        /// Requests of the run that are due at once, as when a page asks for several things.
        burst: u64,
    },
    /// Evenly spaced requests at this rate a second; latencies count from the intended time.
    Open(f64),
    /// The times of the trace, sped up by this factor; latencies count from the intended time.
    Trace(f64),
}

impl Pace {
    /// The time since the start at which to send the `index`-th request of the run, which was made
    /// at `time` in its trace.
    pub(crate) fn due(self, index: u64, time: Micros) -> Duration {
        let seconds = match self {
            Self::Closed => 0.0,
            Self::ClosedAtMost { rate, burst } => (index - index % burst.max(1)) as f64 / rate,
            Self::Open(rate) => index as f64 / rate,
            Self::Trace(speed) => time.as_f64() / 1e6 / speed,
        };
        // A century exceeds every run, and fits a duration.
        Duration::from_secs_f64(seconds.clamp(0.0, 3.2e9))
    }

    /// Whether latencies count from the intended time.
    pub(crate) const fn is_open(self) -> bool {
        matches!(self, Self::Open(_) | Self::Trace(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_due_when_the_pace_says() {
        let time = Micros::from_secs(6);
        for (pace, due_ms) in [
            (Pace::Closed, 0),
            (Pace::ClosedAtMost { rate: 500.0, burst: 1 }, 2_000),
            (Pace::ClosedAtMost { rate: 500.0, burst: 300 }, 1_800),
            (Pace::Open(2_000.0), 500),
            (Pace::Trace(2.0), 3_000),
        ] {
            assert_eq!(pace.due(1_000, time), Duration::from_millis(due_ms), "{pace:?}");
        }
        assert!(Pace::Open(1e-12).due(u64::MAX, time) > Duration::from_secs(1 << 31));
    }
}
