//! A copy of the project's files, for chores that change them.

use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Copies the files that git knows, in their current state, into `to`, and deletes its old content.
pub(crate) fn copy(root: &Path, to: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(to);
    let listed = Command::new("git").args(["ls-files"]).current_dir(root).output()?;
    ensure!(listed.status.success(), "git ls-files: {}", listed.status);
    // git lists a removed file until the removal is committed.
    for name in String::from_utf8(listed.stdout)?.lines().filter(|name| root.join(name).is_file()) {
        let place = to.join(name);
        fs::create_dir_all(place.parent().context("a file has no folder")?)?;
        fs::copy(root.join(name), place)?;
    }
    Ok(())
}
