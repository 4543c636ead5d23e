//! A run's options, and its progress.

use crate::backend::Backend;
use crate::order::Order;
use crate::pace::Pace;
use crate::place::Place;
use std::time::Duration;

/// One tenant: its name, its keys, and the cost of its misses.
#[derive(Clone, Debug)]
pub struct ReplayTenant {
    /// The name in reports, and the name of its table in the database.
    pub name: String,
    /// The prefix of every key that is sent.
    pub prefix: String,
    /// The database that the connections select.
    pub db: u32,
    /// The backend of misses.
    pub backend: Backend,
}

/// A run: its server, its requests and its pace.
pub struct Options {
    /// The server.
    pub to: Place,
    /// The tenants that the requests refer to.
    pub tenants: Vec<ReplayTenant>,
    /// The requests.
    pub order: Order,
    /// Number of requests, if known; a warm-up needs it.
    pub requests: Option<u64>,
    /// Connections of each tenant.
    pub connections: usize,
    /// Requests that a connection sends at once.
    pub depth: usize,
    /// The times at which requests are sent.
    pub pace: Pace,
    /// Whether a write after a miss states the time of the backend: `SET key value COST µs`.
    pub tells_costs: bool,
    /// Share of the requests, from the first, that are served and not counted.
    pub warmup: f64,
    /// The seed of the waits.
    pub seed: u64,
    /// The time between two reports of progress.
    pub interval: Duration,
}

/// The progress of a run.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Time since the start.
    pub elapsed: Duration,
    /// Requests done.
    pub requests: u64,
    /// Number of all requests, if known.
    pub requests_total: Option<u64>,
    /// Whether the run is still in its warm-up.
    pub warming_up: bool,
    /// The tenants in order, since the previous report of progress.
    pub tenants: Vec<Recent>,
}

/// The recent requests of a tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Recent {
    /// Requests done.
    pub requests: u64,
    /// Share of reads that missed; zero without reads.
    pub miss_ratio: f64,
    /// Mean latency in microseconds.
    pub mean_us: f64,
}
