//! How live experiments are run, and the rows of the servers that the user gave.

use super::kept::Kept;
use super::peer::Peer;
use super::row::ServerRow;
use anyhow::Result;
use std::path::PathBuf;

/// A live experiment's entry in the list.
pub(super) type Experiment = super::super::Experiment<Setting>;

/// Arguments of live experiments.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub(crate) struct Args {
    /// Run real servers and really wait: this program, and the peers
    #[arg(long)]
    live: bool,
    /// Server to compare with: redis=COMMAND, valkey=, memcached= or predis= (the server of pRedis'
    /// authors). Servers that are not named are left out
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
    /// Keep each measurement in this file, and take from it those of an earlier run: a run that is
    /// ended goes on where it stopped
    #[arg(long, value_name = "FILE", requires = "live")]
    resume: Option<PathBuf>,
}

/// How a live experiment is run.
#[derive(Debug)]
pub(crate) struct Setting {
    /// Whether to run with less of everything.
    pub(super) quick: bool,
    pub(super) rounds: u64,
    pub(super) peers: Vec<Peer>,
    pub(super) near: Option<String>,
    pub(super) far: Option<String>,
    /// Folder of recorded traces; without it the workloads are synthetic.
    pub(super) traces: Option<PathBuf>,
    pub(super) kept: Kept,
}

impl Args {
    /// The setting, where `--live` was given.
    ///
    /// # Errors
    /// If the file of `--resume` can't be read or written, or has something else in it.
    pub(crate) fn setting(&self, quick: bool, traces: Option<PathBuf>) -> Result<Option<Setting>> {
        if !self.live {
            return Ok(None);
        }
        Ok(Some(Setting {
            quick,
            rounds: self.rounds.unwrap_or(if quick { 1 } else { 5 }),
            peers: self.peers.clone(),
            near: self.near.clone(),
            far: self.far.clone(),
            traces,
            kept: self.resume.as_deref().map(Kept::open).transpose()?.unwrap_or_default(),
        }))
    }
}

impl Setting {
    /// `full`, or `quick` in a quick run.
    pub(super) fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// The near database and the far one, as backends. Prints where a wait stands in for one.
    pub(super) fn databases(&self) -> [String; 2] {
        [("near", &self.near, "delay:200us"), ("far", &self.far, "delay:1ms")].map(
            |(flag, given, instead)| {
                given.clone().unwrap_or_else(|| {
                    eprintln!("without --{flag}, {instead} takes the place of that database");
                    instead.to_owned()
                })
            },
        )
    }

    /// Rows of the peers of these names. Prints the names for which the user gave no peer.
    pub(super) fn peers(&self, names: &[&str]) -> Vec<ServerRow> {
        let mut rows = vec![];
        for &name in names {
            match self.peers.iter().find(|peer| peer.name == name) {
                Some(peer) => {
                    let name = if name == "predis" { "pRedis 2019" } else { name };
                    rows.push(ServerRow::of(name, peer.clone(), ""));
                }
                None => eprintln!("skipped: {name} (--peer {name}=COMMAND)"),
            }
        }
        rows
    }

    /// A row of a peer, with settings of its own; `None` if the user gave no such peer.
    pub(super) fn peer(&self, name: &str, row: &str, arguments: &str) -> Option<ServerRow> {
        let peer = self.peers.iter().find(|peer| peer.name == name)?.clone();
        Some(ServerRow::of(row, peer, arguments))
    }
}
