//! `cargo x dist [--musl|--arm64]`: the shipped binaries, their symbols in files beside them, and
//! the manual pages and completions.
//!
//! The build has line tables, which then go to `larder.debug` and `larder-lab.debug`. gdb, perf and
//! addr2line find them there through a link in the binary. The chore asks the built binary for its
//! version, for a PONG, and for a command of the lab.

use super::platform::Platform;
use super::{pages, root, target};
use crate::process::{Process, free_port};
use crate::run as run_line;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Shipped programs: package, features, name, and the most bytes of the binary.
///
/// The client of MariaDB (regular expressions with their tables, names of hosts in every script) is
/// 1.2 MB of the lab. Both programs have tables for unwinding, so that a server survives a failure
/// of its pilot.
const PROGRAMS: [(&str, &str, &str, u64); 2] = [
    ("larder", "", "larder", 13_500_000),
    ("lab", " --features databases", "larder-lab", 13_500_000),
];

/// The profile with symbols, which a later step takes out. And zstd without the compressors that
/// only levels above 3 would use, because traces are packed at level 3.
pub(super) const WHOLE: &[(&str, &str)] = &[
    ("CARGO_PROFILE_DIST_STRIP", "none"),
    ("CARGO_PROFILE_DIST_DEBUG", "line-tables-only"),
    (
        "CFLAGS",
        "-DZSTD_EXCLUDE_GREEDY_BLOCK_COMPRESSOR -DZSTD_EXCLUDE_LAZY_BLOCK_COMPRESSOR \
         -DZSTD_EXCLUDE_LAZY2_BLOCK_COMPRESSOR -DZSTD_EXCLUDE_BTLAZY2_BLOCK_COMPRESSOR \
         -DZSTD_EXCLUDE_BTOPT_BLOCK_COMPRESSOR -DZSTD_EXCLUDE_BTULTRA_BLOCK_COMPRESSOR",
    ),
];

pub(crate) fn run(mut words: impl Iterator<Item = String>) -> Result<()> {
    let platform = Platform::of(words.next().as_deref())?;
    let folder = target()?.join("shipped").join(platform.folder());
    let binaries = parted(platform, &build(platform)?, &folder)?;
    asked(platform, &binaries)?;
    for (binary, (.., most)) in binaries.iter().zip(PROGRAMS) {
        let bytes = fs::metadata(binary)?.len();
        println!("{}: {:.1} MB", binary.display(), bytes as f64 / 1e6);
        ensure!(
            bytes <= most,
            "{bytes} bytes are more than the limit of {most} for a shipped binary"
        );
    }
    println!("{}: manual pages and completions", pages()?.display());
    Ok(())
}

/// Builds the programs with their symbols in them; returns their folder.
pub(super) fn build(platform: &Platform) -> Result<PathBuf> {
    let variables = [WHOLE, platform.variables].concat();
    for (package, features, name, _) in PROGRAMS {
        let line = format!("cargo rustc -p {package} --bin {name} --profile dist{features}");
        run_line(&format!("{line}{}", platform.arguments()?), &variables)
            .with_context(|| format!("the build needs {}", platform.needs))?;
    }
    Ok(target()?.join(platform.target.unwrap_or_default()).join("dist"))
}

/// Separates the symbols from the programs built in a folder, and writes both files of each program
/// to `folder`. Returns the paths of the programs, the server first.
pub(super) fn parted(platform: &Platform, built: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    let part = |name| part(platform, &built.join(name), folder, name);
    PROGRAMS.iter().map(|(_, _, name, _)| part(name)).collect()
}

fn part(platform: &Platform, built: &Path, folder: &Path, name: &str) -> Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let symbols = folder.join(name).with_extension("debug");
    let binary = folder.join(name);
    let objcopy = |args: &[&str], files: &[&Path]| -> Result<()> {
        // The link to the symbols is a file name without a folder.
        let mut command = Command::new(format!("{}objcopy", platform.tools));
        let status = command.current_dir(folder).args(args).args(files).status();
        ensure!(status.context("objcopy is not installed (binutils)")?.success(), "objcopy failed");
        Ok(())
    };
    let built = root().join(built);
    objcopy(&["--only-keep-debug"], &[&built, &symbols])?;
    let link = format!("--add-gnu-debuglink={name}.debug");
    objcopy(&["--strip-all", &link], &[&built, &binary])?;
    Ok(binary)
}

/// Checks that the program starts, serves, and answers its own probe.
fn asked(platform: &Platform, binaries: &[PathBuf]) -> Result<()> {
    let [server, lab] = binaries else { bail!("a server and a lab are shipped") };
    let told = platform.command(server).arg("--version").output()?;
    print!("{}", String::from_utf8_lossy(&told.stdout));
    ensure!(told.status.success(), "{} --version: {}", server.display(), told.status);
    // An emulated program cannot start another one.
    let simulates = if platform.emulator.is_empty() { server } else { lab };
    let asked = ["simulate", "synth:zipf", "--size", "10%"];
    let told = platform.command(simulates).args(asked).output()?;
    ensure!(told.status.success(), "simulate: {}", String::from_utf8_lossy(&told.stderr));
    let port = free_port()?;
    let text = port.to_string();
    let mut serve = platform.command(server);
    serve.args(["serve", "--port", &text, "--http-port", "0", "--loglevel", "warning"]);
    let process = Process::start(&mut serve, port)?;
    let pong = platform.command(server).args(["ping", "--port", &text]).output()?;
    drop(process);
    ensure!(pong.stdout == b"PONG\n", "the server does not answer PING: {pong:?}");
    Ok(())
}
