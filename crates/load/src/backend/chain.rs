//! A backend from its text: a database and waits, one after the other.

use super::database::{Database, Kind, Reader};
use super::delay::Distribution;
use super::file;
use crate::value;
use anyhow::bail;
use base::Prng;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The default number of connections to each database.
pub(crate) const POOL: usize = 16;
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
                bail!("a backend can use only one database, not both {one} and {two}: name one");
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
             crates/lab --features databases` adds it; file:PATH and delay:TIME need no client"
        );
    }
    let shown = match part.rsplit_once('@') {
        Some((_, place)) => format!("…@{place}"),
        None => part.to_owned(),
    };
    let forms = forms().collect::<Vec<_>>().join(", ");
    format!(
        "'{shown}' is not a backend: write {forms}, delay:TIME (such as delay:1ms or delay:exp \
         1ms), or a database and delays separated by commas"
    )
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
