//! The report of a run, for each tenant and in total.

use crate::latency::{Latency, Tally};
use ::report::draw::{Format, Table};
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// The report of a run. Counts and latencies cover the requests after the warm-up.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The seed, which reproduces the run.
    pub seed: u64,
    /// Requests counted.
    pub requests: u64,
    /// Requests served in the warm-up.
    pub requests_warmup: u64,
    /// Duration of the whole run in seconds.
    pub seconds: f64,
    /// Share of reads that missed.
    pub miss_ratio: f64,
    /// Latencies of all counted requests.
    pub latency_us: Latency,
    /// Median latency of hits, in microseconds.
    pub hit_us: f64,
    /// Error replies, wrong values and failed queries.
    pub errors: u64,
    /// The text of the first error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_error: Option<String>,
    /// The tenants, in order.
    pub tenants: Vec<TenantReport>,
}

/// The report of a run for one tenant.
#[derive(Clone, Debug, Serialize)]
pub struct TenantReport {
    /// The tenant's name.
    pub name: String,
    /// Requests counted.
    pub requests: u64,
    /// Counted reads.
    pub gets: u64,
    /// Reads that missed.
    pub misses: u64,
    /// Share of reads that missed.
    pub miss_ratio: f64,
    /// Latencies of the tenant's counted requests.
    pub latency_us: Latency,
    /// Mean time that an answer of the backend actually took, in microseconds.
    pub penalty_us: f64,
    /// Hits followed by a write, because the size of the object had changed.
    pub resized: u64,
    /// Error replies, wrong values and failed queries.
    pub errors: u64,
}

impl Report {
    pub(crate) fn new(
        seed: u64,
        took: Duration,
        requests_warmup: u64,
        tallies: Vec<(String, Tally)>,
    ) -> Self {
        let mut all = Tally::default();
        for (_, tally) in &tallies {
            all.merge(tally);
        }
        let tenants = tallies.into_iter().map(|(name, tally)| TenantReport {
            name,
            requests: tally.requests,
            gets: tally.gets,
            misses: tally.misses,
            miss_ratio: tally.miss_ratio(),
            latency_us: tally.latency(),
            penalty_us: tally.penalty_us(),
            resized: tally.resized,
            errors: tally.errors,
        });
        Self {
            seed,
            requests: all.requests,
            requests_warmup,
            seconds: took.as_secs_f64(),
            miss_ratio: all.miss_ratio(),
            latency_us: all.latency(),
            hit_us: all.hit_us(),
            errors: all.errors,
            tenants: tenants.collect(),
            first_error: all.first_error,
        }
    }

    /// Requests a second over the whole run.
    pub fn requests_per_second(&self) -> f64 {
        (self.requests + self.requests_warmup) as f64 / self.seconds.max(1e-9)
    }

    /// Whether there were requests and none was served.
    pub(crate) const fn all_failed(&self) -> bool {
        self.requests > 0 && self.errors >= self.requests
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new([
            "tenant",
            "requests",
            "miss ratio",
            "mean",
            "p50",
            "p99",
            "p999",
            "penalty",
            "errors",
        ]);
        let us = |value: f64| Format::Micros.show(value);
        let latencies =
            |latency: &Latency| [latency.mean, latency.p50, latency.p99, latency.p999].map(us);
        for tenant in &self.tenants {
            let [mean, p50, p99, p999] = latencies(&tenant.latency_us);
            table.row([
                tenant.name.clone(),
                tenant.requests.to_string(),
                format!("{:.4}", tenant.miss_ratio),
                mean,
                p50,
                p99,
                p999,
                us(tenant.penalty_us),
                tenant.errors.to_string(),
            ]);
        }
        let [mean, p50, p99, p999] = latencies(&self.latency_us);
        table.row([
            "all".into(),
            self.requests.to_string(),
            format!("{:.4}", self.miss_ratio),
            mean,
            p50,
            p99,
            p999,
            String::new(),
            self.errors.to_string(),
        ]);
        writeln!(f, "{table}")?;
        let served = self.requests + self.requests_warmup;
        write!(
            f,
            "{served} requests in {:.1} s, {:.0} per second; {} of them warmed up and are not \
             counted",
            self.seconds,
            self.requests_per_second(),
            self.requests_warmup
        )?;
        if let Some(error) = &self.first_error {
            write!(f, "\nfirst error: {error}")?;
        }
        Ok(())
    }
}
