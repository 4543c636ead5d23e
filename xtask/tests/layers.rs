//! The crate graph, as drawn in ARCHITECTURE.md. A new edge is a design decision, so it is made
//! here.

use std::fs;
use std::path::Path;

/// Each crate and all crates that it may depend on, including dev-dependencies.
const MAY_USE: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("files", &[]),
    ("trace", &["base"]),
    ("policy", &["base"]),
    ("wire", &["base"]),
    // Only for tests, on any layer.
    ("skip", &[]),
    ("uring", &["skip"]),
    ("curve", &["base", "policy"]),
    ("store", &["base", "policy"]),
    ("tune", &["base", "policy", "curve"]),
    ("report", &["base", "tune"]),
    ("dashboard", &["base", "tune", "report", "skip"]),
    ("live", &["base", "policy", "curve", "tune", "store"]),
    (
        "server",
        &[
            "base",
            "files",
            "policy",
            "curve",
            "tune",
            "store",
            "live",
            "wire",
            "uring",
            "report",
            "dashboard",
            "skip",
        ],
    ),
    ("load", &["base", "files", "trace", "store", "wire", "report", "tune"]),
    (
        "lab",
        &[
            "base",
            "files",
            "trace",
            "policy",
            "curve",
            "tune",
            "store",
            "live",
            "wire",
            "report",
            "dashboard",
            "load",
            "skip",
        ],
    ),
    // The lab only for tests: `top` and `advise` of a server with the module.
    ("attach-module", &["base", "policy", "curve", "tune", "report", "wire", "lab", "skip"]),
    (
        "larder",
        &[
            "base", "trace", "policy", "curve", "tune", "store", "live", "wire", "report", "load",
            "server", "lab", "skip",
        ],
    ),
];

/// The project's crates in a manifest's dependencies, in both forms that Cargo knows.
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

/// The drawing in ARCHITECTURE.md: each crate and its row.
fn drawn(page: &str) -> Vec<(&str, u32)> {
    let (_, section) = page.split_once("## The crates").expect("a section of the crates");
    let drawing = section.split("```").nth(1).expect("a drawing");
    let rows = drawing.lines().filter_map(|line| {
        let (row, rest) = line.trim().split_once(' ')?;
        let is_crate = |word: &&str| MAY_USE.iter().any(|(known, _)| known == word);
        let names = rest.split_whitespace().take_while(is_crate);
        Some(names.map(move |name| (name, row)).collect::<Vec<_>>())
    });
    rows.flatten().filter_map(|(name, row)| Some((name, row.parse().ok()?))).collect()
}

#[test]
fn the_map_is_that_of_the_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let drawn = drawn(&page);
    let row = |name: &str| {
        let found: Vec<_> = drawn.iter().filter(|(known, _)| *known == name).collect();
        assert_eq!(found.len(), 1, "{name} stands in one row of the drawing: {drawn:?}");
        found[0].1
    };
    for (name, may_use) in MAY_USE {
        let in_table = page.contains(&format!("\n| `{name}` |"));
        assert!(in_table, "{name} is not in the table of ARCHITECTURE.md");
        for used in *may_use {
            // The module's tests use the lab's commands, and every crate's tests may be skipped.
            let is_test = (*name, *used) == ("attach-module", "lab") || *used == "skip";
            assert!(is_test || row(used) < row(name), "{used} is not drawn below {name}");
        }
    }
    let table = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    for (name, _) in table {
        let is_there = MAY_USE.iter().any(|(known, _)| *known == name) || root.join(name).is_dir();
        assert!(is_there, "the table of ARCHITECTURE.md has {name}, which is not there");
    }
}

/// The invariants of ARCHITECTURE.md that show in a manifest.
#[test]
fn sockets_and_runtimes_live_above() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let manifest = |name: &str| fs::read_to_string(crates.join(name).join("Cargo.toml")).unwrap();
    let base = manifest("base");
    let (_, own) = base.split_once("\n[dependencies]\n").expect("a section, and nothing in it");
    assert!(own.trim_start().starts_with('['), "base has a dependency: {own}");
    let above = ["server", "dashboard", "lab", "larder", "attach-module"];
    for (name, _) in MAY_USE.iter().filter(|(name, _)| !above.contains(name)) {
        for runtime in ["tokio", "mio", "hyper", "socket2"] {
            let has = manifest(name).lines().any(|line| line.starts_with(runtime));
            assert!(!has, "{name} must not use {runtime}");
        }
    }
}

/// The check above depends on the reading of manifests.
#[test]
fn an_edge_upwards_is_found_in_either_form() {
    for line in ["tune.workspace = true", "tune = { path = \"../tune\" }"] {
        let manifest = format!("[package]\nname = \"store\"\n\n[dev-dependencies]\n{line}\n");
        assert_eq!(used(&manifest), ["tune"], "{line}");
    }
}

/// Only three crates may contain unsafe code: the store, the crate that shares memory with the
/// kernel, and the module that other servers load. Every other crate forbids it at its root.
#[test]
fn unsafe_code_lives_in_three_crates_alone() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let holds = |name: &str| matches!(name, "store" | "uring" | "attach-module");
    for (name, _) in MAY_USE.iter().filter(|(name, _)| !holds(name)) {
        for root in ["lib.rs", "main.rs"] {
            let path = crates.join(name).join("src").join(root);
            if let Ok(text) = fs::read_to_string(&path) {
                assert!(text.contains("#![forbid(unsafe_code)]"), "{}", path.display());
            }
        }
    }
}
