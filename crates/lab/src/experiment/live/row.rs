//! A row of a live experiment: a server with settings of its own.

use super::kept::Measured;
use super::load::{Load, Tenant, words};
use super::peer::{Kind, Peer};
use anyhow::Result;
use base::Bytes;

/// Name of the tenant whose miss ratio is reported beside that of all, as `promised`.
pub(super) const PROMISED: &str = "promised";

/// A row: a peer with settings of its own.
#[derive(Clone, Debug)]
pub(super) struct ServerRow {
    pub(super) name: String,
    pub(super) peer: Peer,
    pub(super) arguments: Vec<String>,
    /// Arguments of `larder replay` for this row alone.
    pub(super) client: Vec<String>,
}

impl ServerRow {
    /// A row of a server, with these settings.
    pub(super) fn of(name: &str, peer: Peer, arguments: &str) -> Self {
        Self { name: name.to_owned(), peer, arguments: words(arguments), client: vec![] }
    }

    /// A row of this program, with these settings.
    pub(super) fn larder(name: &str, arguments: &str) -> Result<Self> {
        Ok(Self::of(name, Peer::larder()?, arguments))
    }

    /// Adds arguments of `larder replay` for this row.
    pub(super) fn asked(self, arguments: &str) -> Self {
        Self { client: words(arguments), ..self }
    }

    /// Declares the tenants by prefix, each followed by `rest`, where the server knows tenants.
    pub(super) fn with_tenants(mut self, tenants: &[Tenant], rest: &str) -> Self {
        if matches!(self.peer.kind, Kind::Larder | Kind::LarderForMemcached) {
            for Tenant { name, .. } in tenants {
                let line = format!("{name} match prefix {name}: {rest}");
                self.arguments.extend(["--tenant".to_owned(), line.trim_end().to_owned()]);
            }
        }
        self
    }

    /// The command of the server and of its client, without what differs from start to start.
    pub(super) fn command(&self) -> String {
        [self.peer.command(), self.arguments.join(" "), self.client.join(" ")].join(" ")
    }

    /// Starts the server and plays these loads to it. Returns all figures of the last load, and the
    /// mean wait of each load before it.
    pub(super) fn figures(&self, loads: &[Load], memory: Bytes) -> Result<Measured> {
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
        Ok(figures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}
