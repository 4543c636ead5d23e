//! What the two runs gave: one JSON document, or one table and one sentence.

use lab::replay::{Latency, Report};
use lab::report::{Format, Table};
use serde::Serialize;
use std::fmt;

/// The demo's answer.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Answer {
    /// Reproduces the requests.
    pub(super) seed: u64,
    /// The plain cache.
    pub(super) r#static: Run,
    /// The tuned one.
    pub(super) auto: Run,
}

/// One run: what was measured behind the warm-up.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Run {
    requests: u64,
    miss_ratio: f64,
    latency_us: Latency,
    tenants: Vec<TenantRun>,
}

/// One tenant of a run.
#[derive(Clone, Debug, Serialize)]
struct TenantRun {
    name: String,
    requests: u64,
    miss_ratio: f64,
    mean_us: f64,
    /// Memory at the end.
    bytes: u64,
}

/// What a tenant has in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Holding {
    /// Memory it uses.
    pub(super) bytes: u64,
}

impl Run {
    /// Of a replay, and what each tenant held at its end.
    pub(super) fn new(report: &Report, holdings: &[Holding]) -> Self {
        let tenants = report.tenants.iter().zip(holdings).map(|(tenant, holding)| TenantRun {
            name: tenant.name.clone(),
            requests: tenant.requests,
            miss_ratio: tenant.miss_ratio,
            mean_us: tenant.latency_us.mean,
            bytes: holding.bytes,
        });
        Self {
            requests: report.requests,
            miss_ratio: report.miss_ratio,
            latency_us: report.latency_us,
            tenants: tenants.collect(),
        }
    }
}

impl Answer {
    /// By which share the mean latency of the tuned run is below that of the plain one.
    fn saved(&self) -> f64 {
        1.0 - self.auto.latency_us.mean / self.r#static.latency_us.mean
    }
}

/// How much something changed, in per cent.
fn change(before: f64, after: f64) -> String {
    format!("{:+.1} %", (after / before - 1.0) * 100.0)
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |value: f64| Format::Micros.show(value);
        let mut table = Table::new([
            "tenant",
            "requests",
            "static misses",
            "mean",
            "memory",
            "auto misses",
            "mean",
            "memory",
            "change",
        ]);
        for (plain, tuned) in self.r#static.tenants.iter().zip(&self.auto.tenants) {
            let half = |run: &TenantRun| {
                [
                    format!("{:.3}", run.miss_ratio),
                    us(run.mean_us),
                    Format::Bytes.show(run.bytes as f64),
                ]
            };
            let head = [plain.name.clone(), plain.requests.to_string()];
            let last = [change(plain.mean_us, tuned.mean_us)];
            table.row(head.into_iter().chain(half(plain)).chain(half(tuned)).chain(last));
        }
        let all = |run: &Run| {
            let bytes: u64 = run.tenants.iter().map(|tenant| tenant.bytes).sum();
            [
                format!("{:.3}", run.miss_ratio),
                us(run.latency_us.mean),
                Format::Bytes.show(bytes as f64),
            ]
        };
        let head = ["all".to_owned(), self.r#static.requests.to_string()];
        let last = [change(self.r#static.latency_us.mean, self.auto.latency_us.mean)];
        table.row(head.into_iter().chain(all(&self.r#static)).chain(all(&self.auto)).chain(last));
        writeln!(f, "{table}")?;
        for (name, run) in [("static", &self.r#static), ("auto", &self.auto)] {
            let Latency { p50, p99, p999, .. } = run.latency_us;
            writeln!(f, "{name}: p50 {}, p99 {}, p999 {}", us(p50), us(p99), us(p999))?;
        }
        let (plain, tuned) = (us(self.r#static.latency_us.mean), us(self.auto.latency_us.mean));
        let (saved, word) =
            (self.saved() * 100.0, if self.saved() < 0.0 { "more" } else { "less" });
        write!(
            f,
            "\nWith the same memory and the same requests, recipe auto takes {tuned} a request \
             in the mean instead of {plain}: {:.1} % {word}.",
            saved.abs()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(mean: f64) -> Run {
        let latency_us = Latency { mean, p50: 80.0, p99: 5_000.0, p999: 9_000.0 };
        let tenant = TenantRun {
            name: "web".into(),
            requests: 10,
            miss_ratio: 0.25,
            mean_us: mean,
            bytes: 1 << 20,
        };
        Run { requests: 10, miss_ratio: 0.25, latency_us, tenants: vec![tenant] }
    }

    /// Programs read this: its keys are a promise.
    #[test]
    fn the_json_has_the_documented_keys() {
        let answer = Answer { seed: 3, r#static: run(400.0), auto: run(300.0) };
        let value = serde_json::to_value(&answer).unwrap();
        let keys = |value: &serde_json::Value| {
            value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(keys(&value), "auto seed static");
        assert_eq!(keys(&value["static"]), "latency_us miss_ratio requests tenants");
        assert_eq!(keys(&value["static"]["latency_us"]), "mean p50 p99 p999");
        let tenant = &value["auto"]["tenants"][0];
        assert_eq!(keys(tenant), "bytes mean_us miss_ratio name requests");
    }

    #[test]
    fn the_sentence_says_which_way_it_went() {
        let text =
            |plain, tuned| Answer { seed: 1, r#static: run(plain), auto: run(tuned) }.to_string();
        let better = text(400.0, 300.0);
        assert!(better.contains("25.0 % less") && better.contains("-25.0 %"), "{better}");
        let worse = text(300.0, 330.0);
        assert!(worse.contains("10.0 % more") && worse.contains("+10.0 %"), "{worse}");
    }
}
