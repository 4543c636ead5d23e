//! `cargo x deb`: the Debian package, made by cargo-deb from the metadata in
//! `crates/larder/Cargo.toml`.
//!
//! `cargo x deb try` makes a clean Debian with debootstrap and installs, starts, upgrades and
//! purges the package in it (`packaging/debian/try` has the steps). The root is kept for the next
//! time, and each trial uses a copy.

use super::platform::OWN;
use super::{dist, pages, root, target};
use crate::answers;
use crate::process::free_port;
use crate::run as run_line;
use anyhow::{Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The release of Debian for trials.
const RELEASE: &str = "bookworm";

pub(crate) fn run(mut words: impl Iterator<Item = String>) -> Result<()> {
    let is_tried = match words.next().as_deref() {
        None => false,
        Some("try") => true,
        Some(other) => bail!("'{other}' is not a step of the package: write try or nothing"),
    };
    if !answers("cargo deb --version") {
        eprintln!("skipped: cargo-deb is not installed (cargo install cargo-deb --locked)");
        return Ok(());
    }
    dist::build(&OWN)?;
    pages()?;
    let package = package("1")?;
    println!("{}: {:.1} MB", package.display(), fs::metadata(&package)?.len() as f64 / 1e6);
    if !is_tried {
        return Ok(());
    }
    if !answers("debootstrap --version") || !answers("unshare --pid --fork --mount-proc true") {
        eprintln!(
            "skipped: debootstrap is not installed, or this user may not use unshare and chroot"
        );
        return Ok(());
    }
    installed(&package, &self::package("2")?)
}

/// Makes the package with this revision, and a package with its symbols.
fn package(revision: &str) -> Result<PathBuf> {
    let folder = target()?.join("debian");
    let path = folder.join(format!("larder_{revision}.deb"));
    run_line(
        &format!(
            "cargo deb --package larder --profile dist --no-build --dbgsym --quiet \
             --deb-revision {revision} --output {}",
            path.display()
        ),
        dist::WHOLE,
    )?;
    ensure!(path.is_file(), "cargo-deb wrote no {}", path.display());
    Ok(path)
}

/// Carries out the steps in a clean Debian.
fn installed(older: &Path, newer: &Path) -> Result<()> {
    let clean = target()?.join(format!("debian/{RELEASE}"));
    if !clean.join("usr/bin/apt-get").exists() {
        run_line(&format!("debootstrap --variant=minbase {RELEASE} {}", clean.display()), &[])?;
    }
    let tried = clean.with_extension("tried");
    // The previous trial may have left half a root.
    let _ = fs::remove_dir_all(&tried);
    run_line(&format!("cp -a {} {}", clean.display(), tried.display()), &[])?;
    fs::copy(older, tried.join("tmp/older.deb"))?;
    fs::copy(newer, tried.join("tmp/newer.deb"))?;
    fs::copy(root().join("packaging/debian/try"), tried.join("tmp/try"))?;
    let status = Command::new("unshare")
        .args(["--pid", "--fork", "--kill-child"])
        .arg(format!("--mount-proc={}", tried.join("proc").display()))
        .arg("chroot")
        .arg(&tried)
        .args(["sh", "/tmp/try", &free_port()?.to_string(), "/tmp/older.deb", "/tmp/newer.deb"])
        .env("DEBIAN_FRONTEND", "noninteractive")
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .status()?;
    ensure!(status.success(), "the package failed its trial: see above");
    fs::remove_dir_all(&tried)?;
    Ok(())
}
