//! The server is built from few crates, and every build reuses what another build compiled.
//!
//! Cargo enables the features of a crate that any part of a build requests. If the tests request
//! one more than the server does, `cargo build` and `cargo test --workspace` recompile that crate,
//! and all crates above it, in turn. So `crates/larder/Cargo.toml` and `crates/lab/Cargo.toml`
//! request those features, too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// The most crates that `cargo run` of a fresh clone compiles, for the target and for build
/// scripts.
const CRATES_MAX: usize = 140;

/// The edges of a build, and of a build of tests.
const BUILD: &str = "normal,build";
const TESTS: &str = "normal,build,dev";

/// Each crate that these packages are built from, and the features that it is compiled with: the
/// features for the program, and those for build scripts and macros.
fn crates(edges: &str, packages: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--edges", edges, "--prefix", "none"])
        .args(["--format", "{p}|{f}"])
        .args(packages)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut crates: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    // Blank lines separate the trees of several packages.
    let text = String::from_utf8(output.stdout).unwrap();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let (name, features) = line.trim_end_matches(" (*)").split_once('|').unwrap();
        crates.entry(name.to_owned()).or_default().insert(features.to_owned());
    }
    crates
}

#[test]
fn the_server_is_built_from_few_crates() {
    let crates = crates(BUILD, &["--package", "larder"]);
    let count = crates.len();
    assert!(count <= CRATES_MAX, "{count} crates, {CRATES_MAX} may be: {:?}", crates.keys());
    assert!(count > 50, "{count}: this is not all of it");
}

#[test]
fn a_build_finds_what_another_build_compiled() {
    let everything = crates(TESTS, &["--workspace"]);
    for (edges, packages) in [
        (BUILD, &["--package", "larder"][..]),
        (BUILD, &["--package", "lab"]),
        (BUILD, &["--workspace"]),
        (TESTS, &["--package", "larder"]),
    ] {
        for (name, features) in crates(edges, packages) {
            let all = &everything[&name];
            assert!(
                features.is_subset(all),
                "{packages:?} compiles {name} with {features:?}, \
                 and the tests of the workspace with {all:?}"
            );
        }
    }
}
