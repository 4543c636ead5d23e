//! Load on the servers of a live experiment: `larder replay`, as a user would type it.
//!
//! The client is a program of its own, so that it adds no CPU time to a server's account. It also
//! makes each run a command that can be repeated by hand.

use super::peer::Running;
use anyhow::{Result, ensure};
use serde::Deserialize;
use std::process::{Command, Stdio};

/// The words of a command line.
pub(super) fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A tenant: its name, its trace, and the backend that answers its misses.
#[derive(Clone, Debug)]
pub(super) struct Tenant {
    pub(super) name: String,
    trace: String,
    backend: String,
}

impl Tenant {
    pub(super) fn new(name: &str, trace: String, backend: String) -> Self {
        Self { name: name.to_owned(), trace, backend }
    }
}

/// Tenants with their traces, and the arguments with which they are sent.
#[derive(Clone, Debug)]
pub(super) struct Load {
    tenants: Vec<Tenant>,
    /// More arguments of `larder replay`.
    arguments: Vec<String>,
    /// Arguments that choose a part of the traces. Tables of the backends hold the whole traces.
    part: Vec<String>,
}

/// Fields of the report of `larder replay`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Report {
    requests: u64,
    requests_warmup: u64,
    seconds: f64,
    miss_ratio: f64,
    pub(super) latency_us: Latency,
    errors: u64,
    first_error: Option<String>,
    tenants: Vec<OfTenant>,
}

/// Fields of a tenant's report.
#[derive(Clone, Debug, Deserialize)]
struct OfTenant {
    name: String,
    miss_ratio: f64,
}

/// Latencies in microseconds.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Latency {
    pub(super) mean: f64,
    p50: f64,
    p99: f64,
    p9999: f64,
}

impl Load {
    /// The requests of these tenants, and more arguments of `larder replay`.
    pub(super) fn new(tenants: Vec<Tenant>, arguments: &str) -> Self {
        Self { tenants, arguments: words(arguments), part: vec![] }
    }

    /// Restricts the load to the part of its traces that these arguments choose.
    pub(super) fn part(mut self, arguments: &str) -> Self {
        self.part = words(arguments);
        self
    }

    /// Creates and fills the tables of the backends, where they are missing.
    pub(super) fn prepare(&self) -> Result<()> {
        if self.tenants.iter().all(|tenant| tenant.backend.starts_with("delay:")) {
            return Ok(());
        }
        let output = self.command(&["--prepare"])?.output()?;
        said(&output).map(|_| ())
    }

    /// Plays the load to a server, with more arguments of `larder replay`.
    pub(super) fn play(&self, server: &Running, more: &[String]) -> Result<Report> {
        let mut command = self.command(&["--to", &server.url, "--json"])?;
        let output = command.args(&self.part).args(more).output()?;
        let report: Report = serde_json::from_slice(said(&output)?)?;
        let (errors, sent) = (report.errors, report.requests);
        if errors > 0 {
            let first = report.first_error.as_deref().unwrap_or_default();
            eprintln!("{errors} of {sent} requests failed, the first with: {first}");
        }
        ensure!(errors * 100 <= sent, "more than 1 % of the requests failed");
        Ok(report)
    }

    fn command(&self, arguments: &[&str]) -> Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("replay").args(self.tenants.iter().map(|tenant| &tenant.trace));
        let names: Vec<_> = self.tenants.iter().map(|tenant| tenant.name.as_str()).collect();
        command.args(["--names", &names.join(",")]);
        for tenant in &self.tenants {
            command.args(["--backend", &tenant.backend]);
        }
        command.args(&self.arguments).args(arguments).stdin(Stdio::null());
        Ok(command)
    }
}

/// The standard output of a command that succeeded.
fn said(output: &std::process::Output) -> Result<&[u8]> {
    let words = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "larder replay failed: {}", words.trim());
    Ok(&output.stdout)
}

impl Report {
    /// The miss ratio of a tenant.
    pub(super) fn misses_of(&self, tenant: &str) -> Option<f64> {
        self.tenants.iter().find(|of| of.name == tenant).map(|of| of.miss_ratio)
    }

    /// Number of requests, including the warm-up.
    pub(super) fn sent(&self) -> f64 {
        (self.requests + self.requests_warmup) as f64
    }

    /// The figures of a row.
    pub(super) fn figures(&self) -> Vec<(&'static str, f64)> {
        let Latency { mean, p50, p99, p9999 } = self.latency_us;
        vec![
            ("miss_ratio", self.miss_ratio),
            ("mean_us", mean),
            ("p50_us", p50),
            ("p99_us", p99),
            ("p9999_us", p9999),
            ("requests_per_s", self.sent() / self.seconds.max(1e-9)),
        ]
    }
}
