//! Tests every finding on a report that has exactly this fault, and on a report without faults.

use super::*;
use crate::{
    ComparedForecast, Counters, Curve, Forecasts, HotKey, PolicyTrial, Recent, Report, Server,
    Shift, Shrinks, SizeClass, Tenant,
};

const MIB: u64 = 1 << 20;

/// A tenant whose misses fall from all reads to a fiftieth within `end` bytes. Its measured miss
/// ratio lies on that curve.
pub(crate) fn tenant(name: &str, used: u64, end: u64, penalty_us: f64) -> Tenant {
    let sizes: Vec<u64> = (0..=20).map(|step| end * step / 20).collect();
    let ratios: Vec<f64> = (0..=20).map(|step| 0.02 + 0.98 * 0.8f64.powi(step)).collect();
    let band = |by: f64| ratios.iter().map(|ratio| ratio + by).collect();
    let (low, high) = (band(-0.01), band(0.01));
    let mut curve = Curve { low, high, reads: 20_000.0, sizes, ratios, ..Curve::default() };
    let last = curve.ratios.len() - 1;
    curve.ratios[last] = 0.02;
    let ratio = curve.at(used as f64).unwrap().ratio;
    let misses = (100_000.0 * ratio) as u64;
    Tenant {
        name: name.into(),
        used,
        weight: 1.0,
        items: used / 1_000,
        policy: "gittins".into(),
        penalty_us: Some(penalty_us),
        counters: Counters {
            hits: 1 << 20,
            misses: 1 << 16,
            writes: 1 << 16,
            ..Counters::default()
        },
        recent: Recent {
            seconds: 600,
            reads: 100_000,
            misses,
            causes: [2_000, misses - 2_000, 0, 0, 0],
            sampled: 1_000,
            wait_ms: misses as f64 * penalty_us / 1e3,
        },
        curve: Some(curve),
        ..Tenant::default()
    }
}

/// A report without findings: two tenants with enough memory in a cache of 200 MiB.
pub(crate) fn healthy() -> Report {
    let tenants =
        vec![tenant("web", 100 * MIB, 110 * MIB, 5e3), tenant("jobs", 90 * MIB, 100 * MIB, 1e3)];
    let recent = Recent {
        seconds: 600,
        reads: 200_000,
        misses: tenants.iter().map(|tenant| tenant.recent.misses).sum(),
        causes: [1_000, 1_000, 0, 0, 0],
        sampled: 2_000,
        wait_ms: tenants.iter().map(|tenant| tenant.recent.wait_ms).sum(),
    };
    Report {
        server: Server {
            recipe: "auto".into(),
            policy: "auto".into(),
            now_unix_s: 1_795_704_471,
            uptime_s: 2_000,
            maxmemory: 200 * MIB,
            divided: 200 * MIB,
            used: 190 * MIB,
            resident: 210 * MIB,
            machine: 8 << 30,
            ..Server::default()
        },
        recent,
        tenants,
        forecasts: Forecasts {
            count: 500,
            median: 0.004,
            most: 0.013,
            worst: Some(ComparedForecast { tenant: "web".into(), ..ComparedForecast::default() }),
            ..Forecasts::default()
        },
        ..Report::default()
    }
}

/// A report that has the fault of one finding and no other.
pub(crate) fn with_fault(name: &str) -> Report {
    let mut report = healthy();
    let missed_for = |causes| Recent { causes, ..report.tenants[1].recent };
    match name {
        "refused_writes" => report.server.refused = 10,
        "memory_overcommitted" => report.server.machine = 210 * MIB,
        "starved" => {
            report.tenants[1] = tenant("jobs", 30 * MIB, 100 * MIB, 400.0);
            report.tenants[1].shift = Some(Shift {
                unix_s: report.server.now_unix_s - 3_600,
                before: 0.06,
                since: 0.31,
                used_before: 90 * MIB,
                used_since: 30 * MIB,
                winner: Some("web".into()),
                because: None,
            });
        }
        "promise_broken" => report.tenants[1].target = Some("0.01".into()),
        "too_small" => {
            report.tenants[0] = tenant("web", 100 * MIB, 900 * MIB, 5e3);
            report.tenants[1] = tenant("jobs", 90 * MIB, 900 * MIB, 1e3);
        }
        "too_large" => {
            report.server.uptime_s = 90_000;
            report.tenants[0] = tenant("web", 20 * MIB, 20 * MIB, 5e3);
            report.tenants[1] = tenant("jobs", 20 * MIB, 20 * MIB, 1e3);
        }
        "compressible" => {
            report.server.compression = "no".into();
            let shrinks = Shrinks { values: 200, values_to: 0.3, memory_to: 0.4 };
            report.tenants[0] = tenant("web", 100 * MIB, 220 * MIB, 5e3);
            report.tenants[0].compressed.sampled = Some(shrinks);
            // With so much waiting, twice the memory saves only a small part of it.
            report.recent.wait_ms *= 20.0;
        }
        "policy" => {
            report.server.policy = "allkeys-lru".into();
            report.policies = ["allkeys-lru", "allkeys-lhd"]
                .into_iter()
                .zip([1.0, 0.8])
                .map(|(policy, waits)| PolicyTrial {
                    policy: policy.into(),
                    is_present: waits == 1.0,
                    waits,
                    band: 0.05,
                    miss_ratio: 0.1,
                })
                .collect();
        }
        "cold_misses" => report.tenants[1].recent = missed_for([500, 500, 0, 0, 0]),
        "ttl_too_short" => {
            report.tenants[1].recent = missed_for([50, 50, 900, 0, 0]);
            report.tenants[1].twice_the_ttl = Some(0.5);
        }
        "deleted_misses" => report.tenants[1].recent = missed_for([0, 400, 0, 600, 0]),
        "read_too_early" => report.tenants[1].recent = missed_for([0, 400, 0, 0, 600]),
        "large_items" => {
            report.tenants[1].sizes = vec![
                SizeClass { size: 1_000, used: 20 * MIB, items: 20_000, hits: 99_000 },
                SizeClass { size: 65_536, used: 70 * MIB, items: 1_100, hits: 1_000 },
            ];
        }
        "hot_key" => {
            report.recent.reads = 6_000_000;
            let jobs = &mut report.tenants[1].recent;
            (jobs.reads, jobs.misses) = (50 * jobs.reads, 50 * jobs.misses);
            report.tenants[1].hot_keys = vec![HotKey { key: "config\n".into(), share: 0.4 }];
        }
        "write_only" => {
            report.tenants[1].counters = Counters { writes: 1_000_000, ..Counters::default() };
            report.tenants[1].recent = Recent::default();
        }
        "floor_costs" => {
            report.tenants[0] = tenant("web", 75 * MIB, 110 * MIB, 5e3);
            report.tenants[1] = tenant("jobs", 120 * MIB, 100 * MIB, 1e3);
            report.tenants[1].min = 120 * MIB;
            // With so much waiting, more memory saves only a small part of it.
            report.recent.wait_ms *= 20.0;
        }
        "forecast_off" => report.forecasts.most = 0.2,
        "loop_off" => report.server.recipe = "static".into(),
        name => panic!("{name} has no report that shows it"),
    }
    // About a tenth of the reads of `jobs` misses in the reports about causes.
    let jobs = &mut report.tenants[1].recent;
    if jobs.causes.iter().sum::<u64>() == 1_000 && jobs.reads > 0 {
        jobs.misses = 12_000;
        report.tenants[1].used = 76 * MIB;
    }
    report
}

fn names(report: &Report) -> Vec<String> {
    all(report).into_iter().map(|finding| finding.finding).collect()
}

#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    assert_eq!(names(&healthy()), Vec::<String>::new());
    assert_eq!(names(&Report::default()), ["memory_overcommitted"], "it has no limit");
}

#[test]
fn each_finds_its_fault_and_nothing_else() {
    for spec in ALL {
        assert_eq!(names(&with_fault(spec.name)), [spec.name], "{}", spec.name);
    }
}

/// Findings are whole sentences, and every line fits a terminal of 80 columns.
#[test]
fn all_is_said_in_sentences_of_eighty_columns() {
    for report in ALL.iter().map(|spec| with_fault(spec.name)).chain([healthy()]) {
        for finding in all(&report) {
            assert!(finding.says.ends_with('.'), "{finding:?}");
            assert!(finding.evidence.ends_with('.'), "{finding:?}");
            assert!(finding.worth_ms.is_finite() && !finding.todo.is_empty(), "{finding:?}");
        }
        let mut lines = crate::say::advise(&report, None);
        lines.extend(crate::say::policies(&report));
        for tenant in &report.tenants {
            lines.extend(crate::say::why(&report, tenant));
            lines.extend(crate::say::memory(&report, tenant, 0.05));
        }
        for line in lines {
            assert!(line.chars().count() <= 80, "{line}");
            assert!(!line.contains("  .") && !line.contains("NaN"), "{line}");
        }
    }
}

/// The server's own needs take memory too: that is no other tenant's gain.
#[test]
fn memory_that_no_tenant_got_starves_nobody() {
    let mut report = with_fault("starved");
    report.tenants[1].shift.as_mut().unwrap().winner = None;
    let found = super::all(&report);
    assert!(found.iter().all(|finding| finding.finding != "starved"), "{found:?}");
}

#[test]
fn a_report_survives_json() {
    let report = with_fault("starved");
    let text = serde_json::to_string(&report).unwrap();
    let again: Report = serde_json::from_str(&text).unwrap();
    assert_eq!(crate::say::advise(&again, None), crate::say::advise(&report, None));
}
