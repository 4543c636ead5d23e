//! `cargo x dist [--musl]`: the shipped binaries, their symbols in files beside them, and the
//! manual pages and completions.
//!
//! The build has line tables, which then go to `larder.debug` and `larder-lab.debug`. gdb, perf and
//! addr2line find them there through a link in the binary. The chore asks the built binary for its
//! version, for a PONG, and for a command of the lab.

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

/// Packs the relocations, a twentieth of the binary. The first glibc that applies packed
/// relocations is version 2.36, of 2022.
const PACKED: &str = "-C link-arg=-Wl,-z,pack-relative-relocs";

/// Merges identical code. Rust's own linker does that.
const FOLDED: &str = "-C link-arg=-Wl,--icf=all";

/// The target of static binaries, which link no library of the system.
const MUSL: &str = "x86_64-unknown-linux-musl";

pub(crate) fn run(mut words: impl Iterator<Item = String>) -> Result<()> {
    let is_static = match words.next().as_deref() {
        None => false,
        Some("--musl") => true,
        Some(other) => bail!("'{other}' is unknown: write --musl or nothing"),
    };
    let folder = target()?.join("shipped").join(if is_static { "musl" } else { "gnu" });
    let binaries = parted(&build(is_static)?, &folder)?;
    asked(&binaries[0])?;
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
pub(super) fn build(is_static: bool) -> Result<PathBuf> {
    for (package, features, name, _) in PROGRAMS {
        let line = format!("cargo rustc -p {package} --bin {name} --profile dist{features}");
        build_one(&line, is_static)?;
    }
    let folder = if is_static { target()?.join(MUSL) } else { target()? };
    Ok(folder.join("dist"))
}

fn build_one(line: &str, is_static: bool) -> Result<()> {
    if is_static {
        let linked = format!("{PACKED} {} {FOLDED}", own_linker()?);
        run_line(&format!("{line} --target {MUSL} -- {linked}"), WHOLE).with_context(|| {
            format!("a static build needs `rustup target add {MUSL}` and Debian's musl-tools")
        })?;
    } else if cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        run_line(&format!("{line} -- {PACKED} {FOLDED}"), WHOLE)?;
    } else {
        run_line(line, WHOLE)?;
    }
    Ok(())
}

/// Arguments that make the C compiler link with Rust's own linker, where that is not the default.
fn own_linker() -> Result<String> {
    let told = Command::new("rustc").args(["--print", "sysroot", "--print", "host-tuple"]).output();
    let told = String::from_utf8(told.context("rustc is not installed")?.stdout)?;
    let Some((sysroot, host)) = told.trim().split_once('\n') else {
        bail!("rustc does not print its folder: {told:?}");
    };
    let folder = Path::new(sysroot).join("lib/rustlib").join(host).join("bin/gcc-ld");
    ensure!(folder.join("ld.lld").exists(), "there is no linker in {}", folder.display());
    Ok(format!("-C link-arg=-B{} -C link-arg=-fuse-ld=lld", folder.display()))
}

/// Separates the symbols from the programs built in a folder, and writes both files of each program
/// to `folder`. Returns the paths of the programs, the server first.
pub(super) fn parted(built: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    PROGRAMS.iter().map(|(_, _, name, _)| part(&built.join(name), folder, name)).collect()
}

fn part(built: &Path, folder: &Path, name: &str) -> Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let symbols = folder.join(name).with_extension("debug");
    let binary = folder.join(name);
    let objcopy = |args: &[&str], files: &[&Path]| -> Result<()> {
        // The link to the symbols is a file name without a folder.
        let mut command = Command::new("objcopy");
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
fn asked(binary: &Path) -> Result<()> {
    let told = Command::new(binary).arg("--version").output()?;
    print!("{}", String::from_utf8_lossy(&told.stdout));
    ensure!(told.status.success(), "{} --version: {}", binary.display(), told.status);
    let lab = Command::new(binary).args(["simulate", "synth:zipf", "--size", "10%"]).output()?;
    ensure!(lab.status.success(), "larder simulate: {}", String::from_utf8_lossy(&lab.stderr));
    let port = free_port()?;
    let text = port.to_string();
    let mut serve = Command::new(binary);
    serve.args(["serve", "--port", &text, "--http-port", "0", "--loglevel", "warning"]);
    let server = Process::start(&mut serve, port)?;
    let pong = Command::new(binary).args(["ping", "--port", &text]).output()?;
    drop(server);
    ensure!(pong.stdout == b"PONG\n", "the server does not answer PING: {pong:?}");
    Ok(())
}
