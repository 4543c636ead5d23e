//! `larder replay`: sends traces to a live server, as an application does that uses it as a cache.
//!
//! The load is cache-aside: GET, and on a miss a query of the backend and a SET of its answer. Each
//! tenant has its own connections, its own keys (by prefix or by database) and its own backend, so
//! its waits show in its own latencies only. Values follow from key and length and are checked on
//! every hit; a wrong value counts as an error.
//!
//! ```text
//!                   ┌ queue of tenant 1 ─▶ connections ─▶ server, and on a miss the backend
//!   traces ─▶ order ┤
//!                   └ queue of tenant 2 ─▶ connections ─▶ …
//! ```
//!
//! The replay works with every server that speaks RESP or memcached's text protocol: Larder, Redis,
//! Valkey, memcached. Several servers get the same requests, in turn or at once, and are compared.
//!
//! The crate also opens traces by name (`open`), and has addresses of servers and connections to
//! them, for every command that reads traces or queries servers.
#![forbid(unsafe_code)]

mod backend;
mod client;
mod compare;
pub mod json;
mod latency;
mod link;
mod memcached;
pub mod open;
mod order;
mod pace;
mod peers;
mod pipe;
mod place;
mod prepare;
pub mod programs;
mod progress;
mod report;
mod rounds;
mod run;
pub mod value;
mod wait;
mod worker;

pub use backend::{
    Backend, Connection, Database, Distribution, ELSEWHERE, Filled, Filler, KEY_MAX, Kind,
};
pub use backend::{Open, Origin, Reader, Values, seed_if, value_of};
pub use compare::median;
pub use latency::Latency;
pub use link::Link;
pub use memcached::login;
pub use order::{Lane, Merge, Order, Owner, Request};
pub use pace::Pace;
pub use pipe::Bounds;
pub use pipe::Pipe;
pub use place::Place;
pub use report::{Report, TenantReport};
pub use run::{Options, Progress, Recent, ReplayTenant, run_replay};
pub use wire::address::Address;

use anyhow::bail;
use clap::builder::RangedU64ValueParser;
use compare::Comparison;
use open::open;
use peers::{Peer, Servers};
use prepare::{AllPrepared, Prepared};
use rounds::run_rounds;
use std::time::Duration;

/// The most tenants; more would need too many connections for one machine.
const TENANTS_MAX: usize = 64;

/// Send traces to live servers, cache-aside, and measure what the requests take.
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
    /// Traces: files, or generators; each is a tenant of its own, and all run over the same span
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<String>,
    #[command(flatten)]
    servers: Servers,
    /// Connections of each tenant
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = from_one(1_000))]
    connections: usize,
    /// Requests a connection sends at once, before it reads the replies
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = from_one(100_000))]
    depth: usize,
    /// Each connection sends its next request when it has the last answer (the default)
    #[arg(long, conflicts_with_all = ["open_loop", "speed"])]
    closed_loop: bool,
    /// Closed loop, but never ahead of this many requests a second in all
    #[arg(long, value_name = "RATE", conflicts_with_all = ["open_loop", "speed"])]
    rate_max: Option<f64>,
    /// With --rate-max: so many requests of the run are due at once
    #[arg(long, value_name = "N", default_value_t = 1, requires = "rate_max",
        value_parser = clap::value_parser!(u64).range(1..))]
    burst: u64,
    /// Send this many requests a second, whatever the server does; latencies count from the
    /// intended times
    #[arg(long, value_name = "RATE")]
    open_loop: Option<f64>,
    /// Send at the times of the traces, this many times faster; latencies count from these times
    #[arg(long, value_name = "FACTOR", conflicts_with = "open_loop")]
    speed: Option<f64>,
    /// Share of the requests, from the first, that warm the cache up and are not counted
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    warmup: f64,
    /// Writes that fill a miss say what the backend took, SET key value COST µs, as a client does
    /// that knows; for Larder
    #[arg(long)]
    tell_costs: bool,
    /// How the requests of the traces are divided among tenants
    #[arg(long, value_enum, default_value_t)]
    tenants: By,
    /// Names of the tenants in order, instead of the words of the trace or t1, t2 and so on
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    names: Vec<String>,
    /// How the keys of tenants are kept apart
    #[arg(long, value_enum, default_value_t)]
    namespace: Namespace,
    /// The backend of misses: postgres://USER@HOST/DB, mysql://USER@HOST/DB, sqlite:PATH,
    /// file:PATH, delay:TIME, or a database and delays with commas between. Given several times:
    /// for the tenants in order, and from the first again [default: delay:0]
    #[arg(long, value_name = "BACKEND", long_help = BACKEND_HELP)]
    backend: Vec<String>,
    /// Connections to each database server, shared by all that ask it
    #[arg(long, value_name = "N", default_value_t = backend::POOL, value_parser = from_one(10_000))]
    pool: usize,
    /// Only put the objects of the traces into the databases of the backends
    #[arg(long)]
    prepare: bool,
    /// Reproduces the waits of the backends
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: open::Options,
}

const BACKEND_HELP: &str = "\
What is asked on a miss. Given several times: for the tenants in order, and from the first again \
[default: delay:0]

  postgres://user[:password]@host[:port]/db  a PostgreSQL server
  mysql://user[:password]@host[:port]/db     a MariaDB or MySQL server
  sqlite:PATH                                an embedded database; its rows hold no values
  file:PATH                                  a file PATH.TENANT of values, found by an index in \
memory
  delay:TIME                                 a wait: 1ms, exp 1ms, lognormal 1ms 0.5, uniform 1-5ms

A database and delays add up: sqlite:objects.db,delay:1ms. For a database far away the delay may \
stand behind a plus: postgres://bench@127.0.0.1/bench+900us. A database server has to be filled \
by --prepare; the others are filled by the first run.";

/// The range of rates, in requests a second, and of speed-up factors over a trace.
const PACES: std::ops::RangeInclusive<f64> = 0.001..=1e9;

/// A whole number from 1 to `most`.
fn from_one(most: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=most)
}

/// How the requests of the traces are divided among tenants.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
enum By {
    /// Each trace is a tenant
    #[default]
    Trace,
    /// Each client of the one trace is a tenant
    ClientId,
}

/// How the keys of tenants are kept apart.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Namespace {
    /// By a prefix: the name of the tenant and a colon
    #[default]
    Prefix,
    /// By database: that of the URL for the first tenant, the next for the second
    Db,
    /// Not at all: keys are sent as they are in the trace
    None,
}

/// Runs the command; `more` are kinds of databases besides those of this crate.
///
/// # Errors
/// A sentence with the cause and the fix.
#[expect(clippy::needless_pass_by_value, reason = "all subcommands are run alike")]
pub fn run(args: Args, more: &[Kind]) -> anyhow::Result<()> {
    let peers = args.servers.peers()?;
    let memcached = |peer: &&Peer| matches!(peer.place, Place::Memcached(_));
    if let Some(peer) = peers.iter().find(memcached).filter(|_| args.namespace == Namespace::Db) {
        bail!("--namespace db: {} has no databases; write --namespace prefix", peer.place);
    }
    if let Some(peer) = peers.iter().find(memcached).filter(|_| args.tell_costs) {
        bail!("--tell-costs: {} has no word for it; leave it out, it is measured", peer.place);
    }
    let pace = args.pace()?;
    if !(0.0..1.0).contains(&args.warmup) {
        bail!("--warmup {}: choose a share from 0 to below 1, or nothing is counted", args.warmup);
    }
    let mut backends = Backend::parse_all(&args.backend, args.pool, more)?;
    if backends.is_empty() {
        backends.push(Backend::default());
    }
    if args.prepare && backends.iter().all(|backend| backend.database.is_none()) {
        bail!("--prepare fills the databases of backends: name one with --backend");
    }
    let (tenants, shares, prepared) = args.tenants(&backends)?;
    if args.prepare {
        let prepared = AllPrepared { prepared };
        if args.json {
            return json::print(&prepared);
        }
        println!("{prepared}");
        return Ok(());
    }
    let merge = if args.speed.is_some() { Merge::ByTime } else { Merge::InProportion(1) };
    let options = |peer: &Peer| {
        let mut tenants = tenants.clone();
        for tenant in &mut tenants {
            tenant.db += peer.place.address().db;
        }
        let lane = |(trace, share): (&String, &Share)| {
            let source = open(trace, &args.reading)?;
            Ok(Lane { source, requests: share.requests, owner: share.owner.clone() })
        };
        let lanes = args.traces.iter().zip(&shares).map(lane);
        Ok(Options {
            to: peer.place.clone(),
            tenants,
            order: Order::new(lanes.collect::<anyhow::Result<_>>()?, merge),
            requests: shares.iter().map(|share| share.requests).sum(),
            connections: args.connections,
            depth: args.depth,
            pace,
            tells_costs: args.tell_costs,
            warmup: args.warmup,
            seed: args.seed,
            interval: Duration::from_millis(500),
        })
    };
    let mut reports = run_rounds(&args.servers, &peers, &options)?;
    if args.servers.compares() {
        return compare(&Comparison::new(&peers, reports), args.json);
    }
    let report = reports.remove(0).remove(0);
    if report.all_failed() {
        let first = report.first_error.unwrap_or_default();
        bail!("every request failed, the first with: {first}");
    }
    if args.json {
        return json::print(&report);
    }
    println!("{report}");
    Ok(())
}

/// Prints a comparison; an error names a server that served no request.
fn compare(comparison: &Comparison, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        json::print(comparison)?;
    } else {
        println!("{comparison}");
    }
    match comparison.all_failed() {
        Some((name, first)) => bail!("every request to {name} failed, the first with: {first}"),
        None => Ok(()),
    }
}

impl Args {
    /// Whether a backend is a database whose client this crate lacks.
    pub fn asks_elsewhere(&self) -> bool {
        self.backend.iter().any(|text| backend::is_elsewhere(text))
    }

    fn pace(&self) -> anyhow::Result<Pace> {
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
                bail!("a pace of {at:?}: choose a number from {low} to {high}")
            }
            _ => Ok(pace),
        }
    }

    /// The tenants with their databases counted from zero, the share of each trace, and the
    /// contents of their backends. Where the number of requests, the list of clients or a filled
    /// table is needed, each trace is read once in advance.
    fn tenants(
        &self,
        backends: &[Backend],
    ) -> anyhow::Result<(Vec<ReplayTenant>, Vec<Share>, Vec<Prepared>)> {
        let by_client = self.tenants == By::ClientId;
        if by_client && self.traces.len() > 1 {
            bail!("--tenants client-id takes one trace: with several, each is a tenant");
        }
        let tenant = |at: usize, word: Option<&String>| {
            let name = self.names.get(at).or(word).cloned();
            let name = name.unwrap_or_else(|| format!("t{}", at + 1));
            ReplayTenant {
                prefix: match self.namespace {
                    Namespace::Prefix => format!("{name}:"),
                    Namespace::Db | Namespace::None => String::new(),
                },
                db: if self.namespace == Namespace::Db { at as u32 } else { 0 },
                backend: backends[at % backends.len()].clone(),
                name,
            }
        };
        let (mut shares, mut prepared) = (vec![], vec![]);
        let mut tenants: Vec<ReplayTenant> = vec![];
        for (at, trace) in self.traces.iter().enumerate() {
            let stored = backends.iter().any(|backend| backend.database.is_some());
            let counted = self.traces.len() > 1 || by_client || self.warmup > 0.0 || stored;
            if trace == "-" && (counted || self.servers.compares()) {
                bail!("this run reads its traces twice: name a file instead of -");
            }
            let survey = if counted { Some(self.survey(trace)?) } else { None };
            let owner = match &survey {
                Some(survey) if by_client => {
                    if survey.clients.len() > TENANTS_MAX {
                        let clients = survey.clients.len();
                        bail!("{clients} clients are too many tenants: at most {TENANTS_MAX}");
                    }
                    let words = survey.clients.iter().map(|client| survey.names.get(client));
                    tenants = words.enumerate().map(|(at, word)| tenant(at, word)).collect();
                    Owner::Client(survey.clients.iter().copied().zip(0..).collect())
                }
                _ => {
                    tenants.push(tenant(at, None));
                    Owner::Tenant(at)
                }
            };
            let requests = survey.as_ref().map(|survey| survey.requests);
            if let Some(requests) = requests {
                prepared.extend(self.fill(trace, requests, &tenants, &owner)?);
            }
            shares.push(Share { requests, owner });
        }
        Ok((tenants, shares, prepared))
    }
}

/// A trace's share of the run.
struct Share {
    /// Number of requests, if they were counted.
    requests: Option<u64>,
    owner: Owner,
}
