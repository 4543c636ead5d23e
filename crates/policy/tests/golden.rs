//! Exact miss counts of every policy at eight sizes on three synthetic traces.
//!
//! A change of any count is a change of a policy: `cargo x golden` writes the counts anew, and a
//! person reviews the difference.

mod common;

use policy::{ALL, Access, Bytes, Cache, Choice, admit, parse};
use std::fmt::Write;
use std::path::Path;

const REQUESTS: usize = 20_000;
/// Capacities, as shares of the footprint.
const SIZES: [f64; 8] = [0.002, 0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.9];

fn counts(trace: &[Access]) -> String {
    let footprint = common::footprint(trace);
    let sizes = SIZES.map(|share| (footprint as f64 * share) as u64);
    let mut out = String::from("policy");
    for size in sizes {
        let _ = write!(out, " {size}");
    }
    let filtered = admit::ALL.iter().map(|filter| format!("lru+{}", filter.name));
    // The trace is too short for AdaptSize's first choice at the default interval.
    let varied = ["w-tinylfu:adapt=0", "lru+adaptsize:interval=2000"].map(str::to_owned);
    let named = varied.into_iter().chain(filtered).map(|name| parse(&name).unwrap());
    let choices = ALL.iter().map(|spec| Choice::of(spec)).chain(named);
    for choice in choices {
        let _ = write!(out, "\n{choice}");
        for size in sizes {
            let mut cache = Cache::new(&choice, Bytes(size), 1);
            common::play(&mut cache, trace);
            let _ = write!(out, " {}", cache.stats().misses);
        }
    }
    out + "\n"
}

fn check(name: &str, trace: Vec<Access>) {
    let got = counts(&common::with_foresight(trace));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden");
    let path = folder.join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(&path, got).unwrap();
        return;
    }
    let want = std::fs::read_to_string(&path).unwrap_or_default();
    for (got, want) in got.lines().zip(want.lines()) {
        assert_eq!(got, want, "{name}: if the change is meant, say `cargo x golden`");
    }
    assert_eq!(got.lines().count(), want.lines().count(), "{name}: `cargo x golden` adds lines");
}

#[test]
fn popular() {
    check("popular", common::popular(REQUESTS));
}

#[test]
fn loops_and_scans() {
    check("loops_and_scans", common::loops_and_scans(REQUESTS));
}

#[test]
fn mixed() {
    check("mixed", common::mixed(REQUESTS));
}
