//! What a run gave, per tenant and in all.

use crate::latency::{Latency, Tally};
use ::report::draw::{Format, Table};
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// What a run gave. Counts and latencies are of the requests behind the warm-up.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Reproduces the run.
    pub seed: u64,
    /// Requests counted.
    pub requests: u64,
    /// Requests served before the first that counted.
    pub requests_warmup: u64,
    /// How long the whole run took.
    pub seconds: f64,
    /// Reads that found nothing, by reads.
    pub miss_ratio: f64,
    /// Latencies.
    pub latency_us: Latency,
    /// Half of the hits took at most this, in microseconds.
    pub hit_us: f64,
    /// Error replies, wrong values and failed queries.
    pub errors: u64,
    /// What the first error said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_error: Option<String>,
    /// The tenants, in order.
    pub tenants: Vec<TenantReport>,
}

/// What a run gave one tenant.
#[derive(Clone, Debug, Serialize)]
pub struct TenantReport {
    /// Its name.
    pub name: String,
    /// Requests counted.
    pub requests: u64,
    /// Reads among them.
    pub gets: u64,
    /// Reads that found nothing.
    pub misses: u64,
    /// Reads that found nothing, by reads.
    pub miss_ratio: f64,
    /// Latencies.
    pub latency_us: Latency,
    /// What an answer of the backend really took, in the mean.
    pub penalty_us: f64,
    /// Hits that were followed by a write, because the object had another size by then.
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
            "{served} requests in {:.1} s, {:.0} a second; {} of them warmed up, not counted",
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
