//! The summary of a capture, for people and as JSON.

use super::cost::Cost;
use super::write::Written;
use crate::report::Table;
use crate::report::format::{Format, bytes};
use crate::wrapped::wrapped;
use serde::Serialize;
use std::fmt;
use trace::capture::{Filled, Recorded, TenantSeen};

/// A server, as it describes itself.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Server {
    /// redis, valkey, larder or memcached.
    pub(crate) kind: String,
    pub(crate) version: String,
    /// Bytes that the server may use; `None` if it has no limit.
    pub(crate) memory_limit: Option<u64>,
    pub(crate) memory_used: Option<u64>,
    pub(crate) policy: Option<String>,
    /// Number of items evicted since the server started.
    pub(crate) evicted: Option<u64>,
    /// Number of items that the server holds.
    pub(crate) items: Option<u64>,
    /// Bytes that these items take, including the server's overhead for them.
    pub(crate) items_used: Option<u64>,
}

/// A capture, without its requests.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Summary {
    pub(crate) from: String,
    pub(crate) server: Server,
    /// Command by which the server was watched.
    pub(crate) how: &'static str,
    pub(crate) windows: u64,
    pub(crate) window_seconds: f64,
    /// Time watched, in all windows together.
    pub(crate) seconds: f64,
    /// Time from begin to end, pauses included.
    pub(crate) span_seconds: f64,
    /// The reason why the capture ended early, if it did.
    pub(crate) ended: Option<String>,
    pub(crate) requests: u64,
    /// Lines that could not be understood.
    pub(crate) malformed: u64,
    /// Lines that the server omitted.
    pub(crate) lost: u64,
    /// Keys whose size the server was asked for.
    pub(crate) keys_asked: u64,
    pub(crate) asking_refused: Option<String>,
    pub(crate) tells_deletions: bool,
    /// Writes that fill a miss of the same connection; the next field counts the same host.
    pub(crate) fills_by_connection: u64,
    pub(crate) fills_by_host: u64,
    /// Whether the server reports for reads if they hit.
    pub(crate) tells_hits: bool,
    pub(crate) filled: Filled,
    pub(crate) tenants: Vec<TenantSeen>,
    pub(crate) cost: Cost,
    /// The assumptions behind the trace, in sentences.
    pub(crate) assumptions: Vec<String>,
    pub(crate) output: Option<Output>,
}

/// The file that was written.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Output {
    pub(crate) file: String,
    pub(crate) format: String,
    pub(crate) bytes: u64,
    /// Number of requests written; fewer than were captured if the disk was full.
    pub(crate) requests: u64,
    pub(crate) losses: Vec<String>,
}

impl Summary {
    pub(super) fn of(recorded: &Recorded) -> Self {
        let fills = recorded.fills();
        Self {
            requests: recorded.len() as u64,
            fills_by_connection: fills.by_connection,
            fills_by_host: fills.by_host,
            tells_hits: fills.told_hits + fills.told_misses > 0,
            filled: recorded.filled(),
            tenants: recorded.tenants(),
            ..Self::default()
        }
    }

    /// Reads of all tenants together.
    pub(crate) fn reads(&self) -> u64 {
        self.tenants.iter().map(|tenant| tenant.reads).sum()
    }

    /// Reads that are known to have missed.
    pub(crate) fn misses(&self) -> u64 {
        self.tenants.iter().map(|tenant| tenant.misses).sum()
    }

    pub(super) fn wrote(&mut self, file: &str, format: &str, written: Written) {
        let Written { requests, bytes, losses } = written;
        let (file, format) = (file.to_owned(), format.to_owned());
        self.output = Some(Output { file, format, bytes, requests, losses });
    }

    /// Requests, keys and sizes of each tenant, one tenant a row.
    pub(crate) fn table(&self) -> Table {
        let head = ["tenant", "reads", "misses", "miss cost", "writes", "keys", "values"];
        let mut table = Table::new(head);
        for tenant in &self.tenants {
            table.row([
                tenant.name.clone(),
                tenant.reads.to_string(),
                tenant.misses.to_string(),
                tenant.penalty_us.map_or("not seen".to_owned(), |us| Format::Micros.show(us)),
                tenant.writes.to_string(),
                tenant.keys.to_string(),
                bytes(tenant.value_bytes),
            ]);
        }
        table
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |text: &str| f.write_str(&wrapped(text, ""));
        if let Some(output) = &self.output {
            let size = match output.bytes {
                0 => String::new(),
                size => format!(", {}", bytes(size)),
            };
            line(&format!(
                "{}: {} requests of {} tenants, from {:.1} s{size}.",
                output.file,
                output.requests,
                self.tenants.len(),
                self.seconds
            ))?;
            if output.requests < self.requests {
                line(&format!(
                    "The disk is full: the file has only the first {} of {} requests. Free some \
                     space, or name a file on another disk.",
                    output.requests, self.requests
                ))?;
            }
            for loss in &output.losses {
                line(&format!("The format {} does not hold everything: {loss}.", output.format))?;
            }
        }
        if let Some(why) = &self.ended {
            line(&format!(
                "The capture ended early: {why}. The file is complete up to that moment."
            ))?;
        }
        writeln!(f, "\n{}\n", self.table())?;
        f.write_str(&wrapped(&self.cost.sentence(self.how), ""))?;
        f.write_str("\nAssumptions:\n")?;
        for assumption in &self.assumptions {
            f.write_str(&wrapped(assumption, "  "))?;
        }
        if let Some(output) = &self.output {
            let memory = match self.server.memory_limit {
                Some(limit) => Format::Bytes.show(limit as f64).replace([' ', 'i'], ""),
                None => "64MB".to_owned(),
            };
            let next = format!("larder advise --from {} --memory {memory}", output.file);
            write!(f, "\nNext: {next}\n")?;
        }
        Ok(())
    }
}
