//! The arguments of `larder replay`.

use crate::pace::Pace;
use crate::peers::Servers;
use crate::{backend, open};
use anyhow::bail;
use clap::builder::RangedU64ValueParser;

/// Play traces against live servers, cache-aside, and measure how long requests take.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  larder replay web.csv.zst --to redis://localhost --backend 'delay:exp 2ms'
  larder replay a.csv b.csv --to redis://localhost:6379/0 --limit 100000 --warmup 0.3 \\
      --backend sqlite:objects.db,delay:1ms --backend 'delay:uniform 1-5ms' --json
  larder replay synth:zipf:keys=20000:skew=0.9:requests=50000:size=const/500 \\
      --to larder=redis://localhost --to memcached://localhost --rounds 3 --flush
  larder replay web.csv.zst --prepare --backend postgres://bench@127.0.0.1/bench+900us
  larder replay web.csv.zst --to redis://localhost \\
      --backend postgres://bench@127.0.0.1/bench+900us")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Args {
    /// Traces: files or generators. Each is a tenant, and all play over the same span of time
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) traces: Vec<String>,
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Connections of each tenant
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = from_one(1_000))]
    pub(crate) connections: usize,
    /// Requests a connection sends at once, before it reads the replies
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = from_one(100_000))]
    pub(crate) depth: usize,
    /// Each connection sends its next request once it has the last reply (the default)
    #[arg(long, conflicts_with_all = ["open_loop", "speed"])]
    pub(crate) closed_loop: bool,
    /// Closed loop with at most this many requests per second in all
    #[arg(long, value_name = "RATE", conflicts_with_all = ["open_loop", "speed"])]
    pub(crate) rate_max: Option<f64>,
    /// With --rate-max: number of requests that may be sent at once
    #[arg(long, value_name = "N", default_value_t = 1, requires = "rate_max",
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) burst: u64,
    /// Send this many requests per second, however slow the server is; latencies count from the
    /// scheduled times
    #[arg(long, value_name = "RATE")]
    pub(crate) open_loop: Option<f64>,
    /// Send at the times of the traces, this many times faster; latencies count from the scheduled
    /// times
    #[arg(long, value_name = "FACTOR", conflicts_with = "open_loop")]
    pub(crate) speed: Option<f64>,
    /// Share of the requests, at the start, that fill the cache and are not counted
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) warmup: f64,
    /// Send the backend's time with each fill, as SET key value COST µs (Larder only)
    #[arg(long)]
    pub(crate) tell_costs: bool,
    /// How the requests of the traces are divided among tenants
    #[arg(long, value_enum, default_value_t)]
    pub(crate) tenants: By,
    /// Names of the tenants in order, instead of the trace's own names or t1, t2 and so on
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) names: Vec<String>,
    /// How to keep the keys of tenants apart
    #[arg(long, value_enum, default_value_t)]
    pub(crate) namespace: Namespace,
    /// The backend of misses: postgres://USER@HOST/DB, mysql://USER@HOST/DB, sqlite:PATH,
    /// file:PATH, delay:TIME, or a database and delays with commas between. Given several times:
    /// for the tenants in order, and from the first again [default: delay:0]
    #[arg(long, value_name = "BACKEND", long_help = BACKEND_HELP)]
    pub(crate) backend: Vec<String>,
    /// Connections to each database server, shared by all tenants
    #[arg(long, value_name = "N", default_value_t = backend::POOL, value_parser = from_one(10_000))]
    pub(crate) pool: usize,
    /// Fill the databases of the backends with the objects of the traces, then exit
    #[arg(long)]
    pub(crate) prepare: bool,
    /// Seed of the backends' random delays
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: open::Options,
}

const BACKEND_HELP: &str = "\
Backend that answers misses. Several backends serve the tenants in turn [default: delay:0]

  postgres://user[:password]@host[:port]/db  a PostgreSQL server
  mysql://user[:password]@host[:port]/db     a MariaDB or MySQL server
  sqlite:PATH                                an embedded database; its rows hold no values
  file:PATH                                  a file PATH.TENANT of values, found by an index in \
memory
  delay:TIME                                 a wait: 1ms, exp 1ms, lognormal 1ms 0.5, uniform 1-5ms

A database and delays add up: sqlite:objects.db,delay:1ms. For a database far away the delay may \
stand behind a plus: postgres://bench@127.0.0.1/bench+900us. Fill a database server by \
--prepare; the first run fills the others.";

/// The range of rates, in requests a second, and of speed-up factors over a trace.
const PACES: std::ops::RangeInclusive<f64> = 0.001..=1e9;

/// A whole number from 1 to `most`.
fn from_one(most: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=most)
}

/// How the requests of the traces are divided among tenants.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum By {
    /// Each trace is a tenant
    #[default]
    Trace,
    /// Each client of the one trace is a tenant
    ClientId,
}

/// How to keep the keys of tenants apart.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Namespace {
    /// By a prefix: the name of the tenant and a colon
    #[default]
    Prefix,
    /// By database: that of the URL for the first tenant, the next for the second
    Db,
    /// Not at all: keys are sent as they are in the trace
    None,
}

impl Args {
    /// Whether a backend is a database whose client this crate lacks.
    pub fn asks_elsewhere(&self) -> bool {
        self.backend.iter().any(|text| backend::is_elsewhere(text))
    }

    /// The pace of the run.
    pub(crate) fn pace(&self) -> anyhow::Result<Pace> {
        let pace = match (self.open_loop, self.speed, self.rate_max) {
            (Some(rate), ..) => Pace::Open(rate),
            (_, Some(speed), _) => Pace::Trace(speed),
            (.., Some(rate)) => Pace::ClosedAtMost { rate, burst: self.burst },
            _ => Pace::Closed,
        };
        match pace {
            Pace::Open(at) | Pace::Trace(at) | Pace::ClosedAtMost { rate: at, .. }
                if !PACES.contains(&at) =>
            {
                let (low, high) = (PACES.start(), PACES.end());
                bail!("a pace of {at:?} is out of range: choose a number from {low} to {high}")
            }
            _ => Ok(pace),
        }
    }
}
