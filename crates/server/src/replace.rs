//! A file is replaced whole: written beside, brought to the disk, given its name.
//!
//! A reader finds the old file or the new one, also after a crash. The new one has the mode and the
//! owner of the old: a file of rules holds passwords, and nobody may read it after a rewrite who
//! could not before. A file that was not there is its owner's alone, unless it has nothing to hide.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

/// Puts `bytes` in the place of what the file holds. A link stays one, and its target is replaced.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_as(path, bytes, 0o600)
}

/// The same of a file that anybody may read: a number of a process, or of a port.
pub(crate) fn replace_readable(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_as(path, bytes, 0o644)
}

/// `mode` is that of a file that was not there.
fn replace_as(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut beside = tempfile::NamedTempFile::new_in(folder(&target))?;
    beside.write_all(bytes)?;
    beside.as_file().set_permissions(Permissions::from_mode(mode))?;
    adopt(beside.as_file(), &target)?;
    beside.as_file().sync_all()?;
    beside.persist(&target).map_err(|error| error.error)?;
    sync_folder(&target)
}

/// Whether a file could be put at `path`.
pub(crate) fn is_writable(path: &Path) -> bool {
    !path.is_dir() && tempfile::NamedTempFile::new_in(folder(path)).is_ok()
}

/// Gives a new file the mode and the owner of the one at `path`, if
/// there is one. Where the system does not let the group be kept, nobody but the owner may read it.
pub(crate) fn adopt(new: &File, path: &Path) -> io::Result<()> {
    let Ok(old) = std::fs::metadata(path) else { return Ok(()) };
    let kept = fchown(new, Some(old.uid()), Some(old.gid()))
        .or_else(|_| fchown(new, None, Some(old.gid())))
        .is_ok();
    let mode = if kept { old.mode() & 0o7777 } else { old.mode() & 0o700 };
    new.set_permissions(Permissions::from_mode(mode))
}

fn folder(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or_else(|| Path::new("."))
}

/// Makes a change of names in the folder of `path` last.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder(path))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_file_is_like_the_old() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("users.acl");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o7777;
        replace(&path, b"one").unwrap();
        assert_eq!(mode(&path), 0o600, "a new file is its owner's alone");
        for wanted in [0o640, 0o644, 0o400] {
            std::fs::set_permissions(&path, Permissions::from_mode(wanted)).unwrap();
            let before = std::fs::metadata(&path).unwrap();
            replace(&path, b"two").unwrap();
            let after = std::fs::metadata(&path).unwrap();
            assert_eq!((after.mode() & 0o7777, after.uid()), (wanted, before.uid()));
            assert_ne!(after.ino(), before.ino(), "it is written beside");
        }
        let open = dir.path().join("larder.pid");
        replace_readable(&open, b"1").unwrap();
        assert_eq!(mode(&open), 0o644);
        std::fs::remove_file(open).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        replace(&link, b"three").unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&path).unwrap(), b"three");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left over");
        assert!(replace(&dir.path().join("none/file"), b"").is_err());
    }
}
