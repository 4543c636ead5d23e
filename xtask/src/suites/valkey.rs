//! Valkey's suite, with its clients and its configurations, against our server.
//!
//! The suite starts servers as it likes, each with a configuration of its own. A script in place of
//! `valkey-server` starts this server with the same file. The suite itself leaves out cases with
//! the tags below. A case that fails because the server says that it lacks a command counts as not
//! offered. A case that hangs has failed, and the unit runs again without it. A unit passes with 97
//! of a hundred of the remaining cases.

use super::{copy, larder, lists, script};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// Cases about features that Larder does not offer, by unit; its units run by default.
const LIST: &str = include_str!("valkey.txt");
/// Tags of cases about features that Larder does not offer, or that need addresses of their own.
const TAGS: &str = "-needs:repl -needs:debug -needs:save -needs:cluster -cluster -aof -repl -ipv6 \
    -large-memory -valgrind -mptcp";
/// The least percentage of a unit's cases that must pass.
const PASSED_MIN: usize = 97;
/// Cases that may hang before a unit is given up.
const HANGS_MAX: usize = 8;
/// Seconds without progress that end a run.
const SILENCE: &str = "100";
/// Part of the error by which this server says that it lacks a command.
const ABSENT: &str = "which is not supported";

/// Starts this server with a configuration of the suite, and prints the lines that the suite waits
/// for.
const SERVER: &str = r#"#!/bin/bash
file=$1
[ -f "$file" ] || exec LARDER serve "$@"
shift
# A directive of Valkey's debug builds.
sed -i '/^enable-debug-assert /d' "$file"
more=(--http-port 0)
grep -qi '^maxmemory ' "$file" || more+=(--maxmemory 0)
grep -qi '^maxmemory-policy ' "$file" || more+=(--maxmemory-policy noeviction)
port=$(awk '$1 == "port" { port = $2 } END { print port }' "$file")
echo "0:M PID: $$ Server initialized"
(
    for ((at = 0; at < 1000; at++)); do
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
        kill -0 $$ 2>/dev/null || exit
        sleep 0.01
    done
    echo "0:M Ready to accept connections"
) &
exec LARDER serve "$file" "${more[@]}" "$@"
"#;

/// The results of a unit's cases.
#[derive(Default)]
struct Outcome {
    passed: usize,
    failed: Vec<String>,
    /// Cases that failed because a command is missing.
    absent: usize,
    left_out: usize,
    /// The case in which a run hung.
    hung: Option<String>,
}

pub(super) fn run(checkout: &Path, folder: &Path, units: &[String]) -> Result<()> {
    let lists = lists(LIST);
    for part in ["tests", "utils"] {
        copy(&checkout.join(part), &folder.join(part))?;
    }
    let programs = folder.join("src");
    fs::create_dir_all(&programs)?;
    let larder = larder()?;
    let server = SERVER.replace("LARDER", larder.to_str().context("the path is not text")?);
    script(&programs.join("valkey-server"), &server)?;
    for program in ["valkey-cli", "valkey-benchmark"] {
        let built = checkout.join("src").join(program);
        if built.exists() {
            symlink(fs::canonicalize(built)?, programs.join(program))?;
        }
    }
    let mut chosen: Vec<&str> = units.iter().map(String::as_str).collect();
    if chosen.is_empty() {
        chosen = lists.keys().copied().collect();
    }

    println!("| unit | cases | passed | failed | not offered | left out by the suite |");
    println!("|---|--:|--:|--:|--:|--:|");
    let (mut failures, mut poor) = (vec![], vec![]);
    for unit in chosen {
        if !folder.join(format!("tests/{unit}.tcl")).exists() {
            println!("| {unit} | not in this checkout | | | | |");
            continue;
        }
        let skipped = lists.get(unit).map_or(&[][..], Vec::as_slice);
        let names = skipped.iter().map(|(_, name)| (*name).to_owned()).collect();
        let outcome = play_all(folder, unit, names)?;
        let cases = outcome.passed + outcome.failed.len();
        println!(
            "| {unit} | {cases} | {} | {} | {} | {} |",
            outcome.passed,
            outcome.failed.len(),
            skipped.len() + outcome.absent,
            outcome.left_out
        );
        if outcome.passed * 100 < cases * PASSED_MIN {
            poor.push(unit.to_owned());
        }
        failures.extend(outcome.failed.iter().map(|failure| format!("{unit}: {failure}")));
    }
    for failure in &failures {
        println!("failed: {failure}");
    }
    ensure!(poor.is_empty(), "below {PASSED_MIN} % of their cases: {}", poor.join(", "));
    Ok(())
}

/// Runs a unit, and again without each case that hangs.
fn play_all(folder: &Path, unit: &str, mut skipped: Vec<String>) -> Result<Outcome> {
    let mut hung = vec![];
    loop {
        fs::write(folder.join("skip"), skipped.join("\n"))?;
        let mut outcome = play(folder, unit)?;
        let Some(name) = outcome.hung.take().filter(|_| hung.len() < HANGS_MAX) else {
            outcome.failed.extend(hung.iter().map(|name| format!("{name}: the unit hangs")));
            return Ok(outcome);
        };
        skipped.push(name.clone());
        hung.push(name);
    }
}

/// Runs a unit once.
fn play(folder: &Path, unit: &str) -> Result<Outcome> {
    let output = Command::new("tclsh")
        .current_dir(folder)
        .args(["tests/test_helper.tcl", "--clients", "1", "--baseport", "27111"])
        .args(["--single", unit, "--tags", TAGS, "--skipfile", "skip"])
        // Cases go on after an error.
        .args(["--durable", "--ignore-digest", "--timeout", SILENCE])
        .output()
        .context("could not start tclsh")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if let Ok(kept) = std::env::var("SUITE_LOG") {
        fs::write(format!("{kept}-{}", unit.replace('/', "-")), text.as_bytes())?;
    }
    Ok(read(&text))
}

/// Counts the results in the output of the suite, up to its summary, which repeats them.
fn read(text: &str) -> Outcome {
    let text = plain(text);
    let text = text.split("The End").next().unwrap_or_default();
    let (mut outcome, mut is_late) = (Outcome::default(), false);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        is_late |= line.contains("clients state report");
        if line.starts_with("[ok]") {
            outcome.passed += 1;
        } else if line.starts_with("[ignore]") {
            outcome.left_out += 1;
        } else if line.starts_with("[err]") || line.starts_with("[exception]") {
            let mut told = vec![];
            while let Some(more) = lines.next_if(|line| !line.starts_with('[')) {
                told.push(more);
            }
            if told.iter().any(|line| line.contains(ABSENT)) {
                outcome.absent += 1;
            } else {
                let why = told.first().copied().unwrap_or_default();
                outcome.failed.push(format!("{line}: {why}"));
            }
        } else if let Some((_, name)) = line.split_once("(IN PROGRESS) ") {
            outcome.hung = Some(name.to_owned());
        }
    }
    if is_late && outcome.hung.is_none() {
        outcome.failed.push("the suite hangs between two cases".into());
    }
    outcome
}

/// The text without colour codes.
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
        let text = "[err]: A in a\nERR unknown command 'XADD', which is not supported: Larder\n    \
                    while executing\n[ok]: B\n[TIMEOUT]: clients state report follows.\nsock => \
                    (IN PROGRESS) C waits\nThe End";
        let outcome = read(text);
        assert_eq!((outcome.passed, outcome.absent), (1, 1));
        assert_eq!((outcome.failed.len(), outcome.hung.as_deref()), (0, Some("C waits")));
    }

    #[test]
    fn units_and_reasons_are_read() {
        let lists = lists("# head\n[unit/a]\nlists       LPUSH works\n\n[unit/b]\n");
        assert_eq!(lists["unit/a"], [("lists", "LPUSH works")]);
        assert!(lists["unit/b"].is_empty());
    }
}
