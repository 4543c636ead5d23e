//! `cargo x release [--sign KEY]`: everything that a release consists of, in one folder.
//!
//! The folder `target/release-VERSION` gets archives of the programs for this machine's glibc, of
//! static ones, and of those for arm64, their symbols, the Debian package, the image, the chart,
//! the bill of materials, and the checksums of all of them. gpg signs the checksums with the key
//! that is named; without a name they stay unsigned. A part whose tool is absent is skipped, with
//! the command that installs the tool. The changelog must have a section for the version.

use super::archive::{Member, digest, packed};
use super::platform::{ARM64, MUSL, OWN, Platform};
use super::{deb, dist, image, pages, root, sbom, target};
use crate::{answers, run as run_line};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Files of the root that every archive has.
const TEXTS: [&str; 3] = ["LICENSE", "README.md", "CHANGELOG.md"];

pub(crate) fn run(mut words: impl Iterator<Item = String>) -> Result<()> {
    let key = match (words.next().as_deref(), words.next()) {
        (None, _) => None,
        (Some("--sign"), Some(key)) => Some(key),
        _ => bail!("write --sign KEY, with a key that gpg has, or nothing"),
    };
    is_described(&fs::read_to_string(root().join("CHANGELOG.md"))?)?;
    let folder = target()?.join(format!("release-{VERSION}"));
    // An artefact of an earlier try must not be signed with this one.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let pages = pages()?;
    dist::run(std::iter::empty())?;
    programs(&folder, &OWN, &pages)?;
    if across(&folder, &MUSL, &pages)? {
        let shipped = target()?.join("shipped");
        image::run(std::iter::once(shipped.join("musl").display().to_string()))?;
        fs::copy(shipped.join("larder-oci.tar"), folder.join(format!("larder-{VERSION}-oci.tar")))?;
    }
    across(&folder, &ARM64, &pages)?;
    deb::run(std::iter::empty())?;
    let package = target()?.join("debian/larder_1.deb");
    if answers("cargo deb --version") {
        fs::copy(package, folder.join(format!("larder_{VERSION}-1.deb")))?;
    }
    let chart = root().join("packaging/helm/larder");
    write_packed(&folder.join(format!("larder-chart-{VERSION}.tgz")), &under(&chart, "larder")?)?;
    let bill =
        serde_json::to_vec_pretty(&sbom::sbom(&format!("{}-unknown-linux-gnu", OWN.machine))?)?;
    fs::write(folder.join(format!("larder-{VERSION}.cdx.json")), bill)?;
    fs::write(folder.join("SHA256SUMS"), sums(&folder)?)?;
    if let Some(key) = key {
        let sums = folder.join("SHA256SUMS");
        run_line(
            &format!(
                "gpg --batch --yes --local-user {key} --armor --detach-sign {}",
                sums.display()
            ),
            &[],
        )?;
    }
    print!("{}", fs::read_to_string(folder.join("SHA256SUMS"))?);
    println!("{}: the release {VERSION}", folder.display());
    Ok(())
}

/// Checks that the changelog has a section for this version.
fn is_described(changelog: &str) -> Result<()> {
    let heading = format!("## {VERSION}");
    let is_heading = |line: &str| {
        line.strip_prefix(&heading)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([',', ' ']))
    };
    ensure!(changelog.lines().any(is_heading), "CHANGELOG.md has no section '{heading}': write it");
    Ok(())
}

/// Builds the programs of another platform and writes their archives, if the tools for it are here.
fn across(folder: &Path, platform: &Platform, pages: &Path) -> Result<bool> {
    if dist::run(std::iter::once(platform.flag.to_owned())).is_err() {
        eprintln!("skipped: programs for {} (they need {})", platform.machine, platform.needs);
        return Ok(false);
    }
    programs(folder, platform, pages)?;
    Ok(true)
}

/// Writes the archives of one platform: the programs with their texts, and the symbols.
fn programs(folder: &Path, platform: &Platform, pages: &Path) -> Result<()> {
    let name = format!("larder-{VERSION}-{}-linux-{}", platform.machine, platform.name);
    let shipped = target()?.join("shipped").join(platform.folder());
    let (symbols, mut files): (Vec<_>, Vec<_>) =
        under(&shipped, &name)?.into_iter().partition(File::is_symbols);
    files.extend(under(pages, &name)?);
    for text in TEXTS {
        files.push(File::read(&root().join(text), format!("{name}/{text}"))?);
    }
    write_packed(&folder.join(format!("{name}.tar.gz")), &files)?;
    write_packed(&folder.join(format!("{name}-debug.tar.gz")), &symbols)
}

/// A file with its name in an archive.
struct File {
    name: String,
    bytes: Vec<u8>,
    mode: u32,
}

impl File {
    fn is_symbols(&self) -> bool {
        Path::new(&self.name).extension().is_some_and(|extension| extension == "debug")
    }

    fn read(path: &Path, name: String) -> Result<Self> {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(path)?.permissions().mode();
        let bytes = fs::read(path).with_context(|| format!("could not read {}", path.display()))?;
        Ok(Self { name, bytes, mode: if mode & 0o100 == 0 { 0o644 } else { 0o755 } })
    }
}

/// All files below a folder, in order, with `name` in place of the folder.
fn under(folder: &Path, name: &str) -> Result<Vec<File>> {
    let listed = fs::read_dir(folder).with_context(|| format!("no {}", folder.display()))?;
    let mut paths: Vec<PathBuf> =
        listed.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    let mut files = vec![];
    for path in paths {
        let last = path.file_name().context("a file without a name")?.to_string_lossy();
        let name = format!("{name}/{last}");
        if path.is_dir() {
            files.extend(under(&path, &name)?);
        } else {
            files.push(File::read(&path, name)?);
        }
    }
    Ok(files)
}

fn write_packed(path: &Path, files: &[File]) -> Result<()> {
    let entries: Vec<Member<'_>> =
        files.iter().map(|file| (file.name.as_str(), &file.bytes[..], file.mode)).collect();
    Ok(fs::write(path, packed(&entries)?)?)
}

/// The checksums of a folder's files, as `sha256sum --check` reads them.
fn sums(folder: &Path) -> Result<String> {
    let files = under(folder, ".")?;
    let line =
        |file: &File| format!("{}  {}\n", digest(&file.bytes), file.name.trim_start_matches("./"));
    Ok(files.iter().map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::Command;

    #[test]
    fn a_version_needs_its_section() {
        assert!(is_described(&format!("# Changes\n\n## {VERSION}, not released\n")).is_ok());
        assert!(is_described(&format!("## {VERSION}.1\n")).is_err());
    }

    #[test]
    fn an_archive_has_its_folders_files_and_sha256sum_agrees() {
        let folder = tempfile::tempdir().unwrap();
        let chart = root().join("packaging/helm/larder");
        let path = folder.path().join("chart.tgz");
        write_packed(&path, &under(&chart, "larder").unwrap()).unwrap();
        let mut tar =
            tar::Archive::new(flate2::read::GzDecoder::new(fs::File::open(&path).unwrap()));
        let mut found = None;
        for entry in tar.entries().unwrap() {
            let mut entry = entry.unwrap();
            if entry.path().unwrap() == Path::new("larder/Chart.yaml") {
                let mut text = String::new();
                entry.read_to_string(&mut text).unwrap();
                found = Some(text);
            }
        }
        assert_eq!(found.unwrap(), fs::read_to_string(chart.join("Chart.yaml")).unwrap());
        fs::write(folder.path().join("SHA256SUMS"), sums(folder.path()).unwrap()).unwrap();
        let checked = Command::new("sha256sum")
            .args(["--check", "--quiet", "SHA256SUMS"])
            .current_dir(folder.path())
            .status();
        assert!(checked.unwrap().success());
    }
}
