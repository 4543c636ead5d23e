//! Valkey's suite in external mode: its clients, our server.
//!
//! The suite leaves out by itself what needs a server that it starts. Of the rest a unit passes
//! with 97 of a hundred cases.

use super::{Server, copy, larder, lists, script};
use crate::process::free_port;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Cases about what is not offered, and in its order the units that are run.
const LIST: &str = include_str!("valkey.txt");
/// Tags of cases about what is not offered, or that have addresses of their own.
const TAGS: &str = "-needs:repl -needs:debug -needs:save -cluster -ipv6 -large-memory";
/// Hundredths of a unit's cases that have to pass.
const PASSED_MIN: usize = 97;

/// What became of a unit's cases.
#[derive(Default)]
struct Outcome {
    passed: usize,
    failed: Vec<String>,
    left_out: usize,
}

pub(super) fn run(checkout: &Path, folder: &Path, units: &[String]) -> Result<()> {
    let lists = lists(LIST);
    let chosen = lists.keys().filter(|unit| units.is_empty() || units.iter().any(|u| u == *unit));
    for part in ["tests", "utils"] {
        copy(&checkout.join(part), &folder.join(part))?;
    }
    // The suite asks for a server's program, which it never starts in this mode, and empties
    // libraries of functions before each unit.
    fs::create_dir_all(folder.join("src"))?;
    script(&folder.join("src/valkey-server"), "#!/bin/sh\nexit 1\n")?;
    let support = folder.join("tests/support/server.tcl");
    let text = fs::read_to_string(&support)?.replace("    r function flush\n", "");
    fs::write(&support, text)?;

    println!("| unit | cases | passed | failed | not offered | left out by the suite |");
    println!("|---|--:|--:|--:|--:|--:|");
    let (mut failures, mut poor) = (vec![], vec![]);
    for unit in chosen {
        if !folder.join(format!("tests/{unit}.tcl")).exists() {
            println!("| {unit} | not in this checkout | | | | |");
            continue;
        }
        let skipped = &lists[unit];
        let names: Vec<&str> = skipped.iter().map(|(_, name)| *name).collect();
        fs::write(folder.join("skip"), names.join("\n"))?;
        let outcome = play(folder, unit)?;
        let cases = outcome.passed + outcome.failed.len();
        println!(
            "| {unit} | {cases} | {} | {} | {} | {} |",
            outcome.passed,
            outcome.failed.len(),
            skipped.len(),
            outcome.left_out
        );
        if outcome.passed * 100 < cases * PASSED_MIN {
            poor.push(*unit);
        }
        failures.extend(outcome.failed);
    }
    for failure in &failures {
        println!("failed: {failure}");
    }
    ensure!(poor.is_empty(), "below {PASSED_MIN} % of their cases: {}", poor.join(", "));
    Ok(())
}

/// Plays a unit against a server of its own.
fn play(folder: &Path, unit: &str) -> Result<Outcome> {
    let port = free_port()?.to_string();
    let data = folder.join("data");
    fs::create_dir_all(&data)?;
    let flags = ["--maxmemory", "0", "--maxmemory-policy", "noeviction", "--http-port", "0"];
    let _server = Server::start(&larder()?, port.parse()?, &data, &flags)?;
    let output = Command::new("tclsh")
        .current_dir(folder)
        .args(["tests/test_helper.tcl", "--host", "127.0.0.1", "--port", &port])
        .args(["--baseport", "27111", "--single", unit, "--tags", TAGS, "--skipfile", "skip"])
        // Cases go on after an error, and a hundred seconds without progress end the run.
        .args(["--durable", "--ignore-digest", "--timeout", "100"])
        .output()
        .context("tclsh could not be started")?;
    Ok(read(&String::from_utf8_lossy(&output.stdout)))
}

/// Counts what the suite prints, up to its summary, which says it all again.
fn read(text: &str) -> Outcome {
    let text = plain(text);
    let text = text.split("The End").next().unwrap_or_default();
    let mut outcome = Outcome::default();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("[ok]") {
            outcome.passed += 1;
        } else if line.starts_with("[ignore]") {
            outcome.left_out += 1;
        } else if line.starts_with("[err]") || line.starts_with("[exception]") {
            let why = lines.peek().copied().unwrap_or_default();
            outcome.failed.push(format!("{line}: {why}"));
        } else if line.contains("clients state report") {
            outcome.failed.push(line.to_owned());
        }
    }
    outcome
}

/// The text without colours.
fn plain(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or("", |(_, rest)| rest));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_counted_once() {
        let text = "[\u{1b}[32mok\u{1b}[0m]: SET (1 ms)\n[\u{1b}[31merr\u{1b}[0m]: GET in a\nwhy\n\
                    [ignore]: Tag: x\n The End\n*** [err]: GET in a\n[err]: GET in a\n";
        let outcome = read(text);
        assert_eq!((outcome.passed, outcome.left_out), (1, 1));
        assert_eq!(outcome.failed, ["[err]: GET in a: why"]);
    }

    #[test]
    fn units_and_reasons_are_read() {
        let lists = lists("# head\n[unit/a]\nlists       LPUSH works\n\n[unit/b]\n");
        assert_eq!(lists["unit/a"], [("lists", "LPUSH works")]);
        assert!(lists["unit/b"].is_empty());
    }
}
