//! Curves, needs and divisions of tenants whose figures are known.

use super::*;
use crate::{Recent, Report, Server, Tenant};

/// A tenant whose misses fall evenly from all reads to a tenth of them within `end` bytes.
pub(crate) fn tenant(name: &str, used: u64, end: u64, penalty_us: f64, measured: f64) -> Tenant {
    let sizes: Vec<u64> = (0..=10).map(|step| end * step / 10).collect();
    let ratios: Vec<f64> = (0..=10).map(|step| 1.0 - 0.09 * f64::from(step)).collect();
    Tenant {
        name: name.into(),
        used,
        weight: 1.0,
        penalty_us: Some(penalty_us),
        recent: Recent {
            seconds: 100,
            reads: 100_000,
            misses: (100_000.0 * measured) as u64,
            ..Recent::default()
        },
        curve: Some(Curve {
            low: ratios.iter().map(|ratio| ratio - 0.01).collect(),
            high: ratios.iter().map(|ratio| ratio + 0.01).collect(),
            sizes,
            ratios,
            reads: 50_000.0,
            ..Curve::default()
        }),
        ..Tenant::default()
    }
}

#[test]
fn a_curve_is_shifted_to_what_is_measured() {
    let on = tenant("a", 500, 1_000, 1e3, 0.55);
    let sizing = Sizing::of(&on).unwrap();
    assert!((sizing.at(500).ratio - 0.55).abs() < 1e-9);
    assert!((sizing.at(250).ratio - 0.775).abs() < 1e-9);
    assert_eq!(sizing.end(), 1_000);
    // The tenant misses as often as sampled LRU would with 800 bytes, so all its keys fit in
    // 625.
    let better = tenant("a", 500, 1_000, 1e3, 0.28);
    let sizing = Sizing::of(&better).unwrap();
    assert!((sizing.at(500).ratio - 0.28).abs() < 1e-9);
    assert_eq!(sizing.end(), 625);
    assert!((sizing.at(250).ratio - 0.64).abs() < 1e-9);
    // The tenant misses more than the curve does at its end: the excess is added at every size.
    let never = tenant("a", 2_000, 1_000, 1e3, 0.3);
    let sizing = Sizing::of(&never).unwrap();
    assert!((sizing.at(2_000).ratio - 0.3).abs() < 1e-9);
    assert!(Sizing::of(&Tenant::default()).is_none());
}

/// 40 of the 55 percentage points of misses are evictions. So an unbounded cache misses 15 %,
/// though the curve of the last minutes ends at 10 %.
#[test]
fn with_all_in_memory_only_what_was_evicted_hits() {
    let mut one = tenant("a", 500, 1_000, 1e3, 0.55);
    one.recent.causes = [150, 400, 0, 0, 0];
    one.recent.sampled = 550;
    let sizing = Sizing::of(&one).unwrap();
    assert!((sizing.at(1_000).ratio - 0.15).abs() < 1e-9, "{:?}", sizing.at(1_000));
    assert!((sizing.at(500).ratio - 0.55).abs() < 1e-9);
    assert!((sizing.at(250).ratio - 0.775).abs() < 1e-9, "with less it is as the curve is");
    let Need::Memory { bytes, .. } = sizing.need(0.35) else { panic!() };
    assert!(bytes.abs_diff(750) <= 1, "{bytes}");
    assert!(matches!(sizing.need(0.14), Need::Never { .. }));
}

/// The band is one point by chance and a tenth of the change of 27 points.
#[test]
fn a_wish_has_its_memory_or_none() {
    let one = tenant("a", 500, 1_000, 1e3, 0.55);
    let sizing = Sizing::of(&one).unwrap();
    let Need::Memory { bytes, least, most } = sizing.need(0.28) else { panic!() };
    assert!(bytes.abs_diff(800) <= 1 && least.abs_diff(768) <= 1, "{bytes} {least}");
    assert!(most.unwrap().abs_diff(832) <= 1, "{most:?}");
    assert!(matches!(sizing.need(0.1), Need::Memory { most: None, .. }));
    let Need::Never { floor } = sizing.need(0.05) else { panic!() };
    assert!((floor - 0.1).abs() < 1e-9);
}

#[test]
fn memory_goes_where_the_next_byte_saves_most() {
    let report = Report {
        tenants: vec![
            tenant("dear", 500, 1_000, 10e3, 0.55),
            tenant("cheap", 500, 1_000, 1e3, 0.55),
            Tenant { name: "new".into(), used: 100, ..Tenant::default() },
        ],
        server: Server { divided: 1_100, ..Server::default() },
        ..Report::default()
    };
    let division = divide(&report, 1_100);
    assert_eq!(division.shares, [1_000, 0, 100]);
    // 1000 reads per second of each: a tenth of them misses for 10 ms, and all miss for 1 ms.
    assert!((division.wait_ms - 2_000.0).abs() < 1.0, "{division:?}");
    let more = outlook(&report, 2_100).unwrap();
    assert!((more.saves_ms - 900.0).abs() < 1.0 && !more.is_beyond, "{more:?}");
    assert!(outlook(&report, 3_000).unwrap().is_beyond);
    let less = outlook(&report, 600).unwrap();
    assert!((less.saves_ms + 4_500.0).abs() < 10.0, "{less:?}");
    let mut bounded = report.clone();
    bounded.tenants[1].min = 400;
    assert_eq!(divide(&bounded, 1_100).shares, [600, 400, 100]);
    bounded.tenants[0].max = Some(300);
    assert_eq!(divide(&bounded, 1_100).shares, [300, 700, 100]);
}
