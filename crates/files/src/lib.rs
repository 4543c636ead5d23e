//! The one place that creates files.
//!
//! A cache holds other people's data. A folder that several users can write to (`/tmp`, a shared
//! volume) may hold a file or a link that another user put there. So:
//!
//! ```text
//!   create      a name that is free, O_EXCL and O_NOFOLLOW, mode 0600: the only open that creates
//!   Aside       a file beside its name, by `create`; it gets the name when it is whole
//!   replace     the bytes of a whole file, by `Aside`
//!   append      a log: the file that is there, or by `create`
//! ```
//!
//! A reader that opens a name finds the old file or the new one, also after a crash. A link is
//! followed only if root or the user of this process made it. A link of another user would choose
//! the file that is written. A new file takes mode and owner of the file it replaces under the same
//! condition. Otherwise it belongs to the user of this process, with mode 0600.
#![forbid(unsafe_code)]

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempPath};

/// The mode of a file that only its owner may read.
pub const OWN: u32 = 0o600;
/// The longest chain of links that is followed, as in Linux.
const LINKS_MAX: usize = 40;

/// The mode of a file with public content: the number of a process or of a port.
pub const PUBLIC: u32 = 0o644;

/// Creates a new file that only its owner may read and write.
///
/// # Errors
/// A file or a link has the name already, or the folder cannot be written.
pub fn create(path: &Path) -> io::Result<File> {
    let no_follow = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(OWN).custom_flags(no_follow);
    options.open(path)
}

/// Opens a log file to append to it, and creates it if it is missing.
///
/// # Errors
/// The file cannot be written, or a link of another user leads to it.
pub fn append(path: &Path) -> io::Result<File> {
    let target = target(path)?;
    match OpenOptions::new().append(true).open(&target) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            drop(create(&target)?);
            OpenOptions::new().append(true).open(&target)
        }
        opened => opened,
    }
}

/// A file that does not have its name yet. If it is dropped before [`Aside::keep`], nothing remains
/// of it.
#[derive(Debug)]
pub struct Aside {
    file: NamedTempFile,
    target: PathBuf,
}

impl Aside {
    /// Begins a file for `path` under a random name. It has the mode and the owner of the file it
    /// will replace, or `mode` if there is none.
    ///
    /// # Errors
    /// The folder cannot be written, or `path` is a link of another user.
    pub fn begin(path: &Path, mode: u32) -> io::Result<Self> {
        let target = target(path)?;
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let file = tempfile::Builder::new()
            .prefix(&format!(".{name}."))
            .suffix(".part")
            .make_in(folder(&target), create)?;
        file.as_file().set_permissions(Permissions::from_mode(mode))?;
        if let Some(old) =
            fs::symlink_metadata(&target).ok().filter(|old| old.is_file() && is_ours(old))
        {
            adopt(file.as_file(), &old)?;
        }
        Ok(Self { file, target })
    }

    /// Begins a file for the name `path` itself, even if a link has that name now. Only the owner
    /// may read it, whatever file is there now. Until then it is called `part`, so the next run
    /// replaces the rest of a run that was killed.
    ///
    /// # Errors
    /// The folder cannot be written, or `part` cannot be removed.
    pub fn begin_as(part: &Path, path: &Path) -> io::Result<Self> {
        match fs::remove_file(part) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = create(part)?;
        let file = NamedTempFile::from_parts(file, TempPath::try_from_path(part)?);
        Ok(Self { file, target: path.to_owned() })
    }

    /// The file.
    pub fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Waits until the whole file is on the disk, and gives it its name. Returns its size in bytes.
    ///
    /// # Errors
    /// The error of the system; the name still leads to the old file.
    pub fn keep(self) -> io::Result<u64> {
        self.file.as_file().sync_all()?;
        let file = self.file.persist(&self.target).map_err(|error| error.error)?;
        sync_folder(&self.target)?;
        Ok(file.metadata()?.len())
    }
}

/// Replaces the content of a file by `bytes`. A file that is new gets `mode`.
///
/// # Errors
/// The error of the system; the file is unchanged.
pub fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let aside = Aside::begin(path, mode)?;
    aside.file().write_all(bytes)?;
    aside.keep().map(|_| ())
}

/// Makes sure that a file exists at `path`, for a library that opens it by its name.
///
/// # Errors
/// It is missing and cannot be created, or `path` is a link of another user.
pub fn ensure(path: &Path) -> io::Result<()> {
    append(path).map(|_| ())
}

/// A file without a name in this folder: it disappears when the process ends.
///
/// # Errors
/// The folder cannot be written.
pub fn nameless(folder: &Path) -> io::Result<File> {
    tempfile::tempfile_in(folder)
}

/// Whether a file could be put at `path`.
pub fn is_writable(path: &Path) -> bool {
    !path.is_dir() && nameless(folder(path)).is_ok()
}

/// The folder of a file.
pub fn folder(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or_else(|| Path::new("."))
}

/// Makes a change of names in the folder of `path` durable.
///
/// # Errors
/// The error of the system.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder(path))?.sync_all()
}

/// The file to write for `path`: itself, or the end of a chain of links that root or the user of
/// this process made.
fn target(path: &Path) -> io::Result<PathBuf> {
    let mut at = path.to_owned();
    for links in 0..LINKS_MAX {
        let there = match fs::symlink_metadata(&at) {
            Ok(there) => there,
            Err(_) if links == 0 => return Ok(at),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let why = "it is a link to a file that does not exist: name that file";
                return Err(io::Error::new(ErrorKind::NotFound, why));
            }
            Err(error) => return Err(error),
        };
        if !there.is_symlink() {
            return Ok(at);
        }
        if !is_ours(&there) {
            let why = "another user made this link: remove it, or name another file";
            return Err(io::Error::new(ErrorKind::PermissionDenied, why));
        }
        at = folder(&at).join(fs::read_link(&at)?);
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "the link leads to itself"))
}

/// Whether root or the user of this process owns it.
fn is_ours(there: &Metadata) -> bool {
    there.uid() == 0 || there.uid() == rustix::process::geteuid().as_raw()
}

/// Gives a new file the mode and the owner of the old one. If the system does not allow the old
/// group, only the owner gets access.
fn adopt(new: &File, old: &Metadata) -> io::Result<()> {
    let kept = fchown(new, Some(old.uid()), Some(old.gid()))
        .or_else(|_| fchown(new, None, Some(old.gid())))
        .is_ok();
    let mode = if kept { old.mode() & 0o7777 } else { old.mode() & 0o700 };
    new.set_permissions(Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests;
