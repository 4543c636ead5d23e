//! `cargo x publish [verify]`: a trial of a release to crates.io.
//!
//! Other projects own `store` and the like as names of crates. So in a copy of the tree each of the
//! project's crates is `larder-store` and so on for Cargo, and still `store` for the code. Cargo
//! then packs all crates that `larder` needs. With `verify` each package is built from its packed
//! form, which takes as long as a build of everything.

use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Packages that are no part of the library or the binary.
const KEPT: &[&str] = &["xtask", "larder-attach-module"];

pub(crate) fn run(mut words: impl Iterator<Item = String>) -> Result<()> {
    let is_verified = match words.next().as_deref() {
        None => false,
        Some("verify") => true,
        Some(other) => bail!("'{other}' is unknown: write verify or nothing"),
    };
    let tree = crate::ship::target()?.join("published");
    crate::tree::copy(crate::ship::root(), &tree)?;
    rename(&tree)?;
    let mut cargo = Command::new("cargo");
    cargo.args(["publish", "--dry-run", "--workspace", "--allow-dirty"]).current_dir(&tree);
    cargo.args(KEPT.iter().flat_map(|name| ["--exclude", name]));
    if !is_verified {
        cargo.arg("--no-verify");
    }
    ensure!(cargo.status()?.success(), "the crates cannot be published: see above");
    fs::remove_dir_all(&tree)?;
    Ok(())
}

/// Gives the crates of a tree their names for publication.
fn rename(tree: &Path) -> Result<()> {
    let manifest = fs::read_to_string(tree.join("Cargo.toml"))?;
    let mut whole = manifest.replace("publish = false", "publish = true");
    for entry in fs::read_dir(tree.join("crates"))? {
        let folder = entry?.path();
        let name = folder.file_name().and_then(|name| name.to_str()).context("a name")?;
        if name == "larder" {
            continue;
        }
        whole = whole.replace(
            &format!("\n{name} = {{ path"),
            &format!("\n{name} = {{ package = \"larder-{name}\", version = {:?}, path", version()),
        );
        let own = fs::read_to_string(folder.join("Cargo.toml"))?;
        fs::write(folder.join("Cargo.toml"), renamed(&own, name)?)?;
    }
    fs::write(tree.join("Cargo.toml"), whole)?;
    Ok(())
}

/// All crates have the workspace's version.
const fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The manifest of one crate with a new name for Cargo; the code keeps the old one.
fn renamed(manifest: &str, name: &str) -> Result<String> {
    let line = format!("name = \"{name}\"\n");
    ensure!(manifest.contains(&line), "{name}: its manifest has another name");
    let text = manifest.replacen(&line, &format!("name = \"larder-{name}\"\n"), 1);
    if text.contains("\n[lib]\n") {
        return Ok(text);
    }
    Ok(text.replacen("\n\n[", &format!("\n\n[lib]\nname = \"{name}\"\n\n["), 1))
}

#[test]
fn the_code_keeps_its_names() {
    let manifest = "[package]\nname = \"store\"\n\n[dependencies]\nbase.workspace = true\n";
    let renamed = renamed(manifest, "store").unwrap();
    assert_eq!(
        renamed,
        "[package]\nname = \"larder-store\"\n\n[lib]\nname = \"store\"\n\n[dependencies]\n\
         base.workspace = true\n"
    );
    assert!(self::renamed(manifest, "base").is_err());
}
