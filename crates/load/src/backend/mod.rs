//! The backend, which answers misses: a database, a wait, or both in sequence.
//!
//! An answer is the seed of the value. It costs the time of a real query (`postgres://…`) and of a
//! random wait (`delay:…`), one after the other, as with a database behind a network. Waits of one
//! connection overlap; the caller measures the actual time of an answer.
//!
//! A kind of database is a [`Kind`]. The kind for files is here. A program that links a client
//! library passes its kinds in ([`ELSEWHERE`]). Before a replay the objects of each tenant are put
//! into the database, from the same trace; a later run over that trace finds them.

mod delay;
mod file;

pub use delay::Distribution;
pub use file::Values;

use super::value;
use anyhow::bail;
use base::Prng;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The default number of connections to each database.
pub(super) const POOL: usize = 16;
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

/// The kinds of this crate.
const KINDS: [Kind; 1] = [file::KIND];

/// Prefix and form of the kinds that `larder-lab` has, if it was built with its databases.
pub const ELSEWHERE: [(&str, &str); 3] = [
    ("sqlite:", "sqlite:PATH"),
    ("postgres://", "postgres://user[:password]@host[:port]/db"),
    ("mysql://", "mysql://user[:password]@host[:port]/db"),
];

/// The forms of all kinds.
fn forms() -> impl Iterator<Item = &'static str> {
    [file::FORM].into_iter().chain(ELSEWHERE.iter().map(|(_, form)| *form))
}

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

/// The cost of a tenant's misses.
#[derive(Clone, Debug, Default)]
pub struct Backend {
    /// The database that is queried; without one the answer is computed.
    pub database: Option<Arc<dyn Database>>,
    /// Waits that are added to the query.
    pub delays: Vec<Distribution>,
}

impl Backend {
    /// Reads `file:PATH`, `postgres://bench@localhost/bench`, `delay:exp 1ms` and the like, or
    /// several separated by commas; `+1ms` behind a database means `,delay:1ms`. `more` are kinds
    /// of databases besides those of this crate.
    ///
    /// # Errors
    /// A sentence that shows the forms.
    pub fn parse(text: &str, more: &[Kind]) -> anyhow::Result<Self> {
        Self::read(text, &mut BTreeMap::new(), POOL, more)
    }

    /// Reads several backends; backends with the same database share at most `pool` connections to
    /// it.
    ///
    /// # Errors
    /// A sentence that shows the forms.
    pub fn parse_all(texts: &[String], pool: usize, more: &[Kind]) -> anyhow::Result<Vec<Self>> {
        let mut known = BTreeMap::new();
        texts.iter().map(|text| Self::read(text, &mut known, pool, more)).collect()
    }

    fn read(
        text: &str,
        known: &mut BTreeMap<String, Arc<dyn Database>>,
        pool: usize,
        more: &[Kind],
    ) -> anyhow::Result<Self> {
        let mut backend = Self::default();
        for part in text.split(',').map(str::trim) {
            if let Some(times) = part.strip_prefix("delay:") {
                backend.delays.push(Distribution::parse(times)?);
                continue;
            }
            let kind = KINDS.iter().chain(more).find(|kind| part.starts_with(kind.prefix));
            let Some(kind) = kind else { bail!(no_backend(part)) };
            let mut part = part;
            // A path may contain a plus itself.
            if let Some((before, times)) = part.rsplit_once('+')
                && let Ok(delay) = Distribution::parse(times)
            {
                part = before;
                backend.delays.push(delay);
            }
            let rest = &part[kind.prefix.len()..];
            if rest.is_empty() {
                bail!(no_backend(part));
            }
            let database = match known.get(part) {
                Some(database) => database.clone(),
                None => (kind.open)(rest, pool)?,
            };
            known.insert(part.to_owned(), database.clone());
            if let Some(other) = backend.database.replace(database.clone()) {
                let (one, two) = (other.name(), database.name());
                bail!("a backend names two databases, {one} and {two}: name one");
            }
        }
        Ok(backend)
    }

    /// Opens a connection for the objects of `tenant`, which draws its waits from `seed`.
    ///
    /// # Errors
    /// The database does not answer, or has no objects of the tenant.
    pub fn connect(&self, tenant: &str, seed: u64) -> anyhow::Result<Connection> {
        let reader = self.database.as_ref().map(|database| database.reader(tenant)).transpose()?;
        Ok(Connection { reader, delays: self.delays.clone(), prng: Prng::new(seed) })
    }
}

/// Whether a backend names a database of [`ELSEWHERE`].
pub(crate) fn is_elsewhere(text: &str) -> bool {
    let prefix_of = |part: &str| ELSEWHERE.iter().find(|(prefix, _)| part.starts_with(prefix));
    text.split(',').any(|part| prefix_of(part.trim()).is_some())
}

/// The error for an unknown backend, with all forms. A part with an @ may be the rest of a password
/// with a comma.
fn no_backend(part: &str) -> String {
    let absent = ELSEWHERE
        .iter()
        .find(|(prefix, _)| part.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty()));
    if let Some((prefix, _)) = absent {
        return format!(
            "this program was built without the client of {prefix}: `cargo install --path \
             crates/lab --features databases` brings it, and file:PATH and delay:TIME need none"
        );
    }
    let shown = match part.rsplit_once('@') {
        Some((_, place)) => format!("…@{place}"),
        None => part.to_owned(),
    };
    let forms = forms().collect::<Vec<_>>().join(", ");
    format!(
        "'{shown}' is no backend: write {forms}, delay:TIME (such as delay:1ms or delay:exp 1ms), \
         or a database and delays with commas between"
    )
}

impl fmt::Debug for dyn Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// The backend of one thread.
pub struct Connection {
    reader: Option<Box<dyn Reader>>,
    delays: Vec<Distribution>,
    prng: Prng,
}

impl Connection {
    /// Asks for the value of `key`: its seed, and the wait from now until the answer arrives.
    ///
    /// # Errors
    /// The database does not answer, or its value is not the stored one.
    pub fn ask(&mut self, key: &[u8]) -> anyhow::Result<(u64, Duration)> {
        let seed = match &mut self.reader {
            Some(reader) => reader.get(key)?,
            None => value::seed(key),
        };
        let wait = self.delays.iter().map(|delay| delay.draw(&mut self.prng)).sum();
        Ok((seed, wait))
    }
}

/// The value of an object, if the object is small enough for a database.
///
/// # Errors
/// The key or the value is too long.
pub fn value_of(key: &[u8], size: u64) -> anyhow::Result<Vec<u8>> {
    if key.len() > KEY_MAX {
        let (name, length) = (String::from_utf8_lossy(&key[..40]), key.len());
        bail!("the key '{name}…' has {length} bytes: this backend takes {KEY_MAX} at most");
    }
    if size > VALUE_MAX {
        let key = String::from_utf8_lossy(key);
        bail!("the value of key '{key}' has {size} bytes: this backend takes {VALUE_MAX} at most");
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
        Some(false) => bail!("the database's value of key '{}' is not what was filled in", name()),
        None => bail!("the database has no row for key '{}'", name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> anyhow::Result<Backend> {
        Backend::parse(text, &[])
    }

    fn name(backend: &Backend) -> String {
        backend.database.as_ref().unwrap().name()
    }

    #[test]
    fn parts_add_up() {
        let backend = parse("file:a b, delay:1ms,delay:uniform 1-2ms").unwrap();
        assert_eq!(name(&backend), "file:a b");
        let mut connection = Backend { database: None, ..backend }.connect("t", 1).unwrap();
        let (seed, wait) = connection.ask(b"k").unwrap();
        assert_eq!(seed, value::seed(b"k"));
        assert!((2_000..=3_000).contains(&wait.as_micros()), "{wait:?}");
    }

    #[test]
    fn a_path_may_have_a_plus_before_its_delay() {
        let delay = Distribution::Fixed(Duration::from_millis(2));
        let backend = parse("file:a+b+2ms").unwrap();
        assert_eq!((name(&backend).as_str(), backend.delays), ("file:a+b", vec![delay]));
    }

    #[test]
    fn errors_name_all_forms_and_no_password() {
        for text in ["", "file:", "sqlite:", "delay", "redis://x", "postgres:x", "mysql://"] {
            let error = parse(text).unwrap_err().to_string();
            for form in forms().chain(["delay:TIME"]) {
                assert!(error.contains(form), "{text}: {error}");
            }
        }
        for text in ["file:a,file:b", "delay:1"] {
            assert!(parse(text).is_err(), "{text}");
        }
        for text in ["pg://u:secret@h/d", "file:a,u:secret@h/d"] {
            let error = format!("{:#}", parse(text).unwrap_err());
            assert!(!error.contains("secret"), "{text}: {error}");
        }
    }

    #[test]
    fn a_database_that_is_elsewhere_is_named_with_what_brings_it() {
        for text in ["sqlite:a", "delay:1ms, mysql://u:secret@h/d", "postgres://u:a,secret@h/d"] {
            assert!(is_elsewhere(text), "{text}");
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains("--features databases") && !error.contains("secret"), "{error}");
        }
        assert!(!is_elsewhere("file:sqlite:a,delay:1ms"));
    }

    /// A second index of the same file would double the memory.
    #[test]
    fn the_same_database_is_shared() {
        let texts = ["file:a", "file:a+1ms", "file:b"].map(str::to_owned);
        let backends = Backend::parse_all(&texts, 4, &[]).unwrap();
        let at = |at: usize| backends[at].database.as_ref().unwrap();
        assert!(Arc::ptr_eq(at(0), at(1)) && !Arc::ptr_eq(at(0), at(2)));
    }
}
