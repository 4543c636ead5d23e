//! The form of the repository: checks that spare a reviewer the search.

mod counts;
mod flaky;
mod floors;
mod imports;
mod links;
mod modules;
mod ratchets;

use modules::Modules;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// Every file below `folder` with this ending, without build output and version control.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = vec![];
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if path.is_dir() {
                if !matches!(&*name, "target" | ".git" | "corpus" | "artifacts" | "node_modules") {
                    open.push(path);
                }
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn complain(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn source_lines_are_short_and_clean() {
    // Written in two halves so that this file passes its own check.
    let banned = [
        concat!("dbg", "!("),
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("FIX", "ME"),
        concat!("#[ig", "nore"),
    ];
    let mut problems = vec![];
    for path in files(&root(), ".rs") {
        for (at, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
            let place = format!("{}:{}", path.display(), at + 1);
            if line.chars().count() > 100 {
                problems.push(format!("{place}: longer than 100 columns"));
            }
            if line.ends_with(' ') {
                problems.push(format!("{place}: ends with a blank"));
            }
            for word in banned {
                if line.contains(word) {
                    problems.push(format!("{place}: {word}"));
                }
            }
        }
    }
    complain(&problems);
}

#[test]
fn every_source_file_opens_with_what_it_is() {
    // A fuzz target is its name and one call.
    let problems: Vec<_> = files(&root(), ".rs")
        .into_iter()
        .filter(|path| !path.starts_with(root().join("fuzz/fuzz_targets")))
        .filter(|path| !fs::read_to_string(path).unwrap().starts_with("//!"))
        .map(|path| format!("{}: has no head comment", path.display()))
        .collect();
    complain(&problems);
}

/// A file that no `mod` names is dead, because the compiler does not see it.
#[test]
fn every_source_file_is_reachable() {
    let manifests = files(&root(), "Cargo.toml");
    let is_workspace = |path: &PathBuf| fs::read_to_string(path).unwrap().contains("[workspace]");
    let workspaces: Vec<_> = manifests.into_iter().filter(is_workspace).collect();
    let modules = Modules::of(&workspaces);
    let mut problems = modules.problems;
    for path in files(&root(), ".rs") {
        if !modules.reached.contains(&path) {
            problems
                .push(format!("{}: no target of Cargo's and no `mod` names it", path.display()));
        }
    }
    complain(&problems);
}

#[test]
fn documents_have_one_title_and_their_links_lead_somewhere() {
    let documents = files(&root(), ".md");
    assert!(documents.len() > 5, "{documents:?}");
    let problems: Vec<_> =
        documents.iter().flat_map(|path| links::problems_of_document(path)).collect();
    complain(&problems);
}

/// When a file moves, documents, comments and scripts must name its new path.
#[test]
fn paths_that_are_named_are_there() {
    let root = root();
    let mut problems = vec![];
    for ending in [".md", ".rs", ".toml", "run"] {
        // The checks in this folder name invented paths.
        for path in files(&root, ending).iter().filter(|path| !path.ends_with("tidy/links.rs")) {
            for (at, line) in fs::read_to_string(path).unwrap_or_default().lines().enumerate() {
                for absent in links::absent_paths(&root, line) {
                    problems.push(format!("{}:{}: {absent} is absent", path.display(), at + 1));
                }
            }
        }
    }
    complain(&problems);
}

/// The README promises two commands, and its first code block must come early.
#[test]
fn the_readme_runs_early() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    let at = text.lines().position(|line| line.starts_with("```")).expect("a block to run") + 1;
    assert!(at <= 30, "the first block stands on line {at}");
    let commands = text.lines().filter(|line| line.starts_with("cargo "));
    assert!(commands.clone().any(|line| line == "cargo run --release -- demo"));
    let test = commands.clone().find(|line| line.starts_with("cargo test")).expect("a test line");
    let ci = fs::read_to_string(root().join(".ci/run")).unwrap();
    assert!(ci.contains(test), ".ci/run does not call `{test}`");
}

/// A clone of the project has neither this machine's folders nor its registries.
#[test]
fn nothing_names_a_machine() {
    let banned = [concat!("/", "work/"), concat!("/", "root/"), concat!("/", "home/")];
    let mut problems = vec![];
    for ending in [".rs", ".md", ".toml", ".sh", ".py", "run"] {
        for path in files(&root(), ending) {
            for (at, line) in fs::read_to_string(&path).unwrap_or_default().lines().enumerate() {
                for word in banned.iter().filter(|word| line.contains(**word)) {
                    problems.push(format!("{}:{}: {word}", path.display(), at + 1));
                }
            }
        }
    }
    complain(&problems);
}
