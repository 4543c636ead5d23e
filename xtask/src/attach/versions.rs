//! The module's tests on several servers, as a table: a row for each server, a column for each file
//! of tests.
//!
//! The tests look for `redis-server` in PATH. So each server in turn has this name, in a folder
//! that comes first.

use super::FORM;
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

/// Passed and failed tests by file.
type Counts = BTreeMap<String, (usize, usize)>;

/// Runs all tests on each server, and prints the table.
pub(super) fn run(servers: impl Iterator<Item = String>) -> Result<()> {
    let servers: Vec<_> = servers.collect();
    ensure!(!servers.is_empty(), FORM);
    let rows = servers.iter().map(|server| Ok((version(server)?, tests(server)?)));
    let rows: Vec<(String, Counts)> = rows.collect::<Result<_>>()?;
    let files: BTreeSet<_> = rows.iter().flat_map(|(_, counts)| counts.keys()).collect();
    let names: Vec<_> = files.iter().map(|file| format!(" `{file}` |")).collect();
    println!("| |{}\n|---|{}", names.concat(), "--:|".repeat(files.len()));
    for (version, counts) in &rows {
        let cell = |file: &&String| {
            let (passed, failed) = counts.get(*file).copied().unwrap_or_default();
            format!(" {passed} of {} |", passed + failed)
        };
        println!("| {version} |{}", files.iter().map(cell).collect::<String>());
    }
    let failed: usize = rows.iter().flat_map(|(_, counts)| counts.values()).map(|one| one.1).sum();
    ensure!(failed == 0, "{failed} tests failed");
    Ok(())
}

/// Name and version of a server, such as Valkey 9.1.2.
fn version(server: &str) -> Result<String> {
    let output = Command::new(server).arg("--version").output();
    let output = output.with_context(|| format!("could not start {server}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let name = text.split(' ').next().unwrap_or_default();
    let version = text.split(' ').find_map(|word| word.strip_prefix("v="));
    Ok(format!("{name} {}", version.context("the server does not tell its version")?))
}

fn tests(server: &str) -> Result<Counts> {
    let found = Command::new("sh").args(["-c", &format!("command -v {server}")]).output()?;
    let found = String::from_utf8(found.stdout)?;
    let program = fs::canonicalize(found.trim()).with_context(|| format!("no {server}"))?;
    let folder = env::temp_dir().join(format!("larder-versions-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let counts = as_redis(&program, &folder);
    _ = fs::remove_dir_all(folder);
    counts
}

fn as_redis(program: &Path, folder: &Path) -> Result<Counts> {
    std::os::unix::fs::symlink(program, folder.join("redis-server"))?;
    let path = env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(folder.to_owned()).chain(env::split_paths(&path));
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "-p", "attach-module", "--test", "module"]);
    cargo.env("PATH", env::join_paths(all)?).env_remove("LARDER_SERVERS");
    let output = cargo.stderr(Stdio::inherit()).output()?;
    let mut counts = Counts::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some((name, end)) = line.strip_prefix("test ").and_then(|one| one.split_once(" ... "))
        else {
            continue;
        };
        let (file, _) = name.split_once("::").unwrap_or((name, ""));
        let count = counts.entry(file.to_owned()).or_default();
        if end.starts_with("ok") {
            count.0 += 1;
        } else {
            count.1 += 1;
            eprintln!("{}: {name}: {end}", program.display());
        }
    }
    ensure!(!counts.is_empty(), "the tests did not run");
    Ok(counts)
}
