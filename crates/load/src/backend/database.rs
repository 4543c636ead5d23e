//! Databases of objects: what a kind of database has to do.

use crate::value;
use anyhow::bail;
use std::fmt;
use std::sync::Arc;

/// Most bytes of a key, because longer keys fit no index of the database servers.
pub const KEY_MAX: usize = 2_048;
/// Most bytes of a value, because longer values fit no tested cache, and hardly a row.
const VALUE_MAX: u64 = 512 << 20;

/// A kind of database: the form of its argument, and the function that opens it.
#[derive(Debug)]
pub struct Kind {
    /// The beginning of an argument of this kind.
    pub prefix: &'static str,
    /// Opens the database, from the text behind the prefix and the number of connections.
    pub open: Open,
}

/// A function that opens a database.
pub type Open = fn(&str, usize) -> anyhow::Result<Arc<dyn Database>>;

/// A store of the objects of tenants.
pub trait Database: Send + Sync {
    /// The name in messages, without a password.
    fn name(&self) -> String;

    /// Whether a replay may fill the database by itself, and not only `--prepare`.
    fn is_filled_at_once(&self) -> bool;

    /// The origin of the objects of `tenant`; `None` if the tenant has no objects.
    ///
    /// # Errors
    /// The database does not answer.
    fn origin(&self, tenant: &str) -> anyhow::Result<Option<Origin>>;

    /// Begins to store the objects of `tenant` from `origin`, in place of its old objects.
    ///
    /// # Errors
    /// The database does not accept writes.
    fn filler(&self, tenant: &str, origin: &Origin) -> anyhow::Result<Box<dyn Filler>>;

    /// A reader of the stored objects of `tenant`, for one thread.
    ///
    /// # Errors
    /// The database does not answer, or has no objects of the tenant.
    fn reader(&self, tenant: &str) -> anyhow::Result<Box<dyn Reader>>;
}

/// Stores the objects of a tenant. A filler that is dropped before its end does not count as
/// filled.
pub trait Filler {
    /// Adds the object if its key is new.
    ///
    /// # Errors
    /// The database refuses the object.
    fn add(&mut self, key: &[u8], size: u64) -> anyhow::Result<()>;

    /// Records that all objects of the origin are stored.
    ///
    /// # Errors
    /// The database refuses a part of the objects, or the record.
    fn finish(self: Box<Self>) -> anyhow::Result<Filled>;
}

/// Reads the objects of a tenant.
pub trait Reader: Send {
    /// Reads the value of `key`; returns its seed.
    ///
    /// # Errors
    /// The query failed, there is no such object, or its value is not the stored one.
    fn get(&mut self, key: &[u8]) -> anyhow::Result<u64>;
}

/// The source of a tenant's objects in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The trace, as named on the command line.
    pub trace: String,
    /// Number of requests whose objects are stored.
    pub requests: u64,
}

impl Origin {
    /// Whether the objects stored from `self` include all objects that `other` needs.
    pub fn covers(&self, other: &Self) -> bool {
        self.trace == other.trace && self.requests >= other.requests
    }
}

/// The amount that a filler put into the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Filled {
    /// Number of objects.
    pub rows: u64,
    /// Bytes of the values.
    pub bytes: u64,
}

impl fmt::Debug for dyn Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// The value of an object, if the object is small enough for a database.
///
/// # Errors
/// The key or the value is too long.
pub fn value_of(key: &[u8], size: u64) -> anyhow::Result<Vec<u8>> {
    if key.len() > KEY_MAX {
        let (name, length) = (String::from_utf8_lossy(&key[..40]), key.len());
        bail!("the key '{name}…' has {length} bytes: this backend allows at most {KEY_MAX}");
    }
    if size > VALUE_MAX {
        let key = String::from_utf8_lossy(key);
        bail!("the value of key '{key}' has {size} bytes: this backend allows at most {VALUE_MAX}");
    }
    let mut value = vec![];
    value::write(value::seed(key), size as usize, &mut value);
    Ok(value)
}

/// The seed for a key: `right` says whether its value was right, and is `None` if there was no
/// value.
///
/// # Errors
/// The value is missing or wrong.
pub fn seed_if(key: &[u8], right: Option<bool>) -> anyhow::Result<u64> {
    let name = || String::from_utf8_lossy(key);
    match right {
        Some(true) => Ok(value::seed(key)),
        Some(false) => bail!(
            "the database holds a wrong value for key '{}': fill it again with --prepare",
            name()
        ),
        None => bail!("the database has no row for key '{}'", name()),
    }
}
