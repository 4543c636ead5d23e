//! Metrics in the text format of Prometheus.
//!
//! Names begin with `larder_`. A tenant's metrics carry its name as a label. No label has an
//! unbounded number of values (no keys, no clients).

use report::{Report, facts, finding};
use std::fmt::{Display, Write};
use tune::pilot::{PoolEpoch, Status};

/// Lines of the format: each metric with its help text and its samples.
#[derive(Clone, Debug, Default)]
pub struct Page(String);

/// A label's name and value.
pub type Label<'a> = (&'a str, &'a str);

impl Page {
    /// Begins a metric of this `kind` (counter or gauge).
    pub fn metric(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a String does not fail.
        let _ = write!(self.0, "# HELP larder_{name} {help}\n# TYPE larder_{name} {kind}\n");
    }

    /// Writes a sample of the metric that was begun last.
    pub fn sample(&mut self, name: &str, labels: &[Label<'_>], value: impl Display) {
        let _ = write!(self.0, "larder_{name}");
        for (at, (label, text)) in labels.iter().enumerate() {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{}{label}=\"{text}\"", if at == 0 { '{' } else { ',' });
        }
        let _ = writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }

    /// Writes a counter without labels: its head and its one sample.
    pub fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.metric(name, "counter", help);
        self.sample(name, &[], value);
    }

    /// Writes a gauge without labels: its head and its one sample.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.metric(name, "gauge", help);
        self.sample(name, &[], value);
    }

    /// All lines.
    pub fn text(self) -> String {
        self.0
    }
}

/// Pages of each size class, with the forecast and the actual outcome, if the recipe divides pages.
fn classes(known: &Status, page: &mut Page) {
    let [.., before, last] = &known.history[..] else { return };
    let by_class = |pool: &&PoolEpoch| pool.pages.is_some();
    if last.pools.iter().any(|pool| by_class(&pool)) {
        page.metric("class_pages", "gauge", "Pages of a size class.");
        for pool in last.pools.iter().filter(by_class) {
            page.sample("class_pages", &[("class", &pool.name)], pool.pages.unwrap_or(0));
        }
        let forecast: fn(&PoolEpoch) -> Option<f64> = |pool| pool.forecast;
        for (name, help, of) in [
            ("class_forecast", "Forecast miss ratio of a size class in the last epoch.", forecast),
            ("class_outcome", "Measured miss ratio of a size class in the last epoch.", |pool| {
                pool.outcome
            }),
        ] {
            page.metric(name, "gauge", help);
            for pool in before.pools.iter().filter(by_class) {
                if let Some(ratio) = of(pool) {
                    page.sample(name, &[("class", &pool.name)], ratio);
                }
            }
        }
    }
}

/// The rounds of a pilot, its last plan, and its forecasts beside the actual values.
pub fn status(known: &Status, page: &mut Page) {
    classes(known, page);
    page.counter(
        "epochs_total",
        "Epochs: rounds of observing, modelling and planning.",
        known.epoch,
    );
    page.counter("samples_total", "Requests that the models sampled.", known.samples);
    page.counter("samples_dropped_total", "Samples lost because a queue was full.", known.dropped);
    if let Some(epoch) = known.history.last() {
        let help = "Share of the waiting that the last plan promised to save.";
        page.gauge("plan_gain_ratio", help, epoch.gain);
        page.gauge(
            "plan_threshold_ratio",
            "Share that a plan must promise to be applied.",
            epoch.threshold,
        );
        page.gauge(
            "plan_moved_bytes",
            "Bytes that the last plan moved between pools.",
            epoch.moved.0,
        );
    }
    // The last epoch with a known outcome: its forecast and the actual values.
    let known = known.history.iter().rev().nth(1);
    let pools = known.map_or(&[][..], |epoch| &epoch.pools);
    page.metric("forecast_miss_ratio", "gauge", "Forecast miss ratio of a pool in the last epoch.");
    for pool in pools {
        if let Some(ratio) = pool.forecast {
            page.sample("forecast_miss_ratio", &[("pool", &pool.name)], ratio);
        }
    }
    page.metric("outcome_miss_ratio", "gauge", "Measured miss ratio of a pool in the last epoch.");
    for pool in pools {
        if let Some(ratio) = pool.outcome {
            page.sample("outcome_miss_ratio", &[("pool", &pool.name)], ratio);
        }
    }
}

/// Every fact of the report, and its findings.
pub fn facts(report: &Report, page: &mut Page) {
    let present = facts::present(report);
    for fact in facts::OF_SERVER {
        page.metric(fact.name, fact.kind.name(), fact.help);
        if let Some(number) = (fact.of)(&present) {
            page.sample(fact.name, &[], number);
        }
    }
    for fact in facts::OF_TENANTS {
        page.metric(fact.name, fact.kind.name(), fact.help);
        for tenant in &present.tenants {
            if let Some(number) = (fact.of)(tenant) {
                page.sample(fact.name, &[("tenant", &tenant.name)], number);
            }
        }
    }
    for split in facts::SPLITS {
        page.metric(split.name, "gauge", split.help);
        for tenant in &present.tenants {
            for (value, number) in (split.of)(tenant) {
                page.sample(split.name, &[("tenant", &tenant.name), (split.label, value)], number);
            }
        }
    }
    page.metric(
        "findings",
        "gauge",
        "Findings of LARDER ADVISE, by kind and severity; 1 for each.",
    );
    for one in &finding::all(report) {
        let tenant = one.tenant.as_deref().unwrap_or_default();
        let severity = one.severity.name();
        let labels =
            [("finding", one.finding.as_str()), ("severity", severity), ("tenant", tenant)];
        page.sample("findings", &labels, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let mut page = Page::default();
        page.gauge("a", "A.", 1);
        page.sample("b", &[("x", "q\"\\\n"), ("y", "2")], 0.5);
        assert_eq!(
            page.0,
            "# HELP larder_a A.\n# TYPE larder_a gauge\nlarder_a 1\n\
             larder_b{x=\"q\\\"\\\\\\n\",y=\"2\"} 0.5\n"
        );
    }
}
