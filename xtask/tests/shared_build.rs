//! The server is built from few crates, and a build of the workspace reuses them.
//!
//! Cargo enables the features of a crate that any part of a build requests. If the lab requests one
//! more than the server does, `cargo build` and `cargo build --workspace` recompile that crate, and
//! all crates above it, in turn. So `crates/larder/Cargo.toml` requests those features, too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// The most crates that `cargo run` of a fresh clone compiles, for the target and for build
/// scripts.
const CRATES_MAX: usize = 140;

/// Each crate that these packages are built from, and the features that it is compiled with: the
/// features for the program, and those for build scripts and macros.
fn crates(packages: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--edges", "normal,build", "--prefix", "none"])
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
    let crates = crates(&["--package", "larder"]);
    let count = crates.len();
    assert!(count <= CRATES_MAX, "{count} crates, {CRATES_MAX} may be: {:?}", crates.keys());
    assert!(count > 50, "{count}: this is not all of it");
}

#[test]
fn a_build_of_everything_finds_what_the_server_is_built_from() {
    let (server, everything) = (crates(&["--package", "larder"]), crates(&["--workspace"]));
    let differ: Vec<_> =
        server.iter().filter(|(name, features)| everything[*name] != **features).collect();
    let other: Vec<_> = differ.iter().map(|(name, _)| &everything[*name]).collect();
    assert!(differ.is_empty(), "compiled twice: {differ:#?}, and in the workspace {other:#?}");
}
