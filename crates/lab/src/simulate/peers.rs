//! Miss ratios on real traces, where these are at hand, against those of libCacheSim 0.3.5.
//!
//! Where the definition of a policy is the same, four digits must agree. Where it is not (ARC's
//! step in bytes, LIRS' demotions, the segments of SLRU), the policy is left out of the figures,
//! and `docs/results/lab.md` explains the difference. Policies that draw at random must agree
//! within half a percentage point, but for the three cells explained there. LHD must be as good or
//! better.

use super::args::ReadSize;
use super::feed::Feed;
use super::play::{Plan, all};
use super::size::Size;
use crate::compressed::CompressArgs;
use load::open::Options;
use std::path::Path;

const FIGURES: &str = include_str!("../../../../testdata/libcachesim.csv");

/// A line of the figures.
struct Figure {
    comparison: &'static str,
    trace: &'static str,
    requests: Option<u64>,
    ignore_size: bool,
    policy: &'static str,
    size: Size,
    miss_ratio: f64,
}

impl Figure {
    fn of(line: &'static str) -> Self {
        let fields: Vec<&str> = line.split(',').collect();
        let &[comparison, trace, requests, size_in, policy, size, miss_ratio] = &*fields else {
            panic!("{line}")
        };
        Self {
            comparison,
            trace,
            requests: requests.parse().ok(),
            ignore_size: size_in == "objects",
            policy,
            size: Size::parse(size).unwrap(),
            miss_ratio: miss_ratio.parse().unwrap(),
        }
    }

    /// Whether both figures are of the same requests, read in the same way.
    fn is_read_like(&self, other: &Self) -> bool {
        let of = |figure: &Self| (figure.trace, figure.requests, figure.ignore_size);
        of(self) == of(other)
    }
}

fn compare(comparison: &str, fits: impl Fn(f64, f64) -> bool) {
    let lines = FIGURES.lines().filter(|line| !line.starts_with('#')).skip(1);
    let figures: Vec<_> =
        lines.map(Figure::of).filter(|figure| figure.comparison == comparison).collect();
    assert!(!figures.is_empty());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    for alike in figures.chunk_by(Figure::is_read_like) {
        let &Figure { trace, requests: limit, ignore_size, .. } = &alike[0];
        let path = folder.join(format!("{trace}.csv.zst"));
        if !path.exists() {
            skip::skip("traces", "shared/traces beside the repository");
            continue;
        }
        let options = Options { ignore_size, limit, ..Options::default() };
        let feed =
            Feed::read(&path.to_string_lossy(), &options, CompressArgs::default(), true).unwrap();
        for of_policy in alike.chunk_by(|a, b| a.policy == b.policy) {
            let policy = of_policy[0].policy;
            let choices = [(policy.to_owned(), policy::parse(policy).unwrap())];
            let sizes: Vec<_> = of_policy.iter().map(|figure| figure.size.clone()).collect();
            let plan = Plan {
                choices: &choices,
                sizes: &sizes,
                seed: 1,
                read_size: ReadSize::New,
                compress: CompressArgs::default(),
                interval: None,
                tenants: false,
                threads: 2,
            };
            let outcomes = all(trace, &feed, &plan).unwrap();
            for (outcome, Figure { size, miss_ratio: want, .. }) in outcomes.iter().zip(of_policy) {
                let got = outcome.miss_ratio;
                assert!(fits(got, *want), "{trace}, {policy} at {size}: {got:.4} for {want:.4}");
            }
        }
    }
}

#[test]
fn what_is_defined_alike_counts_alike() {
    compare("equal", |got, want| (got - want).abs() <= 0.000_051);
}

#[test]
fn what_is_drawn_is_close() {
    compare("close", |got, want| (got - want).abs() <= 0.005);
}

#[test]
fn lhd_is_as_good_or_better() {
    compare("at-most", |got, want| got <= want + 0.000_05);
}
