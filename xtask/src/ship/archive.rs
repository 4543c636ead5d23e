//! Archives that depend only on their content: every file has the same owner and no time.

use anyhow::Result;
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::Path;

/// A file of an archive: its name, content and mode.
pub(super) type Member<'a> = (&'a str, &'a [u8], u32);

/// SHA-256 in hexadecimal digits.
pub(super) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// A tar of files. The folders above each file come first.
pub(super) fn tarred(files: &[Member<'_>]) -> Result<Vec<u8>> {
    let mut tar = tar::Builder::new(vec![]);
    let mut folders: Vec<&Path> = vec![];
    let mut put = |name: &Path, bytes: &[u8], mode: u32, kind: tar::EntryType| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(bytes.len() as u64);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        tar.append_data(&mut header, name, bytes)
    };
    for (name, bytes, mode) in files {
        let above: Vec<&Path> = Path::new(name).ancestors().skip(1).collect();
        for folder in above.into_iter().rev().filter(|folder| !folder.as_os_str().is_empty()) {
            if !folders.contains(&folder) {
                folders.push(folder);
                put(folder, &[], 0o755, tar::EntryType::Directory)?;
            }
        }
        put(Path::new(name), bytes, *mode, tar::EntryType::Regular)?;
    }
    Ok(tar.into_inner()?)
}

/// A tar as [`tarred`] makes it, packed by gzip.
pub(super) fn packed(files: &[Member<'_>]) -> Result<Vec<u8>> {
    let mut out = GzEncoder::new(vec![], Compression::best());
    out.write_all(&tarred(files)?)?;
    Ok(out.finish()?)
}
