//! The crate graph, as drawn in ARCHITECTURE.md. A new edge is a design decision, so it is made
//! here.

use std::fs;
use std::path::Path;

/// Each crate and all it may depend on, dev-dependencies included.
const MAY_USE: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("trace", &["base"]),
    ("policy", &["base"]),
    ("wire", &["base"]),
    ("curve", &["base", "policy"]),
    ("store", &["base", "policy"]),
    ("tune", &["base", "policy", "curve"]),
    ("report", &["base", "tune"]),
    ("dashboard", &["base", "tune", "report"]),
    ("live", &["base", "policy", "curve", "tune", "store"]),
    (
        "server",
        &["base", "policy", "curve", "tune", "store", "live", "wire", "report", "dashboard"],
    ),
    (
        "lab",
        &[
            "base",
            "trace",
            "policy",
            "curve",
            "tune",
            "store",
            "live",
            "wire",
            "report",
            "dashboard",
        ],
    ),
    // The lab for tests alone: `top` and `advise` of a server with the module.
    ("attach-module", &["base", "policy", "curve", "tune", "report", "wire", "lab"]),
    (
        "larder",
        &["base", "trace", "policy", "curve", "tune", "store", "live", "wire", "server", "lab"],
    ),
];

/// Our crates that a manifest depends on, in either form Cargo knows.
fn used(manifest: &str) -> Vec<&str> {
    let mut in_dependencies = false;
    let mut found = vec![];
    for line in manifest.lines() {
        if let Some(section) = line.strip_prefix('[') {
            in_dependencies = section.contains("dependencies");
        } else if in_dependencies && let Some((left, _)) = line.split_once('=') {
            let name = left.trim().split('.').next().unwrap_or_default();
            if MAY_USE.iter().any(|(known, _)| *known == name) {
                found.push(name);
            }
        }
    }
    found
}

#[test]
fn crates_depend_only_downwards() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut seen = 0;
    for entry in fs::read_dir(&crates).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let (_, allowed) = MAY_USE
            .iter()
            .find(|(known, _)| *known == name)
            .unwrap_or_else(|| panic!("{name}: give it a layer"));
        let manifest = fs::read_to_string(crates.join(&name).join("Cargo.toml")).unwrap();
        for used in used(&manifest) {
            assert!(allowed.contains(&used), "{name} must not use {used}");
        }
        seen += 1;
    }
    assert_eq!(seen, MAY_USE.len(), "a layer is given to a crate that does not exist");
}

/// The check above is only as good as the reading of manifests.
#[test]
fn an_edge_upwards_is_found_in_either_form() {
    for line in ["tune.workspace = true", "tune = { path = \"../tune\" }"] {
        let manifest = format!("[package]\nname = \"store\"\n\n[dev-dependencies]\n{line}\n");
        assert_eq!(used(&manifest), ["tune"], "{line}");
    }
}

/// Only the store, and the module that other servers load, may hold unsafe code; every other crate
/// forbids it at its root.
#[test]
fn unsafe_code_lives_in_the_store_and_the_module_alone() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let holds = |name: &str| matches!(name, "store" | "attach-module");
    for (name, _) in MAY_USE.iter().filter(|(name, _)| !holds(name)) {
        for root in ["lib.rs", "main.rs"] {
            let path = crates.join(name).join("src").join(root);
            if let Ok(text) = fs::read_to_string(&path) {
                assert!(text.contains("#![forbid(unsafe_code)]"), "{}", path.display());
            }
        }
    }
}
