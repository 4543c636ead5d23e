//! Skipped tests: a test that cannot run here reports it, and no such report is lost.
//!
//! `cargo test` hides the output of tests that pass, so a skipped test looks like one that ran.
//! Each skipped test therefore writes a line to a file in the build folder.
//! `xtask/tests/skipped.rs`, the last set of tests that `cargo test --workspace` runs, lists these
//! lines with the packages to install.
//!
//! Under `.ci/run` nothing is skipped: a missing need fails the test, unless `ALLOW_MISSING` names
//! it.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Environment variable that makes every missing need fail its test.
pub const STRICT: &str = "MISSING_FAILS";
/// Environment variable that lists the needs that may still be missing, separated by blanks.
pub const ALLOWED: &str = "ALLOW_MISSING";

/// A skipped test.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skipped {
    /// The tool or the right that the test needs.
    pub need: String,
    /// The command or step that provides it.
    pub remedy: String,
    /// The name of the test.
    pub test: String,
}

/// Records that the calling thread's test is skipped because `need` is missing, and the remedy.
///
/// # Panics
/// Panics if skipping is forbidden, and `ALLOW_MISSING` does not name the need.
pub fn skip(need: &str, remedy: &str) {
    let text = |name: &str| std::env::var(name).unwrap_or_default();
    assert!(
        may_miss(need, &text(STRICT), &text(ALLOWED)),
        "{need} is missing: {remedy}, or name it in {ALLOWED}"
    );
    let test = std::thread::current().name().unwrap_or("a thread of a test").to_owned();
    println!("skipped: {need} is missing: {remedy}");
    let line = format!("{}\t{need}\t{remedy}\t{test}\n", parent_id());
    let path = list(&std::env::current_exe().unwrap_or_default());
    let file = path.and_then(|path| OpenOptions::new().create(true).append(true).open(path));
    // One write per line, because tests run in parallel.
    if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
        println!("it is not listed: {error}");
    }
}

/// The path of a browser that Playwright drives, if Python has Playwright and these modules. If one
/// of them is missing, the calling thread's test is skipped, and the path is `None`.
///
/// # Panics
/// Panics as [`skip`] does.
pub fn browser(modules: &[&str]) -> Option<&'static str> {
    let modules = [&["playwright"], modules].concat();
    let code = format!("import {}", modules.join(", "));
    let out = Command::new("python3").args(["-c", &code]).output();
    if !out.is_ok_and(|out| out.status.success()) {
        skip("playwright", &format!("pip install {}", modules.join(" ")));
        return None;
    }
    let browsers = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
    let found = browsers.into_iter().find(|path| Path::new(path).exists());
    if found.is_none() {
        skip("chromium", "apt-get install chromium");
    }
    found
}

fn may_miss(need: &str, strict: &str, allowed: &str) -> bool {
    strict.is_empty() || allowed.split_whitespace().any(|name| name == need)
}

/// The path of a build's list, in the folder that Cargo marks with `CACHEDIR.TAG`.
fn list(program: &Path) -> io::Result<PathBuf> {
    let marked = program.ancestors().find(|folder| folder.join("CACHEDIR.TAG").exists());
    let folder = marked.ok_or_else(|| io::Error::other("the test lies in no folder of a build"))?;
    Ok(folder.join("skipped.tsv"))
}

/// Reads and removes the list. Returns the tests that this program's parent started: one run of
/// `cargo test`.
pub fn taken() -> Vec<Skipped> {
    let path = list(&std::env::current_exe().unwrap_or_default());
    let text = path.and_then(|path| {
        let text = fs::read_to_string(&path)?;
        fs::remove_file(&path)?;
        Ok(text)
    });
    read(&text.unwrap_or_default(), parent_id())
}

/// The skipped tests of one run, sorted and without duplicates.
fn read(text: &str, run: u32) -> Vec<Skipped> {
    let line = |line: &str| {
        let mut parts = line.split('\t').map(str::to_owned);
        let is_of_run = parts.next()?.parse() == Ok(run);
        let [need, remedy, test] = [parts.next()?, parts.next()?, parts.next()?];
        is_of_run.then_some(Skipped { need, remedy, test })
    };
    text.lines().filter_map(line).collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_missing_unless_it_may_be() {
        assert!(may_miss("go", "", ""));
        assert!(!may_miss("go", "1", "golang npm"));
        assert!(may_miss("go", "1", "npm go"));
    }

    #[test]
    fn a_list_is_of_one_run() {
        let [b, a] = ["b", "a"].map(|test| format!("7\tgo\tapt-get install golang\t{test}\n"));
        let text = format!("{b}8\tgo\tno\tc\n{a}7\tgo\t\n");
        let found = read(&text, 7);
        let tests: Vec<_> = found.iter().map(|skipped| skipped.test.as_str()).collect();
        assert_eq!(tests, ["a", "b"]);
        assert_eq!(found[0].remedy, "apt-get install golang");
    }
}
