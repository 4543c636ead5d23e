//! The shipped artefacts: the binary and its symbols, the Debian package, the image for containers,
//! and a release with all of them.

mod archive;
mod deb;
mod dist;
mod image;
mod platform;
mod release;
mod sbom;

pub(crate) use deb::run as deb;
pub(crate) use dist::run as dist;
pub(crate) use image::run as image;
pub(crate) use release::run as release;

use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes the manual pages and completions; returns their folder.
pub(crate) fn pages() -> Result<PathBuf> {
    let folder = root().join("target/pages");
    // A removed command must leave no page.
    let _ = fs::remove_dir_all(&folder);
    let made = folder.to_str().context("the folder's path is not text")?;
    crate::run("cargo test --quiet -p larder --bin larder manual", &[("LARDER_PAGES", made)])?;
    ensure!(folder.join("man/larder.1").is_file(), "no manual page was written");
    Ok(folder)
}

/// The project's root.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the project")
}

/// The folder of Cargo's build output.
pub(crate) fn target() -> Result<PathBuf> {
    let metadata = Command::new("cargo")
        .args(["metadata", "--no-deps", "--format-version=1"])
        .current_dir(root())
        .output()
        .context("could not start cargo")?;
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout)?;
    let folder = metadata["target_directory"].as_str().context("cargo names no target folder")?;
    Ok(folder.into())
}
