//! `file:PATH`: all values of a tenant one after another in a file, with one positioned read for
//! each miss.
//!
//! A tenant's values are in `PATH.TENANT`, and memory holds the offset of each value. So a miss
//! costs the read of a block, from the disk or from the kernel's page cache, and no search. The
//! index, the trace's name and a footer follow the values. The file gets its name only when it is
//! complete.
//!
//! ```text
//! value value … │ hash offset size, hash offset size, … │ name of the trace │ footer
//! ```

use super::{Database, Filled, Filler, Kind, Origin, Reader, seed_if, value_of};
use crate::value;
use anyhow::{Context, ensure};
use base::hash;
use files::Aside;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

pub(super) const KIND: Kind =
    Kind { prefix: "file:", open: |path, _| Ok(Arc::new(Values::new(path))) };
/// The form of the argument, for errors and help.
pub(super) const FORM: &str = "file:PATH";

/// Bytes of an object's entry: the hash of its key, where its value begins, and its size.
const ENTRY: usize = 24;
/// Bytes of the footer: requests, objects, bytes of the trace's name, and [`MARK`].
const FOOTER: usize = 32;
/// The last word of the footer, which identifies such a file.
const MARK: u64 = u64::from_le_bytes(*b"larder 1");

/// Offset and size of each value, by the hash of its key. A collision of two hashes would be
/// noticed, because a value depends on its key.
type Index = HashMap<u64, (u64, u64)>;

/// The value files of all tenants.
pub struct Values {
    path: String,
    /// The open files, by tenant, so that threads share an index.
    open: Mutex<HashMap<String, Arc<Opened>>>,
}

struct Opened {
    file: File,
    index: Index,
}

impl Values {
    /// Names the files that begin with `path`; they need not exist.
    pub fn new(path: &str) -> Self {
        Self { path: path.to_owned(), open: Mutex::default() }
    }

    /// The path of the file of `tenant`. Characters that a file name cannot hold, or that could
    /// name a folder, are written in hexadecimal.
    fn of(&self, tenant: &str) -> PathBuf {
        let mut path = format!("{}.", self.path);
        for byte in tenant.bytes() {
            if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
                path.push(char::from(byte));
            } else {
                let _ = write!(path, "%{byte:02x}");
            }
        }
        path.into()
    }
}

impl Database for Values {
    fn name(&self) -> String {
        format!("file:{}", self.path)
    }

    fn is_filled_at_once(&self) -> bool {
        true
    }

    fn origin(&self, tenant: &str) -> anyhow::Result<Option<Origin>> {
        let path = self.of(tenant);
        if !path.exists() {
            return Ok(None);
        }
        let context = || format!("file '{}'", path.display());
        let file = File::open(&path).with_context(context)?;
        let footer = Footer::read(&file).with_context(context)?;
        let trace = footer.trace(&file).with_context(context)?;
        Ok(Some(Origin { trace, requests: footer.requests }))
    }

    fn filler(&self, tenant: &str, origin: &Origin) -> anyhow::Result<Box<dyn Filler>> {
        let path = self.of(tenant);
        let aside = Aside::begin(&path, files::OWN).with_context(|| {
            format!("file '{}': choose a path that Larder can write", path.display())
        })?;
        let file = aside.file().try_clone()?;
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(tenant);
        let (out, index) = (BufWriter::with_capacity(1 << 20, file), HashMap::new());
        let filled = Filled::default();
        Ok(Box::new(FileFiller { aside, out, index, filled, origin: origin.clone() }))
    }

    fn reader(&self, tenant: &str) -> anyhow::Result<Box<dyn Reader>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = match open.get(tenant) {
            Some(opened) => opened.clone(),
            None => Arc::new(Opened::open(&self.of(tenant))?),
        };
        open.insert(tenant.to_owned(), opened.clone());
        Ok(Box::new(FileReader { opened, value: vec![] }))
    }
}

struct FileFiller {
    aside: Aside,
    out: BufWriter<File>,
    index: Index,
    filled: Filled,
    origin: Origin,
}

impl Filler for FileFiller {
    fn add(&mut self, key: &[u8], size: u64) -> anyhow::Result<()> {
        let hash = hash::bytes(0, key);
        if self.index.contains_key(&hash) {
            return Ok(());
        }
        self.out.write_all(&value_of(key, size)?)?;
        self.index.insert(hash, (self.filled.bytes, size));
        self.filled.rows += 1;
        self.filled.bytes += size;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<Filled> {
        for (hash, (offset, size)) in &self.index {
            for word in [hash, offset, size] {
                self.out.write_all(&word.to_le_bytes())?;
            }
        }
        let Origin { trace, requests } = &self.origin;
        self.out.write_all(trace.as_bytes())?;
        for word in [*requests, self.filled.rows, trace.len() as u64, MARK] {
            self.out.write_all(&word.to_le_bytes())?;
        }
        self.out.flush()?;
        self.aside.keep()?;
        Ok(self.filled)
    }
}

/// The end of a file, with the offsets of the parts before it.
struct Footer {
    requests: u64,
    objects: u64,
    index_at: u64,
    trace_at: u64,
    trace_size: u64,
}

impl Footer {
    fn read(file: &File) -> anyhow::Result<Self> {
        let foreign = "a replay did not write this file of values: choose another path";
        let end = file.metadata()?.len().checked_sub(FOOTER as u64).context(foreign)?;
        let mut bytes = [0; FOOTER];
        file.read_exact_at(&mut bytes, end)?;
        let [requests, objects, trace_size, mark] = [0, 1, 2, 3].map(|at| word(&bytes, at));
        ensure!(mark == MARK, foreign);
        let trace_at = end.checked_sub(trace_size).context(foreign)?;
        let index_size = objects.checked_mul(ENTRY as u64).context(foreign)?;
        let index_at = trace_at.checked_sub(index_size).context(foreign)?;
        Ok(Self { requests, objects, index_at, trace_at, trace_size })
    }

    fn trace(&self, file: &File) -> anyhow::Result<String> {
        let mut trace = vec![0; self.trace_size as usize];
        file.read_exact_at(&mut trace, self.trace_at)?;
        Ok(String::from_utf8(trace)?)
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| bytes[at * 8 + byte]))
}

impl Opened {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let context = || format!("file '{}'", path.display());
        let file = File::open(path).with_context(context)?;
        let footer = Footer::read(&file).with_context(context)?;
        let mut entries = vec![0; footer.objects as usize * ENTRY];
        file.read_exact_at(&mut entries, footer.index_at).with_context(context)?;
        let entries = entries.chunks_exact(ENTRY);
        let index = entries.map(|entry| (word(entry, 0), (word(entry, 1), word(entry, 2))));
        Ok(Self { index: index.collect(), file })
    }
}

struct FileReader {
    opened: Arc<Opened>,
    value: Vec<u8>,
}

impl Reader for FileReader {
    fn get(&mut self, key: &[u8]) -> anyhow::Result<u64> {
        let Some((offset, size)) = self.opened.index.get(&hash::bytes(0, key)) else {
            return seed_if(key, None);
        };
        self.value.resize(*size as usize, 0);
        self.opened.file.read_exact_at(&mut self.value, *offset).context("the file of values")?;
        seed_if(key, Some(value::is_right(value::seed(key), &self.value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Backend;
    use std::fs;

    #[test]
    fn what_was_added_is_read_by_each_tenant_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("values");
        let backend = Backend::parse(&format!("file:{}", path.display()), &[]).unwrap();
        let files = backend.database.unwrap();
        let origin = Origin { trace: "a".into(), requests: 3 };
        for tenant in ["one", "../two"] {
            assert_eq!(files.origin(tenant).unwrap(), None);
            let mut filler = files.filler(tenant, &origin).unwrap();
            for (key, size) in [("k1", 0), ("k2", 30_000), ("k3", 7), ("k1", 9)] {
                filler.add(format!("{tenant}{key}").as_bytes(), size).unwrap();
            }
            assert!(files.reader(tenant).is_err(), "it is not whole yet");
            assert_eq!(filler.finish().unwrap(), Filled { rows: 3, bytes: 30_007 });
            assert_eq!(files.origin(tenant).unwrap().as_ref(), Some(&origin));
        }
        let mut reader = files.reader("../two").unwrap();
        for key in [b"../twok1", b"../twok2", b"../twok3"] {
            assert_eq!(reader.get(key).unwrap(), value::seed(key));
        }
        assert!(reader.get(b"onek2").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);

        let file = path.with_extension("..%2ftwo");
        let file = fs::OpenOptions::new().write(true).open(file).unwrap();
        file.write_all_at(&[0; 16], 0).unwrap();
        assert!(reader.get(b"../twok2").is_err(), "the value is another");
    }

    #[test]
    fn a_file_of_something_else_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("values");
        let files = (KIND.open)(path.to_str().unwrap(), 1).unwrap();
        for bytes in [&b"short"[..], &[b'x'; 100]] {
            fs::write(path.with_extension("one"), bytes).unwrap();
            assert!(format!("{:#}", files.origin("one").unwrap_err()).contains("another path"));
            assert!(files.reader("one").is_err());
        }
    }
}
