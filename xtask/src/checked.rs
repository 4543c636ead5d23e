//! Test runs that must not be empty: each name that a chore filters by must match a test.
//!
//! `cargo test NAME` succeeds if no test has that name, for example after a module has moved.

use anyhow::{Context, Result, bail, ensure};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// The words of a chore to Cargo, and the names that it filters by.
pub(crate) struct Tests<'a> {
    /// The command line without the names.
    pub(crate) line: &'a str,
    /// Parts of names of tests. Without names all tests run, and there must be at least one.
    pub(crate) names: &'a [&'a str],
    /// Environment variables.
    pub(crate) environment: &'a [(&'a str, &'a str)],
}

impl Tests<'_> {
    /// Runs the tests, and passes their output on.
    pub(crate) fn run(&self) -> Result<()> {
        let words = self.line.split(' ').chain(std::iter::once("--"));
        let words: Vec<_> = words.chain(self.names.iter().copied()).collect();
        let line = words.join(" ");
        eprintln!("→ {line}");
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .envs(self.environment.iter().copied())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("could not start {}: is it installed?", words[0]))?;
        let out = child.stdout.take().context("what it prints")?;
        let mut passed = vec![];
        for line in BufReader::new(out).lines() {
            let line = line?;
            println!("{line}");
            passed.extend(passed_test(&line).map(str::to_owned));
        }
        let status = child.wait()?;
        if !status.success() {
            bail!("`{line}` failed ({status})");
        }
        let absent = absent(self.names, &passed);
        ensure!(absent.is_empty(), "`{line}` ran no test of {}", absent.join(", "));
        Ok(())
    }
}

/// The name of the test in a line that reports success.
fn passed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... ok")
}

/// The names that match no test that passed; without names, `any name` if no test passed.
fn absent<'a>(names: &[&'a str], passed: &[String]) -> Vec<&'a str> {
    if names.is_empty() && passed.is_empty() {
        return vec!["any name"];
    }
    let names = names.iter().copied();
    names.filter(|name| !passed.iter().any(|test| test.contains(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_meets_no_test_is_found() {
        let passed = ["table::tests::a".to_owned(), "slab::b".to_owned()];
        assert_eq!(absent(&["table", "slab"], &passed), [""; 0]);
        assert_eq!(absent(&["table", "pages"], &passed), ["pages"]);
        assert_eq!(absent(&[], &passed), [""; 0]);
        assert_eq!(absent(&[], &[]), ["any name"]);
    }

    #[test]
    fn lines_of_tests_are_read() {
        assert_eq!(passed_test("test table::a ... ok"), Some("table::a"));
        assert_eq!(passed_test("test table::a ... FAILED"), None);
        assert_eq!(passed_test("test result: ok. 1 passed"), None);
    }

    /// `true` runs no test, whatever its arguments.
    #[test]
    fn a_run_without_tests_fails() {
        let tests = Tests { line: "true", names: &["table"], environment: &[] };
        assert!(tests.run().unwrap_err().to_string().ends_with("ran no test of table"));
    }
}
