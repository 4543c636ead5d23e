//! The measured programs, built as they are shipped, with the profile `dist`.

use crate::run as run_line;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Builds these packages, some with features: `larder`, or `lab --features lab/databases`.
pub(crate) fn build(packages: &[&str]) -> Result<()> {
    let packages =
        packages.iter().map(|package| format!(" -p {package}")).collect::<Vec<_>>().concat();
    run_line(&format!("cargo build --profile dist --quiet{packages}"), &[])
}

/// Path of a program or library that [`build`] has built.
pub(crate) fn path(name: &str) -> Result<PathBuf> {
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".into());
    let path = Path::new(&target).join("dist").join(name);
    fs::canonicalize(&path).with_context(|| {
        format!("there is no {}: run cargo build --workspace --profile dist", path.display())
    })
}
