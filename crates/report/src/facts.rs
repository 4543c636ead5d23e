//! The numbers of a report by name, for outputs that show only numbers: `/metrics`, INFO and
//! memcached's `stats` list every fact of this module.
//!
//! ```text
//! /metrics        larder_misses_total{tenant="web"} 7
//! INFO tenants    tenant_web:hits_total=90,misses_total=7,…
//! stats tenants   STAT web:misses_total 7
//! ```
//!
//! Names follow Prometheus: the name of a counter ends in `_total`, and the unit stands at the end.

use crate::finding::{self, Severity};
use crate::sizing::Sizing;
use crate::{Recent, Report, Tenant};
use base::Cause;
use std::borrow::Cow;

/// How a number changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactKind {
    /// It only grows while the server runs.
    Counter,
    /// It goes up and down.
    Gauge,
}

impl FactKind {
    /// The type name that Prometheus uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
        }
    }
}

/// A number of `Of`, which is the whole report or one tenant.
pub struct Fact<Of> {
    /// Its name.
    pub name: &'static str,
    /// A sentence that explains the number.
    pub help: &'static str,
    /// How it changes.
    pub kind: FactKind,
    /// Reads the number; `None` where it is not known or has no meaning.
    pub of: fn(&Of) -> Option<f64>,
}

const fn gauge<Of>(name: &'static str, help: &'static str, of: fn(&Of) -> Option<f64>) -> Fact<Of> {
    Fact { name, help, kind: FactKind::Gauge, of }
}

const fn counter<Of>(
    name: &'static str,
    help: &'static str,
    of: fn(&Of) -> Option<f64>,
) -> Fact<Of> {
    Fact { name, help, kind: FactKind::Counter, of }
}

/// Facts of the cache as a whole.
pub const OF_SERVER: &[Fact<Report>] = &[
    gauge("uptime_seconds", "Seconds since the server started.", |r| {
        Some(r.server.uptime_s as f64)
    }),
    gauge("clients", "Connected clients.", |r| Some(r.server.clients as f64)),
    gauge("memory_used_bytes", "Memory of items with their metadata and tables.", |r| {
        Some(r.server.used as f64)
    }),
    gauge("memory_max_bytes", "Limit of that memory (maxmemory); 0 without a limit.", |r| {
        Some(r.server.maxmemory as f64)
    }),
    gauge("memory_divided_bytes", "Memory that tenants share; 0 without a limit.", |r| {
        Some(r.server.divided as f64)
    }),
    gauge("memory_resident_bytes", "Resident memory of the process.", |r| {
        Some(r.server.resident as f64)
    }),
    gauge("memory_models_bytes", "Memory of models, samples and history.", |r| {
        Some(r.server.models as f64)
    }),
    gauge("sample_ratio", "Share of the keys that the models sample.", |r| Some(r.server.sampled)),
    counter("refused_writes_total", "Writes refused because memory was full.", |r| {
        Some(r.server.refused as f64)
    }),
    gauge("server_miss_ratio", "Miss ratio of all tenants in the last minutes.", |r| {
        r.recent.miss_ratio()
    }),
    gauge(
        "server_waiting_clients",
        "Clients that wait for a miss, on average: seconds that all clients waited, per second.",
        |r| Some(r.recent.wait_ms_per_s() / 1e3),
    ),
    gauge("server_waiting_ratio", "Old name of server_waiting_clients.", |r| {
        Some(r.recent.wait_ms_per_s() / 1e3)
    }),
    gauge("forecast_error_ratio", "Largest error of 95 % of the forecast miss ratios.", |r| {
        (r.forecasts.count > 0).then_some(r.forecasts.most)
    }),
    gauge("warnings", "Warnings that LARDER ADVISE shows.", |r| {
        let found = finding::all(r);
        Some(found.iter().filter(|one| one.severity == Severity::Warning).count() as f64)
    }),
];

/// Facts of a tenant.
pub const OF_TENANTS: &[Fact<Tenant>] = &[
    counter("hits_total", "Reads that hit.", |t| Some(t.counters.hits as f64)),
    counter("misses_total", "Reads that missed.", |t| Some(t.counters.misses as f64)),
    counter("misses_expired_total", "Reads that missed because the item had expired.", |t| {
        Some(t.counters.misses_expired as f64)
    }),
    counter("writes_total", "Writes of a value.", |t| Some(t.counters.writes as f64)),
    counter("deletes_total", "Items that clients deleted.", |t| Some(t.counters.deletes as f64)),
    counter("expired_total", "Items that expired.", |t| Some(t.counters.expired as f64)),
    counter("expired_swept_total", "Expired items that the background sweep removed.", |t| {
        Some(t.counters.expired_swept as f64)
    }),
    counter("expired_for_room_total", "Expired items that writes removed to make room.", |t| {
        Some(t.counters.expired_for_room as f64)
    }),
    counter("evicted_total", "Items evicted to make room.", |t| Some(t.counters.evicted as f64)),
    counter("evicted_bytes_total", "Bytes of evicted items.", |t| {
        Some(t.counters.evicted_bytes as f64)
    }),
    counter(
        "not_admitted_total",
        "Writes of large values that were not stored: others are worth more.",
        |t| Some(t.counters.not_admitted as f64),
    ),
    gauge("tenant_used_bytes", "Memory of a tenant.", |t| Some(t.used as f64)),
    gauge("tenant_items", "Items of a tenant.", |t| Some(t.items as f64)),
    gauge("tenant_min_bytes", "Memory that other tenants may not take.", |t| Some(t.min as f64)),
    gauge("tenant_max_bytes", "Limit of a tenant's memory, if it has one.", |t| {
        t.max.map(|max| max as f64)
    }),
    gauge("tenant_budget_bytes", "Memory that the current plan gives a tenant.", |t| {
        t.budget.map(|budget| budget as f64)
    }),
    gauge("tenant_weight", "Weight of a tenant's waiting in plans.", |t| Some(t.weight)),
    gauge("miss_penalty_seconds", "Mean cost of a miss, if it was measured.", |t| {
        t.penalty_us.map(|us| us / 1e6)
    }),
    gauge("miss_ratio", "Miss ratio in the last minutes.", |t| t.recent.miss_ratio()),
    gauge(
        "waiting_clients",
        "Clients that wait for a miss, on average: seconds that they waited, per second.",
        |t| Some(t.recent.wait_ms_per_s() / 1e3),
    ),
    gauge("waiting_ratio", "Old name of waiting_clients.", |t| {
        Some(t.recent.wait_ms_per_s() / 1e3)
    }),
];

/// One number of a tenant for each value of a label.
pub struct Split {
    /// Its name.
    pub name: &'static str,
    /// A sentence that explains the number.
    pub help: &'static str,
    /// The label.
    pub label: &'static str,
    /// The values of the label, each with its number; a value without a known number is absent.
    pub of: fn(&Tenant) -> Vec<(&'static str, f64)>,
}

/// Gauges of a tenant that carry an extra label.
pub const SPLITS: &[Split] = &[
    Split {
        name: "miss_cause_ratio",
        help: "Share of recent reads that missed, by cause, from sampled keys.",
        label: "cause",
        of: |tenant| {
            let share = |cause: &Cause| Some((cause.name(), tenant.recent.missed_for(*cause)?));
            Cause::ALL.iter().filter_map(share).collect()
        },
    },
    Split {
        name: "predicted_miss_ratio",
        help: "Predicted miss ratio with half, the same and twice the tenant's memory.",
        label: "size",
        of: |tenant| {
            let at = |(name, factor): (&'static str, f64)| {
                let size = (tenant.used as f64 * factor) as u64;
                Some((name, Sizing::of(tenant)?.at(size).ratio))
            };
            [("0.5x", 0.5), ("1x", 1.0), ("2x", 2.0)].into_iter().filter_map(at).collect()
        },
    },
];

/// The report as of now. Sentences about a quiet cache keep the figures of its last requests; for
/// the facts, nothing is read and nobody waits.
pub fn present(report: &Report) -> Cow<'_, Report> {
    if report.server.quiet_s == 0 {
        return Cow::Borrowed(report);
    }
    let mut present = report.clone();
    let tenants = present.tenants.iter_mut().map(|tenant| &mut tenant.recent);
    for recent in tenants.chain([&mut present.recent]) {
        *recent = Recent { seconds: recent.seconds, ..Recent::default() };
    }
    Cow::Owned(present)
}

/// Every fact of the whole cache that is known.
pub fn of_server(report: &Report) -> impl Iterator<Item = (&'static str, f64)> {
    OF_SERVER.iter().filter_map(|fact| Some((fact.name, (fact.of)(report)?)))
}

/// Every known fact of a tenant, as a flat list of names and numbers. Facts of [`SPLITS`] have the
/// value of their label appended to the name: `miss_cause_ratio_evicted`.
pub fn of_tenant(tenant: &Tenant) -> impl Iterator<Item = (String, f64)> {
    let plain = OF_TENANTS.iter().filter_map(|fact| Some((fact.name.into(), (fact.of)(tenant)?)));
    let split = SPLITS.iter().flat_map(|split| {
        (split.of)(tenant)
            .into_iter()
            .map(|(value, number)| (format!("{}_{value}", split.name), number))
    });
    plain.chain(split)
}

/// A number as every output prints it: whole numbers without decimals, all others with six.
pub fn show(number: f64) -> String {
    if number.fract() == 0.0 { format!("{number:.0}") } else { format!("{number:.6}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::healthy;

    /// Nobody waits while nothing is read, so a gauge of the waiting falls to 0.
    #[test]
    fn facts_of_a_quiet_cache_are_of_now() {
        let waits = |report: &Report| {
            let mut facts = of_tenant(&present(report).tenants[0]).collect::<Vec<_>>().into_iter();
            facts.find(|(name, _)| name == "waiting_clients").map(|(_, number)| number)
        };
        let mut report = healthy();
        assert!(waits(&report).unwrap() > 0.0);
        report.server.quiet_s = 90;
        assert_eq!(waits(&report), Some(0.0));
    }

    /// Every name is unique and ends in its unit.
    #[test]
    fn names_follow_prometheus() {
        let server = OF_SERVER.iter().map(|fact| (fact.name, fact.help, fact.kind));
        let tenants = OF_TENANTS.iter().map(|fact| (fact.name, fact.help, fact.kind));
        let splits = SPLITS.iter().map(|split| (split.name, split.help, FactKind::Gauge));
        let mut seen = std::collections::HashSet::new();
        for (name, help, kind) in server.chain(tenants).chain(splits) {
            assert!(seen.insert(name), "{name} stands twice");
            assert_eq!(kind == FactKind::Counter, name.ends_with("_total"), "{name}");
            assert!(help.ends_with('.'), "{name}: {help}");
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
        }
    }
}
