//! Files that a command writes.
//!
//! A file is written aside, in its target folder, and gets its name only when it is whole. A
//! command that fails leaves the former file as it was, and no other file beside it (the crate
//! `files`). Links are followed, so that they stay links. A replaced file keeps its mode and owner.
//! Devices and pipes have nothing to keep and are written directly.
//!
//! An output that is one of the inputs is refused under any name: two names are one file where
//! device and inode are the same.

use anyhow::{Context, Result, anyhow, bail, ensure};
use files::Aside;
use std::fs::{self, File, Metadata};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file that does not have its name yet. Dropped before [`WholeFile::keep`], it leaves nothing
/// behind.
#[derive(Debug)]
pub(crate) struct WholeFile {
    /// The name as the user wrote it.
    name: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Aside(Aside),
    Device(File),
}

impl WholeFile {
    /// Begins the file `name` of a command that reads `inputs`.
    ///
    /// # Errors
    /// It is one of the inputs, or it cannot be written.
    pub(crate) fn begin(name: &Path, inputs: &[String]) -> Result<Self> {
        let there = target(name, inputs)?;
        let place = if there.is_some_and(|there| !there.is_file()) {
            Place::Device(File::options().write(true).open(name).with_context(|| cannot(name))?)
        } else {
            Place::Aside(Aside::begin(name, files::OWN).with_context(|| cannot(name))?)
        };
        Ok(Self { name: name.to_owned(), place })
    }

    /// Handle that writes the bytes of the file.
    pub(crate) fn writer(&self) -> Result<File> {
        let file = match &self.place {
            Place::Aside(aside) => aside.file(),
            Place::Device(file) => file,
        };
        file.try_clone().with_context(|| cannot(&self.name))
    }

    /// Gives the file, which is whole, its name. Returns its size in bytes, or 0 for a device.
    ///
    /// # Errors
    /// The system refuses. The name then keeps its former file.
    pub(crate) fn keep(self) -> Result<u64> {
        match self.place {
            Place::Device(_) => Ok(0),
            Place::Aside(aside) => aside.keep().with_context(|| cannot(&self.name)),
        }
    }
}

/// Checks before the work that the file can be written after it.
///
/// # Errors
/// As [`WholeFile::begin`].
pub(crate) fn check(name: &Path, inputs: &[String]) -> Result<()> {
    let there = target(name, inputs)?;
    if there.is_none_or(|there| there.is_file()) {
        let target = fs::canonicalize(name).unwrap_or_else(|_| name.to_owned());
        // The file has no name, so that nothing stays even where the command is killed.
        files::nameless(files::folder(&target)).with_context(|| cannot(name))?;
    }
    Ok(())
}

/// Writes `text` as a whole file.
///
/// # Errors
/// As [`WholeFile::begin`].
pub(crate) fn write(name: &Path, inputs: &[String], text: &str) -> Result<()> {
    let output = WholeFile::begin(name, inputs)?;
    output.writer()?.write_all(text.as_bytes()).with_context(|| cannot(name))?;
    output.keep().map(|_| ())
}

/// Refuses standard output where it is redirected to one of the inputs.
pub(crate) fn check_stdout(inputs: &[String]) -> Result<()> {
    refuse_input("standard output", identity(Path::new(STDOUT)), inputs)
}

const STDIN: &str = "/dev/stdin";
const STDOUT: &str = "/dev/stdout";

/// Metadata of the file that `name` leads to now, if there is one. Refuses names that cannot be
/// written.
fn target(name: &Path, inputs: &[String]) -> Result<Option<Metadata>> {
    let shown = name.display();
    ensure!(name.file_name().is_some(), "cannot write '{shown}': name a file");
    let Ok(there) = fs::metadata(name) else {
        let is_link = fs::symlink_metadata(name).is_ok();
        ensure!(
            !is_link,
            "cannot write '{shown}': it is a link to a file that does not exist: name that file"
        );
        return Ok(None);
    };
    if there.is_dir() {
        bail!("cannot write '{shown}': it is a directory: name a file in it");
    }
    refuse_input(&format!("'{shown}'"), identity(name), inputs)?;
    if there.is_file() {
        ensure!(
            identity(name) != identity(Path::new(STDOUT)),
            "'{shown}' is also standard output: name another file"
        );
        // The folder may allow a replacement even where the file may not be written.
        File::options().write(true).open(name).with_context(|| cannot(name))?;
    }
    Ok(Some(there))
}

fn refuse_input(output: &str, identity: Option<(u64, u64)>, inputs: &[String]) -> Result<()> {
    let is_it = |input: &&String| {
        let path = if *input == "-" { STDIN } else { input.as_str() };
        !input.starts_with("synth:") && self::identity(Path::new(path)) == identity
    };
    match inputs.iter().find(is_it).filter(|_| identity.is_some()) {
        Some(input) => Err(anyhow!(
            "{output} is also the input '{input}' and would be overwritten: name another file"
        )),
        None => Ok(()),
    }
}

/// Device and inode of a regular file. Devices and pipes have none: many may look the same.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let there = fs::metadata(path).ok().filter(Metadata::is_file)?;
    Some((there.dev(), there.ino()))
}

fn cannot(name: &Path) -> String {
    format!("cannot write '{}': name a file in a folder that Larder can write", name.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// An input is recognised under its own name, a relative name, a symbolic and a hard link.
    #[test]
    fn an_output_that_is_an_input_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        fs::write(&path, "trace").unwrap();
        symlink("a.csv", folder.path().join("link")).unwrap();
        fs::hard_link(&path, folder.path().join("hard")).unwrap();
        let inputs = ["synth:zipf".to_owned(), path.to_str().unwrap().to_owned()];
        for name in ["a.csv", "link", "hard", "../a.csv"] {
            let inside = folder.path().join("inside");
            let _ = fs::create_dir(&inside);
            let parent = if name.starts_with("..") { &inside } else { folder.path() };
            for error in [
                WholeFile::begin(&parent.join(name), &inputs).unwrap_err(),
                check(&parent.join(name), &inputs).unwrap_err(),
                write(&parent.join(name), &inputs, "page").unwrap_err(),
            ] {
                assert!(error.to_string().contains("name another file"), "{name}: {error}");
            }
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "trace");
        assert_eq!(names(folder.path()), ["a.csv", "hard", "inside", "link"]);
    }

    #[test]
    fn a_file_has_its_name_only_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        fs::write(&path, "before").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        symlink("page.html", folder.path().join("link")).unwrap();
        let output = WholeFile::begin(&folder.path().join("link"), &[]).unwrap();
        output.writer().unwrap().write_all(b"half").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "before");
        drop(output);
        assert_eq!(names(folder.path()), ["link", "page.html"], "nothing stays");
        write(&folder.path().join("link"), &[], "after").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "after");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(folder.path().join("link")).unwrap().is_symlink());
        check(&path, &[]).unwrap();
        write(&folder.path().join("new"), &[], "page").unwrap();
        let mode = fs::metadata(folder.path().join("new")).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600, "a trace or a page holds keys of others");
        assert_eq!(names(folder.path()), ["link", "new", "page.html"]);
    }

    #[test]
    fn what_cannot_be_written_is_said_before_the_work() {
        let folder = tempfile::tempdir().unwrap();
        symlink("nothing", folder.path().join("astray")).unwrap();
        for (name, answer) in [
            ("absent/a", "folder that Larder can write"),
            (".", "name a file"),
            ("astray", "link to a file that does not exist"),
        ] {
            let error = check(&folder.path().join(name), &[]).unwrap_err();
            assert!(format!("{error:#}").contains(answer), "{name}: {error:#}");
        }
        check(Path::new("/dev/null"), &[]).unwrap();
        write(Path::new("/dev/null"), &[], "page").unwrap();
    }
}
