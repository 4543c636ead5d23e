//! What is asked on a miss: a database, a wait, or one after the other.
//!
//! An answer is the seed of the value, and costs the time of a real query (`postgres://…`) and of
//! a drawn wait (`delay:…`), one after the other, as a database behind a network does. Waits of
//! one connection run beside each other; what an answer really took is measured by who waits.
//!
//! A kind of database is a file here and its entry in [`KINDS`]. Before a replay each tenant has
//! its objects put into the database, from the same trace; a later run over that trace finds them.

mod delay;
mod file;
mod mariadb;
mod place;
mod pool;
mod postgres;
mod sqlite;

pub use delay::Distribution;
pub use sqlite::Sqlite;

use super::value;
use anyhow::bail;
use base::Prng;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Connections to each database unless stated.
pub(super) const POOL: usize = 16;
/// Longer keys fit no index of the database servers.
const KEY_MAX: usize = 2_048;
/// Longer values fit no cache that is asked, and hardly a row.
const VALUE_MAX: u64 = 512 << 20;
/// Postgres cuts longer names of tables off, and then takes two for one.
const TABLE_MAX: usize = 63;

/// A kind of database: how it is written, and what opens it.
struct Kind {
    /// What an argument of this kind begins with.
    prefix: &'static str,
    form: &'static str,
    /// From what stands behind the prefix and the number of connections.
    open: fn(&str, usize) -> anyhow::Result<Arc<dyn Database>>,
}

/// All of them.
const KINDS: [Kind; 4] = [sqlite::KIND, file::KIND, postgres::KIND, mariadb::KIND];

/// A place where the objects of tenants are.
pub trait Database: Send + Sync {
    /// What it is called in sentences: no password is in it.
    fn name(&self) -> String;

    /// Whether a replay may fill it on its own, and not only `--prepare`.
    fn is_filled_at_once(&self) -> bool;

    /// What the objects of `tenant` were filled from, if they were.
    ///
    /// # Errors
    /// The database cannot be asked.
    fn origin(&self, tenant: &str) -> anyhow::Result<Option<Origin>>;

    /// Begins to fill in the objects of `tenant` from `origin`, in place of those it had.
    ///
    /// # Errors
    /// The database cannot be written.
    fn filler(&self, tenant: &str, origin: &Origin) -> anyhow::Result<Box<dyn Filler>>;

    /// A thread's way to the objects of `tenant`, which were filled in.
    ///
    /// # Errors
    /// The database cannot be asked, or has no such objects.
    fn reader(&self, tenant: &str) -> anyhow::Result<Box<dyn Reader>>;
}

/// Takes the objects of a tenant; what is dropped before its end does not count as filled.
pub trait Filler {
    /// Adds the object if its key is new.
    ///
    /// # Errors
    /// The database refuses it.
    fn add(&mut self, key: &[u8], size: u64) -> anyhow::Result<()>;

    /// Notes down that all objects of the origin are there.
    ///
    /// # Errors
    /// The database refuses some of it.
    fn finish(self: Box<Self>) -> anyhow::Result<Filled>;
}

/// Asks for the objects of a tenant.
pub trait Reader: Send {
    /// The seed of the value of `key`, after the value was read.
    ///
    /// # Errors
    /// The query failed, there is no such object, or its value is not what was filled in.
    fn get(&mut self, key: &[u8]) -> anyhow::Result<u64>;
}

/// What the objects of a tenant were filled from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The trace, as named on the command line.
    pub trace: String,
    /// Requests whose objects are there.
    pub requests: u64,
}

impl Origin {
    /// Whether what was filled from `self` holds all that `other` asks for.
    pub fn covers(&self, other: &Self) -> bool {
        self.trace == other.trace && self.requests >= other.requests
    }
}

/// What a filler put into the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Filled {
    /// Objects.
    pub rows: u64,
    /// Bytes of their values.
    pub bytes: u64,
}

/// What the misses of a tenant cost.
#[derive(Clone, Debug, Default)]
pub struct Backend {
    /// The database that is asked; without one the answer is computed.
    pub database: Option<Arc<dyn Database>>,
    /// Waits that are added.
    pub delays: Vec<Distribution>,
}

impl Backend {
    /// Reads `sqlite:PATH`, `postgres://bench@localhost/bench`, `delay:exp 1ms` and the like, or
    /// several separated by commas; `+1ms` behind a database stands for `,delay:1ms`.
    ///
    /// # Errors
    /// A sentence that shows the forms.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        Self::read(text, &mut BTreeMap::new(), POOL)
    }

    /// Reads several; those that name the same database share at most `pool` connections to it.
    ///
    /// # Errors
    /// A sentence that shows the forms.
    pub fn parse_all(texts: &[String], pool: usize) -> anyhow::Result<Vec<Self>> {
        let mut known = BTreeMap::new();
        texts.iter().map(|text| Self::read(text, &mut known, pool)).collect()
    }

    fn read(
        text: &str,
        known: &mut BTreeMap<String, Arc<dyn Database>>,
        pool: usize,
    ) -> anyhow::Result<Self> {
        let mut backend = Self::default();
        for part in text.split(',').map(str::trim) {
            if let Some(times) = part.strip_prefix("delay:") {
                backend.delays.push(Distribution::parse(times)?);
                continue;
            }
            let kind = KINDS.iter().find(|kind| part.starts_with(kind.prefix));
            let Some(kind) = kind else { bail!(no_backend(part)) };
            let mut part = part;
            // A path may have a plus of its own.
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

    /// A connection for the objects of `tenant`, drawing its waits from `seed`.
    ///
    /// # Errors
    /// The database cannot be asked, or has no objects of the tenant.
    pub fn connect(&self, tenant: &str, seed: u64) -> anyhow::Result<Connection> {
        let reader = self.database.as_ref().map(|database| database.reader(tenant)).transpose()?;
        Ok(Connection { reader, delays: self.delays.clone(), prng: Prng::new(seed) })
    }
}

/// Says which backends there are. A part with an @ may be the rest of a password with a comma.
fn no_backend(part: &str) -> String {
    let shown = match part.rsplit_once('@') {
        Some((_, place)) => format!("…@{place}"),
        None => part.to_owned(),
    };
    let forms = KINDS.map(|kind| kind.form).join(", ");
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

/// One thread's way to the backend.
pub struct Connection {
    reader: Option<Box<dyn Reader>>,
    delays: Vec<Distribution>,
    prng: Prng,
}

impl Connection {
    /// Asks for the value of `key`: its seed, and how long from now the answer is on its way.
    ///
    /// # Errors
    /// The database does not answer, or not with the value that was filled in.
    pub fn ask(&mut self, key: &[u8]) -> anyhow::Result<(u64, Duration)> {
        let seed = match &mut self.reader {
            Some(reader) => reader.get(key)?,
            None => value::seed(key),
        };
        let wait = self.delays.iter().map(|delay| delay.draw(&mut self.prng)).sum();
        Ok((seed, wait))
    }
}

/// The table of a tenant's objects, unquoted.
fn table(tenant: &str) -> anyhow::Result<String> {
    let table = format!("larder objects {tenant}");
    if table.len() > TABLE_MAX || tenant.contains('\0') || tenant.ends_with(' ') {
        bail!("'{table}' is no name of a table: choose a shorter and plainer tenant with --names");
    }
    Ok(table)
}

/// The name of a table as one word of SQL, between `quote`s.
fn quoted(table: &str, quote: char) -> String {
    let doubled = table.replace(quote, &format!("{quote}{quote}"));
    format!("{quote}{doubled}{quote}")
}

/// The value of an object, if a database can hold the object.
fn value_of(key: &[u8], size: u64) -> anyhow::Result<Vec<u8>> {
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

/// The seed for a key whose value was found and is right, or was not.
fn seed_if(key: &[u8], right: Option<bool>) -> anyhow::Result<u64> {
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

    fn name(backend: &Backend) -> String {
        backend.database.as_ref().unwrap().name()
    }

    #[test]
    fn parts_add_up() {
        let backend = Backend::parse("sqlite:a b.db, delay:1ms,delay:uniform 1-2ms").unwrap();
        assert_eq!(name(&backend), "sqlite:a b.db");
        let mut connection = Backend { database: None, ..backend }.connect("t", 1).unwrap();
        let (seed, wait) = connection.ask(b"k").unwrap();
        assert_eq!(seed, value::seed(b"k"));
        assert!((2_000..=3_000).contains(&wait.as_micros()), "{wait:?}");
    }

    #[test]
    fn every_kind_is_read_with_its_delay() {
        let ms = |ms| Distribution::Fixed(Duration::from_millis(ms));
        for (text, shown, delays) in [
            ("postgres://ann:pw@db/web+2ms", "postgres://ann@db:5432/web", vec![ms(2)]),
            ("mysql://ann@db:1/web,delay:1ms", "mysql://ann@db:1/web", vec![ms(1)]),
            ("mysql://a@db/w+1ms,delay:3ms", "mysql://a@db:3306/w", vec![ms(1), ms(3)]),
            ("file:a+b+2ms", "file:a+b", vec![ms(2)]),
            ("sqlite:a+b", "sqlite:a+b", vec![]),
        ] {
            let backend = Backend::parse(text).unwrap();
            assert_eq!((name(&backend).as_str(), backend.delays), (shown, delays), "{text}");
        }
    }

    #[test]
    fn errors_name_all_forms_and_no_password() {
        for text in ["", "sqlite:", "delay", "redis://x", "postgres:x", "mysql://"] {
            let error = Backend::parse(text).unwrap_err().to_string();
            for form in KINDS.map(|kind| kind.form).into_iter().chain(["delay:TIME"]) {
                assert!(error.contains(form), "{text}: {error}");
            }
        }
        for text in ["sqlite:a,sqlite:b", "delay:1", "postgres://a@b/c,mysql://a@b/c"] {
            assert!(Backend::parse(text).is_err(), "{text}");
        }
        for text in [
            "postgres://u:secret@h",
            "postgres://u:secret",
            "postgres://u:a,secret@h/d",
            "postgres://u:5/a,secret@h/d",
            "mysql://u:secret@h/d+fast",
            "pg://u:secret@h/d",
            "mysql://u:secret@h/d,file:x",
        ] {
            let error = format!("{:#}", Backend::parse(text).unwrap_err());
            assert!(!error.contains("secret"), "{text}: {error}");
        }
        let backend = Backend::parse("postgres://u:secret@h/d").unwrap();
        assert!(!format!("{backend:?}").contains("secret"));
    }

    /// Two pools to one database would be twice the connections.
    #[test]
    fn the_same_database_is_shared() {
        let texts = ["mysql://a@b/c", "mysql://a@b/c+1ms", "mysql://a@b/d"].map(str::to_owned);
        let backends = Backend::parse_all(&texts, 4).unwrap();
        let at = |at: usize| backends[at].database.as_ref().unwrap();
        assert!(Arc::ptr_eq(at(0), at(1)) && !Arc::ptr_eq(at(0), at(2)));
    }

    #[test]
    fn tables_that_would_be_cut_off_are_refused() {
        assert!(table(&"t".repeat(48)).is_ok());
        assert!(table(&"t".repeat(49)).is_err());
        assert_eq!(quoted("a`b", '`'), "`a``b`");
    }
}
