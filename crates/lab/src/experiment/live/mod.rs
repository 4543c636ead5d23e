//! Live experiments: the papers' tables with real servers, real databases, and real waiting.
//!
//! An experiment is one file and its name in the list below. It has *rows*, servers with their
//! settings, and *workloads*. In every round each row plays each workload in turn, with a server
//! that was started for it. Results are ratios of rows within a round, and the median of these:
//! other work of the machine comes and goes from round to round.
//!
//! There is a near and a far database. Without `--near` and `--far`, fixed waits stand in for them,
//! and a message says so.

mod load;
mod peer;

use super::Findings;
use anyhow::Result;
use base::Bytes;
use load::{Load, Tenant};
use peer::{Kind, Peer};
use std::path::PathBuf;

/// Name of the tenant whose miss ratio is reported beside that of all, as `promised`.
const PROMISED: &str = "promised";

/// Least memory of a server: with less, it spends most of it on itself.
const SMALLEST: Bytes = Bytes(8 << 20);

type Experiment = super::Experiment<Setting>;

macro_rules! experiments {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*
        /// Every live experiment, in the order of the help.
        pub(super) const ALL: &[&Experiment] = &[$(&$name::EXPERIMENT,)*];
    };
}

experiments! { dlru, kredis, predis, periodic, lama, rankcache, overhead }

/// Arguments of live experiments.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub(super) struct Args {
    /// With real servers and real waiting: this program, and the peers
    #[arg(long)]
    live: bool,
    /// A server to stand beside this one: redis=COMMAND, valkey=, memcached= or predis= (the server
    /// of pRedis' authors). Those that are not named are left out
    #[arg(long = "peer", value_name = "NAME=COMMAND", requires = "live")]
    peers: Vec<Peer>,
    /// The near database, as a backend of `larder replay` [default: delay:200us]
    #[arg(long, value_name = "BACKEND", requires = "live")]
    near: Option<String>,
    /// The far database [default: delay:1ms]
    #[arg(long, value_name = "BACKEND", requires = "live")]
    far: Option<String>,
    /// Rounds, of which medians are told [default: 5, or 1 with --quick]
    #[arg(long, value_name = "N", requires = "live",
        value_parser = clap::value_parser!(u64).range(1..=100))]
    rounds: Option<u64>,
}

/// How a live experiment is run.
#[derive(Debug)]
pub(super) struct Setting {
    /// Whether to run with less of everything.
    quick: bool,
    rounds: u64,
    peers: Vec<Peer>,
    near: Option<String>,
    far: Option<String>,
    /// Folder of recorded traces; without it the workloads are synthetic.
    traces: Option<PathBuf>,
}

/// A row: a peer with settings of its own.
#[derive(Clone, Debug)]
struct Row {
    name: String,
    peer: Peer,
    arguments: Vec<String>,
    /// Arguments of `larder replay` for this row alone.
    client: Vec<String>,
}

impl Args {
    /// The setting, where `--live` was given.
    pub(super) fn setting(&self, quick: bool, traces: Option<PathBuf>) -> Option<Setting> {
        self.live.then(|| Setting {
            quick,
            rounds: self.rounds.unwrap_or(if quick { 1 } else { 5 }),
            peers: self.peers.clone(),
            near: self.near.clone(),
            far: self.far.clone(),
            traces,
        })
    }
}

impl Setting {
    /// `full`, or `quick` in a quick run.
    fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// The near database and the far one, as backends. Prints where a wait stands in for one.
    fn databases(&self) -> [String; 2] {
        [("near", &self.near, "delay:200us"), ("far", &self.far, "delay:1ms")].map(
            |(flag, given, instead)| {
                given.clone().unwrap_or_else(|| {
                    eprintln!("no --{flag}: {instead} stands in for that database");
                    instead.to_owned()
                })
            },
        )
    }

    /// Rows of the peers of these names. Prints the names for which the user gave no peer.
    fn peers(&self, names: &[&str]) -> Vec<Row> {
        let mut rows = vec![];
        for &name in names {
            match self.peers.iter().find(|peer| peer.name == name) {
                Some(peer) => {
                    let name = if name == "predis" { "pRedis 2019" } else { name };
                    rows.push(Row::of(name, peer.clone(), ""));
                }
                None => eprintln!("skipped: {name} (--peer {name}=COMMAND)"),
            }
        }
        rows
    }

    /// A row of a peer, with settings of its own; `None` if the user gave no such peer.
    fn peer(&self, name: &str, row: &str, arguments: &str) -> Option<Row> {
        let peer = self.peers.iter().find(|peer| peer.name == name)?.clone();
        Some(Row::of(row, peer, arguments))
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

impl Row {
    fn of(name: &str, peer: Peer, arguments: &str) -> Self {
        Self { name: name.to_owned(), peer, arguments: words(arguments), client: vec![] }
    }

    /// A row of this program, with these settings.
    fn larder(name: &str, arguments: &str) -> Result<Self> {
        Ok(Self::of(name, Peer::larder()?, arguments))
    }

    /// Adds arguments of `larder replay` for this row.
    fn asked(self, arguments: &str) -> Self {
        Self { client: words(arguments), ..self }
    }

    /// Declares the tenants by prefix, each followed by `rest`, where the server knows tenants.
    fn with_tenants(mut self, tenants: &[Tenant], rest: &str) -> Self {
        if matches!(self.peer.kind, Kind::Larder | Kind::LarderForMemcached) {
            for Tenant { name, .. } in tenants {
                let line = format!("{name} match prefix {name}: {rest}");
                self.arguments.extend(["--tenant".to_owned(), line.trim_end().to_owned()]);
            }
        }
        self
    }

    /// Starts the server and plays these loads to it. Returns all figures of the last load, and the
    /// mean wait of each load before it.
    fn figures(&self, loads: &[Load], memory: Bytes) -> Result<Vec<(&'static str, f64)>> {
        let server = self.peer.start(memory, &self.arguments)?;
        let Some((last, before)) = loads.split_last() else { return Ok(vec![]) };
        let mut earlier = vec![];
        for load in before {
            earlier.push(("before_us", load.play(&server, &self.client)?.latency_us.mean));
        }
        let used = server.cpu()?;
        let report = last.play(&server, &self.client)?;
        let used = server.cpu()?.saturating_sub(used);
        let mut figures = report.figures();
        figures.push(("cpu_us", used.as_secs_f64() * 1e6 / report.sent().max(1.0)));
        figures.push(("resident_mb", server.resident_mb()?));
        figures.extend(report.misses_of(PROMISED).map(|misses| ("promised", misses)));
        figures.extend(earlier);
        // Printed at once, so that a run that is ended early keeps its measurements.
        let told = figures.iter().map(|(name, value)| format!("{name} {value:.4}"));
        eprintln!("  {}: {}", self.name, told.collect::<Vec<_>>().join(", "));
        Ok(figures)
    }
}

/// Plays loads, one after the other, to every row in turn, round after round, and adds cells with
/// the figures. Every other round goes through the rows backwards, so that a drift falls on all of
/// them.
fn play(
    setting: &Setting,
    rows: &[Row],
    workload: &str,
    (loads, memory): (&[Load], Bytes),
    findings: &mut Findings,
) -> Result<()> {
    in_rounds(setting, workload, loads, |round| {
        let mut order: Vec<_> = rows.iter().collect();
        if round % 2 == 0 {
            order.reverse();
        }
        for row in order {
            findings.cell(&row.name, workload, round, &row.figures(loads, memory)?);
        }
        Ok(())
    })
}

/// Like [`play`], with all rows at the same time: they share the processor, and only misses count.
fn play_at_once(
    setting: &Setting,
    rows: &[Row],
    workload: &str,
    (loads, memory): (&[Load], Bytes),
    findings: &mut Findings,
) -> Result<()> {
    in_rounds(setting, workload, loads, |round| {
        let found: Vec<_> = std::thread::scope(|scope| {
            let play = |row: &'_ Row| row.figures(loads, memory);
            let threads: Vec<_> = rows.iter().map(|row| scope.spawn(move || play(row))).collect();
            let ended = threads.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            ended.collect::<Result<_>>()
        })?;
        for (row, figures) in rows.iter().zip(found) {
            findings.cell(&row.name, workload, round, &figures);
        }
        Ok(())
    })
}

/// Fills the databases of the loads where that is not done yet, and plays each round.
fn in_rounds(
    setting: &Setting,
    workload: &str,
    loads: &[Load],
    mut play: impl FnMut(u64) -> Result<()>,
) -> Result<()> {
    loads.iter().try_for_each(Load::prepare)?;
    for round in 1..=setting.rounds {
        eprintln!("{workload}, round {round} of {}", setting.rounds);
        play(round)?;
    }
    Ok(())
}

/// A share of the bytes of all objects in the first `limit` requests of each trace, including the
/// bytes that a server keeps beside each object.
fn memory(traces: &[String], limit: u64, share: f64) -> Result<Bytes> {
    /// Bytes beside key and value: an entry of a table, two headers.
    const BESIDE: u64 = 64;
    let load = super::load::Load::first(Some(limit), traces, &[])?;
    let all = load.footprint.0 + load.objects * BESIDE;
    Ok(Bytes((all as f64 * share) as u64).max(SMALLEST))
}

/// Claims the ratio of a row's figure to that of another row, in each workload.
fn compare(findings: &mut Findings, (row, than): (&str, &str), figure: &str, wanted: &str) {
    for workload in findings.workloads() {
        if let Some([median, low, high]) = findings.ratio(row, than, &workload, figure) {
            let what = format!("{workload}: {figure} of {row} by that of {than}");
            findings.claim(&what, format!("{median:.3} ({low:.3} to {high:.3})"), wanted);
        }
    }
}
