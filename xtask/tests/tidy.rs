//! The form of the repository, checked: what a reviewer should not have to look for.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// Every file below `folder` with this ending, build output and version control left out.
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
    let problems: Vec<_> = files(&root().join("crates"), ".rs")
        .into_iter()
        .chain(files(&root().join("xtask"), ".rs"))
        .filter(|path| !fs::read_to_string(path).unwrap().starts_with("//!"))
        .map(|path| format!("{}: has no head comment", path.display()))
        .collect();
    complain(&problems);
}

/// A file that no `mod` names is dead: the compiler does not see it.
#[test]
fn every_source_file_is_reachable() {
    let mut problems = vec![];
    for source in fs::read_dir(root().join("crates")).unwrap() {
        let source = source.unwrap().path().join("src");
        let all: String =
            files(&source, ".rs").iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        for path in files(&source, ".rs") {
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            let name = match &*stem {
                "lib" | "main" => continue,
                "mod" => path.parent().unwrap().file_name().unwrap().to_string_lossy().into(),
                _ => stem,
            };
            // Declared by `mod name;`, or named in one of the lists that declare their modules.
            let declared = all.contains(&format!("mod {name};"));
            let listed =
                all.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
            if !declared && !listed {
                problems.push(format!("{}: no `mod` names it", path.display()));
            }
        }
    }
    complain(&problems);
}

#[test]
fn documents_have_one_title_and_their_links_lead_somewhere() {
    let mut problems = vec![];
    for path in files(&root(), ".md") {
        let text = fs::read_to_string(&path).unwrap();
        let mut in_block = false;
        let mut titles = 0;
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                in_block = !in_block;
            }
            titles += usize::from(!in_block && line.starts_with("# "));
        }
        if titles != 1 {
            problems.push(format!("{}: {titles} titles instead of one", path.display()));
        }
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            let outside = target.contains("://") || target.is_empty() || target.contains(' ');
            if !outside && !path.parent().unwrap().join(target).exists() {
                problems.push(format!("{}: links to {target}, absent", path.display()));
            }
        }
    }
    complain(&problems);
}

/// The README promises two commands; the first block that can be run stands where a reader looks.
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

/// Whoever clones the project has neither this machine's folders nor its registries.
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
