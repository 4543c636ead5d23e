//! `cargo x dist [--musl]`: the binary that is shipped, its symbols in a file beside it.
//!
//! Built with line tables, which then go to `larder.debug`: gdb, perf and addr2line find them there
//! by the binary's own link. What was built is asked for its version and for a PONG.

use super::{root, target};
use crate::process::{Process, free_port};
use crate::run as run_line;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// No larger than this is what is shipped. 12 MB are wanted: what the client of MariaDB brings
/// along (regular expressions with their tables, names of hosts in every script) is 1.2 of it, and
/// 1.6 are tables for unwinding, which keeps a server whose pilot fails.
const BYTES_MAX: u64 = 13_500_000;

/// The profile with its symbols: what takes them out comes after. And of zstd no way to pack that
/// levels above 3 alone would take: traces are packed at that.
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

/// Addresses that the start mends, packed: a twentieth of the binary. Of a library of the system,
/// 2.36 of glibc is the first that knows of that, of 2022.
const PACKED: &str = "-C link-arg=-Wl,-z,pack-relative-relocs";

/// Code that is the same twice, once. Rust's own linker does that.
const FOLDED: &str = "-C link-arg=-Wl,--icf=all";

/// What is linked with nothing of the system.
const MUSL: &str = "x86_64-unknown-linux-musl";

pub(crate) fn run(mut words: impl Iterator<Item = String>) -> Result<()> {
    let is_static = match words.next().as_deref() {
        None => false,
        Some("--musl") => true,
        Some(other) => bail!("'{other}' is not built: say --musl or nothing"),
    };
    let built = build(is_static)?;
    let folder = target()?.join("shipped").join(if is_static { "musl" } else { "gnu" });
    let binary = part(&built, &folder)?;
    asked(&binary)?;
    let bytes = fs::metadata(&binary)?.len();
    println!("{}: {:.1} MB", binary.display(), bytes as f64 / 1e6);
    ensure!(bytes <= BYTES_MAX, "{bytes} bytes are more than the {BYTES_MAX} that may be shipped");
    Ok(())
}

/// Builds it with its symbols in it, and says where it lies.
pub(super) fn build(is_static: bool) -> Result<PathBuf> {
    let line = "cargo rustc -p larder --bin larder --profile dist";
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
    let folder = if is_static { target()?.join(MUSL) } else { target()? };
    Ok(folder.join("dist/larder"))
}

/// What has the C compiler link with Rust's own linker where that is not the default.
fn own_linker() -> Result<String> {
    let told = Command::new("rustc").args(["--print", "sysroot", "--print", "host-tuple"]).output();
    let told = String::from_utf8(told.context("rustc is not installed")?.stdout)?;
    let Some((sysroot, host)) = told.trim().split_once('\n') else {
        bail!("rustc does not say where it lies: {told:?}");
    };
    let folder = Path::new(sysroot).join("lib/rustlib").join(host).join("bin/gcc-ld");
    ensure!(folder.join("ld.lld").exists(), "there is no linker in {}", folder.display());
    Ok(format!("-C link-arg=-B{} -C link-arg=-fuse-ld=lld", folder.display()))
}

/// Takes the symbols out of a binary: both files then lie in `folder`. Says where the binary is.
pub(super) fn part(built: &Path, folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let (binary, symbols) = (folder.join("larder"), folder.join("larder.debug"));
    let objcopy = |args: &[&str], files: &[&Path]| -> Result<()> {
        // A link to the symbols names them alone, without a folder.
        let mut command = Command::new("objcopy");
        let status = command.current_dir(folder).args(args).args(files).status();
        ensure!(status.context("objcopy is not installed (binutils)")?.success(), "objcopy failed");
        Ok(())
    };
    let built = root().join(built);
    objcopy(&["--only-keep-debug"], &[&built, &symbols])?;
    objcopy(&["--strip-all", "--add-gnu-debuglink=larder.debug"], &[&built, &binary])?;
    Ok(binary)
}

/// Whether it starts at all, serves, and answers its own probe.
fn asked(binary: &Path) -> Result<()> {
    let told = Command::new(binary).arg("--version").output()?;
    print!("{}", String::from_utf8_lossy(&told.stdout));
    ensure!(told.status.success(), "{} --version: {}", binary.display(), told.status);
    let port = free_port()?;
    let text = port.to_string();
    let mut serve = Command::new(binary);
    serve.args(["serve", "--port", &text, "--http-port", "0", "--loglevel", "warning"]);
    let server = Process::start(&mut serve, port)?;
    let pong = Command::new(binary).args(["ping", "--port", &text]).output()?;
    drop(server);
    ensure!(pong.stdout == b"PONG\n", "it answers no PING: {pong:?}");
    Ok(())
}
