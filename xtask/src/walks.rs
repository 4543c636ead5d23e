//! `cargo x walks`: follows the instructions of CONTRIBUTING, word for word, in a copy.
//!
//! A walk is a section "…, step by step". These steps of it change files, and all else is prose:
//! Copy `A` to `B`, beside it; there `X` becomes `Y`, in the copy; Put `X` before `Y` in `FILE`.
//! Then Cargo checks the crates whose tests the walk names.

use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The change of a step to the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    Copy { from: String, to: String },
    Becomes { old: String, new: String },
    Put { text: String, before: String, file: String },
}

/// A section, its changes, and the crates to check.
#[derive(Debug)]
struct Walk {
    title: String,
    changes: Vec<Change>,
    crates: Vec<String>,
}

/// The walks of a page.
fn walks(page: &str) -> Vec<Walk> {
    let sections = page.split("\n## ").skip(1);
    let walks = sections.filter_map(|section| {
        let (title, text) = section.split_once('\n')?;
        let title = title.strip_suffix(", step by step")?;
        // Lines of one step belong together.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let parts: Vec<&str> = text.split('`').collect();
        let named = parts.iter().skip(1).step_by(2);
        let crates = named.filter_map(|code| code.strip_prefix("cargo test -p "));
        Some(Walk {
            title: title.to_owned(),
            changes: changes(&parts),
            crates: crates.map(str::to_owned).collect(),
        })
    });
    walks.collect()
}

/// The changes in a text split at backticks: prose and code in turn, prose first.
fn changes(parts: &[&str]) -> Vec<Change> {
    let mut found = vec![];
    for at in (1..parts.len()).step_by(2) {
        let before = parts[at - 1].trim_start_matches(|c: char| !c.is_alphabetic()).trim();
        let prose = |next: usize| parts.get(at + next).map(|text| text.trim());
        let code = |next: usize| parts.get(at + next).map(|text| (*text).to_owned());
        if before.ends_with("Copy") && prose(1) == Some("to") {
            let from = parts[at];
            let beside = code(2).map(|to| Path::new(from).with_file_name(to));
            found.extend(beside.map(|to| Change::Copy {
                from: from.to_owned(),
                to: to.to_string_lossy().into_owned(),
            }));
        } else if prose(1) == Some("becomes") {
            found.extend(code(2).map(|new| Change::Becomes { old: parts[at].to_owned(), new }));
        } else if before.ends_with("Put")
            && (prose(1), prose(3)) == (Some("before"), Some("in"))
            && let (Some(before), Some(file)) = (code(2), code(4))
        {
            found.push(Change::Put { text: parts[at].to_owned(), before, file });
        }
    }
    found
}

/// The changed files with their new texts; `read` returns the current text of a file.
fn changed(walk: &Walk, read: impl Fn(&str) -> Result<String>) -> Result<BTreeMap<String, String>> {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let mut copy = None;
    for change in &walk.changes {
        match change {
            Change::Copy { from, to } => {
                ensure!(read(to).is_err(), "{to} already exists");
                files.insert(to.clone(), read(from)?);
                copy = Some(to.clone());
            }
            Change::Becomes { old, new } => {
                let to = copy.as_ref().context("no line was copied that could be replaced")?;
                let text = files.get_mut(to).context("the copy is missing")?;
                ensure!(text.contains(old), "{to} has no {old}");
                *text = text.replace(old, new);
            }
            Change::Put { text, before, file } => {
                let old = match files.get(file) {
                    Some(text) => text.clone(),
                    None => read(file)?,
                };
                let times = old.matches(before.as_str()).count();
                ensure!(times == 1, "{file} has `{before}` {times} times, not once");
                let new = old.replacen(before, &format!("{text} {before}"), 1);
                files.insert(file.clone(), new);
            }
        }
    }
    if files.is_empty() {
        bail!("the replacement changes nothing");
    }
    Ok(files)
}

fn page(root: &Path) -> Result<Vec<Walk>> {
    Ok(walks(&fs::read_to_string(root.join("CONTRIBUTING.md"))?))
}

pub(crate) fn run() -> Result<()> {
    let (root, target) = (crate::ship::root(), crate::ship::target()?);
    let tree = target.join("walks");
    crate::tree::copy(root, &tree)?;
    for walk in page(root)? {
        eprintln!("→ {}", walk.title);
        follow(&walk, &tree, &target)?;
    }
    fs::remove_dir_all(&tree)?;
    Ok(())
}

/// Makes a walk's changes in the copy, has Cargo check them, and undoes them, so that crates that
/// no walk touches are compiled once. Dependencies are built in the folder of the tree itself.
fn follow(walk: &Walk, tree: &Path, target: &Path) -> Result<()> {
    let read = |name: &str| Ok(fs::read_to_string(tree.join(name))?);
    let files = changed(walk, read).with_context(|| walk.title.clone())?;
    let before: Vec<_> = files.keys().map(|name| (tree.join(name), read(name).ok())).collect();
    for (name, text) in files {
        fs::write(tree.join(name), text)?;
    }
    for name in &walk.crates {
        let status = Command::new("cargo")
            .args(["check", "--quiet", "--all-targets", "-p", name])
            .env("CARGO_TARGET_DIR", target)
            .current_dir(tree)
            .status()?;
        ensure!(status.success(), "{}: {name} does not compile", walk.title);
    }
    for (path, text) in before {
        match text {
            Some(text) => fs::write(path, text)?,
            None => fs::remove_file(path)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The quick half of the chore: every place that a walk names exists once.
    #[test]
    fn walks_can_be_followed() {
        let root = crate::ship::root();
        let walks = page(root).unwrap();
        let titles: Vec<&str> = walks.iter().map(|walk| walk.title.as_str()).collect();
        assert!(titles.len() >= 6, "{titles:?}");
        let read = |name: &str| Ok(fs::read_to_string(root.join(name))?);
        for walk in &walks {
            let files = changed(walk, read).unwrap_or_else(|why| panic!("{}: {why}", walk.title));
            assert!(files.values().all(|text| text.contains("mine")) || walk.crates.len() == 1);
            assert!(!walk.crates.is_empty(), "{}: nothing is checked", walk.title);
        }
    }

    #[test]
    fn steps_are_read() {
        let page = "# A\n\n## B, step by step\n\n1. Copy `a` to\n   `b`.\n2. There `x` becomes \
                    `y`, and `victim` decides.\n3. Put `c,` before `d` in `e`; `cargo test -p f` \
                    plays it.\n";
        let walks = walks(page);
        assert_eq!(walks[0].crates, ["f"]);
        let read = |name: &str| match name {
            "a" => Ok("x x z".to_owned()),
            "e" => Ok("{ d }".to_owned()),
            _ => bail!("absent"),
        };
        let files = changed(&walks[0], read).unwrap();
        assert_eq!((files["b"].as_str(), files["e"].as_str()), ("y y z", "{ c, d }"));
        let stale = |name: &str| if name == "a" { Ok("x".to_owned()) } else { read("a") };
        assert!(changed(&walks[0], stale).is_err(), "what is put beside is not there");
    }
}
